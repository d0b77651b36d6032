package dag

import (
	"cmp"
	"slices"

	"github.com/fairlead-project/fairlead/sched"
)

// source is when the last of a stage's tasks on a machine finished.
type source struct {
	machine sched.MachineID
	last    sched.Time
}

// ports groups machines by the rate of their ports, so that the arrival of input
// costs the number of different rates per target, not the number of sources.
type ports struct {
	rate  []float64 // distinct, ascending
	class []int     // per machine
	top   [][2]source
}

func newPorts(machines []sched.Machine) *ports {
	q := &ports{class: make([]int, len(machines))}
	for m := range machines {
		q.rate = append(q.rate, machines[m].Port)
	}
	slices.Sort(q.rate)
	q.rate = slices.Compact(q.rate)
	for m := range machines {
		q.class[m], _ = slices.BinarySearch(q.rate, machines[m].Port)
	}
	q.top = make([][2]source, len(q.rate))
	return q
}

// arrive raises at[m], for every machine m, to when the last share of the input
// that came from another machine is there. What was made on m itself is there when
// it is made.
func (q *ports) arrive(sources []source, share float64, at []sched.Time) {
	none := source{sched.None, -1}
	for c := range q.top {
		q.top[c] = [2]source{none, none}
	}
	for _, s := range sources { // the two latest of each class
		top := &q.top[q.class[s.machine]]
		if later(s, top[0]) {
			top[0], top[1] = s, top[0]
		} else if later(s, top[1]) {
			top[1] = s
		}
	}
	for m := range at {
		for c, top := range q.top {
			s := top[0]
			if int(s.machine) == m {
				s = top[1]
			}
			if s.last >= 0 {
				at[m] = max(at[m], after(s.last, sched.Duration(share, min(q.rate[c], q.rate[q.class[m]]))))
			}
		}
	}
}

func later(a, b source) bool { return cmp.Compare(a.last, b.last) > 0 }

// after returns t + d, at most MaxTime.
func after(t, d sched.Time) sched.Time {
	if d > sched.MaxTime-t {
		return sched.MaxTime
	}
	return t + d
}
