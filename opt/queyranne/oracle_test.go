package queyranne

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/fairlead-project/fairlead/opt/lp"
	"github.com/fairlead-project/fairlead/opt/lp/exact"
)

func num(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

func mul(x ...*big.Rat) *big.Rat {
	p := big.NewRat(1, 1)
	for _, f := range x {
		p.Mul(p, f)
	}
	return p
}

// rowOf returns f(S) exactly, S given as a bit mask.
func rowOf(p *Problem, set int) *big.Rat {
	var release *big.Rat
	work, f := new(big.Rat), new(big.Rat)
	for j, s := range p.Size {
		if set>>j&1 == 1 && s > 0 {
			work.Add(work, num(s))
			f.Add(f, mul(num(s), num(p.Tail[j])))
			if release == nil || num(p.release(j)).Cmp(release) < 0 {
				release = num(p.release(j))
			}
		}
	}
	if release != nil {
		f.Add(f, mul(release, work))
	}
	return f.Add(f, new(big.Rat).Quo(mul(work, work, big.NewRat(1, 2)), num(p.Mu)))
}

// optimum solves p exactly, with a row for every subset.
func optimum(t *testing.T, p *Problem) *big.Rat {
	t.Helper()
	n := len(p.Size)
	x := &exact.Problem{}
	for j := range n {
		x.Cost = append(x.Cost, num(p.Weight[j]))
		row := make([]*big.Rat, n)
		row[j] = num(1)
		x.Add(row, lp.GreaterEqual, num(p.Lo[j]))
	}
	for _, a := range p.Arcs {
		row := make([]*big.Rat, n)
		row[a.From], row[a.To] = num(-1), num(1)
		x.Add(row, lp.GreaterEqual, num(p.Lag[a.To]))
	}
	for set := 1; set < 1<<n; set++ {
		row := make([]*big.Rat, n)
		for j := range n {
			if set>>j&1 == 1 {
				row[j] = num(p.Size[j])
			}
		}
		x.Add(row, lp.GreaterEqual, rowOf(p, set))
	}
	s := exact.Solve(x)
	if s.Status != exact.Optimal {
		t.Fatalf("simplex: %v", s.Status)
	}
	return s.Value
}

// proved recomputes in rational arithmetic the bound that multipliers prove, and
// fails if they are not feasible. The multipliers are taken through their shortest
// decimal form, as a certificate does.
func proved(t *testing.T, p *Problem, r *Result) *big.Rat {
	t.Helper()
	decimal := func(x float64) *big.Rat {
		v, ok := new(big.Rat).SetString(strconv.FormatFloat(x, 'g', -1, 64))
		if !ok || v.Sign() < 0 {
			t.Fatalf("multiplier %v", x)
		}
		return v
	}
	value := new(big.Rat)
	reduced := make([]*big.Rat, len(p.Size))
	for j := range reduced {
		nu := decimal(r.Head[j])
		reduced[j] = new(big.Rat).Sub(num(p.Weight[j]), nu)
		value.Add(value, mul(nu, num(p.Lo[j])))
	}
	for k, a := range p.Arcs {
		l := decimal(r.Arc[k])
		reduced[a.From].Add(reduced[a.From], l)
		reduced[a.To].Sub(reduced[a.To], l)
		value.Add(value, mul(l, num(p.Lag[a.To])))
	}
	var order []int
	for j, w := range reduced {
		if w.Sign() < 0 {
			t.Fatalf("reduced weight %d is %v", j, w)
		}
		if w.Cmp(num(r.Reduced[j])) < 0 {
			t.Fatalf("reduced weight %d is %v, below the reported %v", j, w, r.Reduced[j])
		}
		if p.Size[j] > 0 {
			order = append(order, j)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return mul(reduced[b], num(p.Size[a])).Cmp(mul(reduced[a], num(p.Size[b])))
	})
	mean := busyTimes(p, order)
	for _, j := range order {
		value.Add(value, mul(reduced[j], new(big.Rat).Add(mean[j], num(p.Tail[j]))))
	}
	return value
}

// busyTimes simulates one machine of speed μ that always runs the first job of the
// order that is released and not finished, and returns the mean of the times at which
// each job is worked on.
func busyTimes(p *Problem, order []int) []*big.Rat {
	now, mean, left := new(big.Rat), make([]*big.Rat, len(p.Size)), make([]*big.Rat, len(p.Size))
	for _, j := range order {
		mean[j], left[j] = new(big.Rat), num(p.Size[j])
	}
	for {
		run := -1
		var until *big.Rat // the next release
		for _, j := range order {
			switch r := num(p.release(j)); {
			case left[j].Sign() == 0:
			case r.Cmp(now) > 0:
				if until == nil || r.Cmp(until) < 0 {
					until = r
				}
			case run < 0:
				run = j
			}
		}
		if run < 0 {
			if until == nil {
				return mean
			}
			now = until
			continue
		}
		step := new(big.Rat).Quo(left[run], num(p.Mu))
		if until != nil && new(big.Rat).Add(now, step).Cmp(until) > 0 {
			step.Sub(until, now)
		}
		work := mul(step, num(p.Mu))
		middle := new(big.Rat).Add(now, mul(step, big.NewRat(1, 2)))
		mean[run].Add(mean[run], mul(middle, new(big.Rat).Quo(work, num(p.Size[run]))))
		left[run].Sub(left[run], work)
		now = new(big.Rat).Add(now, step)
	}
}

// feasible fails unless c satisfies every row: (lo) and (arc) exactly, (Q) up to
// rowTolerance of the row.
func feasible(t *testing.T, p *Problem, c []float64) {
	t.Helper()
	const rowTolerance = 1e-13 // a few hundred roundings
	for j, x := range c {
		if x < p.Lo[j] {
			t.Fatalf("C[%d] = %v < %v", j, x, p.Lo[j])
		}
	}
	for _, a := range p.Arcs {
		if num(c[a.To]).Cmp(new(big.Rat).Add(num(c[a.From]), num(p.Lag[a.To]))) < 0 {
			t.Fatalf("arc %v: %v to %v, lag %v", a, c[a.From], c[a.To], p.Lag[a.To])
		}
	}
	for set := 1; set < 1<<len(c); set++ {
		lhs := new(big.Rat)
		for j := range c {
			if set>>j&1 == 1 {
				lhs.Add(lhs, mul(num(p.Size[j]), num(c[j])))
			}
		}
		if lhs.Cmp(mul(rowOf(p, set), num(1-rowTolerance))) < 0 {
			t.Fatalf("row %b violated: %v < %v", set, lhs, rowOf(p, set))
		}
	}
}

// TestExactOptimum brackets random problems around the optimum that a rational
// simplex method finds, and recomputes every claim in rational arithmetic.
func TestExactOptimum(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for trial := range 150 {
		p := tinyProblem(rng, 1+rng.IntN(5))
		opt := optimum(t, p)
		for _, o := range []Options{{Tolerance: 1e-7}, {MaxIterations: 1 + rng.IntN(60)}} {
			r, err := Solve(p, o)
			if err != nil {
				t.Fatal(err)
			}
			feasible(t, p, r.C)
			if v := proved(t, p, r); num(r.Lower).Cmp(v) > 0 || v.Cmp(opt) > 0 {
				t.Fatalf("trial %d: claimed %v, proved %v, optimum %v", trial, r.Lower, v, opt)
			}
			// Rows hold up to rounding, so the cost may undercut the optimum by that.
			if x, _ := opt.Float64(); r.Primal < x*(1-1e-12) {
				t.Fatalf("trial %d: primal %v below the optimum %v", trial, r.Primal, x)
			}
			if r.Status == Optimal && r.Gap > max(o.Tolerance, DefaultTolerance)+1e-12 {
				t.Errorf("trial %d: optimal with a gap of %v", trial, r.Gap)
			}
			if o.Tolerance > 0 && (r.Status != Optimal || r.Gap > 1.01e-7) {
				t.Errorf("trial %d: %v, gap %v after %d iterations", trial, r.Status, r.Gap, r.Iterations)
			}
		}
	}
}

// TestRigorousBound recomputes larger bounds exactly, at every stage of a solve.
func TestRigorousBound(t *testing.T) {
	for _, c := range []struct {
		n, iterations int
		released      bool
	}{{30, 1, false}, {60, 16, false}, {200, 200, false}, {400, 2000, false}, {30, 1, true}, {60, 16, true}, {200, 200, true}, {300, 500, true}} {
		p := layered(c.n, uint64(c.n))
		if c.released {
			p = released(p)
		}
		r, err := Solve(p, Options{MaxIterations: c.iterations, Tolerance: 1e-12})
		if err != nil {
			t.Fatal(err)
		}
		v, _ := proved(t, p, r).Float64()
		if !(r.Lower <= v) {
			t.Errorf("n = %d: claimed %v, proved %v", c.n, r.Lower, v)
		}
		if r.Lower < v*(1-1e-11) {
			t.Errorf("n = %d: claimed %v, though %v was proved", c.n, r.Lower, v)
		}
	}
}

// subsets returns the largest violation over all subsets of the strongest valid row:
// what the work of the set takes on one machine.
func subsets(p *Problem, c []float64) float64 {
	worst := 0.0
	for set := 1; set < 1<<len(c); set++ {
		worst = max(worst, violation(p, set, c))
	}
	return worst
}

func violation(p *Problem, set int, c []float64) float64 {
	var order []int
	for j := range c {
		if set>>j&1 == 1 && p.Size[j] > 0 {
			order = append(order, j)
		}
	}
	v := 0.0
	mean := busyTimes(p, order)
	for _, j := range order {
		m, _ := mean[j].Float64()
		v += p.Size[j] * (m + p.Tail[j] - c[j])
	}
	return v
}

// TestSeparationAgainstEnumeration: the prefixes of the key order hold a most
// violated set.
func TestSeparationAgainstEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	violated := 0
	for trial := range 600 {
		p := tinyProblem(rng, 1+rng.IntN(7))
		p.Arcs = nil
		c := make([]float64, len(p.Size))
		for j := range c {
			c[j] = rng.Float64() * 8
		}
		want := subsets(p, c)
		set, got := Separate(p, c)
		if math.Abs(got-want) > 1e-9 {
			t.Fatalf("trial %d: violation %v, by enumeration %v", trial, got, want)
		}
		lhs := 0.0
		for _, j := range set {
			lhs += p.Size[j] * c[j]
		}
		if math.Abs(Row(p, set)-lhs-got) > 1e-9 {
			t.Fatalf("trial %d: the set returned is violated by %v, not %v", trial, Row(p, set)-lhs, got)
		}
		if want > 1e-9 {
			violated++
		}
	}
	if violated < 100 {
		t.Errorf("only %d points violated a row", violated)
	}
}

// TestSeparationKey: on this point the order of C_j alone finds no violated row at
// all; the order of C_j − p_j/(2μ_j) does.
func TestSeparationKey(t *testing.T) {
	// Node 0 is wide (μ_0 = μ), node 1 narrow: 1 completes later, but its work is
	// centred earlier. {1} is violated, {0} and {0, 1} are not.
	p := &Problem{
		Mu: 4, Size: []float64{4, 4}, Tail: []float64{0.5, 2},
		Lo: make([]float64, 2), Lag: make([]float64, 2), Weight: make([]float64, 2),
	}
	c := []float64{2.3, 2.4}
	byCompletion := 0.0
	for k := 1; k <= 2; k++ {
		set := []int32{0, 1}[:k]
		lhs := 0.0
		for _, j := range set {
			lhs += p.Size[j] * c[j]
		}
		byCompletion = max(byCompletion, Row(p, set)-lhs)
	}
	if byCompletion != 0 {
		t.Fatalf("not an example: the order of C_j finds %v", byCompletion)
	}
	set, v := Separate(p, c)
	if !slices.Equal(set, []int32{1}) || math.Abs(v-0.4) > 1e-12 {
		t.Errorf("most violated: %v by %v, want [1] by 0.4", set, v)
	}
}

// TestProjection checks the variational inequality that characterises a nearest
// point: Σ p (t−c)(z−c) ≤ 0 for every vertex z of (Q), one per permutation, and
// c ≥ t, since (Q) is closed upwards.
func TestProjection(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	moved := 0
	for trial := range 200 {
		p := tinyProblem(rng, 1+rng.IntN(5))
		p.Arcs = nil
		q, err := compile(p)
		if err != nil {
			t.Fatal(err)
		}
		from, c := make([]float64, q.n), make([]float64, q.n)
		for j := range from {
			from[j] = rng.Float64()*10 - 3
		}
		newProjector(q).project(from, c)
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
			sum, before := 0.0, 0.0
			for _, j := range perm {
				z := (before+p.Size[j]/2)/p.Mu + p.Tail[j]
				before += p.Size[j]
				sum += p.Size[j] * (from[j] - c[j]) * (z - c[j])
			}
			if sum > 1e-8 {
				t.Fatalf("trial %d: vertex %v is on the wrong side: %v", trial, perm, sum)
			}
		})
	}
	if moved < 100 {
		t.Errorf("only %d coordinates moved", moved)
	}
}

func permutations(n int, visit func([]int)) {
	perm := make([]int, n)
	for i := range perm {
		perm[i] = i
	}
	var rec func(k int)
	rec = func(k int) {
		if k == n {
			visit(perm)
			return
		}
		for i := k; i < n; i++ {
			perm[k], perm[i] = perm[i], perm[k]
			rec(k + 1)
			perm[k], perm[i] = perm[i], perm[k]
		}
	}
	rec(0)
}

// TestOrderer compares both of its sorts with the standard library's, on keys that
// drift, jump and tie.
func TestOrderer(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, n := range []int{0, 1, 2, 100, 1000, 5000} {
		elements := make([]int32, n)
		key := make([]float64, n)
		for i := range elements {
			elements[i] = int32(i)
		}
		o := newOrderer(elements)
		for round := range 30 {
			for j := range key {
				switch round % 3 {
				case 0:
					key[j] = rng.NormFloat64() * math.Exp(20*rng.NormFloat64())
				case 1:
					key[j] += 1e-3 * math.Abs(key[j]) * rng.NormFloat64()
				case 2:
					key[j] = float64(rng.IntN(10) - 5)
				}
			}
			want := slices.Clone(o.ord)
			slices.SortStableFunc(want, func(a, b int32) int {
				switch {
				case key[a] < key[b]:
					return -1
				case key[a] > key[b]:
					return 1
				}
				return 0
			})
			if got := o.sort(key); !slices.Equal(got, want) {
				t.Fatalf("n = %d, round %d: not sorted, or not stable", n, round)
			}
		}
	}
}
