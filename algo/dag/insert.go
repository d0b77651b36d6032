package dag

import (
	"cmp"
	"slices"

	"github.com/fairlead-project/fairlead/sched"
)

// insertBudget is, in units looked at, what Insert may spend: about a second. What
// would take longer is placed without insertion.
const insertBudget = 3e7

// Insert is [Problem.List] on all units that may also place a task in a gap: on each
// unit it may start where all tasks that are placed already leave it enough time,
// and goes where it finishes first. It delays no task that is placed already; this is
// conservative backfilling. What holds for List holds here too. For when a task of
// stage k is placed, let B be when the stages before k are done and k is ready. After B
// only tasks of k are on a unit l, without gaps: the first of them there would have
// fitted at B. So l is free by B + W_l/v_l, where W_l is the work of k there, and the
// unit that was chosen finishes no later; the proof needs no more than that.
//
// Tasks with needs start no earlier than List would have them as far as those are
// concerned. Where tasks · units exceeds a budget of about a second, it is List.
func (p *Problem) Insert(order []int32) (*Plan, error) {
	l, err := p.insert(order, true)
	if err != nil {
		return nil, err
	}
	return p.planned(l), nil
}

// InsertCost returns the cost of the plan that Insert makes, without recording it.
func (p *Problem) InsertCost(order []int32) (float64, error) {
	l, err := p.insert(order, false)
	if err != nil {
		return 0, err
	}
	return l.cost(), nil
}

func (p *Problem) insert(order []int32, record bool) (*lister, error) {
	if float64(p.Tasks())*float64(len(p.Units)) > insertBudget {
		return p.list(order, 0, record)
	}
	l := newLister(p, p.Units, record)
	l.gaps = make([]gaps, len(p.Units))
	for i := range l.gaps {
		l.gaps[i] = gaps{{0, sched.Never}}
	}
	return l, l.placeAll(order)
}

// gaps are the times at which a unit is free, ascending; the last one never ends.
type gaps []gap

type gap struct{ from, to sched.Time }

// find returns the first gap in which a task of the given length can start at or after
// from, and when.
func (g gaps) find(from, length sched.Time) (at int, start sched.Time) {
	i, _ := slices.BinarySearchFunc(g, from, func(a gap, t sched.Time) int { return cmp.Compare(a.to, t) })
	for ; i < len(g)-1; i++ {
		if start = max(from, g[i].from); after(start, length) <= g[i].to {
			return i, start
		}
	}
	return len(g) - 1, max(from, g[len(g)-1].from)
}

// take removes [start, end) from gap i.
func (g *gaps) take(i int, start, end sched.Time) {
	old := (*g)[i]
	left, right := gap{old.from, start}, gap{end, old.to}
	switch {
	case left.from < left.to && right.from < right.to:
		(*g)[i] = left
		*g = slices.Insert(*g, i+1, right)
	case left.from < left.to:
		(*g)[i] = left
	case right.from < right.to || i == len(*g)-1:
		(*g)[i] = right
	default:
		*g = slices.Delete(*g, i, i+1)
	}
}

// insert places task t of node j in the gap in which it finishes first, ties to the
// faster unit. It returns sched.Never where it fits nowhere.
func (l *lister) insert(t sched.TaskID, size float64) (finish sched.Time) {
	finish = sched.Never
	var unit, at int
	var start sched.Time
	speed, length := 0.0, sched.Time(0)
	for u := range l.unit {
		m := &l.machines[l.at[l.unit[u].Machine]]
		if m.start == sched.Never {
			continue
		}
		if v := l.speeds[m.speed].speed; v != speed {
			if speed, length = v, sched.Duration(size, v); finish != sched.Never && after(l.least, length) >= finish {
				break // and all that follow are no faster
			}
		}
		from := l.arrival[m.id]
		if l.need != nil {
			from = m.usage.free(l.need, l.p.x.Instance.Machines[m.id].Capacity, l.held, from)
		}
		i, s := l.gaps[u].find(from, length)
		if f := after(s, length); f < finish {
			unit, at, start, finish = u, i, s, f
		}
	}
	if finish == sched.Never || finish == sched.MaxTime {
		return finish
	}
	l.gaps[unit].take(at, start, finish)
	u := l.unit[unit]
	m := &l.machines[l.at[u.Machine]]
	if l.need != nil {
		m.usage.hold(l.need, start, finish)
	}
	if l.record {
		l.placed = append(l.placed, sched.Placement{Task: t, Machine: u.Machine, Slot: u.Slot, Start: start, Finish: finish})
	}
	l.ends(m.id, finish)
	return finish
}
