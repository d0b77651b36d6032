package exact

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/fairlead-project/fairlead/opt/lp"
)

func rat(a, b int64) *big.Rat { return big.NewRat(a, b) }

func TestKnownPrograms(t *testing.T) {
	row := func(x ...int64) []*big.Rat {
		r := make([]*big.Rat, len(x))
		for i, v := range x {
			r[i] = rat(v, 1)
		}
		return r
	}
	for name, c := range map[string]struct {
		cost   []*big.Rat
		rows   [][]*big.Rat
		sense  []lp.Sense
		bound  []*big.Rat
		status Status
		value  *big.Rat
	}{
		"two rows": { // min 2x+3y, x+2y ≥ 4, 3x+y ≥ 6: at (8/5, 6/5)
			row(2, 3),
			[][]*big.Rat{row(1, 2), row(3, 1)},
			[]lp.Sense{lp.GreaterEqual, lp.GreaterEqual},
			row(4, 6), Optimal, rat(34, 5),
		},
		"redundant equations": {
			row(1, 1),
			[][]*big.Rat{row(1, 2), row(2, 4)},
			[]lp.Sense{lp.Equal, lp.Equal},
			row(2, 4), Optimal, rat(1, 1),
		},
		"contradictory equations": {
			row(1, 1),
			[][]*big.Rat{row(1, 2), row(2, 4)},
			[]lp.Sense{lp.Equal, lp.Equal},
			row(2, 5), Infeasible, nil,
		},
		"negative right-hand sides": { // min x−y, −x ≥ −3, y ≤ x+1
			row(1, -1),
			[][]*big.Rat{row(-1, 0), row(-1, 1)},
			[]lp.Sense{lp.GreaterEqual, lp.LessEqual},
			[]*big.Rat{rat(-3, 1), rat(1, 1)},
			Optimal, rat(-1, 1),
		},
		"infeasible": {
			row(1),
			[][]*big.Rat{row(1), row(1)},
			[]lp.Sense{lp.GreaterEqual, lp.LessEqual},
			row(2, 1), Infeasible, nil,
		},
		"unbounded": {
			row(-1, 0), [][]*big.Rat{row(1, -1)}, []lp.Sense{lp.LessEqual}, row(1), Unbounded, nil,
		},
		"Beale's cycling example": {
			[]*big.Rat{rat(-3, 4), rat(150, 1), rat(-1, 50), rat(6, 1)},
			[][]*big.Rat{
				{rat(1, 4), rat(-60, 1), rat(-1, 25), rat(9, 1)},
				{rat(1, 2), rat(-90, 1), rat(-1, 50), rat(3, 1)},
				row(0, 0, 1, 0),
			},
			[]lp.Sense{lp.LessEqual, lp.LessEqual, lp.LessEqual},
			row(0, 0, 1), Optimal, rat(-1, 20),
		},
	} {
		s := Solve(&Problem{c.cost, c.rows, c.sense, c.bound})
		if s.Status != c.status || c.value != nil && s.Value.Cmp(c.value) != 0 {
			t.Errorf("%s: %v, value %v; want %v, %v", name, s.Status, s.Value, c.status, c.value)
		}
	}
}

// An optimal answer proves itself: primal and dual are feasible and of equal value.
func TestRandomProgramsProveThemselves(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	count := map[Status]int{}
	for trial := range 400 {
		m := &lp.Model{}
		for range 1 + rng.IntN(5) {
			m.Variables = append(m.Variables, lp.Variable{Cost: float64(rng.IntN(9) - 2)})
		}
		for range rng.IntN(7) {
			r := lp.Row{Sense: lp.Sense(rng.IntN(3)), Bound: float64(rng.IntN(13) - 4)}
			for v := range m.Variables {
				if rng.IntN(3) > 0 {
					r.Terms = append(r.Terms, lp.Term{Var: v, Coef: float64(rng.IntN(9)-3) / 2})
				}
			}
			m.Rows = append(m.Rows, r)
		}
		p := FromModel(m)
		s := Solve(p)
		count[s.Status]++
		if s.Status == Optimal {
			prove(t, trial, p, s)
		}
	}
	if count[Optimal] < 50 || count[Infeasible] < 20 || count[Unbounded] < 20 {
		t.Errorf("the instances are one-sided: %v", count)
	}
}

func prove(t *testing.T, trial int, p *Problem, s Solution) {
	t.Helper()
	reduced := make([]*big.Rat, len(p.Cost)) // c − A'y
	primal, dual := new(big.Rat), new(big.Rat)
	for k, c := range p.Cost {
		reduced[k] = new(big.Rat).Set(c)
		primal.Add(primal, new(big.Rat).Mul(c, s.Primal[k]))
		if s.Primal[k].Sign() < 0 {
			t.Errorf("trial %d: x[%d] = %v", trial, k, s.Primal[k])
		}
	}
	for i, row := range p.Rows {
		lhs := new(big.Rat)
		for k, v := range row {
			if v != nil {
				lhs.Add(lhs, new(big.Rat).Mul(v, s.Primal[k]))
				reduced[k].Sub(reduced[k], new(big.Rat).Mul(v, s.Dual[i]))
			}
		}
		dual.Add(dual, new(big.Rat).Mul(s.Dual[i], p.Bound[i]))
		d, y := lhs.Cmp(p.Bound[i]), s.Dual[i].Sign()
		bad := map[lp.Sense]bool{
			lp.GreaterEqual: d < 0 || y < 0, lp.LessEqual: d > 0 || y > 0, lp.Equal: d != 0,
		}[p.Sense[i]]
		if bad {
			t.Errorf("trial %d: row %d: %v %v %v, dual %v", trial, i, lhs, p.Sense[i], p.Bound[i], s.Dual[i])
		}
	}
	for k, r := range reduced {
		if r.Sign() < 0 {
			t.Errorf("trial %d: reduced cost %d is %v", trial, k, r)
		}
	}
	if primal.Cmp(dual) != 0 || primal.Cmp(s.Value) != 0 {
		t.Errorf("trial %d: primal %v, dual %v, value %v", trial, primal, dual, s.Value)
	}
}
