package dag

import (
	"fmt"
	"math/bits"

	"github.com/fairlead-project/fairlead/opt/lp"
	"github.com/fairlead-project/fairlead/opt/queyranne"
)

const (
	// allSubsets is the largest number of stages for which Model writes every row
	// of (S2).
	allSubsets = 12
	// maxModelStages keeps the written model below some 100 MB: its rows are dense.
	maxModelStages = 2000
)

// Model writes (S1)–(S4), also if r is the stronger relaxation, as a linear program, for others to solve. Up to 12
// stages of positive size it has every row of (S2), so that its optimum is that of
// the relaxation. Above, it has the rows with positive multipliers in the proof of
// Lower, so that its optimum is at least Lower, and at most Primal since rows are
// missing. Rows of (S2) are divided by P(S): they speak of mean completion times,
// which keeps their numbers in the range of the others. An error means that there
// are too many stages.
func (r *Relaxation) Model() (*lp.Model, error) {
	if r.weak != nil {
		return r.weak.Model()
	}
	if n := len(r.Order); n > maxModelStages {
		return nil, fmt.Errorf("dag: the relaxation of %d stages is too large to be written out; the limit is %d", n, maxModelStages)
	}
	m := &lp.Model{}
	for j := range r.p.Nodes {
		m.Variables = append(m.Variables, lp.Variable{Name: r.p.Name(int32(j)), Cost: r.lp.Weight[j]})
		m.Rows = append(m.Rows, lp.Row{
			Name: "head_" + r.p.Name(int32(j)), Terms: []lp.Term{{Var: j, Coef: 1}}, Bound: r.lp.Lo[j],
		})
	}
	for _, a := range r.p.Arcs {
		m.Rows = append(m.Rows, lp.Row{
			Name:  fmt.Sprintf("arc_%s_%s", r.p.Name(a.From), r.p.Name(a.To)),
			Terms: []lp.Term{{Var: int(a.To), Coef: 1}, {Var: int(a.From), Coef: -1}}, Bound: r.lp.Lag[a.To],
		})
	}
	kind := "rows (S2) of the dual solution; optimum between %v and %v"
	if n := len(r.Order); n <= allSubsets {
		kind = "all rows (S2); optimum between %v and %v"
		for set := uint(1); set < 1<<n; set++ {
			var members []int32
			for s := set; s != 0; s &= s - 1 {
				members = append(members, r.Order[bits.TrailingZeros(s)])
			}
			m.Rows = append(m.Rows, r.row(members))
		}
	} else {
		for k := 1; k <= n; k++ {
			if r.ratio(k-1) > r.ratio(k) {
				m.Rows = append(m.Rows, r.row(r.Order[:k]))
			}
		}
	}
	m.Comment = "relaxation lp: " + fmt.Sprintf(kind, r.Lower, r.Primal)
	return m, nil
}

// ratio returns w'_j/p_j of the k-th stage of Order, 0 beyond the last.
func (r *Relaxation) ratio(k int) float64 {
	if k == len(r.Order) {
		return 0
	}
	j := r.Order[k]
	return r.Reduced[j] / r.lp.Size[j]
}

// row returns the row of (S2) for set, divided by P(S).
func (r *Relaxation) row(set []int32) lp.Row {
	work := 0.0
	for _, j := range set {
		work += r.lp.Size[j]
	}
	row := lp.Row{Name: fmt.Sprintf("set_%d", len(set)), Bound: queyranne.Row(r.lp, set) / work}
	for _, j := range set {
		row.Terms = append(row.Terms, lp.Term{Var: int(j), Coef: r.lp.Size[j] / work})
	}
	return row
}
