package queyranne

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Arc says that To completes at least its lag after From.
type Arc struct{ From, To int32 }

// Problem is one linear program; see the package comment. All slices but Arcs
// have one entry per node.
type Problem struct {
	Mu      float64   // μ > 0, work per second of everything
	Size    []float64 // p_j ≥ 0; 0: the node is in no row of (Q), like a sink
	Tail    []float64 // a_j ≥ 0, seconds; ignored where Size is 0
	Release []float64 // r_j ≥ 0, seconds; nil: all 0; ignored where Size is 0
	Lo      []float64 // lo_j ≥ 0, seconds
	Lag     []float64 // lag_j ≥ 0, seconds
	Weight  []float64 // w_j ≥ 0
	Arcs    []Arc     // acyclic; parallel arcs are harmless
}

// ErrProblem is wrapped by every error of [Problem.Validate].
var ErrProblem = errors.New("queyranne: invalid problem")

// Numbers outside [tiny, huge] are not told from 0 or refused: within, no product
// or quotient of three of them leaves the range in which rounding errors are
// relative, on which the error bound rests.
const (
	tiny = 1e-90
	huge = 1e90
)

// Validate reports the first thing that is wrong. Cost: O(nodes + arcs).
func (p *Problem) Validate() error {
	_, err := compile(p)
	return err
}

func (p *Problem) validate() error {
	n := len(p.Size)
	if len(p.Tail) != n || len(p.Lo) != n || len(p.Lag) != n || len(p.Weight) != n || p.Release != nil && len(p.Release) != n {
		return fmt.Errorf("%w: %d sizes, %d tails, %d releases, %d lower bounds, %d lags and %d weights; give one of each per node",
			ErrProblem, n, len(p.Tail), len(p.Release), len(p.Lo), len(p.Lag), len(p.Weight))
	}
	if !(p.Mu >= tiny) || p.Mu > huge {
		return fmt.Errorf("%w: total rate %v is not in [%g, %g]", ErrProblem, p.Mu, tiny, huge)
	}
	for j := range n {
		for _, x := range [...]struct {
			name  string
			value float64
		}{{"size", p.Size[j]}, {"tail", p.Tail[j]}, {"release", p.release(j)}, {"lower bound", p.Lo[j]}, {"lag", p.Lag[j]}, {"weight", p.Weight[j]}} {
			if !(x.value >= 0) || x.value > huge {
				return fmt.Errorf("%w: node %d: %s %v is not in [0, %g]", ErrProblem, j, x.name, x.value, huge)
			}
		}
	}
	for k, a := range p.Arcs {
		if a.From < 0 || a.To < 0 || int(max(a.From, a.To)) >= n || a.From == a.To {
			return fmt.Errorf("%w: arc %d: from %d to %d among %d nodes", ErrProblem, k, a.From, a.To, n)
		}
	}
	return nil
}

// release returns r_j.
func (p *Problem) release(j int) float64 {
	if p.Release == nil {
		return 0
	}
	return p.Release[j]
}

// core is a problem compiled for speed: nodes renumbered so that every arc goes
// up, arcs sorted by their head.
type core struct {
	n  int
	mu float64
	// Per node. metric is the weight of a node in the primal norm.
	p, tail, lo, lag, w, metric []float64
	// start holds the different releases of nodes with p > 0, ascending, and
	// release per node the index of its own. One start, 0: no node has a release.
	start   []float64
	release []int32
	in      []int32   // arcs into j are in[j] .. in[j+1]
	from    []int32   // per arc
	sized   int       // number of nodes with p > 0
	node    []int32   // core node → node of the problem
	arc     []int32   // core arc → arc of the problem
	slack   []float64 // relative rounding error of sums over a node's arcs
}

// compile validates p and builds its core.
func compile(p *Problem) (*core, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	n, m := len(p.Size), len(p.Arcs)
	rank, node := topological(n, p.Arcs)
	if len(node) < n {
		return nil, fmt.Errorf("%w: the arcs form a cycle", ErrProblem)
	}
	q := &core{
		n: n, mu: p.Mu, node: node,
		p: make([]float64, n), tail: make([]float64, n), lo: make([]float64, n), lag: make([]float64, n),
		w: make([]float64, n), metric: make([]float64, n), slack: make([]float64, n),
		release: make([]int32, n), in: make([]int32, n+1), from: make([]int32, m), arc: make([]int32, m),
	}
	total := 0.0
	for j, v := range node {
		q.lo[j], q.lag[j] = p.Lo[v], p.Lag[v]
		if p.Weight[v] >= tiny {
			q.w[j] = p.Weight[v]
		}
		if p.Size[v] >= tiny {
			q.p[j], q.tail[j] = p.Size[v], p.Tail[v]
			q.start = append(q.start, p.release(int(v)))
			q.sized++
			total += q.p[j]
		}
	}
	slices.Sort(q.start)
	q.start = slices.Compact(q.start)
	for j, v := range node {
		r, _ := slices.BinarySearch(q.start, p.release(int(v)))
		q.release[j] = int32(r)
	}
	for _, a := range p.Arcs {
		q.in[rank[a.To]+1]++
		q.slack[rank[a.From]]++
		q.slack[rank[a.To]]++
	}
	for j := range n {
		q.in[j+1] += q.in[j]
	}
	next := make([]int32, n)
	copy(next, q.in)
	for k, a := range p.Arcs {
		at := &next[rank[a.To]]
		q.from[*at], q.arc[*at] = rank[a.From], int32(k)
		*at++
	}
	// The projection on (Q) asks for the metric p. Nodes of size 0 are free to have
	// any; the mean size keeps their steps in the range of the others'.
	mean := 1.0
	if q.sized > 0 {
		mean = total / float64(q.sized)
	}
	for j := range n {
		q.slack[j] = (q.slack[j] + nodeRoundings) * ulp
		if q.metric[j] = q.p[j]; q.p[j] == 0 {
			q.metric[j] = mean
		}
	}
	return q, nil
}

// topological returns each node's rank in an order in which arcs go up, and the
// order; it is shorter than n if there is a cycle. Ties go to the smaller node.
func topological(n int, arcs []Arc) (rank, order []int32) {
	head := make([]int32, n+1)
	missing := make([]int32, n)
	for _, a := range arcs {
		head[a.From+1]++
		missing[a.To]++
	}
	for j := range n {
		head[j+1] += head[j]
	}
	to := make([]int32, len(arcs))
	next := append([]int32(nil), head...)
	for _, a := range arcs {
		to[next[a.From]] = a.To
		next[a.From]++
	}
	rank, order = make([]int32, n), make([]int32, 0, n)
	for j := range n {
		if missing[j] == 0 {
			order = append(order, int32(j))
		}
	}
	for i := 0; i < len(order); i++ {
		j := order[i]
		rank[j] = int32(i)
		for _, b := range to[head[j]:head[j+1]] {
			if missing[b]--; missing[b] == 0 {
				order = append(order, b)
			}
		}
	}
	return rank, order
}

// released reports whether some node may not be worked on from time 0.
func (q *core) released() bool { return len(q.start) > 1 || q.sized > 0 && q.start[0] > 0 }

// lift writes to v the least point ≥ c that satisfies (lo) and (arc), and returns
// its cost. Sums are rounded up, so both hold exactly; (Q) is closed upwards, so v
// is in it if c is.
func (q *core) lift(c, v []float64) float64 {
	cost := 0.0
	for j := range q.n {
		x := max(c[j], q.lo[j])
		for k := q.in[j]; k < q.in[j+1]; k++ {
			x = max(x, addUp(v[q.from[k]], q.lag[j]))
		}
		v[j] = x
		cost += float64(q.w[j] * x)
	}
	return cost
}

// addUp returns a + b, never below the exact sum; a, b ≥ 0.
func addUp(a, b float64) float64 {
	s := a + b
	// The rounding error of a sum is a floating-point number (Knuth's TwoSum).
	bb := s - a
	if err := (a - (s - bb)) + (b - bb); err > 0 {
		return math.Nextafter(s, math.Inf(1))
	}
	return s
}
