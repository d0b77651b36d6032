package dag

import (
	"container/heap"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// lanes answers where a task that needs only a slot would finish first, in
// O(different speeds) instead of O(machines): per speed, its first idle machine
// or, if it has none, a heap of its slots by when they get free. They are the
// profiles' answer for such tasks (a test compares the two), and are used when no
// pending task needs more.
type lanes struct {
	classes []lane // fastest first
	started map[sched.MachineID][]sched.Time
}

// lane is the machines of one speed, which are those of ranks from to end.
type lane struct {
	speed     float64
	from, end int
	round     uint32 // in which slots were filled
	slots     laneSlots
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

func newLanes(v policy.View) lanes {
	l := lanes{started: map[sched.MachineID][]sched.Time{}}
	machines := v.Index().Instance.Machines
	for r, m := range v.BySpeed() {
		if n := len(l.classes); n == 0 || l.classes[n-1].speed != machines[m].Speed {
			l.classes = append(l.classes, lane{speed: machines[m].Speed, from: r})
		}
		l.classes[len(l.classes)-1].end = r + 1
	}
	return l
}

// chooseSimple is choose for a task that needs only a slot; it books the slot if
// that is not idle.
func (d *dispatch) chooseSimple(now sched.Time, p float64) (best choice, looks int) {
	if d.lanes.classes == nil {
		d.lanes = newLanes(d.a.v)
	}
	best = choice{machine: sched.None, finish: sched.Never}
	var busy *lane // where best is, unless it is idle
	for i := range d.lanes.classes {
		looks++
		c := &d.lanes.classes[i]
		dur := sched.Duration(p, c.speed)
		if r := d.a.idle(c.from); r >= 0 && r < c.end {
			if idle := (choice{d.a.v.BySpeed()[r], now, now + dur}); idle.before(best, now) || d.acceptable(now, idle, best) {
				return idle, looks
			}
			break // slower ones finish no earlier
		}
		if c.round != d.a.round {
			d.fill(c, now)
		}
		if len(c.slots) == 0 {
			continue
		}
		if w := (choice{c.slots[0].m, c.slots[0].at, c.slots[0].at + dur}); w.before(best, now) {
			best, busy = w, c
		}
	}
	if busy != nil {
		busy.slots[0].at = best.finish
		heap.Fix(&busy.slots, 0)
	}
	return best, looks
}

// fill takes in what runs on the machines of a lane, none of which is idle, with
// what this decision has started there.
func (d *dispatch) fill(c *lane, now sched.Time) {
	c.round, c.slots = d.a.round, c.slots[:0]
	v := d.a.v
	clear(d.lanes.started)
	for i, s := range d.out.Start {
		d.lanes.started[s.Machine] = append(d.lanes.started[s.Machine], booked(now, d.finish[i]))
	}
	for _, m := range v.BySpeed()[c.from:c.end] {
		if !v.Machine(m).Up {
			continue
		}
		for slot := range int32(v.Index().Instance.Machines[m].Slots) {
			at := d.free(now, m, slot)
			if at == now {
				at = d.lanes.started[m][0]
				d.lanes.started[m] = d.lanes.started[m][1:]
			}
			c.slots = append(c.slots, laneSlot{at, m})
		}
	}
	heap.Init(&c.slots)
}
