package dag

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
	"github.com/fairlead-project/fairlead/size"
)

// simpleInstance has tasks that need only a slot, on machines of few speeds, many
// of them equal so that ties occur.
func simpleInstance(rng *rand.Rand) *sched.Instance {
	in := &sched.Instance{}
	for m := range 1 + rng.IntN(6) {
		in.Machines = append(in.Machines, sched.Machine{
			Name: fmt.Sprint("m", m), Speed: float64(1 + rng.IntN(4)), Slots: 1 + rng.IntN(2), Port: math.Inf(1),
		})
	}
	for j := range 1 + rng.IntN(6) {
		job := sched.Job{Name: fmt.Sprint("j", j), Weight: float64(1 + rng.IntN(4)), Release: sched.Time(rng.IntN(4)) * sched.Second}
		for s := range 1 + rng.IntN(3) {
			st := sched.Stage{Name: fmt.Sprint("s", s), Count: 1 + rng.IntN(12)}
			if s > 0 && rng.IntN(2) == 0 {
				st.After = []int{s - 1}
			}
			for range st.Count {
				st.Sizes = append(st.Sizes, size.Exact(1+rng.IntN(9)))
			}
			if rng.IntN(2) == 0 {
				st.Sizes = st.Sizes[:1]
			}
			job.Stages = append(job.Stages, st)
		}
		in.Jobs = append(in.Jobs, job)
	}
	return in
}

// The lanes must give the very schedules that the profiles give, also when sizes
// turn out different from their estimates.
func TestLanesEqualProfiles(t *testing.T) {
	waited := false
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		in := simpleInstance(rng)
		x := sched.NewIndex(in)
		est, err := sim.Means(x)
		if err != nil {
			t.Fatal(err)
		}
		real := est
		if seed%2 == 1 {
			real = sched.NewSizes(x)
			for s := range sched.StageID(x.Stages()) {
				first, end := x.StageTasks(s)
				each := make([]float64, end-first)
				for k := range each {
					each[k] = est.Of(s, first+sched.TaskID(k)) * (0.3 + 2*rng.Float64())
				}
				real.SetEach(s, each)
			}
		}
		var schedules [2][]sched.Placement
		for i, general := range []bool{false, true} {
			p := NewWSPT().(*wspt)
			p.general = general
			p.accept = []float64{0, 1.2, 2}[seed%3]
			r, err := sim.Run(sim.Config{
				Instance: in, Policy: p, Sizes: real, Estimates: est,
				Knowledge: policy.Knowledge{Sizes: policy.SizesDistribution, Arrivals: policy.Online},
				Observe: func(now sched.Time, _ engine.Event, actions []engine.Action) error {
					waited = waited || slices.ContainsFunc(actions, func(a engine.Action) bool {
						return a.Kind == engine.WakeAt && a.At > now
					})
					return nil
				},
			})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			schedules[i] = r.Schedule.Tasks
		}
		if !slices.Equal(schedules[0], schedules[1]) {
			t.Fatalf("seed %d: lanes\n%v\nprofiles\n%v", seed, schedules[0], schedules[1])
		}
	}
	if !waited {
		t.Error("no task ever waited for a faster machine")
	}
}

// fixed serves stages in order of StageID.
type fixed struct{ dispatch }

func newFixed() *fixed {
	p := &fixed{}
	p.q = newQueue(func(a, b sched.StageID) bool { return a < b })
	return p
}

func (p *fixed) Decide(now sched.Time, v policy.View, _ *rand.Rand) (policy.Decision, error) {
	return p.decide(now, v)
}

// A later task may not delay one that waits for resources, but may use what is
// free until then.
func TestReservationIsKept(t *testing.T) {
	in := &sched.Instance{
		Resources: []string{"memory"},
		Machines:  []sched.Machine{{Name: "m", Speed: 1, Slots: 4, Capacity: []int64{5000}, Port: math.Inf(1)}},
	}
	for _, j := range []struct {
		name         string
		memory, size int64
	}{{"running", 3000, 2}, {"big", 4000, 4}, {"long", 1500, 10}, {"short", 1500, 2}, {"small", 500, 10}} {
		in.Jobs = append(in.Jobs, sched.Job{Name: j.name, Weight: 1, Stages: []sched.Stage{{
			Name: "s", Count: 1, Needs: []int64{j.memory}, Sizes: []size.Dist{size.Exact(j.size)},
		}}})
	}
	r, err := sim.Run(sim.Config{
		Instance: in, Policy: newFixed(),
		Knowledge: policy.Knowledge{Sizes: policy.SizesDistribution, Arrivals: policy.Online},
	})
	if err != nil {
		t.Fatal(err)
	}
	// big waits for running, until 2. long fits now but would delay it; short is
	// gone by then; small fits beside big.
	want := []sched.Time{2, 6, 16, 2, 10}
	for j, c := range r.Schedule.Completion {
		if c != want[j]*sched.Second {
			t.Errorf("%s completes at %v, want %d s", in.Jobs[j].Name, c, want[j])
		}
	}
}
