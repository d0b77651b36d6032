package dag

import (
	"slices"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// account keeps what is left of the machines while a decision takes shape, since
// the View does not change meanwhile. Only machines that the decision has touched
// are kept; begin forgets them in O(1).
type account struct {
	v       policy.View
	in      *sched.Instance
	round   uint32
	touched []uint32 // per machine: the round it was last touched in
	slots   []int32
	free    []int64 // machine-major
	spent   int     // ranks below have no slot left in this round
}

func (a *account) begin(v policy.View) {
	if a.touched == nil {
		a.in = v.Index().Instance
		n := len(a.in.Machines)
		a.touched, a.slots = make([]uint32, n), make([]int32, n)
		a.free = make([]int64, n*len(a.in.Resources))
	}
	a.v = v
	a.round++
	a.spent = 0
}

// fits reports whether a task of s could start on m now, after what the decision
// has started already.
func (a *account) fits(s sched.StageID, m sched.MachineID) bool {
	if !a.v.Fits(s, m) {
		return false
	}
	if a.touched[m] != a.round {
		return true
	}
	if a.slots[m] == 0 {
		return false
	}
	base := int(m) * len(a.in.Resources)
	for d, n := range a.v.Index().Stage(s).Needs {
		if n > a.free[base+d] {
			return false
		}
	}
	return true
}

// idle returns the first rank >= rank whose machine has a slot left, or -1. Slots
// only get fewer during a round, so what was found spent is not looked at again:
// when all machines are idle at once, a scan per start would be quadratic.
func (a *account) idle(rank int) int {
	fromStart := rank <= a.spent
	if fromStart {
		rank = a.spent
	}
	for rank = a.v.Idle(rank); rank >= 0; rank = a.v.Idle(rank + 1) {
		if m := a.v.BySpeed()[rank]; a.touched[m] != a.round || a.slots[m] > 0 {
			break
		}
	}
	switch {
	case !fromStart:
	case rank < 0:
		a.spent = len(a.touched)
	default:
		a.spent = rank
	}
	return rank
}

// room reports whether m has a slot left.
func (a *account) room(m sched.MachineID) bool {
	if a.touched[m] == a.round {
		return a.slots[m] > 0
	}
	return a.v.Machine(m).FreeSlots > 0
}

// left returns what is left of resource d on m.
func (a *account) left(m sched.MachineID, d int) int64 {
	if a.touched[m] == a.round {
		return a.free[int(m)*len(a.in.Resources)+d]
	}
	return a.v.Free(m, d)
}

// take books a task of s on m.
func (a *account) take(s sched.StageID, m sched.MachineID) {
	base, dims := int(m)*len(a.in.Resources), len(a.in.Resources)
	if a.touched[m] != a.round {
		a.touched[m] = a.round
		a.slots[m] = int32(a.v.Machine(m).FreeSlots)
		for d := range dims {
			a.free[base+d] = a.v.Free(m, d)
		}
	}
	a.slots[m]--
	for d, n := range a.v.Index().Stage(s).Needs {
		a.free[base+d] -= n
	}
}

// tasksBySize returns the tasks of s, as positions in the stage, by estimated size,
// largest first, ties by position; nil for the plain order.
func tasksBySize(v policy.View, s sched.StageID) []int32 {
	z := v.Estimates()
	if z == nil || !z.Known(s) {
		return nil
	}
	if _, equal := z.Uniform(s); equal {
		return nil
	}
	first, end := v.Index().StageTasks(s)
	order := make([]int32, end-first)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		switch pa, pb := z.Of(s, first+sched.TaskID(a)), z.Of(s, first+sched.TaskID(b)); {
		case pa > pb:
			return -1
		case pa < pb:
			return 1
		}
		return 0
	})
	return order
}
