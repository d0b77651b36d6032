package sim

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"weak"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// The heap against a list that is searched: the same first entry after every
// operation, and every followed entry where the heap says it is.
func TestHeapAgainstList(t *testing.T) {
	const ids = 40
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		h := heap[int]{follow: groupNext, at: make([]int32, ids)}
		for i := range h.at {
			h.at[i] = -1
		}
		var list []entry[int]
		for range 300 {
			e := entry[int]{key: r.IntN(20), what: what(r.IntN(4)), id: int32(r.IntN(ids)), attempt: int32(r.IntN(3))}
			have := slices.IndexFunc(list, func(f entry[int]) bool { return f.what == e.what && f.id == e.id })
			switch op := r.IntN(4); {
			case have < 0 && op > 0:
				h.push(e)
				list = append(list, e)
			case have >= 0 && e.what == groupNext && op == 0:
				if got := h.remove(int(h.at[e.id])); got != list[have] {
					t.Fatalf("seed %d: removed %+v, not %+v", seed, got, list[have])
				}
				list = slices.Delete(list, have, have+1)
			case have >= 0 && e.what == groupNext:
				h.change(int(h.at[e.id]), e.key)
				list[have].key = e.key
			case len(list) > 0:
				first := slices.MinFunc(list, func(a, b entry[int]) int {
					if a.before(&b) {
						return -1
					}
					return 1
				})
				if got := h.pop(); got != first {
					t.Fatalf("seed %d: popped %+v, not %+v", seed, got, first)
				}
				list = slices.DeleteFunc(list, func(f entry[int]) bool { return f == first })
			}
			if len(h.entries) != len(list) {
				t.Fatalf("seed %d: %d entries, not %d", seed, len(h.entries), len(list))
			}
			for id, i := range h.at {
				there := slices.ContainsFunc(list, func(f entry[int]) bool { return f.what == groupNext && f.id == int32(id) })
				if there != (i >= 0) || there && (h.entries[i].what != groupNext || h.entries[i].id != int32(id)) {
					t.Fatalf("seed %d: entry %d is there: %v, the heap says at %d", seed, id, there, i)
				}
			}
		}
	}
}

// resetter gives each of its jobs a group of its own and sets all rates, the same
// as before, in every round.
type resetter struct{ n int }

func (p resetter) Decide(now sched.Time, v policy.View, _ *rand.Rand) (d policy.Decision, err error) {
	for t := range sched.TaskID(p.n) {
		if v.Task(t) == policy.TaskPending {
			d.Join = append(d.Join, policy.Join{Activity: policy.Activity{Task: t, Flow: sched.None}, Group: policy.GroupID(t), Share: 1})
		}
		d.Rates = append(d.Rates, policy.GroupRate{Group: policy.GroupID(t), Rate: 1})
	}
	d.Wake = now + sched.Second
	return d, nil
}

func jobs(n int, seconds func(j int) float64) *sched.Instance {
	in := &sched.Instance{Machines: []sched.Machine{{Name: "m", Speed: 1, Slots: 1, Port: math.Inf(1)}}}
	for j := range n {
		in.Jobs = append(in.Jobs, sched.Job{Name: "j", Stages: []sched.Stage{
			{Name: "s", Count: 1, Sizes: []size.Dist{size.Exact(seconds(j))}},
		}})
	}
	return in
}

// However often rates are set, the event queue holds one entry per group that has
// members.
func TestQueueHoldsOneEntryPerGroup(t *testing.T) {
	const n = 20
	var s *simulation
	longest := 0
	cfg := Config{Instance: jobs(n, func(j int) float64 { return float64(100 + j) }), Policy: resetter{n}}
	cfg.Observe = func(sched.Time, engine.Event, []engine.Action) error {
		longest = max(longest, len(s.queue.entries))
		return nil
	}
	s, err := newSimulation(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.run(); err != nil {
		t.Fatal(err)
	}
	if got := s.e.Stats().Decisions; got < 100 {
		t.Errorf("only %d rounds: the test tests little", got)
	}
	if longest != n {
		t.Errorf("up to %d entries for %d groups", longest, n)
	}
}

// asker asks for a solution every second, and keeps track of them.
type asker struct {
	solutions []weak.Pointer[policy.Solution]
}

func (p *asker) Decide(now sched.Time, v policy.View, _ *rand.Rand) (d policy.Decision, err error) {
	switch {
	case v.Task(0) == policy.TaskPending:
		d.Start = []policy.Start{{Slot: sched.None}}
		d.Solve = &policy.Request{}
	case v.Solution() != nil && int(v.Solution().ID) == len(p.solutions) && now < 10*sched.Second:
		d.Solve = &policy.Request{}
	}
	return d, nil
}

func (p *asker) Solve(policy.Request, func() bool) (*policy.Solution, error) {
	sol := &policy.Solution{ID: int32(len(p.solutions) + 1), Order: make([]sched.StageID, 1)}
	p.solutions = append(p.solutions, weak.Make(sol))
	return sol, nil
}

// Only the latest solution is kept.
func TestOldSolutionsAreLetGo(t *testing.T) {
	p := &asker{}
	res, err := Run(Config{
		Instance: jobs(1, func(int) float64 { return 20 }), Policy: p,
		SolveTime: func(policy.Request) sched.Time { return sched.Second },
		Observe: func(now sched.Time, _ engine.Event, _ []engine.Action) error {
			if now < 20*sched.Second {
				return nil
			}
			runtime.GC()
			for _, sol := range p.solutions[:len(p.solutions)-1] {
				if sol.Value() != nil {
					t.Error("an old solution is still there")
				}
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.solutions) < 5 || res.Solution == nil || int(res.Solution.ID) != len(p.solutions) {
		t.Errorf("%d solutions, the last of them %+v", len(p.solutions), res.Solution)
	}
}
