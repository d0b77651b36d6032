package queyranne

import (
	"math"
	"math/rand/v2"
)

// layered returns a random layered DAG with n nodes in 6 layers and about 3n arcs:
// lognormal sizes, μ = 4, μ_j one of 1, 2, 4, and releases up to 0.3 P/μ, so that
// the rows of (Q), the arcs and the releases all matter.
func layered(n int, seed uint64) *Problem {
	rng := rand.New(rand.NewPCG(seed, 1))
	p := &Problem{
		Mu: 4, Size: make([]float64, n), Tail: make([]float64, n), Lo: make([]float64, n),
		Lag: make([]float64, n), Weight: make([]float64, n),
	}
	total := 0.0
	for j := range n {
		p.Size[j] = math.Exp(rng.NormFloat64())
		rate := float64(int(1) << rng.IntN(3))
		p.Weight[j] = 0.1 + rng.Float64()
		p.Lag[j] = p.Size[j] / rate
		p.Tail[j] = p.Lag[j] / 2
		total += p.Size[j]
	}
	for j := range n {
		p.Lo[j] = 0.3*total/p.Mu*rng.Float64() + p.Lag[j]
	}
	const layers = 6
	layer := func(l int) int { return l * n / layers }
	for l := 1; l < layers; l++ {
		prev, first, end := layer(l-1), layer(l), layer(l+1)
		for b := first; b < end && first > prev; b++ {
			for range 1 + rng.IntN(6) {
				p.Arcs = append(p.Arcs, Arc{int32(prev + rng.IntN(first-prev)), int32(b)})
			}
		}
	}
	return p
}

// released returns p with the releases that follow from its lower bounds and arcs.
func released(p *Problem) *Problem {
	q := *p
	q.Release, q.Lo = make([]float64, len(p.Size)), make([]float64, len(p.Size))
	_, order := topological(len(p.Size), p.Arcs)
	for j := range p.Size {
		q.Release[j] = p.Lo[j] - p.Lag[j]
	}
	for _, j := range order {
		for _, a := range p.Arcs {
			if a.To == j {
				q.Release[j] = max(q.Release[j], q.Release[a.From]+p.Lag[a.From])
			}
		}
		q.Lo[j] = q.Release[j] + p.Lag[j]
	}
	return &q
}

// tinyProblem returns a random problem of n nodes with small integer data, some
// nodes of size 0, releases, and arcs between random pairs.
func tinyProblem(rng *rand.Rand, n int) *Problem {
	p := &Problem{Mu: float64(1 + rng.IntN(4))}
	perm := rng.Perm(n)
	for range n {
		size := float64(rng.IntN(6))
		rate := 1 + rng.Float64()*(p.Mu-1)
		p.Size = append(p.Size, size)
		p.Tail = append(p.Tail, size/rate/2)
		p.Lag = append(p.Lag, size/rate)
		p.Lo = append(p.Lo, size/rate+float64(rng.IntN(2)*rng.IntN(8)))
		p.Weight = append(p.Weight, float64(rng.IntN(4)))
	}
	for a := range n {
		for b := a + 1; b < n; b++ {
			if rng.IntN(3) == 0 {
				p.Arcs = append(p.Arcs, Arc{int32(perm[a]), int32(perm[b])})
			}
		}
	}
	return p
}
