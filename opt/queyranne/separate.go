package queyranne

import (
	"cmp"
	"math"
	"slices"
)

// separator finds, among jobs that share some stretches of time on the machine of
// speed μ, the set S that maximises g(S) − Σ_S p_j c_j, where g(S) is the least
// possible integral of time over the work of S. With x the work that S has left when
// job j is released, putting j last adds p_j times the mean of the times at which the
// work x .. x + p_j would be done. Going back from the last release, the best value as
// a function of x is therefore convex, its derivative is the time that corresponds to
// x, and the decision about j cuts from it the window of length p_j whose mean is c_j,
// or the first if that is later: j is in S if and only if x has reached the window.
type separator struct {
	mu     float64
	pieces []piece   // of all jobs' work; the last has no end
	p, c   []float64 // jobs by release
	open   []float64 // work before the release
	in     []bool    // the result

	// Windows unite to holes. Holes are in the order of where c falls, and know their
	// ends and the pieces beyond them.
	rank           []int32 // of a job
	job            []int32 // at a rank
	seed           []float64
	parent, last   []int32
	lo, hi         []float64
	before, beyond []int32
	window, first  []float64 // per job: where its window starts; the first gap then
}

// reset makes room for n jobs.
func (s *separator) reset(n int, pieces []piece) {
	s.pieces = pieces
	s.p, s.c, s.open, s.in = grow(s.p, n), grow(s.c, n), grow(s.open, n), grow(s.in, n)
	s.rank, s.job, s.seed = grow(s.rank, n), grow(s.job, n), grow(s.seed, n)
	s.parent, s.last = grow(s.parent, n), grow(s.last, n)
	s.lo, s.hi, s.before, s.beyond = grow(s.lo, n), grow(s.hi, n), grow(s.before, n), grow(s.beyond, n)
	s.window, s.first = grow(s.window, n), grow(s.first, n)
}

func grow[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// position returns the amount of work that is done before time t and the piece that it
// ends in, searched from piece k on.
func position(pieces []piece, mu, t float64, k int) (at float64, in int) {
	for k+1 < len(pieces) && pieces[k+1].time <= t {
		k++
	}
	at = pieces[k].at + float64(mu*max(0, t-pieces[k].time))
	if k+1 < len(pieces) {
		at = min(at, pieces[k+1].at)
	}
	return at, k
}

// integral returns that of time over the work from at to at + p, where that ends, and
// the piece there; piece k is not after the one of at.
func integral(pieces []piece, mu, at, p float64, k int) (moment, end float64, in int) {
	for {
		next := math.Inf(1)
		for k+1 < len(pieces) {
			if next = pieces[k+1].at; next > at {
				break
			}
			next = math.Inf(1)
			k++
		}
		step := min(p, next-at)
		moment += float64(step * (pieces[k].time + (at-pieces[k].at+step/2)/mu))
		if p -= step; p <= 0 {
			return moment, at + step, k
		}
		at = next
	}
}

// when returns the time of position x in piece k.
func (s *separator) when(x float64, k int32) float64 {
	return s.pieces[k].time + (x-s.pieces[k].at)/s.mu
}

// find decides who is in S; p, c, open and pieces are set. It returns the excess
// g(S) − Σ_S p_j c_j and g(S). Cost: a sort and almost linear time.
func (s *separator) find() (excess, moment float64) {
	n := len(s.p)
	for k := range n {
		i, found := slices.BinarySearchFunc(s.pieces, s.c[k], func(p piece, t float64) int { return cmp.Compare(p.time, t) })
		if !found {
			i--
		}
		x, _ := position(s.pieces, s.mu, s.c[k], max(i, 0))
		s.seed[k], s.job[k] = max(x, s.open[k]), int32(k)
	}
	slices.SortFunc(s.job, func(a, b int32) int { return cmp.Or(cmp.Compare(s.seed[a], s.seed[b]), cmp.Compare(a, b)) })
	piece := 0
	for r, k := range s.job {
		x := s.seed[k]
		for piece+1 < len(s.pieces) && s.pieces[piece+1].at <= x {
			piece++
		}
		s.rank[k], s.parent[r], s.last[r] = int32(r), int32(r), int32(r)
		s.lo[r], s.hi[r] = x, x
		s.before[r], s.beyond[r] = int32(piece), int32(piece)
		if piece > 0 && x <= s.pieces[piece].at {
			s.before[r]--
		}
	}
	first := math.Inf(1)
	for k := n - 1; k >= 0; k-- {
		if k == n-1 || s.open[k] < s.open[k+1] {
			first = s.open[k]
		}
		g := s.cut(k)
		s.window[k] = s.lo[g]
		if s.lo[g] <= first {
			first = max(first, s.hi[g])
		}
		s.first[k] = first
	}
	return s.choose()
}

// choose goes forward: as long as work of S is left, the end of that work is a fixed
// point on the line without windows, and the jobs whose windows lie before it are in.
func (s *separator) choose() (excess, moment float64) {
	point, done, k := -1.0, 0.0, 0
	for j := range s.p {
		if point <= s.open[j] {
			point = s.first[j]
		}
		if s.in[j] = s.window[j] < point; !s.in[j] {
			continue
		}
		var own float64
		own, done, k = integral(s.pieces, s.mu, max(done, s.open[j]), s.p[j], k)
		moment += own
		excess += own - float64(s.p[j]*s.c[j])
	}
	return excess, moment
}

func (s *separator) root(r int32) int32 {
	for s.parent[r] != r {
		s.parent[r] = s.parent[s.parent[r]]
		r = s.parent[r]
	}
	return r
}

// unite makes hole h, the next after g, part of it.
func (s *separator) unite(g, h int32) int32 {
	s.parent[h], s.last[g] = g, s.last[h]
	if s.hi[h] >= s.hi[g] {
		s.hi[g], s.beyond[g] = s.hi[h], s.beyond[h]
	}
	return g
}

// cut removes the window of job k and returns the hole that it is in. The window grows
// from where c falls, to both sides so that they balance.
func (s *separator) cut(k int) int32 {
	need, c, open := s.p[k], s.c[k], s.open[k]
	g := s.root(s.rank[k])
	for need > 0 {
		left, right := max(open, s.pieces[s.before[g]].at), math.Inf(1)
		l, r := int32(-1), int32(-1) // the holes beside this one
		if g > 0 {
			if l = s.root(g - 1); s.hi[l] >= left {
				left = s.hi[l]
			} else {
				l = -1
			}
		}
		if b := s.beyond[g]; int(b)+1 < len(s.pieces) {
			right = s.pieces[b+1].at
		}
		if s.last[g]+1 < int32(len(s.p)) {
			if r = s.last[g] + 1; s.lo[r] <= right {
				right = s.lo[r]
			} else {
				r = -1
			}
		}
		atOpen := s.lo[g] <= open
		switch {
		case !atOpen && s.lo[g] <= left && l >= 0:
			g = s.unite(l, g)
			continue
		case !atOpen && s.lo[g] <= left:
			s.before[g]--
			continue
		case s.hi[g] >= right && r >= 0:
			s.unite(g, r)
			continue
		case s.hi[g] >= right:
			s.beyond[g]++
			continue
		}
		roomR := right - s.hi[g]
		if atOpen {
			if need < roomR {
				s.hi[g] += need
				need = 0
			} else {
				s.hi[g] = right
				need -= roomR
			}
			continue
		}
		roomL := s.lo[g] - left
		dl, dr := max(0, c-s.when(s.lo[g], s.before[g])), max(0, s.when(s.hi[g], s.beyond[g])-c)
		// Both sides grow by the same moment m about c: a side that starts at distance d
		// by √(d² + 2m/μ) − d in time. All that is needed:
		sum := need/s.mu + dl + dr
		stepL := min(need, max(0, s.mu*((sum+float64((dl-dr)*((dl+dr)/sum)))/2-dl)))
		stepR := need - stepL
		if stepL <= roomL && stepR <= roomR {
			s.lo[g], s.hi[g], need = s.lo[g]-stepL, s.hi[g]+stepR, 0
			continue
		}
		mL, mR := roomL*(dl+roomL/(2*s.mu)), roomR*(dr+roomR/(2*s.mu))
		if mL <= mR {
			stepR = min(roomR, grown(mL, dr, s.mu))
			s.lo[g], s.hi[g], need = left, s.hi[g]+stepR, need-roomL-stepR
		} else {
			stepL = min(roomL, grown(mR, dl, s.mu))
			s.lo[g], s.hi[g], need = s.lo[g]-stepL, right, need-roomR-stepL
		}
	}
	// Holes that touch are one.
	for s.last[g]+1 < int32(len(s.p)) && s.lo[s.last[g]+1] <= s.hi[g] {
		s.unite(g, s.last[g]+1)
	}
	return g
}

// grown returns the work y at speed mu that has moment m about a time d before it
// starts: y·d + y²/(2μ) = m.
func grown(m, d, mu float64) float64 {
	if m == 0 {
		return 0
	}
	return 2 * m / (d + math.Sqrt(float64(d*d)+2*m/mu))
}
