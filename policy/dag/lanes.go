package dag

import (
	"container/heap"

	"github.com/fairlead-project/fairlead/sched"
)

// lanes answers where a task that needs only a slot would finish first, in
// O(different speeds) instead of O(machines): per speed, a heap of the slots by
// when they get free. They are the profiles' answer for such tasks (a test
// compares the two), and are used when no pending task needs more.
type lanes struct {
	round   uint32
	classes []lane
}

type lane struct {
	speed float64
	slots laneSlots
}

type laneSlot struct {
	at sched.Time // when it gets free
	m  sched.MachineID
}

type laneSlots []laneSlot

func (h laneSlots) Len() int { return len(h) }
func (h laneSlots) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].m < h[j].m
}
func (h laneSlots) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push and Pop are never called: slots stay, only their times change.
func (h *laneSlots) Push(any) {}
func (h *laneSlots) Pop() any { return nil }

// build takes in what runs, and what this decision has started so far.
func (l *lanes) build(d *dispatch, now sched.Time) {
	l.round = d.a.round
	v := d.a.v
	machines := v.Index().Instance.Machines
	started := map[sched.MachineID][]sched.Time{}
	for i, s := range d.out.Start {
		started[s.Machine] = append(started[s.Machine], d.finish[i])
	}
	n := 0
	for _, m := range v.BySpeed() {
		if !v.Machine(m).Up {
			continue
		}
		if n == 0 || l.classes[n-1].speed != machines[m].Speed {
			if n == len(l.classes) {
				l.classes = append(l.classes, lane{})
			}
			l.classes[n].speed, l.classes[n].slots = machines[m].Speed, l.classes[n].slots[:0]
			n++
		}
		c := &l.classes[n-1]
		for slot := range int32(machines[m].Slots) {
			at := d.free(now, m, slot)
			if f := started[m]; at == now && len(f) > 0 {
				at, started[m] = f[0], f[1:]
			}
			c.slots = append(c.slots, laneSlot{at, m})
		}
	}
	l.classes = l.classes[:n]
	for i := range l.classes {
		heap.Init(&l.classes[i].slots)
	}
}

// choose returns where a task of size p finishes first, and the class of that
// machine.
func (l *lanes) choose(now sched.Time, p float64) (best choice, class int) {
	best = choice{machine: sched.None, finish: sched.Never}
	for i := range l.classes {
		c := &l.classes[i]
		if len(c.slots) == 0 {
			continue
		}
		top := c.slots[0]
		if c := (choice{top.m, top.at, top.at + sched.Duration(p, c.speed)}); c.before(best, now) {
			best, class = c, i
		}
	}
	return best, class
}

// take books the slot that choose returned until the given time.
func (l *lanes) take(class int, until sched.Time) {
	c := &l.classes[class]
	c.slots[0].at = until
	heap.Fix(&c.slots, 0)
}
