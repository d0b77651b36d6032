package dag_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	algo "github.com/fairlead-project/fairlead/algo/dag"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/policy/dag"
	"github.com/fairlead-project/fairlead/policy/policytest"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
	"github.com/fairlead-project/fairlead/size"
)

// stages appends a chain of stages to a job, each of tasks of the given sizes.
func stages(j sched.Job, sizes ...[]float64) sched.Job {
	for _, each := range sizes {
		k := len(j.Stages)
		st := job("", 0, 0, each...).Stages[0]
		st.Name, st.After = fmt.Sprint("s", k), []int{k - 1}
		j.Stages = append(j.Stages, st)
	}
	return j
}

// What each baseline does on instances small enough to follow by hand.
func TestBaselinesByHand(t *testing.T) {
	for _, c := range []struct {
		name string
		p    policy.Policy
		k    policy.Knowledge
		in   *sched.Instance
		want []float64
	}{
		// Both release at 0. sjf: b, of 3 in all, before a, of 4, although a weighs more
		// and half of a is done when b's second task waits.
		{
			"sjf", dag.NewSJF(), online,
			&sched.Instance{Machines: machines(1), Jobs: []sched.Job{job("a", 9, 0, 2, 2), job("b", 1, sched.Second, 2, 1)}},
			// a's first task runs [0,2); then b [2,5), then a again.
			[]float64{7, 5},
		},
		// critical-path: b's first stage has a way of 1+5, a is 4 long.
		{
			"critical-path", dag.NewCriticalPath(), online,
			&sched.Instance{Machines: machines(1), Jobs: []sched.Job{job("a", 9, 0, 4), stages(job("b", 1, 0, 1), []float64{5})}},
			[]float64{10, 6},
		},
		// min-min: sizes 1, 2, 3 in this order on the fast machine (speed 2): 0.5, 1.5,
		// 3; on the slow one 3 would end at 3 as well, but ties go to a machine that is idle.
		{
			"min-min", dag.NewMinMin(), online,
			&sched.Instance{Machines: machines(2, 1), Jobs: []sched.Job{job("a", 1, 0, 3), job("b", 1, 0, 1), job("c", 1, 0, 2)}},
			[]float64{3, 0.5, 1.5},
		},
		// max-min: 3 first, on the fast machine until 1.5; 2 ends on the slow one at 2, on the
		// fast at 2.5; 1 waits for the fast one, 2, rather than 3.
		{
			"max-min", dag.NewMaxMin(), online,
			&sched.Instance{Machines: machines(2, 1), Jobs: []sched.Job{job("a", 1, 0, 3), job("b", 1, 0, 1), job("c", 1, 0, 2)}},
			[]float64{1.5, 2, 2},
		},
		// map-only: a maps for 1 and reduces for 9, b maps for 2 and reduces for 1: a goes
		// first, though b's rest is shorter; a's reduce task, too.
		{
			"map-only", dag.NewMapOnly(), offline,
			&sched.Instance{Machines: machines(1), Jobs: []sched.Job{stages(job("b", 1, 0, 2), []float64{1}), stages(job("a", 1, 0, 1), []float64{9})}},
			[]float64{13, 10},
		},
		// identical: one task each, a first by weight; machines in turn, fastest first, so b
		// takes the slow one rather than wait.
		{
			"identical", dag.NewIdentical(), offline,
			&sched.Instance{Machines: machines(10, 1), Jobs: []sched.Job{job("a", 5, 0, 10), job("b", 1, 0, 10)}},
			[]float64{1, 10},
		},
	} {
		r := run(t, sim.Config{Instance: c.in, Policy: c.p, Knowledge: c.k})
		if got := completions(r); !slices.Equal(got, c.want) {
			t.Errorf("%s: completions %v, want %v", c.name, got, c.want)
		}
	}
}

// The tasks of a stage: min-min serves the shortest first, max-min the longest.
func TestBySizeWithinAStage(t *testing.T) {
	in := &sched.Instance{Machines: machines(1), Jobs: []sched.Job{job("a", 1, 0, 2, 5, 1, 3)}}
	for name, c := range map[string]struct {
		p    policy.Policy
		want []sched.TaskID
	}{
		"min-min": {dag.NewMinMin(), []sched.TaskID{2, 0, 3, 1}},
		"max-min": {dag.NewMaxMin(), []sched.TaskID{1, 3, 0, 2}},
	} {
		r := run(t, sim.Config{Instance: in, Policy: c.p, Knowledge: online})
		var got []sched.TaskID
		for _, p := range r.Schedule.Tasks {
			got = append(got, p.Task)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s starts %v, want %v", name, got, c.want)
		}
	}
}

// tetris starts what is most alike to what is free: on a machine with much memory left
// and little cpu, the task that needs memory, though the other job is as short.
func TestTetrisAligns(t *testing.T) {
	in := &sched.Instance{
		Resources: []string{"cpu", "memory"},
		Machines:  []sched.Machine{{Name: "m", Speed: 1, Slots: 4, Capacity: []int64{10000, 10000}, Port: math.Inf(1)}},
		Jobs:      []sched.Job{job("running", 1, 0, 3), job("cpu", 1, sched.Second, 5), job("memory", 1, sched.Second, 5)},
	}
	in.Jobs[0].Stages[0].Needs = []int64{7000, 1000}
	in.Jobs[1].Stages[0].Needs = []int64{3000, 6000} // inner product with (3, 9): 63
	in.Jobs[2].Stages[0].Needs = []int64{1000, 8000} // 75
	r := run(t, sim.Config{Instance: in, Policy: dag.NewTetris(), Knowledge: online})
	// Both do not fit together: 14 of 9.
	if got, want := completions(r), []float64{3, 11, 6}; !slices.Equal(got, want) {
		t.Errorf("completions %v, want %v", got, want)
	}
	// Without needs: shortest remaining work first.
	in = &sched.Instance{Machines: machines(1), Jobs: []sched.Job{job("a", 9, 0, 3), job("b", 1, 0, 1), job("c", 1, 0, 2)}}
	r = run(t, sim.Config{Instance: in, Policy: dag.NewTetris(), Knowledge: online})
	if got, want := completions(r), []float64{6, 1, 3}; !slices.Equal(got, want) {
		t.Errorf("completions %v, want %v", got, want)
	}
}

// For one job, the policies heft and peft are the algorithms: they end when the plan
// does, with input, several slots and stages of several tasks.
func TestHEFTIsCarriedOutAsPlanned(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 64))
		in := &sched.Instance{}
		for m := range 1 + rng.IntN(4) {
			in.Machines = append(in.Machines, sched.Machine{Name: fmt.Sprint("m", m), Speed: 1 + 3*rng.Float64(), Slots: 1 + rng.IntN(2), Port: 1e6})
		}
		mean := 1e-6
		if len(in.Machines) == 1 { // there is no pair to take the mean of
			mean = 0
		}
		j := sched.Job{Name: "j", Weight: 1}
		n := 1 + rng.IntN(12)
		g := &algo.Graph{In: make([][]algo.Edge, n), Transfer: func(int, int) float64 { return 1e-6 }, Mean: mean}
		var procs []sched.MachineID
		for m := range in.Machines {
			for range in.Machines[m].Slots {
				procs, g.Machine = append(procs, sched.MachineID(m)), append(g.Machine, m)
			}
		}
		for s := range n { // one task per stage: then the graph is the workflow
			length := 1 + 20*rng.Float64()
			st := sched.Stage{Name: fmt.Sprint("s", s), Count: 1, Sizes: []size.Dist{size.Exact(length)}}
			for a := range s {
				if rng.IntN(s+1) < 2 {
					bytes := 1e6 * float64(rng.IntN(20))
					st.After = append(st.After, a)
					st.Input = append(st.Input, sched.Input{From: a, Bytes: bytes})
					g.In[s] = append(g.In[s], algo.Edge{From: int32(a), Data: bytes})
				}
			}
			j.Stages = append(j.Stages, st)
			row := make([]float64, len(procs))
			for p, m := range procs {
				row[p] = sched.Duration(length, in.Machines[m].Speed).Seconds()
			}
			g.Cost = append(g.Cost, row)
		}
		in.Jobs = []sched.Job{j}
		for name, c := range map[string]struct {
			p    policy.Policy
			plan func(float64, algo.Busy) ([]algo.Slot, error)
		}{"heft": {dag.NewHEFT(), g.HEFT}, "peft": {dag.NewPEFT(), g.PEFT}} {
			slots, err := c.plan(0, make(algo.Busy, len(procs)))
			if err != nil {
				t.Fatal(err)
			}
			want := 0.0
			for _, s := range slots {
				want = max(want, s.Finish)
			}
			r := run(t, sim.Config{Instance: in, Policy: c.p, Knowledge: online})
			if got := r.Schedule.Completion[0].Seconds(); math.Abs(got-want) > 1e-6 {
				t.Errorf("seed %d: %s ends at %v, planned %v", seed, name, got, want)
			}
		}
	}
}

// A job is planned around what earlier ones have taken, into the gaps they leave.
func TestHEFTFillsGaps(t *testing.T) {
	in := &sched.Instance{Machines: machines(1, 1), Jobs: []sched.Job{
		// The chain occupies m0 for [0,2) and [6,8): its second task is pinned to m1.
		stages(job("chain", 1, 0, 2), []float64{4}, []float64{2}),
		job("late", 1, sched.Second, 3),
	}}
	for s, m := range []sched.MachineID{0, 1, 0} {
		in.Jobs[0].Stages[s].Machines = []sched.MachineID{m}
	}
	r := run(t, sim.Config{Instance: in, Policy: dag.NewHEFT(), Knowledge: online})
	if got, want := completions(r), []float64{8, 5}; !slices.Equal(got, want) {
		t.Errorf("completions %v, want %v", got, want)
	}
}

// A machine that is lost for good takes no task of a plan with it.
func TestHEFTSurvivesALostMachine(t *testing.T) {
	for seed := range uint64(30) {
		in := policytest.Random(rand.New(rand.NewPCG(seed, 65)))
		in.Machines = append(in.Machines, sched.Machine{Name: "spare", Speed: 9, Slots: 2, Capacity: []int64{9000}, Port: 5})
		lost := sched.MachineID(len(in.Machines) - 1)
		for _, p := range []policy.Policy{dag.NewHEFT(), dag.NewPEFT()} {
			r := run(t, sim.Config{Instance: in, Policy: p, Knowledge: online, Seed: seed, Outages: []sim.Outage{{At: sched.FromSeconds(2), Machine: lost}}})
			for j, s := range r.States {
				if s != policy.JobDone {
					t.Errorf("seed %d: job %d ends as %v", seed, j, s)
				}
			}
		}
	}
}
