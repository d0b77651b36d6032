package dag_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	algo "github.com/fairlead-project/fairlead/algo/dag"
	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/policy/dag"
	"github.com/fairlead-project/fairlead/policy/policytest"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
	"github.com/fairlead-project/fairlead/size"
)

var (
	offline = policy.Knowledge{Sizes: policy.SizesDistribution, Arrivals: policy.Offline}
	online  = policy.Knowledge{Sizes: policy.SizesDistribution, Arrivals: policy.Online}
	blind   = policy.Knowledge{}
)

// simulate is the simulator that spc plans with.
func simulate(in *sched.Instance, z *sched.Sizes, p policy.Policy, stop func() bool) (*sched.Schedule, error) {
	r, err := sim.Run(sim.Config{Instance: in, Policy: p, Knowledge: offline, Sizes: z, Estimates: z, Stop: stop})
	if err != nil {
		return nil, err
	}
	return &r.Schedule, nil
}

func spc(t *testing.T, p dag.SPCParams) policy.Policy {
	t.Helper()
	pol, err := dag.NewSPC(p, simulate)
	if err != nil {
		t.Fatal(err)
	}
	return pol
}

// machines returns one-slot machines of the given speeds.
func machines(speeds ...float64) []sched.Machine {
	out := make([]sched.Machine, len(speeds))
	for i, v := range speeds {
		out[i] = sched.Machine{Name: fmt.Sprint("m", i), Speed: v, Slots: 1, Port: math.Inf(1)}
	}
	return out
}

// job has one stage with tasks of the given sizes.
func job(name string, weight float64, release sched.Time, sizes ...float64) sched.Job {
	st := sched.Stage{Name: "s", Count: len(sizes)}
	for _, p := range sizes {
		st.Sizes = append(st.Sizes, size.Exact(p))
	}
	return sched.Job{Name: name, Weight: weight, Release: release, Stages: []sched.Stage{st}}
}

func run(t *testing.T, c sim.Config) *sim.Result {
	t.Helper()
	r, err := sim.Run(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func completions(r *sim.Result) []float64 {
	out := make([]float64, len(r.Schedule.Completion))
	for j, c := range r.Schedule.Completion {
		out[j] = math.Round(c.Seconds()*1e6) / 1e6
	}
	return out
}

// With exact sizes, keeping the queues of Algorithm 1 gives its schedule, to the
// nanosecond: what is planned is what runs.
func TestPlainFollowsThePlan(t *testing.T) {
	for seed := range uint64(800) {
		random := policytest.Random
		if seed%2 == 1 {
			random = policytest.RandomTies
		}
		in := random(rand.New(rand.NewPCG(seed, 5)))
		for j := range in.Jobs { // queues keep slots, not the times at which needs are free
			for s := range in.Jobs[j].Stages {
				in.Jobs[j].Stages[s].Needs = nil
			}
		}
		x := sched.NewIndex(in)
		z, err := sim.Realise(x, seed)
		if err != nil {
			t.Fatal(err)
		}
		p, err := algo.NewProblem(x, z, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, subset := range []bool{false, true} {
			r := run(t, sim.Config{
				Instance: in, Policy: spc(t, dag.SPCParams{Plain: true, Subset: subset}), Knowledge: offline, Sizes: z,
			})
			place := func(order []int32) (*algo.Plan, error) { return p.List(order, 0) }
			if subset {
				place = p.Best
			}
			plan, err := place(nodes(p, r.Solution.Order))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(r.Schedule.Tasks, plan.Schedule.Tasks) {
				t.Fatalf("seed %d, subset %v: simulated\n%v\nplanned\n%v", seed, subset, r.Schedule.Tasks, plan.Schedule.Tasks)
			}
			if !slices.Equal(r.Schedule.Completion, plan.Schedule.Completion) {
				t.Fatalf("seed %d, subset %v: completions differ", seed, subset)
			}
		}
	}
}

// nodes returns the nodes of p in the given order of stages, a sink as soon as the
// stages before it have come.
func nodes(p *algo.Problem, stages []sched.StageID) []int32 {
	waits := make([]int, len(p.Nodes))
	for _, a := range p.Arcs {
		if p.Nodes[a.To].Stage == sched.None {
			waits[a.To]++
		}
	}
	var order []int32
	for _, s := range stages {
		i := int32(slices.IndexFunc(p.Nodes, func(n algo.Node) bool { return n.Stage == s }))
		order = append(order, i)
		for _, a := range p.Arcs {
			if a.From == i && p.Nodes[a.To].Stage == sched.None {
				if waits[a.To]--; waits[a.To] == 0 {
					order = append(order, a.To)
				}
			}
		}
	}
	return order
}

// A task that must wait anyway waits for the fast machine: 102, not 201.
func TestDispatchWaitsForTheFastMachine(t *testing.T) {
	in := &sched.Instance{Machines: machines(100, 1), Jobs: []sched.Job{job("a", 1, 0, 100), job("b", 100, 0, 1)}}
	in.Jobs[1].After = []sched.JobID{0}
	for name, p := range map[string]policy.Policy{"spc": spc(t, dag.SPCParams{}), "plain": spc(t, dag.SPCParams{Plain: true})} {
		r := run(t, sim.Config{Instance: in, Policy: p, Knowledge: offline})
		cost := r.Schedule.Completion[0].Seconds() + 100*r.Schedule.Completion[1].Seconds()
		if math.Abs(cost-102) > 1e-6 {
			t.Errorf("%s costs %v, want 102", name, cost)
		}
	}
	// The same with both ready from the start: b waits for m0 (done at 1.01)
	// rather than take the idle m1 (done at 1 s: earlier!), c has to.
	in = &sched.Instance{Machines: machines(10, 1), Jobs: []sched.Job{job("a", 3, 0, 10), job("b", 2, 0, 5), job("c", 1, 0, 0.9)}}
	r := run(t, sim.Config{Instance: in, Policy: dag.NewWSPT(), Knowledge: online})
	// wspt: c (1/0.9) first on m0 until 0.09; b (0.4) waits for it and ends at
	// 0.59; a (0.3) after b, at 1.59. m1 stays idle: it would take 5 s or more.
	if got, want := completions(r), []float64{1.59, 0.59, 0.09}; !slices.Equal(got, want) {
		t.Errorf("completions %v, want %v", got, want)
	}
}

// fifo does not reserve: a task that fits goes ahead of one that does not.
func TestFIFODoesNotReserve(t *testing.T) {
	in := &sched.Instance{
		Resources: []string{"memory"},
		Machines:  []sched.Machine{{Name: "m", Speed: 1, Slots: 4, Capacity: []int64{4000}, Port: math.Inf(1)}},
		Jobs:      []sched.Job{job("running", 1, 0, 2), job("big", 1, 0, 4), job("long", 1, 0, 10), job("short", 1, 0, 2)},
	}
	for j, n := range []int64{3000, 4000, 1000, 1000} {
		in.Jobs[j].Stages[0].Needs = []int64{n}
	}
	r := run(t, sim.Config{Instance: in, Policy: dag.NewFIFO(), Knowledge: blind})
	if got, want := completions(r), []float64{2, 14, 10, 4}; !slices.Equal(got, want) {
		t.Errorf("completions %v, want %v", got, want)
	}
}

// With plain=true a machine that is lost for good takes no task with it.
func TestPlainSurvivesALostMachine(t *testing.T) {
	in := &sched.Instance{Machines: machines(1, 1), Jobs: []sched.Job{job("a", 1, 0, 3, 3, 3, 3)}}
	r := run(t, sim.Config{
		Instance: in, Policy: spc(t, dag.SPCParams{Plain: true}), Knowledge: offline,
		Outages: []sim.Outage{{At: sched.Second, Machine: 1}},
	})
	if got := completions(r)[0]; got != 12 {
		t.Errorf("completes at %v, want 12: all four tasks on the machine that is left", got)
	}
}

// fifo: order of release, fastest idle machine, and nobody waits for a task that
// does not fit.
func TestFIFOByHand(t *testing.T) {
	in := &sched.Instance{Machines: machines(1, 2), Jobs: []sched.Job{
		job("late", 9, sched.Second, 4), job("first", 1, 0, 4), job("second", 1, 0, 4), job("pinned", 1, 0, 1),
	}}
	in.Jobs[2].Stages[0].Machines = []sched.MachineID{1}
	r := run(t, sim.Config{Instance: in, Policy: dag.NewFIFO(), Knowledge: blind})
	// first on m1 [0,2), second must wait for m1 [2,4), pinned on m0 [0,1), late
	// on m0 [1,5).
	if got, want := completions(r), []float64{5, 2, 4, 1}; !slices.Equal(got, want) {
		t.Errorf("completions %v, want %v", got, want)
	}
}

// wspt looks at the work that remains: a job that is nearly done overtakes.
func TestWSPTIsDynamic(t *testing.T) {
	in := &sched.Instance{Machines: machines(1), Jobs: []sched.Job{
		job("a", 1, 0, 1, 1, 1, 1), job("b", 1, sched.FromSeconds(2.5), 1.5),
	}}
	r := run(t, sim.Config{Instance: in, Policy: dag.NewWSPT(), Knowledge: online})
	// At 3, a has 1 left: 1/1 beats 1/1.5, although a's total is 4.
	if got, want := completions(r), []float64{4, 5.5}; !slices.Equal(got, want) {
		t.Errorf("completions %v, want %v", got, want)
	}
}

// Without a plan in time tasks start in Smith's order; the plan takes over when it
// comes.
func TestSlowSolveDoesNotStopTheWork(t *testing.T) {
	in := &sched.Instance{Machines: machines(1)}
	for i := range 6 {
		in.Jobs = append(in.Jobs, job(fmt.Sprint("j", i), float64(i+1), 0, 1))
	}
	// The last job waits for the lightest: the plan serves j0 early, Smith's
	// order of jobs serves it last.
	in.Jobs = append(in.Jobs, job("heavy", 1000, 0, 1))
	in.Jobs[6].After = []sched.JobID{0}
	var starts []string
	observe := func(now sched.Time, _ engine.Event, actions []engine.Action) error {
		for _, a := range actions {
			if a.Kind == engine.StartTask {
				starts = append(starts, fmt.Sprintf("%s@%v", in.Jobs[a.Task].Name, now.Seconds()))
			}
		}
		return nil
	}
	c := sim.Config{
		Instance: in, Policy: spc(t, dag.SPCParams{}), Knowledge: offline, Observe: observe,
		SolveTime: func(policy.Request) sched.Time { return sched.FromSeconds(2.5) },
	}
	if r := run(t, c); r.Stats.Fallbacks != 1 {
		t.Errorf("%d fallbacks counted, want 1", r.Stats.Fallbacks)
	}
	want := "j5@1 j4@2 j0@3 heavy@4 j3@5 j2@6 j1@7"
	if got := strings.Join(starts, " "); got != want {
		t.Errorf("starts %s, want %s", got, want)
	}
	starts, c.SolveTime = nil, nil
	c.Policy = spc(t, dag.SPCParams{})
	run(t, c)
	want = "j0@0 heavy@1 j5@2 j4@3 j3@4 j2@5 j1@6"
	if got := strings.Join(starts, " "); got != want {
		t.Errorf("with a quick solve: starts %s, want %s", got, want)
	}
}

// A solve that is interrupted at once still gives a usable order.
func TestInterruptedSolve(t *testing.T) {
	in := policytest.Random(rand.New(rand.NewPCG(1, 2)))
	x := sched.NewIndex(in)
	z, err := sim.Realise(x, 1)
	if err != nil {
		t.Fatal(err)
	}
	problem, err := algo.NewProblem(x, z, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, ok := spc(t, dag.SPCParams{Plain: true}).(policy.Solver)
	if !ok {
		t.Fatal("spc is no Solver")
	}
	sol, err := s.Solve(policy.Request{ID: 7, Problem: problem}, func() bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	if !sol.Fallback || sol.Note == "" {
		t.Errorf("an interrupted solve does not say so: %+v", sol)
	}
	if sol.ID != 7 || len(sol.Order) != x.Stages() || sol.Lower > sol.Upper {
		t.Errorf("solution %+v", sol)
	}
}

// Tasks that take longer than estimated do not make a machine look free.
func TestOverdueTasks(t *testing.T) {
	in := &sched.Instance{Machines: machines(2, 1), Jobs: []sched.Job{job("a", 10, 0, 2), job("b", 1, sched.FromSeconds(1.1), 1)}}
	x := sched.NewIndex(in)
	est, _ := sim.Means(x)
	real := sched.NewSizes(x)
	real.SetAll(0, 200) // 100 s instead of 1
	real.SetAll(1, 1)
	r := run(t, sim.Config{Instance: in, Policy: dag.NewWSPT(), Knowledge: online, Sizes: real, Estimates: est})
	// At 1.1 the fast machine is overdue and expected to take a quarter of its
	// age more, until 1.375: b would end there at 1.875, on the slow one at 2.1,
	// so it waits. So again at 1.375 and at 1.71875; at 2.1484375 the slow one
	// is better.
	if got, want := completions(r)[1], 3.1484375; math.Abs(got-want) > 1e-6 {
		t.Errorf("b completes at %v, want %v", got, want)
	}
}

func TestSPCParams(t *testing.T) {
	minus := -1.0
	for want, p := range map[string]dag.SPCParams{
		"tolerance":  {Tolerance: 2},
		"iterations": {Iterations: -1},
		"subset":     {Subset: true},
		"patience":   {Patience: &minus},
	} {
		if _, err := dag.NewSPC(p, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v does not speak of %s", p, err, want)
		}
	}
}

// What a policy needs to know and does not is an error that says so.
func TestMissingKnowledge(t *testing.T) {
	in := &sched.Instance{Machines: machines(1), Jobs: []sched.Job{job("a", 1, 0, 1)}}
	for want, c := range map[string]sim.Config{
		"offline arrivals": {Policy: spc(t, dag.SPCParams{}), Knowledge: online},
		"needs to know":    {Policy: spc(t, dag.SPCParams{}), Knowledge: policy.Knowledge{Arrivals: policy.Offline}},
		"has no size":      {Policy: dag.NewWSPT(), Knowledge: blind},
	} {
		c.Instance = in
		if _, err := sim.Run(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}
