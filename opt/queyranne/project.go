package queyranne

// projector finds nearest points of (Q).
type projector struct {
	q     *core
	order *orderer
	key   []float64
	// Blocks of pool-adjacent-violators: their work, their slope, their end in the
	// order.
	work, slope []float64
	end         []int32
}

func newProjector(q *core) *projector {
	return &projector{
		q: q, order: newOrderer(q.sizedNodes()), key: make([]float64, q.n),
		work: make([]float64, q.sized), slope: make([]float64, q.sized), end: make([]int32, q.sized),
	}
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

// project writes to c the point of (Q) that minimises Σ p_j (c_j − t_j)², and
// max(0, t_j) for nodes of size 0. Cost: one sort and O(n).
//
// With u_j = C_j − p_j/(2μ_j) the rows of (Q) read Σ_S p_j u_j ≥ P(S)²/(2μ), whose
// right-hand side depends on the work of S alone. So only the prefixes of the
// order of u matter, u keeps the order of t_j − p_j/(2μ_j), and the smallest
// shifts s = c − t ≥ 0 that satisfy all prefixes are the slopes, where positive, of
// the least concave majorant of what the prefixes lack.
func (pr *projector) project(t, c []float64) {
	q := pr.q
	for j := range t {
		pr.key[j] = t[j] - q.off[j]
		c[j] = max(0, t[j])
	}
	order := pr.order.sort(pr.key)
	done, top := 0.0, -1
	for i, j := range order {
		p := q.p[j]
		work, slope := p, (done+p/2)/q.mu-pr.key[j]
		done += p
		for top >= 0 && pr.slope[top] <= slope {
			sum := pr.work[top] + work
			slope += float64((pr.slope[top] - slope) * (pr.work[top] / sum))
			work = sum
			top--
		}
		top++
		pr.work[top], pr.slope[top], pr.end[top] = work, slope, int32(i+1)
	}
	i := int32(0)
	for b := 0; b <= top; b++ {
		shift := max(0, pr.slope[b])
		for ; i < pr.end[b]; i++ {
			c[order[i]] = t[order[i]] + shift
		}
	}
}

// Separate finds the row of (Q) that c violates most: the set S that maximises
// f(S) − Σ_S p_j c_j. It returns S and that amount; none is violated if it is not
// positive, and then S is empty and the amount 0. Cost: O(n log n).
//
// If S is a maximiser, j ∈ S has c_j − p_j/(2μ_j) ≤ P(S)/μ − p_j/(2μ) and k ∉ S has
// c_k − p_k/(2μ_k) ≥ P(S)/μ + p_k/(2μ). So S is a prefix in that key. It need not be
// one in the order of c_j alone, which can miss every violated row.
func Separate(p *Problem, c []float64) (set []int32, violation float64) {
	nodes := make([]int32, 0, len(p.Size))
	key := make([]float64, len(p.Size))
	for j, s := range p.Size {
		if s > 0 {
			nodes = append(nodes, int32(j))
			key[j] = c[j] - s/(2*p.Rate[j])
		}
	}
	order := newOrderer(nodes).sort(key)
	work, squares, lhs, size := 0.0, 0.0, 0.0, 0
	for i, j := range order {
		s := p.Size[j]
		work += s
		squares += float64(s * s / p.Rate[j])
		lhs += float64(s * c[j])
		if v := (float64(work*work/p.Mu)+squares)/2 - lhs; v > violation {
			size, violation = i+1, v
		}
	}
	return order[:size:size], violation
}

// Row returns f(S), the right-hand side of the row of S.
func Row(p *Problem, set []int32) float64 {
	work, squares := 0.0, 0.0
	for _, j := range set {
		s := p.Size[j]
		work += s
		if s > 0 {
			squares += float64(s * s / p.Rate[j])
		}
	}
	return (float64(work*work/p.Mu) + squares) / 2
}
