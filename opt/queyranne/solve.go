package queyranne

import (
	"fmt"
	"math"
)

// Options bounds a solve. The zero value is useful.
type Options struct {
	// Tolerance is the relative gap (Primal − Lower)/Primal at which to stop.
	// Default: DefaultTolerance.
	Tolerance float64
	// MaxIterations is the budget. Default: DefaultIterations for the problem's size.
	MaxIterations int
	// MaxWork is another budget, in updates of nodes and arcs, for problems with
	// releases, whose iterations differ in cost. Default: that of DefaultIterations
	// without releases, or none if MaxIterations is given.
	MaxWork int64
	// Start is where to start from: the result for a problem with the same arcs and
	// nodes. Its multipliers' bound is then the least that comes out.
	Start *Result
	// Stop is polled every few iterations; when it returns true the best result so
	// far is returned. Default: never.
	Stop func() bool
}

// DefaultTolerance is reached in well under a second up to a thousand nodes.
const DefaultTolerance = 1e-6

// DefaultIterations is the iteration budget for a problem of n nodes and m arcs:
// as many as cost about the same at every size, within reason.
func DefaultIterations(n, m int) int {
	return min(max(iterationWork/(n+m+1), minIterations), maxIterations)
}

const (
	iterationWork = 400_000_000 // node and arc updates: some ten seconds
	minIterations = 300
	maxIterations = 200_000
)

// Status says why a solve ended.
type Status uint8

const (
	// Optimal: the gap is within the tolerance.
	Optimal Status = iota
	// IterationLimit: the budget was used up first.
	IterationLimit
	// Interrupted: Stop returned true first.
	Interrupted
)

func (s Status) String() string {
	switch s {
	case Optimal:
		return "optimal"
	case IterationLimit:
		return "iteration limit"
	case Interrupted:
		return "interrupted"
	}
	return fmt.Sprintf("Status(%d)", s)
}

// Result is a certified bracket of the optimum: Lower ≤ optimum ≤ Primal. All of it
// is valid whatever the Status.
type Result struct {
	// C satisfies (lo) and (arc) exactly and (Q) up to rounding.
	C []float64
	// Primal is w·C.
	Primal float64
	// Lower is proved by Arc and Head; see the package comment for what that
	// means in the presence of rounding.
	Lower float64
	// Arc and Head hold the multipliers λ ≥ 0 per arc and ν ≥ 0 per node.
	Arc, Head []float64
	// Order holds the nodes with p_j > 0 by non-increasing w'_j/p_j: the rows of
	// (Q) with positive multipliers are among those of its prefixes.
	Order []int32
	// Reduced holds w' per node, rounded down.
	Reduced    []float64
	Iterations int
	// Work is the cost in updates of nodes and arcs.
	Work int64
	// Gap is (Primal − Lower)/Primal, 0 if Primal is 0.
	Gap    float64
	Status Status

	step float64
}

// Solve brackets the optimum of p. It is deterministic. An error means that p is
// not valid. Time: O((nodes + arcs) · iterations), memory O(nodes + arcs).
func Solve(p *Problem, o Options) (*Result, error) {
	q, err := compile(p)
	if err != nil {
		return nil, err
	}
	tolerance := o.Tolerance
	if tolerance == 0 {
		tolerance = DefaultTolerance
	}
	if !(tolerance > 0) || o.MaxIterations < 0 || o.MaxWork < 0 {
		return nil, fmt.Errorf("queyranne: tolerance %v, iterations %d, work %d: give positive numbers, or 0 for the defaults", o.Tolerance, o.MaxIterations, o.MaxWork)
	}
	budget, work := o.MaxIterations, o.MaxWork
	switch {
	case budget > 0 && work == 0:
		work = math.MaxInt64
	case budget == 0:
		budget = DefaultIterations(q.n, len(q.from))
		if work == 0 {
			work = int64(budget) * int64(q.n+len(q.from)+1)
		}
	}
	if r := o.Start; r != nil && (len(r.C) != q.n || len(r.Head) != q.n || len(r.Arc) != len(q.from)) {
		return nil, fmt.Errorf("queyranne: the start has %d nodes and %d arcs, the problem %d and %d", len(r.C), len(r.Arc), q.n, len(q.from))
	}
	s := newSolver(q)
	s.first(o.Start)
	status := s.run(tolerance, budget, work, o.Stop)
	return s.result(p, status), nil
}

const (
	// checkEvery iterations bounds are computed; a check costs about four
	// iterations.
	checkEvery = 16
	// A restart is due when the gap has shrunk by restartSufficient since the last
	// one, or when the current run is at least stale of all iterations and
	// staleLeast long: then the step size is wrong, and a restart corrects it.
	restartSufficient = 0.4
	stale             = 0.36
	staleLeast        = 50
	// maxReweigh bounds the factor by which a restart changes the step size: a
	// vector that hardly moved says little about the right one.
	maxReweigh = 30
	// firstWeight sets the first step size relative to the natural scale. A small
	// primal step means large dual ones, which let the multipliers grow fast: much
	// weight may have to flow back along the arcs before the rest matters.
	firstWeight = 3e-5
)

// point is a pair of primal and dual vectors.
type point struct{ c, arc, head []float64 }

func newPoint(q *core) point {
	return point{make([]float64, q.n), make([]float64, len(q.from)), make([]float64, q.n)}
}

func (x point) set(y point) {
	copy(x.c, y.c)
	copy(x.arc, y.arc)
	copy(x.head, y.head)
}

type solver struct {
	q    *core
	proj projector
	bnd  *bounder
	// Step sizes are step/metric in the primal, arcBase/step and headBase/step in
	// the dual.
	step              float64
	arcBase, headBase []float64

	now, average, start point     // start: at the last restart
	averaged            float64   // number of points in average
	t, grad, lifted, up []float64 // scratch

	// The best so far.
	primal, lower           float64
	best                    point
	reduced                 []float64
	order                   []int32
	iterations, lastRestart int
	work                    int64
	lastGap                 float64
}

func newSolver(q *core) *solver {
	s := &solver{
		q: q, proj: newProjector(q), bnd: newBounder(q),
		now: newPoint(q), average: newPoint(q), start: newPoint(q), best: newPoint(q),
		arcBase: make([]float64, len(q.from)), headBase: make([]float64, q.n),
		t: make([]float64, q.n), grad: make([]float64, q.n), lifted: make([]float64, q.n), up: make([]float64, q.n),
		reduced: make([]float64, q.n), order: make([]int32, q.sized),
		primal: math.Inf(1), lower: math.Inf(-1), lastGap: math.Inf(1),
	}
	// Diagonal preconditioning (Pock and Chambolle, ICCV 2011) with the primal
	// metric that the projection asks for.
	rows := make([]float64, q.n) // (lo) and (arc) rows that hold the node
	for j := range q.n {
		rows[j] += float64(1 + q.in[j+1] - q.in[j])
		for k := q.in[j]; k < q.in[j+1]; k++ {
			rows[q.from[k]]++
		}
	}
	size, weight, work := 0.0, 0.0, 0.0
	for j := range q.n {
		size += q.metric[j]
		weight += q.w[j]
		work += q.p[j]
		s.headBase[j] = q.metric[j] / rows[j]
		for k := q.in[j]; k < q.in[j+1]; k++ {
			a := q.from[k]
			s.arcBase[k] = 1 / (rows[a]/q.metric[a] + rows[j]/q.metric[j])
		}
	}
	s.step = firstWeight * (work / q.mu) * (size / max(weight, tiny))
	return s
}

// run iterates until the gap is small enough, a budget used up or stop says so.
func (s *solver) run(tolerance float64, budget int, work int64, stop func() bool) Status {
	for {
		switch {
		case s.primal-s.lower <= tolerance*s.primal:
			return Optimal
		case s.iterations >= budget || s.work >= work:
			return IterationLimit
		case stop != nil && stop():
			return Interrupted
		}
		for range min(checkEvery, budget-s.iterations) {
			s.iterate()
		}
		s.check()
	}
}

// first brackets the optimum without iterating, by Smith's rule alone and by
// longest paths alone, and starts from the better multipliers, or from given ones.
func (s *solver) first(start *Result) {
	q, now, other := s.q, s.now, s.average
	s.keepLower(s.bnd.bound(now.arc, now.head)) // all zero, but for nodes of size 0
	copy(now.arc, s.bnd.arc)
	copy(now.head, s.bnd.head)
	copy(now.c, s.bnd.c)
	s.keepPrimal(now.c)
	copy(now.c, s.lifted)

	q.lift(other.c, other.c) // from zero: the longest paths
	q.longestPath(other.c, other.arc, other.head)
	s.proj.project(other.c, s.t)
	s.keepPrimal(s.t)
	if s.keepLower(s.bnd.bound(other.arc, other.head)) {
		now.set(other)
	}
	if start != nil {
		for j, v := range q.node {
			now.c[j], now.head[j] = start.C[v], start.Head[v]
		}
		for k, v := range q.arc {
			now.arc[k] = start.Arc[v]
		}
		s.keepLower(s.bnd.bound(now.arc, now.head))
		copy(now.arc, s.bnd.arc)
		copy(now.head, s.bnd.head)
		s.proj.project(now.c, s.t)
		s.keepPrimal(s.t)
		s.step = start.step
	}
	s.start.set(now) // which no average holds: it need not be in (Q)
}

// iterate makes one step of the primal-dual hybrid gradient method.
func (s *solver) iterate() {
	q, now := s.q, s.now
	s.iterations++
	// The gradient in C_j is w'_j.
	grad := s.grad
	for j := range grad {
		grad[j] = q.w[j] - now.head[j]
	}
	for j := range grad {
		enter := 0.0
		for k := q.in[j]; k < q.in[j+1]; k++ {
			grad[q.from[k]] += now.arc[k]
			enter += now.arc[k]
		}
		grad[j] -= enter
	}
	for j := range grad {
		s.t[j] = now.c[j] - float64(s.step/q.metric[j]*grad[j])
	}
	s.work += s.proj.project(s.t, grad) + int64(q.n+len(q.from))
	// The dual step looks at the extrapolated point 2c⁺ − c.
	s.averaged++
	share, dual := 1/s.averaged, 1/s.step
	extra, av := s.t, s.average
	for j, x := range grad {
		extra[j] = 2*x - now.c[j]
		now.c[j] = x
		av.c[j] += float64((x - av.c[j]) * share)
	}
	for j := range grad {
		ej := extra[j]
		h := max(0, now.head[j]+float64(s.headBase[j]*dual*(q.lo[j]-ej)))
		now.head[j] = h
		av.head[j] += float64((h - av.head[j]) * share)
		ej -= q.lag[j]
		for k := q.in[j]; k < q.in[j+1]; k++ {
			l := max(0, now.arc[k]+float64(s.arcBase[k]*dual*(extra[q.from[k]]-ej)))
			now.arc[k] = l
			av.arc[k] += float64((l - av.arc[k]) * share)
		}
	}
}

// check computes the brackets of the current and of the average point, and
// restarts from the better one if that is due.
func (s *solver) check() {
	gapNow := s.keepPrimal(s.now.c)
	lower := s.bnd.bound(s.now.arc, s.now.head)
	s.keepLower(lower)
	gapNow -= lower
	gapAverage := s.keepPrimal(s.average.c)
	lower = s.bnd.bound(s.average.arc, s.average.head)
	s.keepLower(lower)
	gapAverage -= lower

	gap, since := min(gapNow, gapAverage), s.iterations-s.lastRestart
	long := float64(since) > stale*float64(s.iterations) && since > staleLeast
	if !(gap < restartSufficient*s.lastGap || long) {
		return
	}
	if gapAverage < gapNow {
		s.now.set(s.average)
	}
	s.averaged, s.lastGap, s.lastRestart = 0, gap, s.iterations
	s.reweigh()
	s.start.set(s.now)
}

// reweigh balances primal and dual steps by how far each moved since the last
// restart, smoothed in the logarithm.
func (s *solver) reweigh() {
	q := s.q
	var dx, dy float64
	for j := range q.n {
		d, e := s.now.c[j]-s.start.c[j], s.now.head[j]-s.start.head[j]
		dx += float64(q.metric[j] * d * d)
		dy += float64(e * e / s.headBase[j])
	}
	for k, b := range s.arcBase {
		e := s.now.arc[k] - s.start.arc[k]
		dy += float64(e * e / b)
	}
	if factor := math.Sqrt(math.Sqrt(dx/dy) / s.step); !math.IsNaN(factor) {
		s.step *= min(max(factor, 1./maxReweigh), maxReweigh)
	}
}

// keepPrimal lifts c to a feasible point, keeps it if it is the best, and returns
// its cost.
func (s *solver) keepPrimal(c []float64) float64 {
	if s.q.released() { // projections may be unfinished
		c = s.raised(c)
	}
	cost := s.q.lift(c, s.lifted)
	if cost < s.primal {
		s.primal = cost
		copy(s.best.c, s.lifted)
	}
	return cost
}

// keepLower keeps the multipliers of the last bound if it is the best.
func (s *solver) keepLower(lower float64) bool {
	if !(lower > s.lower) {
		return false
	}
	s.lower = lower
	copy(s.best.arc, s.bnd.arc)
	copy(s.best.head, s.bnd.head)
	copy(s.reduced, s.bnd.reduced)
	copy(s.order, s.bnd.order.ord)
	return true
}

// result translates the best so far to the nodes and arcs of p.
func (s *solver) result(p *Problem, status Status) *Result {
	q := s.q
	s.settle()
	r := &Result{
		C: make([]float64, q.n), Lower: max(0, s.lower),
		Arc: make([]float64, len(q.from)), Head: make([]float64, q.n),
		Order: make([]int32, q.sized), Reduced: make([]float64, q.n),
		Iterations: s.iterations, Work: s.work, Status: status, step: s.step,
	}
	for j, v := range q.node {
		r.C[v], r.Head[v], r.Reduced[v] = s.best.c[j], s.best.head[j], s.reduced[j]
	}
	for k, v := range q.arc {
		r.Arc[v] = s.best.arc[k]
	}
	for i, j := range s.order {
		r.Order[i] = q.node[j]
	}
	for j, c := range r.C {
		r.Primal += float64(p.Weight[j] * c)
	}
	if r.Primal > 0 {
		r.Gap = max(0, (r.Primal-r.Lower)/r.Primal)
	}
	return r
}

// settle moves the best primal point up by the rounding errors of the projection,
// so that it violates no row of (Q) by more than a few roundings of the row itself.
func (s *solver) settle() { s.q.lift(s.raised(s.best.c), s.best.c) }

// raised returns the least multiple of c, up to rounding, that satisfies (Q), in
// scratch memory.
func (s *solver) raised(c []float64) []float64 {
	up := s.up
	copy(up, c)
	for range settleRounds {
		worst := s.proj.excess(up)
		if worst <= float64(s.q.n+sumRoundings)*ulp {
			break
		}
		for j := range up {
			up[j] *= 1 + worst
		}
	}
	return up
}

// settleRounds is more than enough: the first round removes the violation but for
// second-order terms.
const settleRounds = 20
