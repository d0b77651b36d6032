package dag

import (
	"fmt"

	"github.com/fairlead-project/fairlead/opt/queyranne"
	"github.com/fairlead-project/fairlead/sched"
)

// Relaxation is a bracket of the optimum of (S1)–(S4) or of the stronger (S1) with
// (S2+)–(S4+), in the embedded Result: C,
// Head, Reduced and Order go by Nodes of the problem, Arc by its Arcs. Lower is a
// lower bound on the total weighted completion time of every schedule.
type Relaxation struct {
	*queyranne.Result
	p    *Problem
	lp   *queyranne.Problem
	weak *Relaxation // (S1)–(S4), where this is (S2+)–(S4+)
}

// Relax brackets the optimum of the relaxation. Whatever its Status, Lower and C
// are valid. An error means that a number is out of range.
func (p *Problem) Relax(o queyranne.Options) (*Relaxation, error) {
	n := len(p.Nodes)
	lp := &queyranne.Problem{
		Mu: p.mu(), Arcs: p.Arcs,
		Size: make([]float64, n), Tail: make([]float64, n), Lo: make([]float64, n),
		Lag: make([]float64, n), Weight: make([]float64, n),
	}
	for j, node := range p.Nodes {
		lp.Size[j], lp.Weight[j] = node.Size, node.Weight
		if node.Size > 0 {
			lp.Tail[j] = node.Size / (2 * p.v[min(node.Tasks, len(p.Units))])
		}
		lp.Lag[j] = p.head(node)
		lp.Lo[j] = node.Release.Seconds() + lp.Lag[j]
	}
	r, err := queyranne.Solve(lp, o)
	if err != nil {
		return nil, fmt.Errorf("dag: relaxation: %w", err)
	}
	return &Relaxation{Result: r, p: p, lp: lp}, nil
}

// head returns h_j = max(p_j/μ_j, p_j1/v_1).
func (p *Problem) head(n Node) float64 {
	if n.Size == 0 {
		return 0
	}
	return max(n.Size/p.v[min(n.Tasks, len(p.Units))], n.Longest/p.v[1])
}

// Published returns the ratio proved in the S-PC paper for list placement in the
// order of any solution of (S2)–(S4), relative to that solution's cost:
// 2(1+(m−1)/D), and 1 more if a job has a release, with D = min_j p_j/p_j1 over
// stages of positive size. ok is false if a pin, needs or input may bind: then no
// ratio is known.
func (p *Problem) Published() (ratio float64, ok bool) {
	if p.constrained() {
		return 0, false
	}
	d, late := 0.0, 0.0
	for _, n := range p.Nodes {
		if n.Size > 0 && (d == 0 || n.Size/n.Longest < d) {
			d = n.Size / n.Longest
		}
		if n.Release > 0 {
			late = 1
		}
	}
	if d == 0 {
		d = 1
	}
	return 2*(1+float64(len(p.Units)-1)/d) + late, true
}

// Apriori returns a ratio that holds for this instance, before placing anything:
// list placement in the order of c costs at most that many times Σ w_j c_j. It is
//
//	max_k [ max_{i≤k} r_σ(i) + Σ_{i≤k} (p_σ(i) + (m−1) p_σ(i)1)/μ ] / c_σ(k)
//
// over stages (see the package comment), never more than [Problem.Published] if c
// satisfies (S2)–(S4), and at least 1. ok is false if a pin, needs or input may
// bind, or if c is 0 where the numerator is not.
func (p *Problem) Apriori(c []float64) (ratio float64, ok bool) {
	if p.constrained() {
		return 0, false
	}
	ratio = 1
	release, work, mu := 0.0, 0.0, p.mu()
	for _, j := range p.Order(c) {
		n := p.Nodes[j]
		release = max(release, n.Release.Seconds())
		work += (n.Size + float64(float64(len(p.Units)-1)*n.Longest)) / mu
		if n.Stage == sched.None || release+work == 0 {
			continue
		}
		if !(c[j] > 0) {
			return 0, false
		}
		ratio = max(ratio, (release+work)/c[j])
	}
	return ratio, true
}

// Guarantee returns a proven bound on cost / Lower for list placement in the order
// of C, on all units or the best of several numbers of units: the a-priori ratio
// holds relative to C's own cost, which is Primal, so it is multiplied by
// Primal/Lower. ok is false where [Problem.Apriori] has no ratio or Lower is 0
// though Primal is not.
func (r *Relaxation) Guarantee() (ratio float64, ok bool) {
	ratio, ok = r.p.Apriori(r.C)
	switch {
	case !ok || r.Primal == 0:
		return ratio, ok
	case r.Lower == 0:
		return 0, false
	}
	return ratio * (r.Primal / r.Lower), true
}

// constrained reports whether a pin, needs or input could keep a task from a free
// slot: a pin that leaves out a unit; needs that the slots of some machine,
// all taken by the neediest tasks, would exceed; input to be moved between
// machines in more than no time.
func (p *Problem) constrained() bool {
	in := p.x.Instance
	most := make([]int64, len(in.Resources))
	input := false
	for _, n := range p.Nodes {
		if n.Stage == sched.None {
			continue
		}
		st := p.x.Stage(n.Stage)
		for d, need := range st.Needs {
			most[d] = max(most[d], need)
		}
		for _, i := range st.Input {
			input = input || i.Bytes > 0
		}
		if st.Machines == nil {
			continue
		}
		for m := range in.Machines {
			if in.Machines[m].Slots > 0 && !in.MayRun(st, sched.MachineID(m)) {
				return true
			}
		}
	}
	machines, limited := 0, false
	for m := range in.Machines {
		mach := &in.Machines[m]
		if mach.Slots == 0 {
			continue
		}
		machines++
		limited = limited || sched.Duration(1, mach.Port) > 0
		for d, need := range most {
			// By division, since the product could overflow.
			if need > 0 && mach.Capacity[d]/need < int64(mach.Slots) {
				return true
			}
		}
	}
	return input && limited && machines > 1
}
