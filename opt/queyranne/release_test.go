package queyranne

import (
	"math"
	"math/rand/v2"
	"testing"
)

// releasedProblem is a tinyProblem with releases for its work, some equal, and tails
// that are not those of a rate.
func releasedProblem(rng *rand.Rand, n int) *Problem {
	p := tinyProblem(rng, n)
	span := 1 + rng.IntN(12)
	p.Release = make([]float64, n)
	for j := range n {
		p.Release[j] = float64(rng.IntN(span)) / 2
		p.Tail[j] += float64(rng.IntN(3)) / 4
		p.Lo[j] = max(p.Lo[j], p.Release[j]+p.Lag[j])
	}
	return p
}

// TestReleasedSeparation: the set found has the excess claimed, and no set has more.
func TestReleasedSeparation(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	violated, part := 0, 0
	for trial := range 1000 {
		p := releasedProblem(rng, 1+rng.IntN(7))
		c := make([]float64, len(p.Size))
		for j := range c {
			c[j] = rng.Float64() * 14
			if trial%2 == 0 {
				c[j] = float64(rng.IntN(28)) / 2 // ties
			}
		}
		found, excess := Separate(p, c)
		set := 0
		for _, j := range found {
			set |= 1 << j
		}
		want := subsets(p, c)
		if math.Abs(excess-want) > 1e-9 || set != 0 && math.Abs(violation(p, set, c)-excess) > 1e-9 {
			t.Fatalf("trial %d: excess %v of %b, whose own is %v; by enumeration %v", trial, excess, set, violation(p, set, c), want)
		}
		if want > 1e-9 {
			violated++
			if len(found) < len(sizedOnly(p, rng.Perm(len(c)))) {
				part++
			}
		}
	}
	if violated < 200 || part < 80 {
		t.Errorf("only %d points violated a row, %d that of a proper subset", violated, part)
	}
}

// TestReleasedProjection checks the variational inequality that characterises a
// nearest point against every vertex, one per order of priority; also when the
// projection starts from the order that another point left behind.
func TestReleasedProjection(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	moved := 0
	for trial := range 150 {
		p := releasedProblem(rng, 1+rng.IntN(5))
		p.Arcs = nil
		q, err := compile(p)
		if err != nil {
			t.Fatal(err)
		}
		if !q.released() {
			continue
		}
		iv := newIntervals(q)
		from, c := make([]float64, q.n), make([]float64, q.n)
		for range 3 {
			for j := range from {
				from[j] = rng.Float64()*14 - 3
			}
			for range 50 { // the order becomes right
				iv.project(from, c)
			}
			if v := subsets(p, c); v > 1e-9 {
				t.Fatalf("trial %d: the projection violates a row by %v", trial, v)
			}
			for j := range c {
				if c[j] > from[j]+1e-9 {
					moved++
				}
				if c[j] < from[j] || p.Size[j] == 0 && c[j] != max(0, from[j]) {
					t.Fatalf("trial %d: node %d moves from %v to %v", trial, j, from[j], c[j])
				}
			}
			permutations(q.n, func(perm []int) {
				sum := 0.0
				mean := busyTimes(p, sizedOnly(p, perm))
				for _, j := range perm {
					if p.Size[j] > 0 {
						m, _ := mean[j].Float64()
						sum += p.Size[j] * (from[j] - c[j]) * (m + p.Tail[j] - c[j])
					}
				}
				if sum > 1e-8 {
					t.Fatalf("trial %d: vertex %v is on the wrong side: %v", trial, perm, sum)
				}
			})
		}
	}
	if moved < 400 {
		t.Errorf("only %d coordinates moved", moved)
	}
}

func sizedOnly(p *Problem, perm []int) []int {
	var sized []int
	for _, j := range perm {
		if p.Size[j] > 0 {
			sized = append(sized, j)
		}
	}
	return sized
}

// TestReleasedExactOptimum brackets random problems around the optimum that a rational
// simplex method finds with a row for every set, and recomputes every claim exactly.
func TestReleasedExactOptimum(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	matters := 0
	for trial := range 150 {
		p := releasedProblem(rng, 1+rng.IntN(5))
		opt := optimum(t, p)
		weaker := *p
		weaker.Release = nil
		if optimum(t, &weaker).Cmp(opt) < 0 {
			matters++
		}
		for _, o := range []Options{{Tolerance: 1e-7}, {MaxIterations: 1 + rng.IntN(60)}} {
			r, err := Solve(p, o)
			if err != nil {
				t.Fatal(err)
			}
			feasible(t, p, r.C)
			if v := proved(t, p, r); num(r.Lower).Cmp(v) > 0 || v.Cmp(opt) > 0 {
				t.Fatalf("trial %d: claimed %v, proved %v, optimum %v", trial, r.Lower, v, opt)
			}
			if x, _ := opt.Float64(); r.Primal < x*(1-1e-12) {
				t.Fatalf("trial %d: primal %v below the optimum %v", trial, r.Primal, x)
			}
			if o.Tolerance > 0 && (r.Status != Optimal || r.Gap > 1.01e-7) {
				t.Errorf("trial %d: %v, gap %v after %d iterations", trial, r.Status, r.Gap, r.Iterations)
			}
		}
	}
	if matters < 20 {
		t.Errorf("releases matter in %d problems only", matters)
	}
}
