package sim_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fairlead-project/fairlead/check"
	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/policy/dag"
	"github.com/fairlead-project/fairlead/policy/policytest"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
	"github.com/fairlead-project/fairlead/size"
)

func machine(name string, speed float64, slots int) sched.Machine {
	return sched.Machine{Name: name, Speed: speed, Slots: slots, Port: math.Inf(1)}
}

func sizes(p ...float64) []size.Dist {
	d := make([]size.Dist, len(p))
	for i := range p {
		d[i] = size.Exact(p[i])
	}
	return d
}

func stage(p ...float64) sched.Stage {
	return sched.Stage{Name: "s", Count: len(p), Sizes: sizes(p...)}
}

func after(st sched.Stage, a ...int) sched.Stage {
	st.After = a
	return st
}

func job(release float64, stages ...sched.Stage) sched.Job {
	return sched.Job{Name: "j", Weight: 1, Release: sched.FromSeconds(release), Stages: stages}
}

// run simulates and checks the schedule independently.
func run(t testing.TB, cfg sim.Config) *sim.Result {
	t.Helper()
	r, err := sim.Run(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := check.Schedule(cfg.Instance, r.Sizes, &r.Schedule, check.Options{}); err != nil {
		t.Fatal(err)
	}
	return r
}

// brief writes a schedule as task@machine:slot[start,finish) in seconds.
func brief(s *sched.Schedule) string {
	var b strings.Builder
	for _, p := range s.Tasks {
		fmt.Fprintf(&b, "%d@%d:%d[%v,%v) ", p.Task, p.Machine, p.Slot, p.Start.Seconds(), p.Finish.Seconds())
	}
	for _, c := range s.Completion {
		fmt.Fprintf(&b, "%s ", strconv.FormatFloat(c.Seconds(), 'f', -1, 64))
	}
	return strings.TrimSpace(b.String())
}

// Schedules worked out by hand.
func TestSchedulesByHand(t *testing.T) {
	slowFast := []sched.Machine{machine("slow", 1, 1), machine("fast", 2, 1)}
	ports := []sched.Machine{{Name: "a", Speed: 1, Slots: 1, Port: 10}, {Name: "b", Speed: 1, Slots: 1, Port: 5}}
	reader := after(stage(1, 1), 0)
	reader.Input = []sched.Input{{From: 0, Bytes: 80}}
	big := stage(4, 4)
	big.Needs = []int64{3000}
	small := stage(1, 1, 1)
	small.Needs = []int64{1000}
	for name, c := range map[string]struct {
		in   *sched.Instance
		cfg  sim.Config
		want string
	}{
		// At 2 s fast is free for the third task; y comes last.
		"speeds": {
			in:   &sched.Instance{Machines: slowFast, Jobs: []sched.Job{job(0, stage(4, 4, 4)), job(1, stage(2))}},
			want: "0@1:0[0,2) 1@0:0[0,4) 2@1:0[2,4) 3@1:0[4,5) 4 5",
		},
		"precedence, release, two slots": {
			in: &sched.Instance{Machines: []sched.Machine{machine("m", 1, 2)}, Jobs: []sched.Job{
				job(0, stage(3), after(stage(2), 0), after(stage(1), 0)), job(0.5, stage(1)),
			}},
			want: "0@0:0[0,3) 3@0:1[0.5,1.5) 1@0:0[3,5) 2@0:1[3,4) 5 1.5",
		},
		"nothing before the first release": {
			in:   &sched.Instance{Machines: slowFast, Jobs: []sched.Job{job(7, stage(2))}},
			want: "0@1:0[7,8) 8",
		},
		// Pairs: 2x2, 20 bytes each; a to b 4 s (the slower port), same machine 0.
		"input": {
			in:   &sched.Instance{Machines: ports, Jobs: []sched.Job{job(0, stage(1, 2), reader)}},
			want: "0@0:0[0,1) 1@1:0[0,2) 2@1:0[5,6) 3@0:0[6,7) 7",
		},
		// Memory 4: one big (3) and one small (1) at a time, though three slots.
		"needs": {
			in: &sched.Instance{
				Resources: []string{"memory"},
				Machines:  []sched.Machine{{Name: "m", Speed: 1, Slots: 3, Capacity: []int64{4000}, Port: 1}},
				Jobs:      []sched.Job{job(0, big), job(0, small)},
			},
			want: "0@0:0[0,4) 2@0:1[0,1) 3@0:1[1,2) 4@0:1[2,3) 1@0:0[4,8) 8 3",
		},
		// fast is down from 1 s to 3 s: its task is repeated there.
		"outage": {
			in:   &sched.Instance{Machines: slowFast, Jobs: []sched.Job{job(0, stage(4, 4))}},
			cfg:  sim.Config{Outages: []sim.Outage{{At: 3 * sched.Second, Machine: 1, Joins: true}, {At: sched.Second, Machine: 1}}},
			want: "1@0:0[0,4) 0@1:0[3,5) 5",
		},
		"first attempts fail": {
			in: &sched.Instance{Machines: slowFast, Jobs: []sched.Job{job(0, sched.Stage{
				Name: "s", Count: 2, Sizes: sizes(2), Retries: 1,
			})}},
			cfg:  sim.Config{Fails: func(_ sched.TaskID, attempt int32) bool { return attempt == 1 }},
			want: "0@1:0[1,2) 1@1:0[2,3) 3",
		},
		"sizes of no time at all": {
			in:   &sched.Instance{Machines: slowFast, Jobs: []sched.Job{job(0, stage(0, 0, 0), after(stage(0), 0)), job(0, stage(1))}},
			want: "0@1:0[0,0) 1@0:0[0,0) 2@1:0[0,0) 3@1:0[0,0) 4@0:0[0,1) 0 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.cfg.Instance, c.cfg.Policy = c.in, dag.NewFIFO()
			if got := brief(&run(t, c.cfg).Schedule); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// A job that fails has its good tasks in the schedule, and those alone.
func TestFailedAttemptsAreNotInTheSchedule(t *testing.T) {
	in := &sched.Instance{Machines: []sched.Machine{machine("m", 1, 2)}, Jobs: []sched.Job{job(0, stage(1, 3)), job(0, stage(1))}}
	in.Jobs[1].After = []sched.JobID{0}
	r := run(t, sim.Config{Instance: in, Policy: dag.NewFIFO(), Fails: func(t sched.TaskID, _ int32) bool { return t == 0 }})
	if got, want := brief(&r.Schedule), "1@0:1[0,3) 9223372036.854776 9223372036.854776"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !slices.Equal(r.States, []policy.JobState{policy.JobFailed, policy.JobNotRun}) {
		t.Errorf("states %v", r.States)
	}
}

func random(t testing.TB, seed uint64) *sched.Instance {
	in := policytest.Random(rand.New(rand.NewPCG(seed, 3)))
	d, err := size.NewLognormal(2, 0.7)
	if err != nil {
		t.Fatal(err)
	}
	for j := range in.Jobs {
		for s := range in.Jobs[j].Stages {
			if st := &in.Jobs[j].Stages[s]; s%2 == 0 {
				st.Sizes = []size.Dist{d}
			}
		}
	}
	return in
}

var policies = map[string]func() policy.Policy{"fifo": dag.NewFIFO, "random": dag.NewRandom, "wspt": dag.NewWSPT}

// Every policy meets the same sizes; another seed gives others; and what a seed
// gives it gives again, to the last bit.
func TestSizesComeFromTheSeedAlone(t *testing.T) {
	for seed := range uint64(60) {
		in := random(t, seed)
		exact := policy.Knowledge{Sizes: policy.SizesExact}
		results := map[string]*sim.Result{}
		for name, p := range policies {
			results[name] = run(t, sim.Config{Instance: in, Policy: p(), Knowledge: exact, Seed: seed})
			again := run(t, sim.Config{Instance: in, Policy: p(), Knowledge: exact, Seed: seed})
			if !reflect.DeepEqual(again, results[name]) {
				t.Errorf("seed %d: %s gives something else the second time", seed, name)
			}
		}
		for name, r := range results {
			if !reflect.DeepEqual(r.Sizes, results["fifo"].Sizes) {
				t.Errorf("seed %d: %s meets other sizes than fifo", seed, name)
			}
		}
		other := run(t, sim.Config{Instance: in, Policy: dag.NewFIFO(), Knowledge: exact, Seed: seed + 1})
		if reflect.DeepEqual(other.Sizes, results["fifo"].Sizes) || other.Digest == results["fifo"].Digest {
			t.Errorf("seed %d and the next give the same", seed)
		}
	}
}

// What is random for one purpose is independent of what is random for another.
func TestStreamsDiffer(t *testing.T) {
	u, err := size.NewUniform(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	in := &sched.Instance{
		Machines: []sched.Machine{{Name: "m", Speed: 1, Slots: 1, Port: 1}},
		Jobs: []sched.Job{
			job(0,
				sched.Stage{Name: "s", Count: 1, Sizes: []size.Dist{u}},
				sched.Stage{Name: "t", Flows: []sched.Flow{{Size: u}}}),
		},
	}
	p := &drawing{}
	r, err := sim.Run(sim.Config{Instance: in, Policy: p, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	task, flow, own := r.Sizes.Of(0, 0), r.Schedule.Flows[0].Finish.Seconds(), p.first
	const same = 1e-8 // the flow's size is known to a nanosecond
	if math.Abs(task-flow) < same || math.Abs(task-own) < same || math.Abs(flow-own) < same {
		t.Errorf("task %v, flow %v, policy %v", task, flow, own)
	}
}

// drawing keeps the first number it draws.
type drawing struct{ first float64 }

func (p *drawing) Decide(now sched.Time, v policy.View, r *rand.Rand) (d policy.Decision, err error) {
	if now == 0 && v.Task(0) == policy.TaskPending {
		p.first = r.Float64()
		d.Start = []policy.Start{{Slot: sched.None}}
		d.Flows = []sched.FlowID{0}
	}
	return d, nil
}

// A policy that knows distributions is shown means, one that knows nothing, none.
func TestEstimates(t *testing.T) {
	in := random(t, 3)
	x := sched.NewIndex(in)
	z, err := sim.Realise(x, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := sim.Estimates(x, policy.Knowledge{Sizes: policy.SizesExact}, z); got != z {
		t.Error("exact: not the sizes themselves")
	}
	means, err := sim.Means(x)
	if err != nil {
		t.Fatal(err)
	}
	got := sim.Estimates(x, policy.Knowledge{Sizes: policy.SizesDistribution}, z)
	if !reflect.DeepEqual(got, means) || math.Abs(got.Of(0, 0)-2) > 1e-12 {
		t.Errorf("distribution: the first is %v, with mean 2", got.Of(0, 0))
	}
	if got := sim.Estimates(x, policy.Knowledge{}, z); got != nil {
		t.Errorf("nothing: %v", got)
	}
}

// replanner serves tasks in file order, and in reverse once it has a solution.
type replanner struct{ asked, interrupted bool }

func (p *replanner) Decide(_ sched.Time, v policy.View, _ *rand.Rand) (d policy.Decision, err error) {
	if !p.asked {
		p.asked, d.Solve = true, &policy.Request{ID: 1}
	}
	if v.Machine(0).FreeSlots == 0 {
		return d, nil
	}
	last := sched.TaskID(v.Index().Tasks() - 1)
	for i := range last + 1 {
		if v.Solution() != nil {
			i = last - i
		}
		if v.Task(i) == policy.TaskPending {
			d.Start = append(d.Start, policy.Start{Task: i, Machine: 0, Slot: sched.None})
			break
		}
	}
	return d, nil
}

func (p *replanner) Solve(req policy.Request, stop func() bool) (*policy.Solution, error) {
	p.interrupted = stop()
	return &policy.Solution{ID: req.ID, Fallback: p.interrupted}, nil
}

// While a solve takes its time, the engine goes on as before.
func TestSolveTime(t *testing.T) {
	in := &sched.Instance{Machines: []sched.Machine{machine("m", 1, 1)}, Jobs: []sched.Job{
		job(0, stage(2, 2, 2)), job(1, stage(2)),
	}}
	for _, c := range []struct {
		solve float64
		want  string
	}{
		{0, "0@0:0[0,2) 3@0:0[2,4) 2@0:0[4,6) 1@0:0[6,8) 8 4"},
		{3, "0@0:0[0,2) 1@0:0[2,4) 3@0:0[4,6) 2@0:0[6,8) 8 6"},
		{100, "0@0:0[0,2) 1@0:0[2,4) 2@0:0[4,6) 3@0:0[6,8) 6 8"},
	} {
		p := &replanner{}
		cfg := sim.Config{Instance: in, Policy: p, Stop: func() bool { return false }}
		if c.solve > 0 {
			cfg.SolveTime = func(policy.Request) sched.Time { return sched.FromSeconds(c.solve) }
		}
		r := run(t, cfg)
		if got := brief(&r.Schedule); got != c.want {
			t.Errorf("solve time %v: got %s\nwant %s", c.solve, got, c.want)
		}
		if r.Stats.Solves != 1 || p.interrupted || (r.Solution != nil) != (c.solve < 100) {
			t.Errorf("solve time %v: %+v, solution %+v", c.solve, r.Stats, r.Solution)
		}
	}
	p := &replanner{}
	r := run(t, sim.Config{Instance: in, Policy: p, Stop: func() bool { return true }})
	if !p.interrupted || r.Stats.Fallbacks != 1 {
		t.Errorf("the solver was not told to stop: %+v", r.Stats)
	}
}

func TestStopInterrupts(t *testing.T) {
	in := &sched.Instance{Machines: []sched.Machine{machine("m", 1, 1)}, Jobs: []sched.Job{job(0, sched.Stage{Name: "s", Count: 50_000, Sizes: sizes(1)})}}
	looks := 0
	_, err := sim.Run(sim.Config{Instance: in, Policy: dag.NewFIFO(), Stop: func() bool { looks++; return looks == 3 }})
	if !errors.Is(err, sim.ErrInterrupted) || looks != 3 {
		t.Errorf("%v after %d looks", err, looks)
	}
	if r := run(t, sim.Config{Instance: in, Policy: dag.NewFIFO(), Stop: func() bool { return false }}); len(r.Schedule.Tasks) != 50_000 {
		t.Errorf("%d tasks", len(r.Schedule.Tasks))
	}
}

// policyFunc is a policy without memory.
type policyFunc func(now sched.Time, v policy.View) policy.Decision

func (f policyFunc) Decide(now sched.Time, v policy.View, _ *rand.Rand) (policy.Decision, error) {
	return f(now, v), nil
}

type loopingSolver struct{ policyFunc }

func (loopingSolver) Solve(req policy.Request, _ func() bool) (*policy.Solution, error) {
	return &policy.Solution{ID: req.ID}, nil
}

func TestErrors(t *testing.T) {
	one := func() *sched.Instance {
		return &sched.Instance{Machines: []sched.Machine{machine("m", 1, 1)}, Jobs: []sched.Job{
			{Name: "a", Stages: []sched.Stage{stage(1)}}, {Name: "b", After: []sched.JobID{0}, Stages: []sched.Stage{stage(1)}},
		}}
	}
	unsized := func(n int) *sched.Instance {
		in := one()
		for k := range n {
			in.Jobs[0].Stages = append(in.Jobs[0].Stages, sched.Stage{Name: fmt.Sprint("u", k), Count: 1})
		}
		return in
	}
	idle := policyFunc(func(sched.Time, policy.View) policy.Decision { return policy.Decision{} })
	solve := func(sched.Time, policy.View) policy.Decision {
		return policy.Decision{Solve: &policy.Request{ID: 1}}
	}
	down := one()
	cyclic := one()
	cyclic.Jobs[0].After = []sched.JobID{1}
	errDisk := errors.New("disk full")
	for want, cfg := range map[string]sim.Config{
		"sim: need an instance and a policy":                                                                   {Instance: one()},
		"sim: need an instance":                                                                                {Policy: dag.NewFIFO()},
		"jobs wait for each other: a -> b -> a":                                                                {Instance: cyclic, Policy: dag.NewFIFO()},
		"sim: sizes are needed to simulate: no size for a/u0, a/u1":                                            {Instance: unsized(2), Policy: dag.NewFIFO()},
		"no size for a/u0, a/u1, a/u2, a/u3, a/u4, a/u5, a/u6, a/u7 and 3 more":                                {Instance: unsized(11), Policy: dag.NewFIFO()},
		"sim: nothing more can happen, but jobs are left:\n  a is ready to start\n  b waits for a to complete": {Instance: one(), Policy: idle},
		"jobs are left:\n  a waits: every machine it may run on is down":                                       {Instance: down, Policy: dag.NewFIFO(), Outages: []sim.Outage{{Machine: 0}}},
		"jobs are left:\n  a is ready to start\n  b waits": {Instance: one(), Policy: policyFunc(func(now sched.Time, _ policy.View) policy.Decision {
			return policy.Decision{Wake: now + 1} // for ever
		})},
		"the policy asked for more than 10000 decisions at time 0s": {Instance: one(), Policy: loopingSolver{solve}},
		"sim: the policy asks to solve but is no Solver":            {Instance: one(), Policy: policyFunc(solve)},
		"start of task 1 of b/s, which is blocked": {Instance: one(), Policy: policyFunc(func(sched.Time, policy.View) policy.Decision {
			return policy.Decision{Start: []policy.Start{{Task: 1, Slot: sched.None}}}
		})},
		"disk full": {Instance: one(), Policy: dag.NewFIFO(), Observe: func(sched.Time, engine.Event, []engine.Action) error { return errDisk }},
	} {
		if _, err := sim.Run(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	if _, err := sim.Run(sim.Config{Instance: unsized(1), Policy: idle}); !errors.Is(err, sim.ErrNoSizes) {
		t.Errorf("not ErrNoSizes: %v", err)
	}
}

// A policy that wakes itself up as long as it lives must not keep alive a run in
// which everything is done; and many rounds at one instant are fine as long as
// something happens in each.
func TestRunsEnd(t *testing.T) {
	fifo := dag.NewFIFO()
	in := &sched.Instance{Machines: []sched.Machine{machine("m", 1, 1)}, Jobs: []sched.Job{job(0, stage(3))}}
	r := run(t, sim.Config{Instance: in, Policy: policyFunc(func(now sched.Time, v policy.View) policy.Decision {
		d, err := fifo.Decide(now, v, nil)
		if err != nil {
			t.Error(err)
		}
		d.Wake = now + sched.Second
		return d
	})})
	if r.Stats.Decisions != 3 { // at 0, 1 and 2 s
		t.Errorf("%d decisions", r.Stats.Decisions)
	}
	chain := make([]sched.Stage, 20_000)
	for s := range chain {
		if chain[s] = stage(0); s > 0 {
			chain[s].After = []int{s - 1}
		}
	}
	in.Jobs = []sched.Job{job(5, chain...)}
	if r := run(t, sim.Config{Instance: in, Policy: dag.NewFIFO()}); r.Schedule.Completion[0] != 5*sched.Second {
		t.Errorf("completion %v", r.Schedule.Completion)
	}
	if r := run(t, sim.Config{Instance: &sched.Instance{}, Policy: dag.NewFIFO()}); r.Stats.Events != 0 {
		t.Errorf("without jobs, %d events", r.Stats.Events)
	}
}

// A task that fails is repeated after its back-off, and its job completes so much
// later.
func TestBackoff(t *testing.T) {
	in := &sched.Instance{
		Machines: []sched.Machine{{Name: "m", Speed: 1, Slots: 1, Port: math.Inf(1)}},
		Jobs:     []sched.Job{{Name: "j", Weight: 1, Stages: []sched.Stage{{Name: "s", Count: 1, Sizes: []size.Dist{size.Exact(1)}, Retries: 2}}}},
	}
	cfg := sim.Config{
		Instance: in, Policy: dag.NewFIFO(), Seed: 3,
		Fails: func(_ sched.TaskID, attempt int32) bool { return attempt < 3 },
	}
	r, err := sim.Run(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Schedule.Completion[0]; got != 3*sched.Second {
		t.Errorf("without back-off it completes at %v, want 3 s", got)
	}
	cfg.Policy, cfg.Backoff = dag.NewFIFO(), engine.Backoff{Base: 10 * sched.Second}
	if r, err = sim.Run(cfg); err != nil {
		t.Fatal(err)
	}
	// Three attempts of a second, and waits of 10 s and 20 s, each times [0.5, 1.5).
	if got := r.Schedule.Completion[0].Seconds(); got < 3+15 || got >= 3+45 || got == 33 {
		t.Errorf("with back-off it completes at %v s", got)
	}
	cfg.Policy, cfg.Backoff = dag.NewFIFO(), engine.Backoff{Base: -1}
	if _, err := sim.Run(cfg); err == nil {
		t.Error("a negative back-off is accepted")
	}
}
