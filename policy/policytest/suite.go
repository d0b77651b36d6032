package policytest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/fairlead-project/fairlead/check"
	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
)

// Instances is how many random instances each property is tried on, or a part of
// it; ten times as many if FAIRLEAD_LONG is set. Half of them have ties where these
// do not disturb the property.
const Instances = 500

// Run puts the policy that spec names through the suite.
func Run(t *testing.T, r *policy.Registry, spec string) {
	s := suite{t, r, spec}
	t.Run("feasible", s.feasible)
	t.Run("same seed, same bytes", s.deterministic)
	t.Run("names do not matter", s.renamed)
	t.Run("order in the file does not matter", s.reordered)
	t.Run("hidden values change no decision", s.hidden)
	t.Run("view untouched", s.untouched)
	t.Run("replay", s.replay)
	t.Run("failures and outages", s.faults)
}

type suite struct {
	t    *testing.T
	r    *policy.Registry
	spec string
}

func (s suite) each(t *testing.T, n int, f func(seed uint64, rng *rand.Rand, in *sched.Instance)) {
	t.Helper()
	s.generate(t, n, func(uint64) func(*rand.Rand) *sched.Instance { return Random }, f)
}

func (s suite) eachAndTies(t *testing.T, n int, f func(seed uint64, rng *rand.Rand, in *sched.Instance)) {
	t.Helper()
	s.generate(t, n, func(seed uint64) func(*rand.Rand) *sched.Instance {
		if seed%2 == 1 {
			return RandomTies
		}
		return Random
	}, f)
}

func (s suite) generate(t *testing.T, n int, random func(uint64) func(*rand.Rand) *sched.Instance,
	f func(seed uint64, rng *rand.Rand, in *sched.Instance),
) {
	t.Helper()
	if os.Getenv("FAIRLEAD_LONG") != "" {
		n *= 10
	}
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 99))
		f(seed, rng, random(seed)(rng))
		if t.Failed() {
			t.Fatalf("at seed %d", seed)
		}
	}
}

// config returns a simulation of in under a fresh policy.
func (s suite) config(t *testing.T, in *sched.Instance, seed uint64) sim.Config {
	t.Helper()
	e, p, err := s.r.Parse(s.spec)
	if err != nil {
		t.Fatal(err)
	}
	return sim.Config{Instance: in, Policy: p, Knowledge: e.Knowledge, Seed: seed}
}

func (s suite) run(t *testing.T, c sim.Config) *sim.Result {
	t.Helper()
	r, err := sim.Run(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (s suite) feasible(t *testing.T) {
	s.eachAndTies(t, 2*Instances, func(seed uint64, _ *rand.Rand, in *sched.Instance) {
		r := s.run(t, s.config(t, in, seed))
		if _, err := check.Schedule(in, r.Sizes, &r.Schedule, check.Options{}); err != nil {
			t.Error(err)
		}
		for j, state := range r.States {
			if state != policy.JobDone {
				t.Errorf("job %d ends as %v", j, state)
			}
		}
	})
}

func (s suite) deterministic(t *testing.T) {
	s.eachAndTies(t, Instances/5, func(seed uint64, _ *rand.Rand, in *sched.Instance) {
		a, la := s.logged(t, s.config(t, in, seed))
		b, lb := s.logged(t, s.config(t, in, seed))
		if !bytes.Equal(la, lb) || a.Digest != b.Digest || !reflect.DeepEqual(a.Schedule, b.Schedule) {
			t.Error("two runs with the same seed differ")
		}
	})
}

func (s suite) renamed(t *testing.T) {
	s.eachAndTies(t, Instances/5, func(seed uint64, _ *rand.Rand, in *sched.Instance) {
		a := s.run(t, s.config(t, in, seed))
		b := s.run(t, s.config(t, Rename(in), seed))
		if a.Digest != b.Digest || !reflect.DeepEqual(a.Schedule, b.Schedule) {
			t.Error("other names, another schedule")
		}
	})
}

func (s suite) reordered(t *testing.T) {
	s.each(t, Instances/5, func(seed uint64, rng *rand.Rand, in *sched.Instance) {
		other, jobAt, _ := Reorder(in, rng)
		a := s.run(t, s.config(t, in, seed))
		b := s.run(t, s.config(t, other, seed))
		for j, c := range a.Schedule.Completion {
			if got := b.Schedule.Completion[jobAt[j]]; got != c {
				t.Errorf("job %d completes at %v, reordered at %v", j, c, got)
			}
		}
	})
}

// hidden changes, from some instant on, everything that the policy cannot have
// seen by then: the sizes of tasks that have not finished (where it does not know
// sizes), and jobs not yet released (where it does not know arrivals). What it
// started up to that instant must be the same.
func (s suite) hidden(t *testing.T) {
	tried := 0
	s.each(t, Instances, func(seed uint64, rng *rand.Rand, in *sched.Instance) {
		c := s.config(t, in, seed)
		x := sched.NewIndex(in)
		z, err := sim.Realise(x, seed)
		if err != nil {
			t.Fatal(err)
		}
		c.Sizes = z
		var before []engine.Action
		c.Observe = starts(sched.Never, &before)
		full := s.run(t, c)
		cut := full.Schedule.Tasks[rng.IntN(len(full.Schedule.Tasks))].Start

		other := Clone(in)
		if c.Knowledge.Arrivals == policy.Online {
			for j := range other.Jobs {
				if job := &other.Jobs[j]; job.Release > cut {
					job.Release += sched.FromSeconds(rng.Float64())
					job.Weight *= 2 * rng.Float64()
					tried++
				}
			}
		}
		zz := z
		if c.Knowledge.Sizes != policy.SizesExact {
			zz = sched.NewSizes(x)
			finish := make([]sched.Time, x.Tasks())
			for _, p := range full.Schedule.Tasks {
				finish[p.Task] = p.Finish
			}
			for st := range sched.StageID(x.Stages()) {
				first, end := x.StageTasks(st)
				each := make([]float64, end-first)
				for k := range each {
					each[k] = z.Of(st, first+sched.TaskID(k))
					if finish[first+sched.TaskID(k)] > cut {
						each[k] *= 1 + rng.Float64()
						tried++
					}
				}
				zz.SetEach(st, each)
			}
		}
		d := s.config(t, other, seed)
		d.Sizes = zz
		d.Estimates = sim.Estimates(x, d.Knowledge, zz)
		var first, second []engine.Action
		d.Observe = starts(cut, &second)
		s.run(t, d)
		c = s.config(t, in, seed)
		c.Sizes, c.Observe = z, starts(cut, &first)
		s.run(t, c)
		if !slices.Equal(first, second) {
			t.Errorf("up to %v it starts %v, with other hidden values %v", cut, first, second)
		}
	})
	if e, _, _ := s.r.Parse(s.spec); tried == 0 && e.Knowledge != (policy.Knowledge{Sizes: policy.SizesExact, Arrivals: policy.Offline}) {
		t.Error("no hidden value was changed")
	}
}

// starts collects the task starts up to the given time.
func starts(until sched.Time, into *[]engine.Action) func(sched.Time, engine.Event, []engine.Action) error {
	return func(now sched.Time, _ engine.Event, actions []engine.Action) error {
		for _, a := range actions {
			if a.Kind == engine.StartTask && now <= until {
				a.At = now
				*into = append(*into, a)
			}
		}
		return nil
	}
}

// untouched wraps the policy and compares what the View returns by reference
// before and after each decision.
func (s suite) untouched(t *testing.T) {
	s.eachAndTies(t, Instances/10, func(seed uint64, _ *rand.Rand, in *sched.Instance) {
		c := s.config(t, in, seed)
		w := &watched{Policy: c.Policy, t: t}
		c.Policy = w
		if solver, ok := w.Policy.(policy.Solver); ok {
			c.Policy = &watchedSolver{w, solver}
		}
		s.run(t, c)
		if w.seen == 0 {
			t.Error("no decision was watched")
		}
	})
}

type watched struct {
	policy.Policy
	t    *testing.T
	seen int
}

type watchedSolver struct {
	*watched
	solver policy.Solver
}

func (w *watchedSolver) Solve(req policy.Request, stop func() bool) (*policy.Solution, error) {
	return w.solver.Solve(req, stop)
}

func (w *watched) Decide(now sched.Time, v policy.View, rng *rand.Rand) (policy.Decision, error) {
	shown := func() string {
		return fmt.Sprintf("%v %v %v %+v %+v %+v", v.Known(), v.Changed(), v.BySpeed(), v.Index().Instance, v.Estimates(), v.Solution())
	}
	before := shown()
	d, err := w.Policy.Decide(now, v, rng)
	if shown() != before {
		w.t.Error("the policy changed its View")
	}
	w.seen++
	return d, err
}

func (s suite) logged(t *testing.T, c sim.Config) (*sim.Result, []byte) {
	t.Helper()
	var log bytes.Buffer
	w, err := engine.NewLogWriter(&log, sched.NewIndex(c.Instance), engine.LogHeader{Policy: s.spec, Seed: c.Seed})
	if err != nil {
		t.Fatal(err)
	}
	c.Observe = w.Event
	r := s.run(t, c)
	if err := w.Close(r.Digest); err != nil {
		t.Fatal(err)
	}
	return r, log.Bytes()
}

func (s suite) replay(t *testing.T) {
	s.eachAndTies(t, Instances/5, func(seed uint64, rng *rand.Rand, in *sched.Instance) {
		c := s.faulty(t, in, rng, seed)
		r, log := s.logged(t, c)
		l, err := engine.NewLogReader(bytes.NewReader(log))
		if err != nil {
			t.Fatal(err)
		}
		again := s.config(t, in, seed)
		_, err = engine.Replay(engine.Config{
			Instance: in, Policy: again.Policy, Knowledge: again.Knowledge, Seed: seed, Backoff: c.Backoff,
			Estimates: sim.Estimates(sched.NewIndex(in), again.Knowledge, r.Sizes),
		}, l)
		if err != nil {
			t.Error(err)
		}
	})
}

// faulty makes some attempts fail, and some machines vanish and come back.
func (s suite) faulty(t *testing.T, in *sched.Instance, rng *rand.Rand, seed uint64) sim.Config {
	c := s.config(t, in, seed)
	for j := range in.Jobs {
		for st := range in.Jobs[j].Stages {
			in.Jobs[j].Stages[st].Retries = rng.IntN(3)
		}
	}
	if seed/2%2 == 0 {
		c.Backoff = engine.Backoff{Base: sched.Second / 2, Max: 2 * sched.Second}
	}
	bad := rng.Uint64() | 1
	c.Fails = func(task sched.TaskID, attempt int32) bool {
		return (uint64(task)*31+uint64(attempt)*17)*bad%7 == 0
	}
	for m := range in.Machines {
		if rng.IntN(2) == 0 {
			at := sched.FromSeconds(6 * rng.Float64())
			c.Outages = append(c.Outages,
				sim.Outage{At: at, Machine: sched.MachineID(m)},
				sim.Outage{At: at + sched.FromSeconds(5*rng.Float64()), Machine: sched.MachineID(m), Joins: true})
		}
	}
	return c
}

func (s suite) faults(t *testing.T) {
	failed := 0
	s.eachAndTies(t, Instances, func(seed uint64, rng *rand.Rand, in *sched.Instance) {
		c := s.faulty(t, in, rng, seed)
		c.KeepGoing = rng.IntN(2) == 0
		r := s.run(t, c)
		if _, err := check.Schedule(in, r.Sizes, &r.Schedule, check.Options{}); err != nil {
			t.Error(err)
		}
		for j, state := range r.States {
			switch state {
			case policy.JobFailed, policy.JobNotRun:
				failed++
			case policy.JobDone:
			default:
				t.Errorf("job %d ends as %v", j, state)
			}
		}
	})
	if failed == 0 {
		t.Error("no job failed")
	}
}
