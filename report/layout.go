package report

import (
	"cmp"
	"slices"

	"github.com/fairlead-project/fairlead/sched"
)

const (
	// maxBars bounds a picture, whatever the number of attempts: beyond it, files
	// become large and browsers slow. Only pictures of more than about a hundred
	// slots, whose lanes are not divided into fewer than coarsest cells, can exceed
	// it, in proportion to the slots.
	maxBars = 20_000
	// coarsest is the least number of cells that a lane is divided into.
	coarsest = 16
	// maxShares bounds the bars that share a cell; the rest become one.
	maxShares = 6
	// several stands for the jobs of such a rest.
	several = -1
)

// bar is what is drawn of one attempt, or of many short ones.
type bar struct {
	machine, slot int
	job           int // or several
	state         AttemptState
	start, finish sched.Time
	// from and to are the share of the lane's height that it takes: less than all
	// where short attempts of several jobs, or ends, share a cell.
	from, to float64
	n        int // attempts
	attempt  int // one of them
}

// bars lays out all attempts, lane by lane in order of time. An attempt shorter than
// a cell is drawn together with its neighbours: those of one job that ended alike
// become one bar, others share the lane's height by the time they took. Cells are
// span/cells long, or 2, 4, ... times that until there are at most maxBars bars.
// Cost: O(attempts log attempts).
func (t *Timeline) bars(cells int) []bar {
	lanes := t.lanes()
	span := t.span()
	for {
		cell := max(1, span/sched.Time(cells))
		var out []bar
		for m, slots := range lanes {
			for s, lane := range slots {
				l := laneLayout{t: t, cell: cell, machine: m, slot: s}
				out = append(out, l.lay(lane)...)
			}
		}
		if len(out) <= maxBars || cells <= coarsest {
			return out
		}
		cells /= 2
	}
}

type laneLayout struct {
	t             *Timeline
	cell          sched.Time
	machine, slot int
	bars          []bar
	shared        bool // the last bar stands for short attempts
}

func (l *laneLayout) lay(lane []int) []bar {
	for i := 0; i < len(lane); {
		a := &l.t.Attempts[lane[i]]
		if l.t.end(a)-a.Start >= l.cell {
			l.bars = append(l.bars, l.bar(a.Job, a.State, a.Start, l.t.end(a), 1, lane[i]))
			l.shared = false
			i++
			continue
		}
		first := i
		for i < len(lane) {
			b := &l.t.Attempts[lane[i]]
			if b.Start-a.Start >= l.cell || l.t.end(b)-b.Start >= l.cell {
				break
			}
			i++
		}
		l.share(lane[first:i])
	}
	return l.bars
}

func (l *laneLayout) bar(job int, state AttemptState, start, finish sched.Time, n, attempt int) bar {
	return bar{machine: l.machine, slot: l.slot, job: job, state: state, start: start, finish: finish, to: 1, n: n, attempt: attempt}
}

// share draws the short attempts of one cell.
func (l *laneLayout) share(cell []int) {
	type part struct {
		bar
		busy sched.Time
	}
	type kind struct {
		job   int
		state AttemptState
	}
	var parts []part
	index := map[kind]int{}
	start, finish := sched.Never, sched.Time(0)
	for _, i := range cell {
		a := &l.t.Attempts[i]
		end := l.t.end(a)
		start, finish = min(start, a.Start), max(finish, end)
		k, seen := index[kind{a.Job, a.State}]
		if !seen {
			k = len(parts)
			index[kind{a.Job, a.State}] = k
			parts = append(parts, part{bar: l.bar(a.Job, a.State, 0, 0, 0, i)})
		}
		parts[k].n++
		parts[k].busy += end - a.Start + 1 // those that took no time count, too
	}
	if last := len(l.bars) - 1; len(parts) == 1 && l.shared {
		b := &l.bars[last]
		if b.job == parts[0].job && b.state == parts[0].state && start-b.finish < l.cell {
			b.finish, b.n = finish, b.n+parts[0].n
			return
		}
	}
	l.shared = len(parts) == 1
	if len(parts) > maxShares {
		slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.busy, a.busy) })
		rest := part{bar: l.bar(several, Done, 0, 0, 0, parts[maxShares-1].attempt)}
		for _, p := range parts[maxShares-1:] {
			rest.n, rest.busy = rest.n+p.n, rest.busy+p.busy
			if p.state == Failed {
				rest.state = Failed
			}
		}
		parts = append(parts[:maxShares-1], rest)
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Or(cmp.Compare(a.job, b.job), cmp.Compare(a.state, b.state)) })
	all, y := sched.Time(0), 0.0
	for _, p := range parts {
		all += p.busy
	}
	for i, p := range parts {
		b := p.bar
		b.start, b.finish, b.from = start, finish, y
		y += float64(p.busy) / float64(all)
		if b.to = y; i == len(parts)-1 {
			b.to = 1
		}
		l.bars = append(l.bars, b)
	}
}
