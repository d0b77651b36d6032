package queyranne

const (
	// ulp is the largest relative distance between neighbouring float64 numbers,
	// twice the rounding error of one operation.
	ulp = 0x1p-52
	// nodeRoundings covers, per node and beside one rounding per arc, the few
	// operations on its multipliers and the error allowed in each of them.
	nodeRoundings = 16
	// sumRoundings covers the operations on a term of the bound beside the sums it
	// goes through, and the relative error 2^-50 allowed in each datum, of which
	// a term holds up to six.
	sumRoundings = 128
	// releasedRoundings covers, per node, what the timeline adds. A mean busy time by
	// itself may be far off: a rounding decides how much of a job is done before it is
	// preempted. But the bound is a sum, with nonnegative coefficients, of the integrals
	// of time over the work of prefixes of the order. The timeline lays that work out in
	// runs of whole jobs, at most two pieces per job, and each piece starts no later than
	// the one before it ends, up to two roundings. So no integral exceeds the least
	// possible one by more than some six units in the last place per node.
	releasedRoundings = 12
)

// bounder computes lower bounds from multipliers.
type bounder struct {
	q     *core
	order *orderer
	line  *timeline
	ratio []float64 // −w'_j/p_j
	c     []float64 // the last minimiser
	// The repaired multipliers and reduced weights of the last bound.
	arc, head, reduced []float64
}

func newBounder(q *core) *bounder {
	return &bounder{
		q: q, order: newOrderer(q.sizedNodes()), line: newTimeline(q),
		ratio: make([]float64, q.n), c: make([]float64, q.n), arc: make([]float64, len(q.from)), head: make([]float64, q.n), reduced: make([]float64, q.n),
	}
}

// bound repairs the multipliers lam, nu ≥ 0 into b.arc, b.head and returns the
// lower bound that these prove, rounded down. b.reduced is at most the exact w'.
func (b *bounder) bound(lam, nu []float64) float64 {
	value := b.repair(lam, nu) + b.smith()
	perNode := 3
	if b.q.released() {
		perNode = releasedRoundings
	}
	return value * (1 - float64(len(b.q.from)+perNode*b.q.n+sumRoundings)*ulp)
}

// repair scales the multipliers on what enters each node, last node first, so that
// w' ≥ 0. A node of size 0 is in no row of (Q), so what stays with it is lost: its
// whole weight is handed on. Returns Σ λ lag + Σ ν lo.
func (b *bounder) repair(lam, nu []float64) float64 {
	q := b.q
	copy(b.reduced, q.w)
	value := 0.0
	for j := q.n - 1; j >= 0; j-- {
		avail := b.reduced[j] // w_j and what leaves j: final, since arcs go up
		usable := avail * (1 - 2*q.slack[j])
		if usable < tiny {
			usable = 0
		}
		lo, hi := q.in[j], q.in[j+1]
		head := nu[j]
		enter := head
		for _, l := range lam[lo:hi] {
			enter += l
		}
		scale, equal := 1.0, 0.0
		switch {
		case enter > usable:
			scale = usable / enter
		case q.p[j] > 0 || usable == 0:
		case enter >= tiny:
			scale = usable / enter
		case hi > lo:
			scale, equal = 0, usable/float64(hi-lo)
		default:
			scale, head = 1, usable
		}
		used := flush(scale * head)
		b.head[j] = used
		value += float64(used * q.lo[j])
		for k := lo; k < hi; k++ {
			x := flush(float64(scale*lam[k]) + equal)
			b.arc[k] = x
			used += x
			b.reduced[q.from[k]] += x
			value += float64(x * q.lag[j])
		}
		b.reduced[j] = flush(float64(avail*(1-q.slack[j])) - float64(used*(1+q.slack[j])))
	}
	return value
}

// flush returns x, or 0 where x is too small for relative error bounds.
func flush(x float64) float64 {
	if x < tiny {
		return 0
	}
	return x
}

// smith returns min over C in (Q) of reduced·C, up to rounding, which is attained by
// preemptive Smith's rule: always the largest ratio among what is released. That the order is
// by rounded ratios costs no more than rounding either: it is the exact order for
// weights ratio_j·p_j, which are within one rounding of the given ones.
func (b *bounder) smith() float64 {
	q := b.q
	for j, w := range b.reduced {
		if q.p[j] > 0 {
			b.ratio[j] = -w / q.p[j]
		}
	}
	order := b.order.sort(b.ratio)
	before, value := 0.0, 0.0
	if q.released() {
		b.line.reset()
	}
	for _, j := range order {
		if c := q.tail[j]; q.released() {
			b.c[j] = c + b.line.fill(q.release[j], q.p[j])/q.p[j]
		} else {
			b.c[j] = c + (before+q.p[j]/2)/q.mu
			before += q.p[j]
		}
		value += float64(b.reduced[j] * b.c[j])
	}
	return value
}

// longestPath writes to lam, nu the multipliers that prove C_j ≥ the longest path
// to j: all weight flows back along it. Without (Q) they are optimal. v is the
// least point that satisfies (lo) and (arc).
func (q *core) longestPath(v, lam, nu []float64) {
	clear(lam)
	clear(nu)
	avail := append([]float64(nil), q.w...)
	for j := q.n - 1; j >= 0; j-- {
		best, at := q.lo[j], int32(-1)
		for k := q.in[j]; k < q.in[j+1]; k++ {
			if x := v[q.from[k]] + q.lag[j]; x > best {
				best, at = x, k
			}
		}
		if at < 0 {
			nu[j] = avail[j]
			continue
		}
		lam[at] = avail[j]
		avail[q.from[at]] += avail[j]
	}
}
