package queyranne

import (
	"cmp"
	"slices"
)

// intervals projects where there are releases. A vector of shifts s = c − t ≥ 0 is
// that of the nearest point if and only if c − a are mean busy times on one machine of
// speed μ where larger shifts have priority, and equal ones share the machine as they
// need to (M. Goemans, "A supermodular relaxation for scheduling with release dates",
// IPCO 1996: mean busy times form a supermodular polyhedron). For jobs in an order of
// priority the best shifts are those of pool-adjacent-violators on what the times in
// that order lack. The order is the best one if no set within a block has an excess
// over the block's shift; otherwise the set that has most goes first, and both parts
// are treated alike; then blocks may have to be united, and divided anew. That is done
// once per projection, and the order found serves the next one, of a point nearby, so
// that it becomes right as the method converges. Until then a point near the nearest
// one does as well, and iterations are worth more than precision.
type intervals struct {
	q      *core
	line   *timeline
	sep    separator
	pool   pool
	ord    []int32   // by falling shift
	key    []float64 // per node: t − a
	early  []int32   // all jobs by release
	member []int32   // the same by block
	open   []float64 // beside member: work of the block that is done before the release
	block  []int32   // per node
	begun  []int32   // per block
	// work is what this projection has cost; beyond limit blocks stay as they are.
	work, limit int

	// Scratch.
	split  []int32
	late   []float64
	spans  []span
	pieces []piece
}

// place is where a block is in ord.
type place struct{ from, end int32 }

const (
	// noise is the excess of a set, relative to the integral of time over its work,
	// that may come from rounding.
	noise = 1e-13
	// orderWork and separateWork are measured costs per job, in updates of a node in a
	// projection without releases.
	orderWork    = 16
	separateWork = 26
	// maxDepth bounds how often, on average over the jobs, a set is looked for.
	maxDepth = 20
)

func newIntervals(q *core) *intervals {
	iv := &intervals{
		q: q, line: newTimeline(q), sep: separator{mu: q.mu}, pool: newPool(q.sized), ord: q.sizedNodes(),
		key: make([]float64, q.n), early: q.sizedNodes(), member: make([]int32, q.sized), open: make([]float64, q.sized),
		block: make([]int32, q.n), begun: make([]int32, q.sized),
	}
	slices.SortStableFunc(iv.early, func(a, b int32) int { return cmp.Compare(q.release[a], q.release[b]) })
	iv.pool.add(1, 0) // one block
	iv.pool.end[0] = int32(q.sized)
	return iv
}

func (iv *intervals) project(t, c []float64) int64 {
	for j := range t {
		iv.key[j] = t[j] - iv.q.tail[j]
		c[j] = max(0, t[j])
	}
	from := int32(0)
	for _, end := range iv.pool.end[:iv.pool.top+1] {
		iv.sort(iv.ord[from:end]) // where nobody waits for a release this is the best order
		from = end
	}
	iv.work = len(iv.ord) * orderWork
	iv.limit = iv.work + len(iv.ord)*separateWork*maxDepth
	iv.shifts()
	if iv.improve() {
		iv.shifts()
	}
	iv.pool.shift(iv.ord, t, c)
	return int64(iv.work)
}

func (iv *intervals) sort(nodes []int32) {
	slices.SortFunc(nodes, func(a, b int32) int { return cmp.Or(cmp.Compare(iv.key[a], iv.key[b]), cmp.Compare(a, b)) })
}

// shifts computes the best shifts for the order.
func (iv *intervals) shifts() {
	iv.line.reset()
	iv.pool.clear()
	for _, j := range iv.ord {
		iv.line.mark()
		p := iv.q.p[j]
		iv.pool.add(p, iv.line.fill(iv.q.release[j], p)/p-iv.key[j])
	}
}

// improve finds the best order within each block, and reports whether it changed one.
func (iv *intervals) improve() (changed bool) {
	q, line := iv.q, iv.line
	from := int32(0)
	for b, end := range iv.pool.end[:iv.pool.top+1] {
		iv.begun[b] = from
		for _, j := range iv.ord[from:end] {
			iv.block[j] = int32(b)
		}
		from = end
	}
	for _, j := range iv.early {
		at := &iv.begun[iv.block[j]]
		iv.member[*at] = j
		*at++
	}
	line.reset()
	from = 0
	for i, end := range iv.pool.end[:iv.pool.top+1] {
		b := block{place: place{from, end}, work: iv.pool.work[i], lack: iv.pool.work[i] * iv.pool.slope[i]}
		jobs, ord := iv.member[from:end], iv.ord[from:end]
		from = end
		line.mark()
		for _, j := range jobs {
			line.fill(q.release[j], q.p[j])
		}
		switch {
		case len(jobs) == 1:
		case line.start[q.release[jobs[len(jobs)-1]]] <= line.pieces[0].time: // nobody waits for a release
			if !iv.sorted(ord) {
				iv.sort(ord)
				changed = true
			}
		default:
			iv.pieces = append(iv.pieces[:0], line.pieces...)
			b.pieces = iv.pieces
			iv.reopen(&b)
			if iv.divide(&b) {
				changed = true
			}
		}
	}
	return changed
}

func (iv *intervals) sorted(nodes []int32) bool {
	return slices.IsSortedFunc(nodes, func(a, b int32) int { return cmp.Compare(iv.key[a], iv.key[b]) })
}

// reopen computes the open amounts of a block.
func (iv *intervals) reopen(b *block) {
	k := 0
	for i := b.from; i < b.end; i++ {
		iv.open[i], k = position(b.pieces, iv.q.mu, iv.line.start[iv.q.release[iv.member[i]]], k)
	}
}

// worst finds the set that c violates most, by how much it does.
func (iv *intervals) worst(c []float64) (excess float64) {
	for j := range c {
		iv.key[j] = c[j] - iv.q.tail[j]
	}
	b := block{place: place{0, int32(len(iv.early))}}
	copy(iv.member, iv.early)
	iv.line.reset()
	for _, j := range iv.early {
		iv.line.fill(iv.q.release[j], iv.q.p[j])
	}
	b.pieces = iv.line.pieces
	iv.reopen(&b)
	excess, _ = iv.separate(&b, 0)
	return excess
}

func (iv *intervals) excess(c []float64) float64 {
	excess, lhs := iv.worst(c), 0.0
	for i, j := range iv.early {
		if iv.sep.in[i] {
			lhs += float64(iv.q.p[j] * c[j])
		}
	}
	if excess <= 0 || lhs == 0 {
		return 0
	}
	return excess / lhs
}
