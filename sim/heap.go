package sim

import "github.com/fairlead-project/fairlead/sched"

// entry is a future event: the end of a task's attempt or of a flow, the
// completion of a group's next member, a solution.
type entry struct {
	at   sched.Time
	what what
	id   int32 // task, flow, group or solve
	tag  int32 // attempt of a task, version of a group
}

type what uint8

const (
	taskEnds what = iota
	flowEnds
	groupNext
	solveEnds
)

func (e entry) before(f entry) bool {
	if e.at != f.at {
		return e.at < f.at
	}
	if e.what != f.what {
		return e.what < f.what
	}
	return e.id < f.id
}

// queue is a binary min-heap of entries: the one event queue of a simulation.
type queue []entry

func (q *queue) push(e entry) {
	*q = append(*q, e)
	h := *q
	i := len(h) - 1
	for i > 0 {
		p := (i - 1) / 2
		if !e.before(h[p]) {
			break
		}
		h[i] = h[p]
		i = p
	}
	h[i] = e
}

func (q *queue) pop() entry {
	h := *q
	top := h[0]
	last := h[len(h)-1]
	h = h[:len(h)-1]
	*q = h
	if len(h) == 0 {
		return top
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && h[c+1].before(h[c]) {
			c++
		}
		if !h[c].before(last) {
			break
		}
		h[i] = h[c]
		i = c
	}
	h[i] = last
	return top
}
