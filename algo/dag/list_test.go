package dag

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fairlead-project/fairlead/opt/queyranne"
	"github.com/fairlead-project/fairlead/sched"
)

// constrain adds pins, needs and input to an instance.
func constrain(rng *rand.Rand, in *sched.Instance) {
	in.Resources = []string{"cpu", "memory"}
	ports := []float64{1e6, 2.5e6, math.Inf(1)}
	for m := range in.Machines {
		in.Machines[m].Capacity = []int64{int64(2000 + rng.IntN(4)*1000), 4000}
		in.Machines[m].Port = ports[rng.IntN(len(ports))]
	}
	for j := range in.Jobs {
		for s := range in.Jobs[j].Stages {
			st := &in.Jobs[j].Stages[s]
			if rng.IntN(2) == 0 {
				st.Needs = []int64{int64(rng.IntN(5) * 500), int64(rng.IntN(5) * 1000)}
			}
			if rng.IntN(3) == 0 {
				for m := range in.Machines {
					if rng.IntN(2) == 0 {
						st.Machines = append(st.Machines, sched.MachineID(m))
					}
				}
				if st.Machines == nil {
					st.Machines = []sched.MachineID{0}
				}
			}
			for _, a := range st.After {
				if rng.IntN(2) == 0 {
					st.Input = append(st.Input, sched.Input{From: a, Bytes: float64(rng.IntN(20)) * 1e6})
				}
			}
		}
	}
}

// slowList is the list rule as its definition reads: every unit is tried for every
// task, and the earliest start looked for among all moments at which anything ends. With
// insert, a task may also run between others.
func slowList(p *Problem, order []int32, units int, insert bool) []sched.Placement {
	in := p.x.Instance
	var placed []sched.Placement
	stageOf := func(q sched.Placement) sched.StageID { return p.x.TaskStage(q.Task) }
	fits := func(need []int64, m sched.MachineID, from sched.Time) bool {
		moments := []sched.Time{from}
		for _, q := range placed {
			if q.Start > from {
				moments = append(moments, q.Start)
			}
		}
		for d := range need {
			for _, t := range moments {
				held := need[d]
				for _, q := range placed {
					if n := p.x.Stage(stageOf(q)).Needs; n != nil && q.Machine == m && q.Start <= t && t < q.Finish {
						held += n[d]
					}
				}
				if held > in.Machines[m].Capacity[d] {
					return false
				}
			}
		}
		return true
	}
	done := map[int32]sched.Time{}
	for _, j := range order {
		n := p.Nodes[j]
		ready := n.Release
		for _, a := range p.Arcs {
			if a.To == j {
				ready = max(ready, done[a.From])
			}
		}
		done[j] = ready
		if n.Stage == sched.None {
			continue
		}
		st := p.x.Stage(n.Stage)
		base, _ := p.x.JobStages(n.Job)
		first, end := p.x.StageTasks(n.Stage)
		var tasks []sched.TaskID
		for k := first; k < end; k++ {
			tasks = append(tasks, k)
		}
		slices.SortStableFunc(tasks, func(a, b sched.TaskID) int {
			return cmp.Compare(p.z.Of(n.Stage, b), p.z.Of(n.Stage, a))
		})
		for _, k := range tasks {
			best := sched.Placement{Finish: sched.Never}
			for _, u := range p.Units[:units] {
				if !in.MayRun(st, u.Machine) {
					continue
				}
				at := ready
				for _, q := range placed {
					for _, i := range st.Input {
						if stageOf(q) == base+sched.StageID(i.From) && q.Machine != u.Machine {
							lo, hi := p.x.StageTasks(stageOf(q))
							share := i.Bytes / (float64(hi-lo) * float64(end-first))
							at = max(at, q.Finish+sched.Duration(share, min(in.Machines[q.Machine].Port, in.Machines[u.Machine].Port)))
						}
					}
					if !insert && q.Machine == u.Machine && q.Slot == u.Slot {
						at = max(at, q.Finish)
					}
				}
				starts := []sched.Time{at}
				for _, q := range placed {
					if q.Finish > at {
						starts = append(starts, q.Finish)
					}
				}
				slices.Sort(starts)
				for _, start := range starts {
					f := start + sched.Duration(p.z.Of(n.Stage, k), in.Machines[u.Machine].Speed)
					taken := slices.ContainsFunc(placed, func(q sched.Placement) bool {
						return q.Machine == u.Machine && q.Slot == u.Slot && q.Start < f && start < q.Finish
					})
					if !taken && fits(st.Needs, u.Machine, start) {
						if f < best.Finish {
							best = sched.Placement{Task: k, Machine: u.Machine, Slot: u.Slot, Start: start, Finish: f}
						}
						break
					}
				}
			}
			placed = append(placed, best)
			done[j] = max(done[j], best.Finish)
		}
	}
	return placed
}

// TestListAgainstSlowTwin: with pins, needs, input and any number of units, the list
// rule gives the schedule that its definition gives, and it is feasible.
func TestListAgainstSlowTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	constrained, fewer := 0, 0
	for trial := range 600 {
		in := randomInstance(rng, 4, 24)
		for range rng.IntN(5) {
			in.Machines = append(in.Machines, in.Machines[rng.IntN(len(in.Machines))])
		}
		if trial%4 > 0 {
			constrain(rng, in)
		}
		if in.Validate() != nil {
			continue // some stage fits nowhere
		}
		p := newProblem(t, in)
		r, err := p.Relax(queyranne.Options{MaxIterations: 50})
		if err != nil {
			t.Fatal(err)
		}
		order := p.Order(r.C)
		least, err := p.leastUnits()
		if err != nil {
			t.Fatal(err)
		}
		best, err := p.Best(order)
		if err != nil {
			t.Fatal(err)
		}
		verify(t, in, best)
		if best.Units < len(p.Units) {
			fewer++
		}
		for units := 1; units <= len(p.Units); units++ {
			plan, err := p.List(order, units)
			if units < least {
				if err == nil {
					t.Fatalf("trial %d: a stage fits on none of %d units, but was placed", trial, units)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if plan.Cost < best.Cost {
				t.Fatalf("trial %d: %d units cost %v, the best of all %v on %d", trial, units, plan.Cost, best.Cost, best.Units)
			}
			verify(t, in, plan)
			want := slowList(p, order, units, false)
			slices.SortFunc(want, func(a, b sched.Placement) int { return int(a.Task - b.Task) })
			got := slices.Clone(plan.Schedule.Tasks)
			slices.SortFunc(got, func(a, b sched.Placement) int { return int(a.Task - b.Task) })
			if !slices.Equal(got, want) {
				t.Fatalf("trial %d, %d units:\ngot  %v\nwant %v", trial, units, got, want)
			}
		}
		// Pins, needs or input that make a difference must not have a guarantee.
		free := *in
		free.Jobs = slices.Clone(in.Jobs)
		for j := range free.Jobs {
			free.Jobs[j].Stages = slices.Clone(free.Jobs[j].Stages)
			for s := range free.Jobs[j].Stages {
				st := &free.Jobs[j].Stages[s]
				st.Needs, st.Machines, st.Input = nil, nil, nil
			}
		}
		q := newProblem(t, &free)
		loose, err := q.List(order, 0)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := p.List(order, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := p.Published(); !slices.Equal(loose.Schedule.Tasks, plan.Schedule.Tasks) {
			constrained++
			if _, ok2 := r.Guarantee(); ok || ok2 {
				t.Fatalf("trial %d: constraints bind, but there is a guarantee", trial)
			}
		}
		if _, ok := q.Published(); !ok {
			t.Fatalf("trial %d: nothing binds, but there is no ratio", trial)
		}
	}
	if constrained < 100 || fewer < 5 {
		t.Errorf("constraints bound in %d instances, fewer units were better in %d", constrained, fewer)
	}
}

// TestUnitCounts: all numbers of units are tried where that is cheap, and always
// all units, then the speed classes' ends, where it is not.
func TestUnitCounts(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	p := newProblem(t, randomInstance(rng, 5, 12))
	counts := p.unitCounts(2)
	slices.Sort(counts)
	for i, c := range counts {
		if c != i+2 || len(counts) != len(p.Units)-1 {
			t.Fatalf("tried %v of %d units", counts, len(p.Units))
		}
	}
	q := wide(1000, 100)
	q.Nodes[0].Tasks = 1e6 // as if
	want := []int{100, 75, 50, 25, 12, 6}
	if got := q.unitCounts(5)[:6]; !slices.Equal(got, want) {
		t.Errorf("tried %v first, want %v", got, want)
	}
	q.Nodes[0].Tasks = 1e9
	if got := q.unitCounts(5); !slices.Equal(got, []int{100}) {
		t.Errorf("tried %v, want all units only", got)
	}
}
