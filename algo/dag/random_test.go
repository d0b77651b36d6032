package dag

import (
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/fairlead-project/fairlead/opt/lp/exact"
	"github.com/fairlead-project/fairlead/opt/queyranne"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// randomInstance returns an instance with lo to hi tasks, 2–3 slots on 1–3
// machines, jobs of one to three stages, precedence among stages and jobs, and
// releases. Weights are whole numbers.
func randomInstance(rng *rand.Rand, lo, hi int) *sched.Instance {
	in := &sched.Instance{Name: "random"}
	speeds := []float64{1, 1, 2, 3, 5}
	for slots := 2 + rng.IntN(2); slots > 0; {
		n := 1
		if rng.IntN(4) == 0 {
			n = min(2, slots)
		}
		slots -= n
		in.Machines = append(in.Machines, sched.Machine{Speed: speeds[rng.IntN(len(speeds))], Slots: n, Port: math.Inf(1)})
	}
	late := rng.IntN(2)
	for left := lo + rng.IntN(hi-lo+1); left > 0; {
		job := sched.Job{Weight: float64(rng.IntN(6)), Release: sched.Time(late*rng.IntN(6)) * sched.Second / 2}
		for s := range 1 + rng.IntN(3) {
			if left == 0 {
				break
			}
			st := sched.Stage{Count: 1 + rng.IntN(min(3, left))}
			left -= st.Count
			for k := 0; k < st.Count; k++ {
				st.Sizes = append(st.Sizes, size.Exact(1+rng.IntN(6)))
			}
			if rng.IntN(3) == 0 {
				st.Sizes = st.Sizes[:1]
			}
			for a := range s {
				if rng.IntN(2) == 0 {
					st.After = append(st.After, a)
				}
			}
			job.Stages = append(job.Stages, st)
		}
		for a := range in.Jobs {
			if rng.IntN(4) == 0 {
				job.After = append(job.After, sched.JobID(a))
			}
		}
		in.Jobs = append(in.Jobs, job)
	}
	return in
}

// TestRandomAgainstBruteForce checks, on small random instances,
//
//	bound ≤ optimum ≤ cost ≤ guarantee · bound,
//
// the optimum by brute force, and for every node the inequalities of the package
// comment on its completion time.
func TestRandomAgainstBruteForce(t *testing.T) {
	n := 2500
	switch {
	case testing.Short():
		n = 300
	case os.Getenv("FAIRLEAD_LONG") != "":
		n = 100_000
	}
	rng := rand.New(rand.NewPCG(21, 22))
	var multi, sinks, late, tight int
	for trial := range n {
		in := randomInstance(rng, 4, 7)
		p := newProblem(t, in)
		r, err := p.Relax(queyranne.Options{Tolerance: 1e-6})
		if err != nil {
			t.Fatal(err)
		}
		order := p.Order(r.C)
		plan, err := p.List(order, 0)
		if err != nil {
			t.Fatal(err)
		}
		best, err := p.Best(order)
		if err != nil {
			t.Fatal(err)
		}
		verify(t, in, plan)
		verify(t, in, best)
		if best.Cost > plan.Cost {
			t.Errorf("trial %d: the best plan costs %v, the plain one %v", trial, best.Cost, plan.Cost)
		}

		// Brute force must find something at least as good as the plan: nothing
		// that costs a nanosecond more counts.
		limit := int64(0)
		for j := range in.Jobs {
			limit += int64(in.Jobs[j].Weight) * int64(best.Schedule.Completion[j])
		}
		opt := bruteForce(in, limit+1)
		if opt > limit {
			t.Fatalf("trial %d: brute force found nothing at %d ns or below, what the plan costs", trial, limit)
		}
		if opt == limit {
			tight++
		}
		if bound := new(big.Rat).Mul(rat(r.Lower), rat(1e9)); bound.Cmp(new(big.Rat).SetInt64(opt)) > 0 {
			t.Errorf("trial %d: bound %v above the optimum %v", trial, r.Lower, float64(opt)/1e9)
		}
		round := weights(in) * float64(len(plan.Schedule.Tasks)) * 1e-9 // see the package comment
		ratio, ok := r.Guarantee()
		if !ok || plan.Cost > ratio*r.Lower*(1+1e-12)+round {
			t.Errorf("trial %d: cost %v, guarantee %v (%v), bound %v", trial, plan.Cost, ratio, ok, r.Lower)
		}
		checkNodes(t, trial, p, r, order, plan)

		if slices.ContainsFunc(in.Machines, func(m sched.Machine) bool { return m.Slots > 1 }) {
			multi++
		}
		if len(p.Nodes) > p.x.Stages() {
			sinks++
		}
		if slices.ContainsFunc(in.Jobs, func(j sched.Job) bool { return j.Release > 0 }) {
			late++
		}
	}
	if min(multi, sinks, late, tight, n-tight) < n/20 {
		t.Errorf("the instances are one-sided: of %d, %d with machines of several slots, %d with sinks, %d with releases, %d solved optimally",
			n, multi, sinks, late, tight)
	}
}

// checkNodes checks the inequalities for every stage k, with sums taken anew:
// Ĉ_k ≤ max r + Σ(p+(m−1)p_1)/μ ≤ max r + (1+(m−1)/D) P_k/μ ≤ published·C_k.
func checkNodes(t *testing.T, trial int, p *Problem, r *Relaxation, order []int32, plan *Plan) {
	t.Helper()
	const rounding = 1e-12
	m := float64(len(p.Units))
	d, mu := math.Inf(1), 0.0
	for l := range p.Units {
		mu += p.x.Instance.Machines[p.Units[l].Machine].Speed
	}
	for _, n := range p.Nodes {
		if n.Stage != sched.None {
			d = min(d, n.Size/n.Longest)
		}
	}
	published, ok := p.Published()
	apriori, ok2 := p.Apriori(r.C)
	if !ok || !ok2 || apriori > published*(1+rounding) {
		t.Errorf("trial %d: a-priori ratio %v (%v), published %v (%v)", trial, apriori, ok2, published, ok)
	}
	release, work, own := 0.0, 0.0, 0.0
	for i, j := range order {
		n := p.Nodes[j]
		release = max(release, n.Release.Seconds())
		work += n.Size
		own += (n.Size + (m-1)*n.Longest) / mu
		c := plan.Completion[j].Seconds() - 1e-9*float64(len(plan.Schedule.Tasks))
		first, second := release+own, release+(1+(m-1)/d)*work/mu
		if c > first*(1+rounding) || first > second*(1+rounding) || second > published*r.C[j]*(1+rounding) {
			t.Errorf("trial %d: node %d (%d-th): %v ≤ %v ≤ %v ≤ %v·%v fails", trial, j, i, c, first, second, published, r.C[j])
		}
		if n.Stage != sched.None && first > apriori*r.C[j]*(1+rounding) {
			t.Errorf("trial %d: node %d: %v above the a-priori %v·%v", trial, j, first, apriori, r.C[j])
		}
	}
}

// TestRelaxationAgainstSimplex solves the relaxation of random instances, built from
// the instance by the test, in rational arithmetic; and what Model writes.
func TestRelaxationAgainstSimplex(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	for trial := range 60 {
		in := randomInstance(rng, 2, 6)
		r, err := newProblem(t, in).Relax(queyranne.Options{Tolerance: 1e-6})
		if err != nil {
			t.Fatal(err)
		}
		v, _ := relaxExactly(in).solve(t)
		x, _ := v.Float64()
		if rat(r.Lower).Cmp(v) > 0 || r.Primal < x*(1-1e-12) || r.Lower < x*(1-2e-6) {
			t.Fatalf("trial %d: [%v, %v], exact %v", trial, r.Lower, r.Primal, x)
		}
		if trivial := relaxExactly(in).trivial(); trivial.Cmp(v) > 0 {
			t.Fatalf("trial %d: heads and tails %v above the relaxation %v", trial, trivial, v)
		}
		m, err := r.Model()
		if err != nil {
			t.Fatal(err)
		}
		s := exact.Solve(exact.FromModel(m))
		if y, _ := s.Value.Float64(); s.Status != exact.Optimal || math.Abs(y-x) > 1e-12*x {
			t.Fatalf("trial %d: the written model has optimum %v, exact %v", trial, y, x)
		}
	}
}

// TestModelOfTheDual: above 12 stages the model has the rows of the dual solution;
// its optimum lies in the bracket.
func TestModelOfTheDual(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 26))
	for trial := range 4 {
		in := randomInstance(rng, 26, 30)
		r, err := newProblem(t, in).Relax(queyranne.Options{Tolerance: 1e-3})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Order) <= allSubsets {
			t.Fatalf("trial %d: only %d stages", trial, len(r.Order))
		}
		m, err := r.Model()
		if err != nil {
			t.Fatal(err)
		}
		s := exact.Solve(exact.FromModel(m))
		if y, _ := s.Value.Float64(); s.Status != exact.Optimal || y < r.Lower || y > r.Primal {
			t.Errorf("trial %d: %v, optimum %v, bracket [%v, %v]", trial, s.Status, y, r.Lower, r.Primal)
		}
	}
}

// TestScaling: multiplying all times by a power of two, or all weights, multiplies
// bound and cost, exactly: no step depends on units.
func TestScaling(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 28))
	value := func(in *sched.Instance) (lower, cost float64) {
		p := newProblem(t, in)
		r, err := p.Relax(queyranne.Options{Tolerance: 1e-5})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := p.List(p.Order(r.C), 0)
		if err != nil {
			t.Fatal(err)
		}
		return r.Lower, plan.Cost
	}
	for trial := range 100 {
		in := randomInstance(rng, 4, 20)
		for m := range in.Machines { // so that durations are whole nanoseconds
			in.Machines[m].Speed = math.Exp2(float64(rng.IntN(3)))
		}
		lower, cost := value(in)
		for j := range in.Jobs {
			job := &in.Jobs[j]
			job.Release *= 1024
			for s := range job.Stages {
				for k, d := range job.Stages[s].Sizes {
					job.Stages[s].Sizes[k] = d.(size.Exact) * 1024
				}
			}
		}
		if l, c := value(in); math.Abs(l-1024*lower) > 1e-5*l || c != 1024*cost {
			t.Errorf("trial %d: times scaled by 1024: bound %v to %v, cost %v to %v", trial, lower, l, cost, c)
		}
		for j := range in.Jobs {
			in.Jobs[j].Weight *= 4096
		}
		if l, c := value(in); math.Abs(l-4096*1024*lower) > 1e-5*l || c != 4096*1024*cost {
			t.Errorf("trial %d: weights scaled by 4096: bound %v to %v, cost %v to %v", trial, lower, l, cost, c)
		}
	}
}
