package history_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/internal/history"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/policy/all"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
	"github.com/fairlead-project/fairlead/size"
)

// reality is what the scheduler has to find out.
type reality struct {
	in     *sched.Instance // sizes open, speeds assumed
	x      *sched.Index
	speeds []float64
	sizes  *sched.Sizes
}

// unknownWorld makes three jobs of two stages on machines of very unlike speeds. The
// tasks of half the stages differ from each other.
func unknownWorld(seed uint64) *reality {
	rng := rand.New(rand.NewPCG(seed, 1))
	r := &reality{speeds: []float64{4, 1, 0.5, 2}}
	r.in = &sched.Instance{Name: "w"}
	for m := range r.speeds {
		r.in.Machines = append(r.in.Machines, sched.Machine{Name: fmt.Sprint("m", m), Speed: 1, SpeedAssumed: true, Slots: 1 + m%2, Port: math.Inf(1)})
	}
	for j := range 4 {
		job := sched.Job{Name: fmt.Sprint("job", j), Weight: float64(1 + rng.IntN(5))}
		job.Stages = []sched.Stage{
			{Name: "map", Count: 6 + rng.IntN(8)},
			{Name: "reduce", Count: 1 + rng.IntN(4), After: []int{0}},
		}
		r.in.Jobs = append(r.in.Jobs, job)
	}
	r.x = sched.NewIndex(r.in)
	r.sizes = sched.NewSizes(r.x)
	for s := range sched.StageID(r.x.Stages()) {
		each := make([]float64, r.x.Stage(s).Count)
		for t := range each {
			each[t] = 10 + 40*float64(s%3)
			if s%2 == 0 {
				each[t] *= math.Exp(0.6 * rng.NormFloat64())
			}
		}
		r.sizes.SetEach(s, each)
	}
	return r
}

// told returns the instance with the truth in it.
func (r *reality) told() *sched.Instance {
	in := *r.in
	in.Machines = slices.Clone(in.Machines)
	for m := range in.Machines {
		in.Machines[m].Speed, in.Machines[m].SpeedAssumed = r.speeds[m], false
	}
	in.Jobs = slices.Clone(in.Jobs)
	for j := range in.Jobs {
		in.Jobs[j].Stages = slices.Clone(in.Jobs[j].Stages)
	}
	x := sched.NewIndex(&in)
	for s := range sched.StageID(x.Stages()) {
		st := x.Stage(s)
		first, _ := x.StageTasks(s)
		for k := range st.Count {
			st.Sizes = append(st.Sizes, size.Exact(r.sizes.Of(s, first+sched.TaskID(k))))
		}
	}
	return &in
}

// run drives a policy that believes the given instance, while tasks take what they
// really take, with some noise. It returns the total weighted completion and every
// attempt.
func (r *reality) run(t *testing.T, spec string, believed *sched.Instance, n int, noise float64) (float64, []history.Attempt) {
	t.Helper()
	entry, p, err := all.Registry().Parse(spec, "dag")
	if err != nil {
		t.Fatal(err)
	}
	x := sched.NewIndex(believed)
	e, err := engine.New(engine.Config{Instance: believed, Policy: p, Knowledge: entry.Knowledge, Estimates: sim.MeansWhereKnown(x)})
	if err != nil {
		t.Fatal(err)
	}
	type event struct {
		at sched.Time
		ev engine.Event
	}
	var queue []event // all arrive at 0
	for j := range believed.Jobs {
		queue = append(queue, event{0, engine.Arrived(sched.JobID(j))})
	}
	var attempts []history.Attempt
	factors := rand.New(rand.NewPCG(uint64(n), 2))
	factor := make([]float64, x.Tasks()) // the same for whatever schedule
	for k := range factor {
		factor[k] = math.Exp(noise * factors.NormFloat64())
	}
	for !e.Done() {
		i := 0
		for k := range queue { // at one instant the wake-up comes last
			a, b := queue[k], queue[i]
			if a.at < b.at || a.at == b.at && b.ev.Kind == engine.Wake && a.ev.Kind != engine.Wake {
				i = k
			}
		}
		next := queue[i]
		queue = slices.Delete(queue, i, i+1)
		actions, err := e.Step(next.at, next.ev)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range actions {
			switch a.Kind {
			case engine.WakeAt:
				queue = append(queue, event{a.At, engine.Event{Kind: engine.Wake}})
			case engine.Solve:
				sol, err := p.(policy.Solver).Solve(*a.Request, func() bool { return false })
				if err != nil {
					t.Fatal(err)
				}
				queue = append(queue, event{next.at, engine.Event{Kind: engine.Solved, Solution: sol}})
			case engine.StartTask:
				took := sched.Duration(r.sizes.Of(x.TaskStage(a.Task), a.Task)*factor[a.Task], r.speeds[a.Machine])
				queue = append(queue, event{next.at + took, engine.Finished(a.Task, a.Attempt)})
				h := history.Attempt{
					Run: fmt.Sprint("run", n), Attempt: int(a.Attempt), State: history.Done,
					Launched: time.Unix(int64(n)*1e6, int64(next.at)), Start: next.at, End: next.at + took,
				}
				h.Describe(r.x, a.Task, a.Machine)
				attempts = append(attempts, h)
			}
		}
	}
	cost := 0.0
	for j := range believed.Jobs {
		_, c := e.Job(sched.JobID(j))
		cost += believed.Jobs[j].Weight * c.Seconds()
	}
	return cost, attempts
}

// Ten runs of a workload of which neither sizes nor speeds are known: the first one has
// to go without, and the last three cost what they would with the truth.
func TestRunsConvergeToTheTruth(t *testing.T) {
	const runs, last, noise = 10, 3, 0.1
	for _, policy := range []string{"spc", "wspt", "fifo"} {
		for seed := range uint64(4) {
			r := unknownWorld(seed)
			db, err := history.Open(filepath.Join(t.TempDir(), "history.db"))
			if err != nil {
				t.Fatal(err)
			}
			var costs, informed []float64
			for n := range runs {
				believed, _, err := history.Resolve(t.Context(), r.in, db, 0)
				if err != nil {
					t.Fatal(err)
				}
				use := policy
				if unknown := sim.Unsized(sched.NewIndex(believed)); unknown != nil {
					if n > 0 {
						t.Fatalf("after %d runs sizes are unknown: %v", n, unknown)
					}
					use = "fifo"
				}
				cost, attempts := r.run(t, use, believed, n, noise)
				truth, _ := r.run(t, policy, r.told(), n, noise)
				costs, informed = append(costs, cost), append(informed, truth)
				if err := db.Record(t.Context(), attempts); err != nil {
					t.Fatal(err)
				}
			}
			db.Close()
			got, want := 0.0, 0.0
			for n := runs - last; n < runs; n++ {
				got += costs[n]
				want += informed[n]
			}
			t.Logf("%s, seed %d: first run %.2f, last %.3f times the cost of one that knows", policy, seed, costs[0]/informed[0], got/want)
			if got > 1.1*want {
				t.Errorf("%s, seed %d: the last %d runs cost %.3f times as much as with the truth; all: %.0f, with the truth %.0f",
					policy, seed, last, got/want, costs, informed)
			}
		}
	}
}
