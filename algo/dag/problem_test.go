package dag

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-project/fairlead/opt/queyranne"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// mixed has a job with two last stages, a job after it, and one after both.
func mixed() *sched.Instance {
	one := []size.Dist{size.Exact(1)}
	return &sched.Instance{
		Machines: []sched.Machine{
			{Name: "slow", Speed: 1, Slots: 2, Port: math.Inf(1)},
			{Name: "none", Speed: 9, Slots: 0, Port: math.Inf(1)},
			{Name: "fast", Speed: 4, Slots: 2, Port: math.Inf(1)},
			{Name: "too", Speed: 1, Slots: 1, Port: math.Inf(1)},
		},
		Jobs: []sched.Job{
			{Name: "a", Weight: 3, Release: sched.Second, Stages: []sched.Stage{
				{Name: "r", Count: 1, Sizes: one, After: []int{1, 1}},
				{Name: "m", Count: 3, Sizes: one},
				{Name: "s", Count: 2, Sizes: []size.Dist{size.Exact(2), size.Exact(3)}, After: []int{1}},
			}},
			{Name: "b", Weight: 1, After: []sched.JobID{0}, Stages: []sched.Stage{{Name: "x", Count: 1, Sizes: one}, {Name: "y", Count: 9, Sizes: one, After: []int{0}}}},
			{Name: "c", Weight: 2, After: []sched.JobID{1, 0, 1}, Stages: []sched.Stage{{Name: "z", Count: 1, Sizes: one}}},
		},
	}
}

func TestProblem(t *testing.T) {
	p := newProblem(t, mixed())
	if want := []Unit{{2, 0}, {2, 1}, {0, 0}, {0, 1}, {3, 0}}; !slices.Equal(p.Units, want) {
		t.Errorf("units %v, want %v", p.Units, want)
	}
	if want := []float64{0, 4, 8, 9, 10, 11}; !slices.Equal(p.v, want) {
		t.Errorf("speeds %v, want %v", p.v, want)
	}
	s := sched.Second
	want := []Node{
		{0, 0, 0, s, 1, 1, 1},
		{0, 1, 0, s, 3, 3, 1},
		{0, 2, 0, s, 2, 5, 3},
		{0, sched.None, 3, s, 0, 0, 0},
		{1, 3, 0, 0, 1, 1, 1},
		{1, 4, 1, 0, 9, 9, 1},
		{2, 5, 2, 0, 1, 1, 1},
	}
	if !slices.Equal(p.Nodes, want) {
		t.Errorf("nodes %v, want %v", p.Nodes, want)
	}
	arcs := []queyranne.Arc{{From: 1, To: 0}, {From: 1, To: 2}, {From: 0, To: 3}, {From: 2, To: 3}, {From: 3, To: 4}, {From: 4, To: 5}, {From: 3, To: 6}, {From: 5, To: 6}}
	if !slices.Equal(p.Arcs, arcs) {
		t.Errorf("arcs %v, want %v", p.Arcs, arcs)
	}
	for i, name := range []string{"a/r", "a/m", "a/s", "a", "b/x", "b/y", "c/z"} {
		if p.Name(int32(i)) != name {
			t.Errorf("node %d is %s, want %s", i, p.Name(int32(i)), name)
		}
	}
	// h: p/μ_j = 5/8 < 3/4 = p_1/v_1 for a/s; 9/11 for b/y, which can use all units.
	for i, h := range []float64{0.25, 1.0 / 3, 0.75, 0, 0.25, 9.0 / 11, 0.25} {
		if got := p.head(p.Nodes[i]); math.Abs(got-h) > 1e-15 {
			t.Errorf("head of %s is %v, want %v", p.Name(int32(i)), got, h)
		}
	}
	if order := p.Order(make([]float64, 7)); !slices.Equal(order, []int32{1, 0, 2, 3, 4, 5, 6}) {
		t.Errorf("order of ties: %v", order)
	}
}

// TestSomeJobs: arcs from jobs that are left out are dropped, and their completion
// is not planned.
func TestSomeJobs(t *testing.T) {
	in := mixed()
	x := sched.NewIndex(in)
	p, err := NewProblem(x, sizesOf(x), []sched.JobID{2, 1})
	if err != nil {
		t.Fatal(err)
	}
	arcs := []queyranne.Arc{{From: 2, To: 0}, {From: 1, To: 2}}
	if len(p.Nodes) != 3 || !slices.Equal(p.Arcs, arcs) {
		t.Errorf("nodes %v, arcs %v, want arcs %v", p.Nodes, p.Arcs, arcs)
	}
	plan, err := p.List([]int32{1, 2, 0}, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := plan.Schedule.Completion
	if len(plan.Schedule.Tasks) != 11 || c[0] != sched.Never || c[1] >= c[2] || plan.Cost != c[1].Seconds()+2*c[2].Seconds() {
		t.Errorf("%d tasks, completion %v, cost %v", len(plan.Schedule.Tasks), c, plan.Cost)
	}
	if _, err := p.List([]int32{0, 1, 2}, 0); err == nil || !strings.Contains(err.Error(), "c/z before b/y") {
		t.Errorf("an order against precedence: %v", err)
	}
	for _, order := range [][]int32{{1, 2}, {1, 1, 2}, {1, 2, 7}, {1, 2, -1}} {
		if _, err := p.List(order, 0); !errors.Is(err, ErrProblem) {
			t.Errorf("order %v: %v", order, err)
		}
	}
	if _, err := p.List([]int32{1, 2, 0}, 6); !errors.Is(err, ErrProblem) {
		t.Errorf("6 of 5 units: %v", err)
	}
}

func TestRefused(t *testing.T) {
	for want, spoil := range map[string]func(*sched.Instance){
		"size of stage b/x is unknown":   func(in *sched.Instance) { in.Jobs[1].Stages[0].Sizes = nil },
		"no machine has a slot":          func(in *sched.Instance) { in.Machines = in.Machines[1:2] },
		"stage a/m is a transfer":        func(in *sched.Instance) { in.Jobs[0].Stages[1].Flows = []sched.Flow{{To: 2}} },
		"stage a/m shares rates":         func(in *sched.Instance) { in.Jobs[0].Stages[1].Fluid = &sched.Fluid{MaxRate: 1} },
		"wait for each other in a cycle": func(in *sched.Instance) { in.Jobs[0].After = []sched.JobID{2} },
		"a/r reads input from a/s": func(in *sched.Instance) {
			in.Jobs[0].Stages[0].Input = []sched.Input{{From: 2, Bytes: 1}}
		},
	} {
		in := mixed()
		spoil(in)
		x := sched.NewIndex(in)
		_, err := NewProblem(x, sizesOf(x), nil)
		if !errors.Is(err, ErrProblem) || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

// TestInputThroughAnotherStage: input may come from any earlier stage.
func TestInputThroughAnotherStage(t *testing.T) {
	in := mixed()
	for m := range in.Machines {
		in.Machines[m].Port = 1e6
	}
	in.Jobs[0].Stages = append(in.Jobs[0].Stages, sched.Stage{
		Name: "last", Count: 2, Sizes: []size.Dist{size.Exact(1)}, After: []int{0},
		Input: []sched.Input{{From: 1, Bytes: 6e6}},
	})
	p := newProblem(t, in)
	plan, err := p.List(p.Order(make([]float64, len(p.Nodes))), 0)
	if err != nil {
		t.Fatal(err)
	}
	verify(t, in, plan)
	if _, ok := p.Published(); ok {
		t.Error("input takes time, but there is a ratio")
	}
}

func TestLimitsOfTime(t *testing.T) {
	in := mixed()
	in.Jobs[0].Stages[1].Sizes = []size.Dist{size.Exact(1e12)}
	x := sched.NewIndex(in)
	p, err := NewProblem(x, sizesOf(x), nil) // not a valid instance: times overflow
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Best(p.Order(make([]float64, 7))); !errors.Is(err, ErrProblem) || !strings.Contains(err.Error(), "a/m would run past the end of time") {
		t.Errorf("got %v", err)
	}
	in.Jobs[0].Weight = 1e200
	if _, err := newProblemUnchecked(in).Relax(queyranne.Options{}); !errors.Is(err, queyranne.ErrProblem) {
		t.Errorf("a weight of 1e200: %v", err)
	}
}

func newProblemUnchecked(in *sched.Instance) *Problem {
	x := sched.NewIndex(in)
	p, err := NewProblem(x, sizesOf(x), nil)
	if err != nil {
		panic(err)
	}
	return p
}

// TestNothingToDo: stages of size zero, no weight.
func TestNothingToDo(t *testing.T) {
	in := mixed()
	for j := range in.Jobs {
		in.Jobs[j].Weight *= 0
		for s := range in.Jobs[j].Stages {
			in.Jobs[j].Stages[s].Sizes = []size.Dist{size.Exact(0)}
		}
	}
	for _, weight := range []float64{0, 1} {
		in.Jobs[2].Weight = weight
		p := newProblem(t, in)
		r, err := p.Relax(queyranne.Options{})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := p.Best(p.Order(r.C))
		if err != nil {
			t.Fatal(err)
		}
		verify(t, in, plan)
		ratio, ok := r.Guarantee()
		if plan.Cost != weight || !ok || plan.Cost > ratio*r.Lower*(1+1e-12) {
			t.Errorf("weight %v: cost %v, guarantee %v (%v), bound %v", weight, plan.Cost, ratio, ok, r.Lower)
		}
		if r, ok := p.Published(); r != 2*(1+4)+1 || !ok {
			t.Errorf("published ratio %v (%v)", r, ok)
		}
	}
}

func TestModelIsRefusedWhenLarge(t *testing.T) {
	for stages, ok := range map[int]bool{200: true, 2002: false} {
		r, err := wide(stages*50, 4).Relax(queyranne.Options{MaxIterations: 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Model(); (err == nil) != ok || !ok && !strings.Contains(err.Error(), "the limit is 2000") {
			t.Errorf("%d stages: %v", stages, err)
		}
	}
}

func TestSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	var s sum
	exact := new(big.Rat)
	for range 20_000 {
		x := math.Exp(20 * rng.NormFloat64())
		s.add(x)
		exact.Add(exact, rat(x))
	}
	if x, _ := exact.Float64(); math.Abs(s.value()-x) > 0x1p-52*x {
		t.Errorf("sum %v, exactly %v", s.value(), x)
	}
}

func TestSameInputSamePlan(t *testing.T) {
	var plans []*Plan
	for range 2 {
		p := wide(2000, 10)
		r, err := p.Relax(queyranne.Options{MaxIterations: 100})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := p.Best(p.Order(r.C))
		if err != nil {
			t.Fatal(err)
		}
		plans = append(plans, plan)
	}
	if !reflect.DeepEqual(plans[0], plans[1]) {
		t.Error("two plans differ")
	}
}
