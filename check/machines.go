package check

import (
	"cmp"
	"slices"

	"github.com/fairlead-project/fairlead/sched"
)

// machines sweeps over time and checks slots and capacities. At one instant, what
// ends there leaves first; then what takes no time comes and goes; then the rest
// starts.
func (c *checker) machines() error {
	slot := make([]int, len(c.in.Machines)+1) // first slot of each machine
	for m := range c.in.Machines {
		slot[m+1] = slot[m] + c.in.Machines[m].Slots
	}
	busy := make([]sched.Time, slot[len(c.in.Machines)]) // until when each slot is held
	dims := len(c.in.Resources)
	used := make([]int64, dims*len(c.in.Machines))
	leaving := c.byFinish()

	// take checks that p can start, and lets it.
	take := func(p sched.Placement) error {
		if i := slot[p.Machine] + int(p.Slot); p.Start < busy[i] {
			return c.atTask(broken(Overlap, "starts at %v in slot %d, which is held until %v", p.Start, p.Slot, busy[i]), p)
		} else if p.Finish > p.Start {
			busy[i] = p.Finish
		}
		for d, need := range c.x.Stage(c.stageOf[p.Task]).Needs {
			u := &used[int(p.Machine)*dims+d]
			if have := c.in.Machines[p.Machine].Capacity[d]; need > have-*u {
				return c.atTask(broken(Capacity, "at %v it needs %d thousandths of %s, but %d of %d are in use",
					p.Start, need, c.in.Resources[d], *u, have), p)
			}
			if p.Finish > p.Start {
				*u += need
			}
		}
		return nil
	}

	tasks := c.s.Tasks
	for i := 0; i < len(tasks); {
		now, end := tasks[i].Start, i
		for end < len(tasks) && tasks[end].Start == now {
			end++
		}
		for len(leaving) > 0 && tasks[leaving[0]].Finish <= now {
			p := tasks[leaving[0]]
			leaving = leaving[1:]
			for d, need := range c.x.Stage(c.stageOf[p.Task]).Needs {
				used[int(p.Machine)*dims+d] -= need
			}
		}
		for _, instant := range []bool{true, false} {
			for _, p := range tasks[i:end] {
				if (p.Finish == p.Start) != instant {
					continue
				}
				if err := take(p); err != nil {
					return err
				}
			}
		}
		i = end
	}
	return nil
}

// byFinish returns the placements that take time and need something, by finish.
func (c *checker) byFinish() []int32 {
	var list []int32
	for i, p := range c.s.Tasks {
		if p.Finish > p.Start && len(c.x.Stage(c.stageOf[p.Task]).Needs) > 0 {
			list = append(list, int32(i))
		}
	}
	slices.SortFunc(list, func(a, b int32) int { return cmp.Compare(c.s.Tasks[a].Finish, c.s.Tasks[b].Finish) })
	return list
}

// ports checks that flows do not share ports.
func (c *checker) ports() error {
	flows := slices.Clone(c.s.Flows)
	slices.SortFunc(flows, func(a, b sched.Transmission) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Finish, b.Finish), cmp.Compare(a.Flow, b.Flow))
	})
	source := make([]sched.Time, len(c.in.Machines)) // until when each is held
	sink := make([]sched.Time, len(c.in.Machines))
	for _, t := range flows {
		f := c.flow(t.Flow)
		if held := source[f.From]; t.Start < held {
			return c.atFlow(broken(Port, "starts at %v, but the source port of %s is held until %v", t.Start, c.in.Machines[f.From].Name, held), t.Flow)
		}
		if held := sink[f.To]; t.Start < held {
			return c.atFlow(broken(Port, "starts at %v, but the sink port of %s is held until %v", t.Start, c.in.Machines[f.To].Name, held), t.Flow)
		}
		source[f.From] = max(source[f.From], t.Finish)
		sink[f.To] = max(sink[f.To], t.Finish)
	}
	return nil
}
