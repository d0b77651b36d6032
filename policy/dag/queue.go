package dag

import (
	"container/heap"
	"encoding/binary"
	"slices"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// queue holds the stages with pending tasks in the order of less, in one heap per
// class of stages that fit on the same machines (same needs and pins). When the
// first stage of a class fits nowhere, no other of its class does: a round looks
// at one stage per class instead of at all.
type queue struct {
	less    func(a, b sched.StageID) bool
	now     sched.Time
	classes []class
	active  []int32 // classes that are not empty, in no order
	byNeeds map[string]int32
	stages  []queued
	aside   []sched.StageID
	// ascending serves the tasks of a stage in order of size, the smallest first.
	ascending bool
}

type class struct {
	heap    stageHeap
	pos     int32 // in active, plus 1; 0: empty
	blocked bool
	simple  bool // a slot, any slot, is all that its tasks need
}

// queued is what the queue knows of a stage.
type queued struct {
	class  int32 // plus 1; 0: not yet known
	pos    int32 // in the heap, plus 1; 0: not in it
	cursor int32 // no task before this place in the order is pending
	left   int32 // pending tasks
	order  []int32
}

func newQueue(less func(a, b sched.StageID) bool) *queue {
	return &queue{less: less, byNeeds: map[string]int32{}}
}

// update takes in the stages that have changed since the last round.
func (q *queue) update(now sched.Time, v policy.View) {
	q.now = now
	if q.stages == nil {
		q.stages = make([]queued, v.Index().Stages())
	}
	for _, s := range v.Changed() {
		q.refresh(v, s)
	}
}

// reset takes in all stages afresh, in the present order.
func (q *queue) reset(now sched.Time, v policy.View) {
	ascending := q.ascending
	*q = *newQueue(q.less)
	q.now, q.ascending = now, ascending
	q.stages = make([]queued, v.Index().Stages())
	for s := range sched.StageID(v.Index().Stages()) {
		q.refresh(v, s)
	}
}

func (q *queue) refresh(v policy.View, s sched.StageID) {
	state, e := v.Stage(s), &q.stages[s]
	pending := int32(state.Pending)
	if pending > e.left { // tasks have come back
		e.cursor = 0
	}
	e.left = pending
	switch {
	case !state.Ready || pending == 0:
		q.remove(s)
	case e.pos == 0:
		if e.class == 0 {
			e.class = q.classOf(v, s) + 1
			if e.order = tasksBySize(v, s); q.ascending {
				slices.Reverse(e.order)
			}
		}
		q.push(s)
	default:
		heap.Fix(q.heapOf(s), int(e.pos-1))
	}
}

// rebuild restores the order after less has changed its mind.
func (q *queue) rebuild() {
	for i := range q.classes {
		heap.Init(&q.classes[i].heap)
	}
}

// reorder lets change alter the priority of job j's stages. They leave their
// heaps meanwhile: two elements out of place cannot be repaired one by one.
func (q *queue) reorder(v policy.View, j sched.JobID, change func()) {
	first, end := v.Index().JobStages(j)
	var out []sched.StageID
	for s := first; s < end; s++ {
		if q.stages[s].pos > 0 {
			q.remove(s)
			out = append(out, s)
		}
	}
	change()
	for _, s := range out {
		q.push(s)
	}
}

func (q *queue) heapOf(s sched.StageID) *stageHeap { return &q.classes[q.stages[s].class-1].heap }

func (q *queue) push(s sched.StageID) {
	i := q.stages[s].class - 1
	c := &q.classes[i]
	heap.Push(&c.heap, s)
	if c.pos == 0 {
		q.active = append(q.active, i)
		c.pos = int32(len(q.active))
	}
}

func (q *queue) remove(s sched.StageID) {
	e := &q.stages[s]
	if e.pos == 0 {
		return
	}
	c := &q.classes[e.class-1]
	heap.Remove(&c.heap, int(e.pos-1))
	if len(c.heap.stages) == 0 {
		last := q.active[len(q.active)-1]
		q.active[c.pos-1] = last
		q.classes[last].pos = c.pos
		q.active = q.active[:len(q.active)-1]
		c.pos = 0
	}
}

// classOf returns the class of s. A stage whose input is yet to arrive is a class of
// its own: when it fits where is its own affair.
func (q *queue) classOf(v policy.View, s sched.StageID) int32 {
	st := v.Index().Stage(s)
	var key []byte
	late := len(st.Input) > 0 && q.inputLate(v, s)
	if late {
		key = binary.AppendVarint(append(key, 'i'), int64(s))
	} else {
		for _, n := range st.Needs {
			key = binary.AppendVarint(key, n)
		}
		for i, m := range st.Machines {
			if i == 0 {
				key = append(key, 'm')
			}
			key = binary.AppendVarint(key, int64(m))
		}
	}
	c, ok := q.byNeeds[string(key)]
	if !ok {
		c = int32(len(q.classes))
		q.byNeeds[string(key)] = c
		simple := !slices.ContainsFunc(st.Needs, func(n int64) bool { return n > 0 }) && st.Machines == nil && !late
		q.classes = append(q.classes, class{heap: stageHeap{q: q}, simple: simple})
	}
	return c
}

// inputLate reports whether the input of s, which is ready, is yet to arrive on
// some machine.
func (q *queue) inputLate(v policy.View, s sched.StageID) bool {
	return slices.ContainsFunc(v.BySpeed(), func(m sched.MachineID) bool { return v.InputReady(s, m) > q.now })
}

// begin starts a round: every class is looked at again.
func (q *queue) begin() {
	for _, i := range q.active {
		q.classes[i].blocked = false
	}
}

// simple reports whether every task in the queue needs only a slot.
func (q *queue) simple() bool {
	return !slices.ContainsFunc(q.active, func(i int32) bool { return !q.classes[i].simple })
}

// head returns the first stage of the classes that are not blocked.
func (q *queue) head() (s sched.StageID, ok bool) {
	s = sched.None
	for _, i := range q.active {
		c := &q.classes[i]
		if c.blocked {
			continue
		}
		if f := c.heap.stages[0]; s == sched.None || q.less(f, s) {
			s = f
		}
	}
	return s, s != sched.None
}

// block leaves the class of s alone for the rest of the round.
func (q *queue) block(s sched.StageID) { q.classes[q.stages[s].class-1].blocked = true }

// setAside takes s out of the queue until the end of the round.
func (q *queue) setAside(s sched.StageID) {
	q.remove(s)
	q.aside = append(q.aside, s)
}

// end puts back what was set aside.
func (q *queue) end() {
	for _, s := range q.aside {
		if q.stages[s].left > 0 {
			q.push(s)
		}
	}
	q.aside = q.aside[:0]
}

// peek returns the first pending task of s at or after place in its order, and the
// place where it is; None if there is none. Places below the first pending task's
// are skipped for good.
func (q *queue) peek(v policy.View, s sched.StageID, place int32) (sched.TaskID, int32) {
	e := &q.stages[s]
	first, end := v.Index().StageTasks(s)
	fromFirst := place <= e.cursor
	for place = max(place, e.cursor); place < int32(end-first); place++ {
		t := first + sched.TaskID(place)
		if e.order != nil {
			t = first + sched.TaskID(e.order[place])
		}
		if v.Task(t) == policy.TaskPending {
			return t, place
		}
		if place == e.cursor {
			e.cursor++
		}
	}
	if fromFirst && e.left > 0 && e.cursor > 0 { // as many have come back as were recovered meanwhile
		e.cursor = 0
		return q.peek(v, s, 0)
	}
	return sched.None, place
}

// equal reports whether all tasks of s are alike, as far as is known.
func (q *queue) equal(s sched.StageID) bool { return q.stages[s].order == nil }

// started notes that the task at a place of s's order is being started.
func (q *queue) started(s sched.StageID, place int32) {
	e := &q.stages[s]
	if place == e.cursor {
		e.cursor++
	}
	if e.left--; e.left == 0 {
		q.remove(s)
	}
}

// stageHeap implements heap.Interface.
type stageHeap struct {
	q      *queue
	stages []sched.StageID
}

func (h *stageHeap) Len() int           { return len(h.stages) }
func (h *stageHeap) Less(i, j int) bool { return h.q.less(h.stages[i], h.stages[j]) }
func (h *stageHeap) Swap(i, j int) {
	h.stages[i], h.stages[j] = h.stages[j], h.stages[i]
	h.q.stages[h.stages[i]].pos = int32(i + 1)
	h.q.stages[h.stages[j]].pos = int32(j + 1)
}

func (h *stageHeap) Push(x any) {
	s := x.(sched.StageID)
	h.stages = append(h.stages, s)
	h.q.stages[s].pos = int32(len(h.stages))
}

func (h *stageHeap) Pop() any {
	last := len(h.stages) - 1
	s := h.stages[last]
	h.stages = h.stages[:last]
	h.q.stages[s].pos = 0
	return s
}
