// Package exact solves small linear programs in rational arithmetic, so that tests
// compare with true optima. It is a textbook two-phase simplex method on a dense
// tableau with Bland's rule, which cannot cycle; it is slow and meant to be.
package exact

import (
	"math/big"

	"github.com/fairlead-project/fairlead/opt/lp"
)

// Status is the outcome of a solve.
type Status uint8

const (
	Optimal Status = iota
	Infeasible
	Unbounded
)

func (s Status) String() string { return [...]string{"optimal", "infeasible", "unbounded"}[s] }

// Problem is: minimise Cost·x subject to Rows[i]·x Sense[i] Bound[i], x ≥ 0.
type Problem struct {
	Cost  []*big.Rat
	Rows  [][]*big.Rat // dense; nil entries are 0
	Sense []lp.Sense
	Bound []*big.Rat
}

// Solution of a problem; only Status is set unless it is Optimal. Dual has one
// entry per row, ≥ 0 for a row ≥, ≤ 0 for a row ≤, and Dual·Bound = Value.
type Solution struct {
	Status       Status
	Primal, Dual []*big.Rat
	Value        *big.Rat
}

// FromModel converts a model without any rounding.
func FromModel(m *lp.Model) *Problem {
	p := &Problem{}
	for _, v := range m.Variables {
		p.Cost = append(p.Cost, new(big.Rat).SetFloat64(v.Cost))
	}
	for _, r := range m.Rows {
		row := make([]*big.Rat, len(m.Variables))
		for _, t := range r.Terms {
			row[t.Var] = new(big.Rat).SetFloat64(t.Coef)
		}
		p.Add(row, r.Sense, new(big.Rat).SetFloat64(r.Bound))
	}
	return p
}

// Add appends a row.
func (p *Problem) Add(row []*big.Rat, sense lp.Sense, bound *big.Rat) {
	p.Rows = append(p.Rows, row)
	p.Sense = append(p.Sense, sense)
	p.Bound = append(p.Bound, bound)
}

// tableau: a·x = b with x_basis[i] basic in row i; cost holds reduced costs and, at
// the end, minus the value.
type tableau struct {
	a     [][]*big.Rat // per row: all columns, then b
	cost  []*big.Rat
	basis []int
	cols  int
}

// Solve returns an optimal basic solution of p, or says why there is none.
func Solve(p *Problem) Solution {
	n, m := len(p.Cost), len(p.Rows)
	// Columns: the variables, one slack per inequality, artificials, b.
	flip := make([]bool, m) // row multiplied by −1 so that b ≥ 0
	slack := make([]int, m) // its column, or −1
	t := &tableau{a: make([][]*big.Rat, m), basis: make([]int, m), cols: n}
	for i := range m {
		flip[i] = p.Bound[i].Sign() < 0 || p.Bound[i].Sign() == 0 && p.Sense[i] == lp.GreaterEqual
		if slack[i] = -1; p.Sense[i] != lp.Equal {
			slack[i] = t.cols
			t.cols++
		}
	}
	artificial := t.cols
	unit := make([]int, m) // the column that starts as row i's unit vector
	for i := range m {
		// A slack with coefficient +1 after flipping can start in the basis.
		if slack[i] >= 0 && (p.Sense[i] == lp.LessEqual) != flip[i] {
			unit[i] = slack[i]
		} else {
			unit[i] = t.cols
			t.cols++
		}
		t.basis[i] = unit[i]
	}
	for i := range m {
		row := make([]*big.Rat, t.cols+1)
		for k := range row {
			row[k] = new(big.Rat)
		}
		for k, v := range p.Rows[i] {
			if v != nil {
				row[k].Set(v)
			}
		}
		if slack[i] >= 0 {
			row[slack[i]].SetInt64(1)
			if p.Sense[i] == lp.GreaterEqual {
				row[slack[i]].SetInt64(-1)
			}
		}
		row[t.cols].Set(p.Bound[i])
		if flip[i] {
			for _, v := range row {
				v.Neg(v)
			}
		}
		row[unit[i]].SetInt64(1)
		t.a[i] = row
	}

	if t.cols > artificial { // phase one: minimise the sum of the artificials
		t.price(func(k int) *big.Rat {
			if k >= artificial {
				return big.NewRat(1, 1)
			}
			return new(big.Rat)
		})
		t.optimise(t.cols)
		if t.cost[t.cols].Sign() != 0 {
			return Solution{Status: Infeasible}
		}
		t.dropArtificials(artificial)
	}
	t.price(func(k int) *big.Rat {
		if k < n {
			return p.Cost[k]
		}
		return new(big.Rat)
	})
	if !t.optimise(artificial) {
		return Solution{Status: Unbounded}
	}

	s := Solution{Value: new(big.Rat).Neg(t.cost[t.cols])}
	for range n {
		s.Primal = append(s.Primal, new(big.Rat))
	}
	for i, k := range t.basis {
		if k < n {
			s.Primal[k].Set(t.a[i][t.cols])
		}
	}
	for i := range m { // reduced cost of row i's unit column is −dual
		d := new(big.Rat).Neg(t.cost[unit[i]])
		if flip[i] {
			d.Neg(d)
		}
		s.Dual = append(s.Dual, d)
	}
	return s
}

// price sets the reduced costs of the objective c for the current basis.
func (t *tableau) price(c func(k int) *big.Rat) {
	t.cost = make([]*big.Rat, t.cols+1)
	for k := range t.cols {
		t.cost[k] = new(big.Rat).Set(c(k))
	}
	t.cost[t.cols] = new(big.Rat)
	for i, k := range t.basis {
		subtract(t.cost, t.a[i], new(big.Rat).Set(c(k)))
	}
}

// optimise pivots by Bland's rule on columns below limit until no reduced cost is
// negative; false if the objective is unbounded.
func (t *tableau) optimise(limit int) bool {
	for {
		enter := -1
		for k := range limit {
			if t.cost[k].Sign() < 0 {
				enter = k
				break
			}
		}
		if enter < 0 {
			return true
		}
		leave, best, ratio := -1, new(big.Rat), new(big.Rat)
		for i, row := range t.a {
			if row[enter].Sign() <= 0 {
				continue
			}
			ratio.Quo(row[t.cols], row[enter])
			c := -1
			if leave >= 0 {
				c = ratio.Cmp(best)
			}
			if c < 0 || c == 0 && t.basis[i] < t.basis[leave] {
				leave = i
				best.Set(ratio)
			}
		}
		if leave < 0 {
			return false
		}
		t.pivot(leave, enter)
	}
}

func (t *tableau) pivot(r, k int) {
	inv := new(big.Rat).Inv(t.a[r][k])
	for _, v := range t.a[r] {
		if v.Sign() != 0 {
			v.Mul(v, inv)
		}
	}
	for i, row := range t.a {
		if i != r {
			subtract(row, t.a[r], new(big.Rat).Set(row[k]))
		}
	}
	subtract(t.cost, t.a[r], new(big.Rat).Set(t.cost[k]))
	t.basis[r] = k
}

// subtract sets x to x − f·y.
func subtract(x, y []*big.Rat, f *big.Rat) {
	if f.Sign() == 0 {
		return
	}
	tmp := new(big.Rat)
	for k, v := range y {
		if v.Sign() != 0 {
			x[k].Sub(x[k], tmp.Mul(f, v))
		}
	}
}

// dropArtificials takes the artificials, all zero, out of the basis. A row in which
// only artificials remain is redundant: its artificial stays, at zero for good,
// since every other coefficient of the row is zero.
func (t *tableau) dropArtificials(artificial int) {
	for i, k := range t.basis {
		if k < artificial {
			continue
		}
		for c := range artificial {
			if t.a[i][c].Sign() != 0 {
				t.pivot(i, c)
				break
			}
		}
	}
}
