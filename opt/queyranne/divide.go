package queyranne

import (
	"math"
	"slices"
)

// block is a set of jobs with the times that they share.
type block struct {
	place
	pieces []piece
	work   float64
	lack   float64 // integral of time over the work, minus Σ p_j key_j
}

// divide finds the order of a block and reports whether it falls apart.
func (iv *intervals) divide(b *block) bool {
	jobs, open := iv.member[b.from:b.end], iv.open[b.from:b.end]
	if n := len(jobs); n > 1 && open[n-1] == 0 { // nobody waits
		iv.sort(jobs)
	} else if n > 1 && iv.work < iv.limit {
		shift := max(0, b.lack/b.work)
		excess, moment := iv.separate(b, shift)
		if excess > noise*moment && slices.Contains(iv.sep.in, false) {
			start := len(iv.pieces)
			first, rest := iv.part(b)
			first.lack = excess + float64(shift*first.work)
			rest.work, rest.lack = b.work-first.work, b.lack-first.lack
			iv.divide(&first)
			iv.divide(&rest)
			iv.pieces = iv.pieces[:start]
			return true
		}
	}
	copy(iv.ord[b.from:b.end], jobs)
	return false
}

// separate finds the set of jobs of b that has the largest excess over key + shift.
func (iv *intervals) separate(b *block, shift float64) (excess, moment float64) {
	s := &iv.sep
	jobs := iv.member[b.from:b.end]
	iv.work += len(jobs) * separateWork
	s.reset(len(jobs), b.pieces)
	for i, j := range jobs {
		s.p[i], s.c[i] = iv.q.p[j], iv.key[j]+shift
	}
	copy(s.open, iv.open[b.from:b.end])
	return s.find()
}

type span struct{ lo, hi float64 }

// part moves the jobs of the set just found to the front and returns their block and
// that of the others, without what they lack.
func (iv *intervals) part(b *block) (first, rest block) {
	s := &iv.sep
	jobs, open := iv.member[b.from:b.end], iv.open[b.from:b.end]
	iv.spans = iv.spans[:0] // what the set fills
	done := 0.0
	for i, in := range s.in {
		if !in {
			continue
		}
		if top := len(iv.spans) - 1; top < 0 || open[i] > done {
			done = max(done, open[i])
			iv.spans = append(iv.spans, span{done, done + s.p[i]})
		} else {
			iv.spans[top].hi = done + s.p[i]
		}
		done += s.p[i]
		first.work += s.p[i]
	}
	iv.split, iv.late = iv.split[:0], iv.late[:0]
	n, k, before := int32(0), 0, 0.0 // before: the spans up to k
	for i, j := range jobs {
		for k < len(iv.spans) && iv.spans[k].hi <= open[i] {
			before += iv.spans[k].hi - iv.spans[k].lo
			k++
		}
		within := before
		if k < len(iv.spans) {
			within += max(0, open[i]-iv.spans[k].lo)
		}
		if s.in[i] {
			jobs[n], open[n] = j, within
			n++
		} else {
			iv.split, iv.late = append(iv.split, j), append(iv.late, max(0, open[i]-within))
		}
	}
	copy(jobs[n:], iv.split)
	copy(open[n:], iv.late)
	first.from, first.end, rest.from, rest.end = b.from, b.from+n, b.from+n, b.end
	first.pieces = iv.cut(b.pieces, true)
	rest.pieces = iv.cut(b.pieces, false)
	return first, rest
}

// cut returns the pieces within the spans, or those outside.
func (iv *intervals) cut(pieces []piece, within bool) []piece {
	start, x, done := len(iv.pieces), 0.0, 0.0
	for k, i := 0, 0; !math.IsInf(x, 1); {
		next, turn := math.Inf(1), math.Inf(1)
		if k+1 < len(pieces) {
			next = pieces[k+1].at
		}
		inside := i < len(iv.spans) && x >= iv.spans[i].lo
		switch {
		case inside:
			turn = iv.spans[i].hi
		case i < len(iv.spans):
			turn = iv.spans[i].lo
		}
		end := min(next, turn)
		if inside == within && end > x {
			iv.pieces = append(iv.pieces, piece{done, pieces[k].time + (x-pieces[k].at)/iv.q.mu})
			done += end - x
		}
		if x = end; end == next {
			k++
		}
		if inside && end == turn {
			i++
		}
	}
	return iv.pieces[start:]
}
