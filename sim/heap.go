package sim

import "cmp"

// entry is one element of a heap: in the event queue the end of a task's attempt
// or of a flow, the completion of a group's next member, a solution, each at a
// time; among the members of a group, one that completes at a service.
type entry[K cmp.Ordered] struct {
	key     K
	what    what
	id      int32 // task, flow, group or solve; activity
	attempt int32 // of a task
}

// what kinds of entries there are, in the order of those at one instant.
type what uint8

const (
	taskEnds what = iota
	flowEnds
	groupNext
	solveEnds
	memberEnds
)

func (e *entry[K]) before(f *entry[K]) bool {
	if e.key != f.key {
		return e.key < f.key
	}
	if e.what != f.what {
		return e.what < f.what
	}
	return e.id < f.id
}

// heap is a binary min-heap. It knows where the entries of one kind are, so that
// they can be moved and removed: at holds their positions, by id; -1: not there.
type heap[K cmp.Ordered] struct {
	entries []entry[K]
	follow  what
	at      []int32
}

// Cost of push, pop, remove and change: O(log entries).
func (h *heap[K]) push(e entry[K]) {
	h.entries = append(h.entries, e)
	h.up(len(h.entries)-1, e)
}

func (h *heap[K]) pop() entry[K] { return h.remove(0) }

// remove takes out the entry at position i.
func (h *heap[K]) remove(i int) entry[K] {
	e, n := h.entries[i], len(h.entries)-1
	last := h.entries[n]
	h.entries = h.entries[:n]
	if i < n {
		h.settle(i, last)
	}
	if e.what == h.follow {
		h.at[e.id] = -1
	}
	return e
}

// change gives the entry at position i another key.
func (h *heap[K]) change(i int, key K) {
	e := h.entries[i]
	e.key = key
	h.settle(i, e)
}

// settle puts e where it belongs, given that position i is free.
func (h *heap[K]) settle(i int, e entry[K]) {
	if i > 0 && e.before(&h.entries[(i-1)/2]) {
		h.up(i, e)
	} else {
		h.down(i, e)
	}
}

func (h *heap[K]) up(i int, e entry[K]) {
	for i > 0 {
		p := (i - 1) / 2
		if !e.before(&h.entries[p]) {
			break
		}
		h.put(i, h.entries[p])
		i = p
	}
	h.put(i, e)
}

func (h *heap[K]) down(i int, e entry[K]) {
	for {
		c := 2*i + 1
		if c >= len(h.entries) {
			break
		}
		if c+1 < len(h.entries) && h.entries[c+1].before(&h.entries[c]) {
			c++
		}
		if !h.entries[c].before(&e) {
			break
		}
		h.put(i, h.entries[c])
		i = c
	}
	h.put(i, e)
}

func (h *heap[K]) put(i int, e entry[K]) {
	h.entries[i] = e
	if e.what == h.follow {
		h.at[e.id] = int32(i)
	}
}
