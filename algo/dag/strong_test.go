package dag

import (
	"bytes"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fairlead-project/fairlead/opt/queyranne"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

func relaxStrong(t *testing.T, in *sched.Instance, o queyranne.Options) *Relaxation {
	t.Helper()
	r, err := newProblem(t, in).RelaxStrong(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPaperStrongRelaxation: the bound is within 1e-6 of the exact optimum of (S1) with
// (S2+)–(S4+), never above. S8 needs how tasks fit on machines, S9 heads.
func TestPaperStrongRelaxation(t *testing.T) {
	for _, e := range examples(t) {
		in := e.instance(t)
		want := number(t, e.Strong)
		if v, _ := strongExactly(in).solve(t); v.Cmp(want) != 0 {
			t.Errorf("%s: the rational simplex gives %v, want %v", e.Name, v, want)
		}
		r := relaxStrong(t, in, queyranne.Options{Tolerance: 5e-7})
		x, _ := want.Float64()
		if rat(r.Lower).Cmp(want) > 0 || r.Lower < x*(1-1e-6) {
			t.Errorf("%s: bound %v, exact %v", e.Name, r.Lower, x)
		}
		if r.Primal < x*(1-1e-12) || r.Primal > x*(1+1e-6) || r.Status != queyranne.Optimal {
			t.Errorf("%s: %v, primal %v, exact %v", e.Name, r.Status, r.Primal, x)
		}
		weak, _ := number(t, e.LP).Float64()
		if stronger := e.Name == "S8" || e.Name == "S9"; stronger != (r.Lower > weak*(1+1e-3)) {
			t.Errorf("%s: bound %v, that of (S1)–(S4) %v", e.Name, r.Lower, weak)
		}
	}
}

// TestStrongAgainstBruteForce: the bound, of a finished or an interrupted solve, is at
// most the optimum, at least the weaker one of as many iterations, and the guarantee
// holds for list placement in its order.
func TestStrongAgainstBruteForce(t *testing.T) {
	n := 1500
	if testing.Short() {
		n = 200
	}
	rng := rand.New(rand.NewPCG(51, 52))
	better := 0
	for trial := range n {
		in := randomInstance(rng, 4, 7)
		p := newProblem(t, in)
		o := queyranne.Options{Tolerance: 1e-6}
		if trial%3 == 0 {
			o.MaxIterations = 1 + rng.IntN(40)
		}
		weak, err := p.Relax(o)
		if err != nil {
			t.Fatal(err)
		}
		r := relaxStrong(t, in, o)
		if r.Lower < weak.Lower {
			t.Errorf("trial %d: bound %v, the weaker one %v", trial, r.Lower, weak.Lower)
		}
		if r.Lower > weak.Lower*(1+1e-4) {
			better++
		}
		order := p.Order(r.C)
		plan, err := p.List(order, 0)
		if err != nil {
			t.Fatal(err)
		}
		best, err := p.Best(order)
		if err != nil {
			t.Fatal(err)
		}
		limit := int64(0)
		for j := range in.Jobs {
			limit += int64(in.Jobs[j].Weight) * int64(best.Schedule.Completion[j])
		}
		opt := bruteForce(in, limit+1)
		if bound := mul(rat(r.Lower), rat(1e9)); bound.Cmp(new(big.Rat).SetInt64(opt)) > 0 {
			t.Errorf("trial %d: bound %v above the optimum %v", trial, r.Lower, float64(opt)/1e9)
		}
		round := weights(in) * float64(len(plan.Schedule.Tasks)) * 1e-9 // see the package comment
		if ratio, ok := r.Guarantee(); !ok && r.Primal > 0 && r.Lower > 0 || plan.Cost > ratio*r.Lower*(1+1e-12)+round && r.Lower > 0 {
			t.Errorf("trial %d: cost %v, guarantee %v (%v), bound %v", trial, plan.Cost, ratio, ok, r.Lower)
		}
		if o.MaxIterations == 0 {
			checkNodes(t, trial, p, r, order, plan)
		}
	}
	if better < n/4 {
		t.Errorf("the stronger relaxation is better on %d of %d instances only", better, n)
	}
}

// TestStrongAgainstSimplex solves the relaxation of random instances, built from its
// definition by the test, with a row for every set of stages, in rational arithmetic.
func TestStrongAgainstSimplex(t *testing.T) {
	rng := rand.New(rand.NewPCG(53, 54))
	for trial := range 60 {
		in := randomInstance(rng, 2, 9)
		if sched.NewIndex(in).Stages() > 6 {
			continue
		}
		v, _ := strongExactly(in).solve(t)
		weak, _ := relaxExactly(in).solve(t)
		if v.Cmp(weak) < 0 {
			t.Fatalf("trial %d: %v below the weaker relaxation's %v", trial, v, weak)
		}
		r := relaxStrong(t, in, queyranne.Options{Tolerance: 5e-7})
		x, _ := v.Float64()
		if rat(r.Lower).Cmp(v) > 0 || r.Primal < x*(1-1e-12) || r.Lower < x*(1-1e-6) {
			t.Fatalf("trial %d: [%v, %v], exact %v", trial, r.Lower, r.Primal, x)
		}
	}
}

// TestStrongConverges: random instances of up to 30 stages are solved to 1e-6, not only
// most of them.
func TestStrongConverges(t *testing.T) {
	rng := rand.New(rand.NewPCG(55, 56))
	for trial := range 300 {
		in := randomInstance(rng, 10, 60)
		if sched.NewIndex(in).Stages() > 30 {
			continue
		}
		if r := relaxStrong(t, in, queyranne.Options{Tolerance: 1e-6}); r.Status != queyranne.Optimal || r.Gap > 1e-6*(1+1e-6) {
			t.Errorf("trial %d: %v, gap %v after %d iterations, work %d", trial, r.Status, r.Gap, r.Iterations, r.Work)
		}
	}
}

// TestStrongWhereItIsTheSame: independent jobs of equal tasks without releases have no
// heads and nothing to fit; the weaker solve is returned.
func TestStrongWhereItIsTheSame(t *testing.T) {
	in := &sched.Instance{Machines: []sched.Machine{{Name: "m", Speed: 1, Slots: 3, Port: math.Inf(1)}}}
	for j := range 20 {
		in.Jobs = append(in.Jobs, sched.Job{
			Weight: float64(1 + j%4), Stages: []sched.Stage{{Count: 1 + j%5, Sizes: []size.Dist{size.Exact(1 + j%7)}}},
		})
	}
	weak, err := newProblem(t, in).Relax(queyranne.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r := relaxStrong(t, in, queyranne.Options{}); r.Lower != weak.Lower || r.Iterations != weak.Iterations {
		t.Errorf("bound %v in %d iterations, the weaker one %v in %d", r.Lower, r.Iterations, weak.Lower, weak.Iterations)
	}
	for j := range in.Jobs {
		in.Jobs[j].Release = sched.Second
	}
	if r := relaxStrong(t, in, queyranne.Options{}); !(r.Lower > weak.Lower) {
		t.Errorf("with a release: bound %v, without %v", r.Lower, weak.Lower)
	}
}

// TestStrongWritesTheWeakerModel: the model is (S1)–(S4), with their bracket.
func TestStrongWritesTheWeakerModel(t *testing.T) {
	in := examples(t)[8].instance(t)
	var texts []string
	for _, relax := range []func(queyranne.Options) (*Relaxation, error){newProblem(t, in).Relax, newProblem(t, in).RelaxStrong} {
		r, err := relax(queyranne.Options{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := r.Model()
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := m.Write(&b); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, b.String())
	}
	if texts[0] != texts[1] {
		t.Errorf("two models:\n%s\n%s", texts[0], texts[1])
	}
}

// oneStage returns an instance of one job of one stage.
func oneStage(speeds, tasks []float64) *sched.Instance {
	in := &sched.Instance{Jobs: []sched.Job{{Weight: 1, Stages: []sched.Stage{{Count: len(tasks)}}}}}
	for _, v := range speeds {
		in.Machines = append(in.Machines, sched.Machine{Speed: v, Slots: 1, Port: math.Inf(1)})
	}
	for _, p := range tasks {
		in.Jobs[0].Stages[0].Sizes = append(in.Jobs[0].Stages[0].Sizes, size.Exact(p))
	}
	return in
}

// TestSpread compares h_j and A_j with their definitions, evaluated exactly: h_j is a
// maximum over numbers of tasks and A_j the area above the most that can be done in the
// last moments. No schedule of the stage is shorter than h_j.
func TestSpread(t *testing.T) {
	rng := rand.New(rand.NewPCG(57, 58))
	shared := 0
	for trial := range 500 {
		var speeds, tasks []float64
		for range 1 + rng.IntN(4) {
			speeds = append(speeds, []float64{1, 1, 2, 3, 5, 0.3}[rng.IntN(6)])
		}
		for range 1 + rng.IntN(6) {
			tasks = append(tasks, []float64{1, 2, 3, 7, 0.1, rng.ExpFloat64()}[rng.IntN(6)])
		}
		in := oneStage(speeds, tasks)
		p := newProblem(t, in)
		weak, err := p.Relax(queyranne.Options{})
		if err != nil {
			t.Fatal(err)
		}
		lp, _ := p.strengthen(weak.lp)
		h, area := spreadExactly(speeds, tasks)
		wantH, _ := h.Float64()
		wantArea, _ := area.Float64()
		// Within a few roundings, and never above by more than the proof allows.
		const few, allowed = 1e-14, 0x1p-50
		if got := lp.Lag[0]; math.Abs(got-wantH) > few*wantH || got > wantH*(1+allowed) {
			t.Errorf("trial %d: h = %v, want %v; speeds %v, tasks %v", trial, got, wantH, speeds, tasks)
		}
		if got := lp.Tail[0] * p.Nodes[0].Size; math.Abs(got-wantArea) > few*wantArea || got > wantArea*(1+2*allowed) {
			t.Errorf("trial %d: A = %v, want %v; speeds %v, tasks %v", trial, got, wantArea, speeds, tasks)
		}
		if lp.Lag[0] > weak.lp.Lag[0]*(1+few) || lp.Tail[0] > weak.lp.Tail[0]*(1+few) {
			shared++
		}
		if opt := float64(bruteForce(in, math.MaxInt64)) / 1e9; lp.Lag[0] > opt {
			t.Errorf("trial %d: h = %v, but a schedule takes %v; speeds %v, tasks %v", trial, lp.Lag[0], opt, speeds, tasks)
		}
	}
	if shared < 100 {
		t.Errorf("only %d stages are bounded better than by their work and their longest task", shared)
	}
	if _, area := spreadExactly([]float64{1, 1}, []float64{3, 1}); area.Cmp(rat(5)) != 0 {
		t.Errorf("tasks of 3 and 1 on two machines: A = %v, want 5 by hand", area)
	}
}

// TestHeadsNeverExceed sums a long chain of lengths that are no floats: the heads must
// not be above the exact ones by more than the proof of the bound allows.
func TestHeadsNeverExceed(t *testing.T) {
	const n = 3000
	in := &sched.Instance{Machines: []sched.Machine{{Speed: 0.7, Slots: 1, Port: math.Inf(1)}}}
	job := sched.Job{Weight: 1}
	for s := range n {
		st := sched.Stage{Count: 1, Sizes: []size.Dist{size.Exact(0.1 + float64(s)/7)}}
		if s > 0 {
			st.After = []int{s - 1}
		}
		job.Stages = append(job.Stages, st)
	}
	in.Jobs = append(in.Jobs, job)
	p := newProblem(t, in)
	weak, err := p.Relax(queyranne.Options{MaxIterations: 1})
	if err != nil {
		t.Fatal(err)
	}
	lp, _ := p.strengthen(weak.lp)
	exact := new(big.Rat)
	for s := range n {
		above := new(big.Rat).Sub(rat(lp.Release[s]), exact)
		if x, _ := above.Float64(); x > lp.Release[s]*0x1p-50 || x < -1e-12*lp.Release[s] {
			t.Fatalf("the head of stage %d is off by %v of %v", s, x, lp.Release[s])
		}
		z, _ := size.Value(job.Stages[s].Sizes[0])
		exact.Add(exact, new(big.Rat).Quo(rat(z), rat(0.7)))
	}
}

// spreadExactly evaluates the definitions of h_j and A_j.
func spreadExactly(speeds, tasks []float64) (h, area *big.Rat) {
	v, p := slices.Sorted(slices.Values(speeds)), slices.Sorted(slices.Values(tasks))
	slices.Reverse(v)
	slices.Reverse(p)
	q := min(len(v), len(p))
	total, rate := new(big.Rat), new(big.Rat)
	for _, x := range p {
		total.Add(total, rat(x))
	}
	// The lines V_h s + (all but the h largest), the last all at full speed.
	slope, rest := []*big.Rat{new(big.Rat)}, []*big.Rat{new(big.Rat).Set(total)}
	h = new(big.Rat)
	most := func(x *big.Rat) {
		if x.Cmp(h) > 0 {
			h = x
		}
	}
	for k := range q {
		rate.Add(rate, rat(v[k]))
		left := new(big.Rat).Sub(rest[k], rat(p[k]))
		if k == q-1 {
			left = new(big.Rat)
		}
		slope, rest = append(slope, new(big.Rat).Set(rate)), append(rest, left)
		most(new(big.Rat).Quo(new(big.Rat).Sub(total, left), rate))
	}
	missing := func(s *big.Rat) *big.Rat { // p − G(s)
		g := total
		for k := range slope {
			if x := new(big.Rat).Add(mul(slope[k], s), rest[k]); x.Cmp(g) < 0 {
				g = x
			}
		}
		return new(big.Rat).Sub(total, g)
	}
	// It is linear between the points where two lines meet.
	at := []*big.Rat{new(big.Rat), h}
	for a := range slope {
		for b := range a {
			if d := new(big.Rat).Sub(slope[a], slope[b]); d.Sign() != 0 {
				if s := new(big.Rat).Quo(new(big.Rat).Sub(rest[b], rest[a]), d); s.Sign() > 0 && s.Cmp(h) < 0 {
					at = append(at, s)
				}
			}
		}
	}
	slices.SortFunc(at, (*big.Rat).Cmp)
	area = new(big.Rat)
	for i := 1; i < len(at); i++ {
		mean := mul(new(big.Rat).Add(missing(at[i-1]), missing(at[i])), big.NewRat(1, 2))
		area.Add(area, mul(mean, new(big.Rat).Sub(at[i], at[i-1])))
	}
	return h, area
}

// strongExactly is (S1) with (S2+)–(S4+), from their definitions.
func strongExactly(in *sched.Instance) *relaxed {
	x := sched.NewIndex(in)
	z := sizesOf(x)
	n := x.Stages()
	var speeds []float64
	mu := new(big.Rat)
	for _, m := range in.Machines {
		for range m.Slots {
			speeds = append(speeds, m.Speed)
			mu.Add(mu, rat(m.Speed))
		}
	}
	work, area, h, start := make([]*big.Rat, n), make([]*big.Rat, n), make([]*big.Rat, n), make([]*big.Rat, n)
	for s := range n {
		var tasks []float64
		first, end := x.StageTasks(sched.StageID(s))
		work[s] = new(big.Rat)
		for k := first; k < end; k++ {
			tasks = append(tasks, z.Of(sched.StageID(s), k))
			work[s].Add(work[s], rat(z.Of(sched.StageID(s), k)))
		}
		h[s], area[s] = spreadExactly(speeds, tasks)
		start[s] = big.NewRat(int64(in.Jobs[x.StageJob(sched.StageID(s))].Release), int64(sched.Second))
	}
	r := &relaxed{}
	for range n {
		r.cost = append(r.cost, new(big.Rat))
	}
	for j := range in.Jobs {
		r.cost = append(r.cost, rat(in.Jobs[j].Weight))
	}
	add := func(bound *big.Rat, terms map[int]*big.Rat) {
		row := make([]*big.Rat, n+len(in.Jobs))
		for k, a := range terms {
			row[k] = a
		}
		r.rows, r.bound = append(r.rows, row), append(r.bound, bound)
	}
	one, minus := big.NewRat(1, 1), big.NewRat(-1, 1)
	before := func(s int) (stages, jobs []int) { // with an arc into s
		j := x.StageJob(sched.StageID(s))
		first, _ := x.JobStages(j)
		for _, a := range x.Stage(sched.StageID(s)).After {
			stages = append(stages, int(first)+a)
		}
		for _, a := range in.Jobs[j].After {
			jobs = append(jobs, int(a))
		}
		return stages, jobs
	}
	for range n { // until no head moves
		for s := range n {
			stages, jobs := before(s)
			for _, a := range jobs {
				lo, hi := x.JobStages(sched.JobID(a))
				for q := lo; q < hi; q++ {
					stages = append(stages, int(q))
				}
			}
			for _, a := range stages {
				if e := new(big.Rat).Add(start[a], h[a]); e.Cmp(start[s]) > 0 {
					start[s] = e
				}
			}
		}
	}
	for s := range n {
		add(new(big.Rat).Add(start[s], h[s]), map[int]*big.Rat{s: one})
		stages, jobs := before(s)
		for _, a := range stages {
			add(h[s], map[int]*big.Rat{s: one, a: minus})
		}
		for _, a := range jobs {
			add(h[s], map[int]*big.Rat{s: one, n + a: minus})
		}
		add(new(big.Rat), map[int]*big.Rat{n + int(x.StageJob(sched.StageID(s))): one, s: minus})
	}
	for set := 1; set < 1<<n; set++ {
		terms := map[int]*big.Rat{}
		total, f := new(big.Rat), new(big.Rat)
		var first *big.Rat
		for s := range n {
			if set>>s&1 == 1 {
				terms[s] = work[s]
				total.Add(total, work[s])
				f.Add(f, area[s])
				if first == nil || start[s].Cmp(first) < 0 {
					first = start[s]
				}
			}
		}
		f.Add(f, mul(first, total))
		add(f.Add(f, new(big.Rat).Quo(mul(total, total, big.NewRat(1, 2)), mu)), terms)
	}
	return r
}
