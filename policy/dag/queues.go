package dag

import (
	"slices"

	algo "github.com/fairlead-project/fairlead/algo/dag"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// queues bind tasks to slots: per machine and slot, what is left to run there, in
// order.
type queues [][][]sched.TaskID

// slotted returns the solution that keeps the slots of a plan.
func slotted(p *algo.Problem, order []int32, plan *algo.Plan) *policy.Solution {
	return &policy.Solution{Rule: byQueue, Order: p.Stages(order), Queues: queuesOf(p, plan)}
}

// queuesOf returns the queue of each slot, numbered through the machines, its tasks by
// when they start.
func queuesOf(p *algo.Problem, plan *algo.Plan) [][]sched.TaskID {
	machines := p.Instance().Machines
	first := make([]int, len(machines)+1)
	for m := range machines {
		first[m+1] = first[m] + machines[m].Slots
	}
	q := make([][]sched.TaskID, first[len(machines)])
	for _, t := range inOrderOfStart(plan.Placed) {
		slot := first[t.Machine] + int(t.Slot)
		q[slot] = append(q[slot], t.Task)
	}
	return q
}

// newQueues cuts the flat list of a solution, which it leaves as it is, into
// machines.
func newQueues(v policy.View, flat [][]sched.TaskID) queues {
	flat = slices.Clone(flat)
	machines := v.Index().Instance.Machines
	q := make(queues, len(machines))
	for m := range machines {
		q[m], flat = flat[:machines[m].Slots:machines[m].Slots], flat[machines[m].Slots:]
	}
	return q
}

// starts returns the tasks at the head of a free slot's queue that can start, those
// of earlier stages first: the plan gave them what resources there are in that
// order. A task leaves its queue when it has ended, so that one that is repeated is
// repeated where it was.
func (q queues) starts(a *account, v policy.View, before func(a, b sched.StageID) bool) []policy.Start {
	x := v.Index()
	var heads []policy.Start
	for r := v.Idle(0); r >= 0; r = v.Idle(r + 1) {
		m := v.BySpeed()[r]
		for slot := range q[m] {
			if running, _ := v.Slot(m, int32(slot)); running != sched.None {
				continue
			}
			for len(q[m][slot]) > 0 && ended(v.Task(q[m][slot][0])) {
				q[m][slot] = q[m][slot][1:]
			}
			if len(q[m][slot]) > 0 && v.Task(q[m][slot][0]) == policy.TaskPending {
				heads = append(heads, policy.Start{Task: q[m][slot][0], Machine: m, Slot: int32(slot)})
			}
		}
	}
	slices.SortStableFunc(heads, func(a, b policy.Start) int {
		switch sa, sb := x.TaskStage(a.Task), x.TaskStage(b.Task); {
		case before(sa, sb):
			return -1
		case before(sb, sa):
			return 1
		}
		return 0
	})
	a.begin(v)
	out := heads[:0]
	for _, h := range heads {
		if s := x.TaskStage(h.Task); a.fits(s, h.Machine) {
			a.take(s, h.Machine)
			out = append(out, h)
		}
	}
	return out
}

func ended(s policy.TaskState) bool {
	return s == policy.TaskDone || s == policy.TaskFailed || s == policy.TaskCancelled
}

// stuck reports whether tasks are bound to a machine that is down: then the
// queues cannot be kept.
func (q queues) stuck(v policy.View) bool {
	for m := range q {
		if v.Machine(sched.MachineID(m)).Up {
			continue
		}
		for _, tasks := range q[m] {
			for _, t := range tasks {
				if !ended(v.Task(t)) {
					return true
				}
			}
		}
	}
	return false
}
