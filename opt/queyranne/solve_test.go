package queyranne

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
)

func solve(t *testing.T, p *Problem, o Options) *Result {
	t.Helper()
	r, err := Solve(p, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range append([]float64{r.Primal, r.Lower, r.Gap}, r.C...) {
		if math.IsNaN(x) || math.IsInf(x, 0) || x < 0 {
			t.Fatalf("bad number in the result: %v", x)
		}
	}
	if r.Lower > r.Primal {
		t.Fatalf("lower bound %v above the primal value %v", r.Lower, r.Primal)
	}
	return r
}

func TestWithoutArcsSmithIsOptimal(t *testing.T) {
	p := &Problem{
		Mu: 2, Size: []float64{2, 1, 3}, Tail: []float64{1, 0.25, 0.75},
		Lo: make([]float64, 3), Lag: make([]float64, 3), Weight: []float64{1, 5, 3},
	}
	// Order 1, 2, 0 by w/p: C = 1/4+1/4, 5/4+3/4, 5/2+1.
	r := solve(t, p, Options{})
	if r.Iterations != 0 || math.Abs(r.Primal-(5*0.5+3*2+3.5)) > 1e-12 || r.Status != Optimal {
		t.Errorf("%v: %v after %d iterations, want 12 at once", r.Status, r.Primal, r.Iterations)
	}
}

func TestWhereArcsRuleTheLongestPathIsOptimal(t *testing.T) {
	p := chain(1000)
	r := solve(t, p, Options{Tolerance: 1e-9})
	if r.Iterations != 0 || math.Abs(r.Primal-1001) > 1e-6 {
		t.Errorf("%v after %d iterations, want 1001 at once", r.Primal, r.Iterations)
	}
}

// chain returns n unit nodes in a row, all weight on the last.
func chain(n int) *Problem {
	p := &Problem{Mu: 1, Size: make([]float64, n), Tail: make([]float64, n), Lo: make([]float64, n), Lag: make([]float64, n), Weight: make([]float64, n)}
	for j := range n {
		p.Size[j], p.Tail[j], p.Lag[j] = 1, 0.5, 1
		if j > 0 {
			p.Arcs = append(p.Arcs, Arc{int32(j - 1), int32(j)})
		}
	}
	p.Lo[0], p.Weight[n-1] = 2, 1
	return p
}

func TestDegenerate(t *testing.T) {
	one := func(size, weight float64) *Problem {
		return &Problem{Mu: 1, Size: []float64{size}, Tail: []float64{size / 2}, Lo: []float64{size}, Lag: []float64{size}, Weight: []float64{weight}}
	}
	noWeight := layered(50, 1)
	clear(noWeight.Weight)
	fan := chain(2)
	for range 20_000 { // 20,000 small nodes, one sink
		fan.Size, fan.Tail, fan.Lo = append(fan.Size, 1), append(fan.Tail, 0.5), append(fan.Lo, 1)
		fan.Lag, fan.Weight = append(fan.Lag, 1), append(fan.Weight, 0)
		fan.Arcs = append(fan.Arcs, Arc{int32(len(fan.Size) - 1), 1})
	}
	fan.Size[1], fan.Lag[1] = 0, 0
	sinks := chain(5)
	clear(sinks.Size)
	for name, c := range map[string]struct {
		p    *Problem
		want float64
	}{
		"empty":             {&Problem{Mu: 1}, 0},
		"single node":       {one(3, 2), 6},
		"no weight":         {noWeight, 0},
		"only zero sizes":   {sinks, 6},
		"zero size, weight": {one(0, 5), 0},
		"tiny numbers":      {one(1e-100, 1e-100), 0},
		// All work before the sink, on one machine of speed 1; (Q) knows that the
		// last of n unit nodes is on average at (n+1)/2 only.
		"fan-in": {fan, 10001},
	} {
		r := solve(t, c.p, Options{Tolerance: 1e-4, MaxIterations: 3000})
		if math.Abs(r.Primal-c.want) > 1e-3*c.want+tiny || r.Primal-r.Lower > 1e-3*r.Primal+tiny {
			t.Errorf("%s: primal %v, lower %v, want %v", name, r.Primal, r.Lower, c.want)
		}
	}
}

// TestScales: units of time and of weight do not matter, within a wide range.
func TestScales(t *testing.T) {
	base := solve(t, layered(60, 2), Options{Tolerance: 1e-5})
	for _, time := range []float64{1e-6, 1, 1e9} {
		for _, weight := range []float64{1e-9, 1, 1e9} {
			p := layered(60, 2)
			for j := range p.Size {
				p.Size[j] *= time
				p.Tail[j] *= time
				p.Lo[j] *= time
				p.Lag[j] *= time
				p.Weight[j] *= weight
			}
			r := solve(t, p, Options{Tolerance: 1e-5})
			if got := r.Lower / time / weight; r.Status != Optimal || math.Abs(got/base.Lower-1) > 2e-5 {
				t.Errorf("times %g, weights %g: %v, bound %v, unscaled %v", time, weight, r.Status, got, base.Lower)
			}
		}
	}
}

// TestMixedScales: nothing breaks when one instance mixes all of them.
func TestMixedScales(t *testing.T) {
	mixedScales(t, layered(100, 3))
	mixedScales(t, released(layered(100, 3)))
}

func mixedScales(t *testing.T, p *Problem) {
	for j := range p.Size {
		f, g := math.Pow(10, float64(j%16)-7), math.Pow(10, float64(j%19)-9)
		p.Size[j] *= f
		p.Tail[j] *= f
		p.Lo[j] *= f
		p.Lag[j] *= f
		p.Weight[j] *= g
	}
	if p.Release != nil { // heads that fit the new lengths
		p = released(p)
	}
	r := solve(t, p, Options{MaxIterations: 3000})
	if v, _ := proved(t, p, r).Float64(); !(r.Lower <= v) {
		t.Errorf("claimed %v, proved %v", r.Lower, v)
	}
	if r.Gap > 0.1 {
		t.Errorf("gap %v after %d iterations", r.Gap, r.Iterations)
	}
}

func TestInterruption(t *testing.T) {
	p := layered(400, 4)
	calls := 0
	r := solve(t, p, Options{Stop: func() bool { calls++; return calls > 3 }})
	if r.Status != Interrupted || r.Iterations == 0 || r.Iterations > 3*checkEvery {
		t.Fatalf("%v after %d iterations", r.Status, r.Iterations)
	}
	full := solve(t, p, Options{Tolerance: 1e-3})
	if full.Status != Optimal || r.Lower > full.Primal || full.Lower > r.Primal || r.Gap < full.Gap {
		t.Errorf("brackets [%v, %v] and [%v, %v]", r.Lower, r.Primal, full.Lower, full.Primal)
	}
	if r := solve(t, p, Options{MaxIterations: 21}); r.Status != IterationLimit || r.Iterations != 21 {
		t.Errorf("%v after %d iterations, want 21", r.Status, r.Iterations)
	}
}

// TestStart: a solve that starts from the result of another is nowhere worse, also if
// that was for the same problem without releases, and its budget of work holds.
func TestStart(t *testing.T) {
	p := layered(300, 7)
	weak := solve(t, p, Options{Tolerance: 1e-4})
	if r := solve(t, p, Options{Tolerance: 1e-9, MaxIterations: 1, Start: weak}); r.Lower < weak.Lower*(1-1e-12) || r.Gap > 1.01e-4 {
		t.Errorf("bound %v, started from %v; gap %v", r.Lower, weak.Lower, r.Gap)
	}
	q := released(p)
	cold := solve(t, q, Options{MaxIterations: 1})
	r := solve(t, q, Options{MaxIterations: 1, Start: weak})
	if r.Lower < weak.Lower*(1-1e-12) || r.Lower <= cold.Lower {
		t.Errorf("bound %v, started from %v; without a start %v", r.Lower, weak.Lower, cold.Lower)
	}
	for _, work := range []int64{1, 200_000, 1_000_000} {
		r := solve(t, q, Options{Tolerance: 1e-12, MaxWork: work, Start: weak})
		if r.Status != IterationLimit || r.Work < work || r.Work > work+checkEvery*1000*int64(len(p.Size)) {
			t.Errorf("work %d: %v after %d", work, r.Status, r.Work)
		}
	}
	if _, err := Solve(layered(299, 7), Options{Start: weak}); err == nil {
		t.Error("a start of another size was accepted")
	}
}

func TestDeterministic(t *testing.T) {
	for _, p := range []*Problem{layered(500, 5), released(layered(500, 5))} {
		a := solve(t, p, Options{MaxIterations: 300})
		b := solve(t, p, Options{MaxIterations: 300})
		if !reflect.DeepEqual(a, b) {
			t.Error("two solves differ")
		}
	}
}

// TestNoAllocationsPerIteration keeps garbage out of the loop.
func TestNoAllocationsPerIteration(t *testing.T) {
	for name, p := range map[string]*Problem{"": layered(500, 6), "releases: ": released(layered(500, 6))} {
		q, err := compile(p)
		if err != nil {
			t.Fatal(err)
		}
		s := newSolver(q)
		s.first(nil)
		for range 50 { // buffers grow to their size
			s.iterate()
		}
		if n := testing.AllocsPerRun(20, func() { s.iterate(); s.check() }); n > 0 {
			t.Errorf("%s%v allocations per iteration", name, n)
		}
	}
}

func TestBadProblems(t *testing.T) {
	for want, spoil := range map[string]func(*Problem){
		"one of each":       func(p *Problem) { p.Lag = p.Lag[1:] },
		"total rate NaN":    func(p *Problem) { p.Mu = math.NaN() },
		"size -1":           func(p *Problem) { p.Size[0] = -1 },
		"lower bound NaN":   func(p *Problem) { p.Lo[1] = math.NaN() },
		"lag +Inf":          func(p *Problem) { p.Lag[1] = math.Inf(1) },
		"weight 1e+99":      func(p *Problem) { p.Weight[2] = 1e99 },
		"tail -5":           func(p *Problem) { p.Tail[0] = -5 },
		"among 10 nodes":    func(p *Problem) { p.Arcs = []Arc{{0, 10}} },
		"from 3 to 3":       func(p *Problem) { p.Arcs = []Arc{{3, 3}} },
		"the arcs form a c": func(p *Problem) { p.Arcs = []Arc{{3, 4}, {4, 5}, {5, 3}} },
	} {
		p := layered(10, 1)
		spoil(p)
		_, err := Solve(p, Options{})
		if !errors.Is(err, ErrProblem) || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
		if p.Validate() == nil {
			t.Errorf("%s: Validate accepts it", want)
		}
	}
	if _, err := Solve(layered(10, 1), Options{Tolerance: -1}); err == nil {
		t.Error("a negative tolerance was accepted")
	}
}
