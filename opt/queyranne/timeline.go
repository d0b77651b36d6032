package queyranne

import "math"

// timeline is a machine of speed μ that takes jobs by falling priority: each fills
// the earliest time that is left after its release. So work leaves no gap after a
// release that it does not fill, what is busy are runs from a release on, and
// releases inside a run need not be told apart: a union-find structure over them
// makes any number of jobs cost almost linear time, since a gap that is jumped is
// closed for good.
type timeline struct {
	mu     float64
	start  []float64 // of the runs, ascending; the last is +Inf
	parent []int32   // union-find; the root is the first release of a run
	next   []int32   // per root: the first release after the run's
	end    []float64 // per root: of the run

	// What was filled since mark, in the order of filling.
	pieces []piece
	work   float64
	until  float64
}

// piece is a stretch without interruption: work from at on is done from time on.
type piece struct{ at, time float64 }

func newTimeline(q *core) *timeline {
	n := len(q.start)
	l := &timeline{
		mu: q.mu, start: append(append(make([]float64, 0, n+1), q.start...), math.Inf(1)),
		parent: make([]int32, n), next: make([]int32, n), end: make([]float64, n),
	}
	l.reset()
	return l
}

// reset empties the machine.
func (l *timeline) reset() {
	for r := range l.parent {
		l.parent[r], l.next[r] = int32(r), int32(r+1)
	}
	copy(l.end, l.start)
	l.mark()
}

// mark starts a new list of pieces.
func (l *timeline) mark() { l.pieces, l.work, l.until = l.pieces[:0], 0, -1 }

func (l *timeline) root(r int32) int32 {
	for l.parent[r] != r {
		l.parent[r] = l.parent[l.parent[r]]
		r = l.parent[r]
	}
	return r
}

// fill does work p with release r and returns the integral of time over it.
func (l *timeline) fill(r int32, p float64) (moment float64) {
	g := l.root(r)
	for {
		t, h := l.end[g], l.next[g]
		room := float64(l.mu * (l.start[h] - t))
		if p < room {
			l.put(t, p)
			l.end[g] = t + p/l.mu
			return moment + float64(p*(t+p/(2*l.mu)))
		}
		if room > 0 { // by rounding a run may end after the next one starts
			l.put(t, room)
			moment += float64(room * (t + room/(2*l.mu)))
			p -= room
		}
		l.parent[h], l.next[g], l.end[g] = g, l.next[h], l.end[h]
	}
}

func (l *timeline) put(t, work float64) {
	if t != l.until {
		l.pieces = append(l.pieces, piece{l.work, t})
	}
	l.work += work
	l.until = t + work/l.mu
}
