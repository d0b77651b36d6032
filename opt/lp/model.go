package lp

import (
	"errors"
	"fmt"
	"math"
)

// Sense says how a row's left-hand side compares with its right-hand side.
type Sense uint8

const (
	GreaterEqual Sense = iota
	LessEqual
	Equal
)

func (s Sense) String() string { return [...]string{">=", "<=", "="}[s] }

// Variable is a nonnegative variable with its coefficient in the objective.
type Variable struct {
	Name string
	Cost float64
}

// Term is one coefficient of a row; Var is a position in Model.Variables.
type Term struct {
	Var  int
	Coef float64
}

// Row is the constraint Σ Terms Sense Bound. No variable appears twice.
type Row struct {
	Name  string
	Terms []Term
	Sense Sense
	Bound float64
}

// Model is: minimise Σ Cost·x subject to Rows, x ≥ 0.
type Model struct {
	// Comment is written at the top of the file, line by line.
	Comment   string
	Variables []Variable
	Rows      []Row
}

// ErrModel is wrapped by every error of [Model.Validate].
var ErrModel = errors.New("lp: invalid model")

// Validate reports the first number that is not finite, or variable that does not
// exist or appears twice in a row.
func (m *Model) Validate() error {
	for i, v := range m.Variables {
		if !finite(v.Cost) {
			return fmt.Errorf("%w: variable %d (%s): cost %v is not finite", ErrModel, i, v.Name, v.Cost)
		}
	}
	seen := make([]int, len(m.Variables)) // 1 + last row that held the variable
	for i, r := range m.Rows {
		if !finite(r.Bound) {
			return fmt.Errorf("%w: row %d (%s): bound %v is not finite", ErrModel, i, r.Name, r.Bound)
		}
		if r.Sense > Equal {
			return fmt.Errorf("%w: row %d (%s): no such sense: %d", ErrModel, i, r.Name, uint8(r.Sense))
		}
		for _, t := range r.Terms {
			switch {
			case t.Var < 0 || t.Var >= len(m.Variables):
				return fmt.Errorf("%w: row %d (%s): no variable %d", ErrModel, i, r.Name, t.Var)
			case seen[t.Var] == i+1:
				return fmt.Errorf("%w: row %d (%s): variable %d appears twice", ErrModel, i, r.Name, t.Var)
			case !finite(t.Coef):
				return fmt.Errorf("%w: row %d (%s): coefficient %v is not finite", ErrModel, i, r.Name, t.Coef)
			}
			seen[t.Var] = i + 1
		}
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
