package queyranne

import "math"

// projector finds nearest points of (Q).
type projector interface {
	// project writes to c the point of (Q) that minimises Σ p_j (c_j − t_j)², and
	// max(0, t_j) for nodes of size 0. It returns what that cost beyond one update of
	// each node.
	project(t, c []float64) (work int64)
	// excess returns about the largest relative violation of a row of (Q), 0 if none.
	excess(c []float64) float64
}

func newProjector(q *core) projector {
	if q.released() {
		return newIntervals(q)
	}
	return newPrefixes(q)
}

// prefixes projects where there are no releases. With u_j = C_j − a_j the rows of (Q)
// read Σ_S p_j u_j ≥ P(S)²/(2μ), whose right-hand side depends on the work of S alone.
// So only the prefixes of the order of u matter, u keeps the order of t_j − a_j, and
// the smallest shifts s = c − t ≥ 0 that satisfy all prefixes are the slopes, where
// positive, of the least concave majorant of what the prefixes lack. Cost: one sort
// and O(n).
type prefixes struct {
	q     *core
	order *orderer
	key   []float64
	pool  pool
}

func newPrefixes(q *core) *prefixes {
	return &prefixes{q: q, order: newOrderer(q.sizedNodes()), key: make([]float64, q.n), pool: newPool(q.sized)}
}

// sizedNodes returns the nodes that appear in (Q).
func (q *core) sizedNodes() []int32 {
	s := make([]int32, 0, q.sized)
	for j := range q.n {
		if q.p[j] > 0 {
			s = append(s, int32(j))
		}
	}
	return s
}

func (pr *prefixes) project(t, c []float64) int64 {
	q := pr.q
	for j := range t {
		pr.key[j] = t[j] - q.tail[j]
		c[j] = max(0, t[j])
	}
	order := pr.order.sort(pr.key)
	done := 0.0
	pr.pool.clear()
	for _, j := range order {
		p := q.p[j]
		pr.pool.add(p, (done+p/2)/q.mu-pr.key[j])
		done += p
	}
	pr.pool.shift(order, t, c)
	return 0
}

func (pr *prefixes) excess(c []float64) float64 {
	q := pr.q
	for j := range c {
		pr.key[j] = c[j] - q.tail[j]
	}
	work, tails, lhs, worst := 0.0, 0.0, 0.0, 0.0
	for _, j := range pr.order.sort(pr.key) {
		work += q.p[j]
		tails += float64(q.p[j] * q.tail[j])
		lhs += float64(q.p[j] * c[j])
		worst = max(worst, (float64(work*work/q.mu)/2+tails)/lhs-1)
	}
	return worst
}

// pool pools adjacent violators: of the numbers added with their work as weight, the
// least concave majorant of the sums, as blocks of falling slope.
type pool struct {
	work, slope []float64
	end         []int32 // how many numbers end with the block
	top         int
	n           int32
}

func newPool(n int) pool {
	return pool{work: make([]float64, n), slope: make([]float64, n), end: make([]int32, n), top: -1}
}

func (b *pool) clear() { b.top, b.n = -1, 0 }

func (b *pool) add(work, slope float64) {
	p, top := work, b.top
	for top >= 0 && b.slope[top] <= slope {
		sum := b.work[top] + p
		slope += float64((b.slope[top] - slope) * (b.work[top] / sum))
		p = sum
		top--
	}
	top++
	b.n++
	b.work[top], b.slope[top], b.end[top], b.top = p, slope, b.n, top
}

// shift adds to t the positive slopes.
func (b *pool) shift(order []int32, t, c []float64) {
	i := int32(0)
	for k := range b.top + 1 {
		shift := max(0, b.slope[k])
		for ; i < b.end[k]; i++ {
			c[order[i]] = t[order[i]] + shift
		}
	}
}

// Separate finds the row of (Q) that c violates most: the set S that maximises
// f(S) − Σ_S p_j c_j, f being the strongest right-hand side that follows from all rows.
// It returns S and that amount; none is violated if it is not positive, and then S is
// empty and the amount 0. p must be valid; its arcs do not matter. Cost: O(n log n).
//
// Without releases, if S is a maximiser, j ∈ S has c_j − a_j ≤ P(S)/μ − p_j/(2μ) and
// k ∉ S has c_k − a_k ≥ P(S)/μ + p_k/(2μ). So S is a prefix in that key. It need not
// be one in the order of c_j alone, which can miss every violated row.
func Separate(p *Problem, c []float64) (set []int32, violation float64) {
	if p.Release != nil {
		return separateReleased(p, c)
	}
	nodes := make([]int32, 0, len(p.Size))
	key := make([]float64, len(p.Size))
	for j, s := range p.Size {
		if s > 0 {
			nodes = append(nodes, int32(j))
			key[j] = c[j] - p.Tail[j]
		}
	}
	order := newOrderer(nodes).sort(key)
	work, tails, lhs, size := 0.0, 0.0, 0.0, 0
	for i, j := range order {
		s := p.Size[j]
		work += s
		tails += float64(s * p.Tail[j])
		lhs += float64(s * c[j])
		if v := float64(work*work/p.Mu)/2 + tails - lhs; v > violation {
			size, violation = i+1, v
		}
	}
	return order[:size:size], violation
}

func separateReleased(p *Problem, c []float64) (set []int32, violation float64) {
	bare := *p
	bare.Arcs = nil // so that the core has the nodes' numbers
	q, err := compile(&bare)
	if err != nil {
		panic(err)
	}
	if q.sized == 0 {
		return nil, 0
	}
	iv := newIntervals(q)
	if violation = iv.worst(c); violation <= 0 {
		return nil, 0
	}
	for i, j := range iv.early {
		if iv.sep.in[i] {
			set = append(set, j)
		}
	}
	return set, violation
}

// Row returns the right-hand side of the row of S.
func Row(p *Problem, set []int32) float64 {
	work, tails, release := 0.0, 0.0, math.Inf(1)
	for _, j := range set {
		if s := p.Size[j]; s > 0 {
			work += s
			tails += float64(s * p.Tail[j])
			release = min(release, p.release(int(j)))
		}
	}
	if work == 0 {
		return 0
	}
	return float64(release*work) + float64(work*work/p.Mu)/2 + tails
}
