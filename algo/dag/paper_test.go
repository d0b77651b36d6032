package dag

import (
	"encoding/json"
	"math"
	"math/big"
	"os"
	"slices"
	"testing"

	"github.com/fairlead-project/fairlead/opt/lp"
	"github.com/fairlead-project/fairlead/opt/lp/exact"
	"github.com/fairlead-project/fairlead/opt/queyranne"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// example is an instance whose values are known exactly; every job has one stage.
type example struct {
	Name   string
	Speeds []string
	Jobs   []struct {
		Tasks           []string
		Weight, Release string
		After           []sched.JobID
	}
	LP, Strong, Optimum, Cost string
	Order                     []int32
	Completion                []string
}

func number(t *testing.T, s string) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		t.Fatalf("not a number: %q", s)
	}
	return r
}

func examples(t *testing.T) []example {
	t.Helper()
	data, err := os.ReadFile("testdata/spc.json")
	if err != nil {
		t.Fatal(err)
	}
	var e []example
	if err := json.Unmarshal(data, &e); err != nil {
		t.Fatal(err)
	}
	if len(e) != 9 {
		t.Fatalf("%d examples, want 9", len(e))
	}
	return e
}

func (e *example) instance(t *testing.T) *sched.Instance {
	in := &sched.Instance{}
	float := func(s string) float64 {
		f, ok := number(t, s).Float64()
		if !ok {
			t.Fatalf("%s: %s is not a float", e.Name, s)
		}
		return f
	}
	for _, v := range e.Speeds {
		in.Machines = append(in.Machines, sched.Machine{Speed: float(v), Slots: 1, Port: math.Inf(1)})
	}
	for _, j := range e.Jobs {
		st := sched.Stage{Count: len(j.Tasks)}
		for _, p := range j.Tasks {
			st.Sizes = append(st.Sizes, size.Exact(float(p)))
		}
		in.Jobs = append(in.Jobs, sched.Job{
			Weight: float(j.Weight), Release: sched.FromSeconds(float(j.Release)),
			After: j.After, Stages: []sched.Stage{st},
		})
	}
	return in
}

// weights sums the jobs' weights; for tolerances.
func weights(in *sched.Instance) float64 {
	w := 0.0
	for _, j := range in.Jobs {
		w += j.Weight
	}
	return w
}

// TestPaperRelaxation: the bound is within 1e-6 of the exact optimum of (S1)–(S4),
// never above; the gap comes from a separate primal value, never below.
func TestPaperRelaxation(t *testing.T) {
	for _, e := range examples(t) {
		in := e.instance(t)
		want := number(t, e.LP)
		if v, _ := relaxExactly(in).solve(t); v.Cmp(want) != 0 {
			t.Errorf("%s: the rational simplex gives %v, want %v", e.Name, v, want)
		}
		r, err := newProblem(t, in).Relax(queyranne.Options{Tolerance: 5e-7})
		if err != nil {
			t.Fatal(err)
		}
		x, _ := want.Float64()
		if rat(r.Lower).Cmp(want) > 0 || r.Lower < x*(1-1e-6) {
			t.Errorf("%s: bound %v, exact %v", e.Name, r.Lower, x)
		}
		if r.Primal < x*(1-1e-12) || r.Primal > x*(1+1e-6) {
			t.Errorf("%s: primal %v, exact %v", e.Name, r.Primal, x)
		}
		if gap := (r.Primal - r.Lower) / r.Primal; math.Abs(gap-r.Gap) > 1e-15 || r.Status != queyranne.Optimal {
			t.Errorf("%s: %v, gap %v, should be %v", e.Name, r.Status, r.Gap, gap)
		}
	}
}

// TestPaperBeatsHeadsAndTails: on S3, S5 and S7 the bound exceeds the longest-path
// bound by what the exact values say.
func TestPaperBeatsHeadsAndTails(t *testing.T) {
	for _, e := range examples(t) {
		in := e.instance(t)
		r, err := newProblem(t, in).Relax(queyranne.Options{Tolerance: 5e-7})
		if err != nil {
			t.Fatal(err)
		}
		trivial, _ := relaxExactly(in).trivial().Float64()
		exact, _ := number(t, e.LP).Float64()
		if r.Lower-trivial < (exact-trivial)-1e-6*exact {
			t.Errorf("%s: bound %v, heads and tails %v, exact %v", e.Name, r.Lower, trivial, exact)
		}
		switch e.Name {
		case "S3", "S5", "S7":
			if exact < 1.02*trivial {
				t.Errorf("%s: exact %v is hardly more than heads and tails %v", e.Name, exact, trivial)
			}
		}
	}
}

// solutionInOrder returns an optimal solution of the relaxation in which the jobs
// complete in the given order, as far apart as possible.
func solutionInOrder(t *testing.T, in *sched.Instance, order []int32) []float64 {
	t.Helper()
	r := relaxExactly(in)
	opt, _ := r.solve(t)
	n := len(r.cost)
	p := &exact.Problem{Cost: make([]*big.Rat, n+1)} // the last variable is the distance
	for k := range p.Cost {
		p.Cost[k] = new(big.Rat)
	}
	p.Cost[n].SetInt64(-1)
	one, minus := big.NewRat(1, 1), big.NewRat(-1, 1)
	for i, row := range r.rows {
		p.Add(append(slices.Clone(row), nil), lp.GreaterEqual, r.bound[i])
	}
	p.Add(append(slices.Clone(r.cost), nil), lp.LessEqual, opt)
	for k := 1; k < len(order); k++ {
		row := make([]*big.Rat, n+1)
		row[order[k]], row[order[k-1]], row[n] = one, minus, minus
		p.Add(row, lp.GreaterEqual, new(big.Rat))
	}
	row := make([]*big.Rat, n+1)
	row[n] = one
	p.Add(row, lp.LessEqual, one)
	s := exact.Solve(p)
	if s.Status != exact.Optimal {
		t.Fatalf("no optimal solution has the order %v: %v", order, s.Status)
	}
	c := make([]float64, len(order))
	for j := range c {
		c[j], _ = s.Primal[j].Float64()
	}
	return c
}

// TestPaperAlgorithm1: fed an optimal solution of the relaxation, list placement
// reproduces order, completion times and cost; brute force reproduces the optimum.
func TestPaperAlgorithm1(t *testing.T) {
	for _, e := range examples(t) {
		in := e.instance(t)
		p := newProblem(t, in)
		order := p.Order(solutionInOrder(t, in, e.Order))
		if !slices.Equal(order, e.Order) {
			t.Errorf("%s: order %v, want %v", e.Name, order, e.Order)
		}
		plan, err := p.List(order, 0)
		if err != nil {
			t.Fatal(err)
		}
		verify(t, in, plan)
		for j, c := range e.Completion {
			want, _ := number(t, c).Float64()
			if plan.Schedule.Completion[j] != sched.FromSeconds(want) {
				t.Errorf("%s: job %d completes at %v, want %v", e.Name, j, plan.Schedule.Completion[j], want)
			}
		}
		if want, _ := number(t, e.Cost).Float64(); math.Abs(plan.Cost-want) > 1e-9*want {
			t.Errorf("%s: cost %v, want %v", e.Name, plan.Cost, want)
		}
		want, _ := number(t, e.Optimum).Float64()
		if got := float64(bruteForce(in, math.MaxInt64)) / 1e9; math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s: optimum %v by brute force, want %v", e.Name, got, want)
		}
	}
}

// TestPitfallReadyTimeInsideTheMinimum: jobs [100] → [1] on speeds 100 and 1. The
// second task is ready at 1, when the fast machine becomes free. A rule that looks
// at F_l + p/v_l alone sees the slow machine free since 0 and takes it: cost 201.
func TestPitfallReadyTimeInsideTheMinimum(t *testing.T) {
	in := &sched.Instance{
		Machines: []sched.Machine{
			{Name: "fast", Speed: 100, Slots: 1, Port: math.Inf(1)},
			{Name: "slow", Speed: 1, Slots: 1, Port: math.Inf(1)},
		},
		Jobs: []sched.Job{
			{Weight: 1, Stages: []sched.Stage{{Count: 1, Sizes: []size.Dist{size.Exact(100)}}}},
			{Weight: 100, After: []sched.JobID{0}, Stages: []sched.Stage{{Count: 1, Sizes: []size.Dist{size.Exact(1)}}}},
		},
	}
	plan, err := newProblem(t, in).List([]int32{0, 1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Cost != 102 || bruteForce(in, math.MaxInt64) != 102e9 {
		t.Errorf("cost %v, optimum %v; want 102", plan.Cost, bruteForce(in, math.MaxInt64))
	}
}
