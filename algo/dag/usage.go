package dag

import (
	"slices"

	"github.com/fairlead-project/fairlead/sched"
)

// usage is what tasks placed on one machine hold over time: at[i] is when the
// amounts change, by delta[i·dims : (i+1)·dims]. Times are distinct, ascending.
type usage struct {
	at    []sched.Time
	delta []int64
}

// free returns the earliest time, not before from, from which need is free for
// good. It scans backwards from the end, where nothing is held; held is scratch.
func (u *usage) free(need, capacity, held []int64, from sched.Time) sched.Time {
	clear(held)
	for i := len(u.at) - 1; i >= 0 && u.at[i] > from; i-- {
		for d := range held {
			held[d] -= u.delta[i*len(held)+d]
			if held[d] > capacity[d]-need[d] {
				return u.at[i]
			}
		}
	}
	return from
}

// hold adds need during [start, finish).
func (u *usage) hold(need []int64, start, finish sched.Time) {
	if start == finish {
		return
	}
	for d, i := 0, u.breakpoint(start, len(need)); d < len(need); d++ {
		u.delta[i*len(need)+d] += need[d]
	}
	for d, i := 0, u.breakpoint(finish, len(need)); d < len(need); d++ {
		u.delta[i*len(need)+d] -= need[d]
	}
}

// breakpoint returns the position of t in at, inserted if need be.
func (u *usage) breakpoint(t sched.Time, dims int) int {
	i := len(u.at) // mostly near the end
	for i > 0 && u.at[i-1] >= t {
		i--
	}
	if i < len(u.at) && u.at[i] == t {
		return i
	}
	u.at = slices.Insert(u.at, i, t)
	u.delta = append(u.delta, make([]int64, dims)...)
	copy(u.delta[(i+1)*dims:], u.delta[i*dims:])
	clear(u.delta[i*dims : (i+1)*dims])
	return i
}
