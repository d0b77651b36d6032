package dag_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	algo "github.com/fairlead-project/fairlead/algo/dag"
	"github.com/fairlead-project/fairlead/opt/queyranne"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/policy/dag"
	"github.com/fairlead-project/fairlead/policy/policytest"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
	"github.com/fairlead-project/fairlead/size"
)

var exact = policy.Knowledge{Sizes: policy.SizesExact, Arrivals: policy.Offline}

// cost is Σ w_j C_j in seconds.
func cost(in *sched.Instance, r *sim.Result) float64 {
	sum := 0.0
	for j, c := range r.Schedule.Completion {
		sum += in.Jobs[j].Weight * c.Seconds()
	}
	return sum
}

// With exact sizes spc costs no more than the paper's own plan and than wspt, with
// needs, pins, input and ties as well; and every kind of candidate is the best somewhere.
func TestSPCIsNeverWorse(t *testing.T) {
	rules := map[string]int{}
	better := 0
	for seed := range uint64(300) {
		random := policytest.Random
		if seed%2 == 1 {
			random = policytest.RandomTies
		}
		in := random(rand.New(rand.NewPCG(seed, 6)))
		r := run(t, sim.Config{Instance: in, Policy: spc(t, dag.SPCParams{}), Knowledge: exact, Seed: seed})
		rules[r.Solution.Rule]++
		mine := cost(in, r)
		for name, p := range map[string]policy.Policy{"plain": spc(t, dag.SPCParams{Plain: true}), "wspt": dag.NewWSPT()} {
			other := cost(in, run(t, sim.Config{Instance: in, Policy: p, Knowledge: exact, Seed: seed}))
			if mine > other*(1+1e-12) {
				t.Errorf("seed %d: spc costs %v, %s %v", seed, mine, name, other)
			}
			if mine < other*(1-1e-9) {
				better++
			}
		}
	}
	t.Log(rules)
	for _, rule := range []string{"order", "near", "wspt", "plan"} {
		if rules[rule] == 0 {
			t.Errorf("the rule %q never won: %v", rule, rules)
		}
	}
	if better < 150 {
		t.Errorf("spc was better than another in %d of 600 cases only", better)
	}
}

// A plan is kept as long as all goes as planned. Once a task is late, dispatch takes
// over: what waits behind it goes elsewhere.
func TestPlanIsLeftWhenATaskIsLate(t *testing.T) {
	in := &sched.Instance{Machines: machines(1, 1), Jobs: []sched.Job{job("a", 1, 0, 5, 5, 5, 5)}}
	x := sched.NewIndex(in)
	est, err := sim.Means(x)
	if err != nil {
		t.Fatal(err)
	}
	queues := [][]sched.TaskID{{0, 2}, {1, 3}}
	for _, c := range []struct {
		name string
		real []float64
		want float64
	}{
		{"as planned", []float64{5, 5, 5, 5}, 10},
		// Task 2 is bound to the slot of task 0, which takes 100: it runs elsewhere.
		{"late", []float64{100, 5, 5, 5}, 100},
		{"early", []float64{1, 5, 5, 5}, 10},
	} {
		real := sched.NewSizes(x)
		real.SetEach(0, c.real)
		var others sched.Time
		p := dag.Followed(&policy.Solution{Rule: "plan", Order: []sched.StageID{0}, Queues: queues})
		r := run(t, sim.Config{Instance: in, Policy: p, Knowledge: offline, Sizes: real, Estimates: est})
		for _, pl := range r.Schedule.Tasks {
			if pl.Task != 0 {
				others = max(others, pl.Finish)
			}
		}
		if got := completions(r)[0]; got != c.want {
			t.Errorf("%s: ends at %v, want %v", c.name, got, c.want)
		}
		if c.name == "late" && others > sched.FromSeconds(21) {
			t.Errorf("the last of the others ends at %v: they waited for the late one", others)
		}
	}
}

// A plan of slots that comes late is not kept to: its tasks have begun elsewhere, and a slot
// would wait for one that runs in another.
func TestLatePlanIsDispatched(t *testing.T) {
	in := &sched.Instance{Machines: machines(1, 1), Jobs: []sched.Job{job("a", 1, 0, 9, 2, 8, 3, 4, 4)}}
	x := sched.NewIndex(in)
	z, err := sim.Means(x)
	if err != nil {
		t.Fatal(err)
	}
	// The plan has task 0 last on m0; when it comes, that task runs on m0 or m1.
	plan := &policy.Solution{ID: 1, Rule: "plan", Order: []sched.StageID{0}, Queues: [][]sched.TaskID{{1, 3, 4, 0}, {5, 2}}}
	p := &latePlan{spc(t, dag.SPCParams{}), plan}
	r := run(t, sim.Config{
		Instance: in, Policy: p, Knowledge: offline, Sizes: z,
		SolveTime: func(policy.Request) sched.Time { return sched.FromSeconds(1.5) },
	})
	// From 1 s on, the longest first: 9 and 4, 8 and 4, ... 30 s of work on two machines.
	if got := completions(r)[0]; got > 18 {
		t.Errorf("ends at %v: slots waited", got)
	}
}

// latePlan solves to what it is told.
type latePlan struct {
	policy.Policy
	plan *policy.Solution
}

func (p *latePlan) Solve(policy.Request, func() bool) (*policy.Solution, error) { return p.plan, nil }

// A simulation that fails is no reason not to serve what is there.
func TestSimulatorThatFails(t *testing.T) {
	broken := func(*sched.Instance, *sched.Sizes, policy.Policy, func() bool) (*sched.Schedule, error) {
		return nil, errBroken
	}
	in := policytest.Random(rand.New(rand.NewPCG(3, 4)))
	offlinePolicy, err := dag.NewSPC(dag.SPCParams{}, broken)
	if err != nil {
		t.Fatal(err)
	}
	onlinePolicy, err := dag.NewSPCOnline(dag.OnlineParams{}, broken)
	if err != nil {
		t.Fatal(err)
	}
	for k, p := range map[policy.Arrivals]policy.Policy{policy.Offline: offlinePolicy, policy.Online: onlinePolicy} {
		r := run(t, sim.Config{Instance: in, Policy: p, Knowledge: policy.Knowledge{Sizes: policy.SizesDistribution, Arrivals: k}})
		if !strings.Contains(r.Solution.Note, errBroken.Error()) {
			t.Errorf("the solution does not say why nothing was compared: %+v", r.Solution)
		}
		for j, s := range r.States {
			if s != policy.JobDone {
				t.Errorf("job %d ends as %v", j, s)
			}
		}
	}
}

var errBroken = errors.New("the simulator is broken")

// A family on which input decides: n jobs map on slow machines, where their data lies,
// and reduce what is then to be sent to any other machine. Reduce tasks seem to finish
// first on the fast machine; counting in the transfer, where the data is. A plan that
// ignores input pays for it, the more the larger it is, and the bound holds for both.
func TestAccountingForInput(t *testing.T) {
	const n, rate = 6, 1e8
	last := 1.0
	for _, bytes := range []float64{1e9, 3e9, 1e10, 1e11} {
		in := &sched.Instance{Machines: []sched.Machine{{Name: "fast", Speed: 2, Slots: n, Port: rate}}}
		for i := range n {
			in.Machines = append(in.Machines, sched.Machine{Name: fmt.Sprint("slow", i), Speed: 1, Slots: 1, Port: rate})
			j := job(fmt.Sprint("j", i), 1, 0, 10)
			j.Stages[0].Machines = []sched.MachineID{sched.MachineID(1 + i)}
			j.Stages = append(j.Stages, sched.Stage{
				Name: "reduce", Count: 1, Sizes: []size.Dist{size.Exact(8)}, After: []int{0},
				Input: []sched.Input{{From: 0, Bytes: bytes}},
			})
			in.Jobs = append(in.Jobs, j)
		}
		blind := *in // what a plan that ignores input sees
		blind.Jobs = nil
		for _, j := range in.Jobs {
			j.Stages = slices.Clone(j.Stages)
			j.Stages[1].Input = nil
			blind.Jobs = append(blind.Jobs, j)
		}
		costs := map[string]float64{}
		for name, seen := range map[string]*sched.Instance{"counted in": in, "ignored": &blind} {
			p := problem(t, seen)
			order := p.JobOrder(make([]float64, len(p.Nodes)))
			plan, err := p.Insert(order)
			if err != nil {
				t.Fatal(err)
			}
			r := run(t, sim.Config{Instance: in, Policy: dag.Followed(dag.Slotted(p, order, plan)), Knowledge: exact})
			costs[name] = cost(in, r)
			if seen == in && math.Abs(costs[name]-plan.Cost) > 1e-6 {
				t.Errorf("%v bytes: planned at %v, costs %v", bytes, plan.Cost, costs[name])
			}
		}
		costs["spc"] = cost(in, run(t, sim.Config{Instance: in, Policy: spc(t, dag.SPCParams{}), Knowledge: exact}))
		r, err := problem(t, in).RelaxStrong(queyranne.Options{Tolerance: 1e-6})
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range costs {
			if c < r.Lower {
				t.Errorf("%v bytes: %s costs %v, less than the bound %v", bytes, name, c, r.Lower)
			}
		}
		ratio := costs["ignored"] / costs["counted in"]
		if ratio <= last*1.01 || costs["spc"] > costs["counted in"]+1e-6 {
			t.Errorf("%v bytes: %v", bytes, costs)
		}
		last = ratio
	}
}

func problem(t *testing.T, in *sched.Instance) *algo.Problem {
	t.Helper()
	x := sched.NewIndex(in)
	z, err := sim.Means(x)
	if err != nil {
		t.Fatal(err)
	}
	p, err := algo.NewProblem(x, z, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Moves are all possible ones, and can be undone.
func TestMoves(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for n := 2; n < 40; n++ {
		jobs := make([]sched.JobID, n)
		for i := range jobs {
			jobs[i] = sched.JobID(i)
		}
		start := slices.Clone(jobs)
		moved := map[int]bool{}
		for range 200 {
			from := rng.IntN(n)
			to := dag.Place(rng, from, n)
			if to < 0 || to >= n || to == from {
				t.Fatalf("from %d of %d to %d", from, n, to)
			}
			dag.Move(jobs, from, to)
			want := slices.Insert(slices.Delete(slices.Clone(start), from, from+1), to, start[from])
			if !slices.Equal(jobs, want) {
				t.Fatalf("%d to %d of %v: %v", from, to, start, jobs)
			}
			dag.Move(jobs, to, from)
			if !slices.Equal(jobs, start) {
				t.Fatalf("%d to %d and back: %v", from, to, jobs)
			}
			moved[to-from] = true
		}
		if !moved[1] || !moved[-1] {
			t.Errorf("of %d, neighbours are never swapped", n)
		}
	}
}
