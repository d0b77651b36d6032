package dag

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/fairlead-project/fairlead/algo/dag/brute"
	"github.com/fairlead-project/fairlead/opt/lp"
	"github.com/fairlead-project/fairlead/opt/lp/exact"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// The oracles read instances, never a Problem, so that they share nothing with the
// code they test: no sinks, no units, no levels.

// sizesOf takes exact sizes from the instance.
func sizesOf(x *sched.Index) *sched.Sizes {
	z := sched.NewSizes(x)
	for s := range sched.StageID(x.Stages()) {
		st := x.Stage(s)
		switch {
		case len(st.Sizes) == 1:
			z.SetAll(s, float64(st.Sizes[0].(size.Exact)))
		case len(st.Sizes) > 1:
			p := make([]float64, st.Count)
			for k := range p {
				p[k] = float64(st.Sizes[k].(size.Exact))
			}
			z.SetEach(s, p)
		}
	}
	return z
}

// newProblem builds the problem of a whole valid instance.
func newProblem(t testing.TB, in *sched.Instance) *Problem {
	t.Helper()
	if err := in.Validate(); err != nil {
		t.Fatal(err)
	}
	x := sched.NewIndex(in)
	p, err := NewProblem(x, sizesOf(x), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// bruteForce returns the optimum in nanoseconds, or below if that is not above it.
func bruteForce(in *sched.Instance, below int64) int64 {
	return brute.Optimum(in, sizesOf(sched.NewIndex(in)), below)
}

func rat(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

func mul(x ...*big.Rat) *big.Rat {
	p := big.NewRat(1, 1)
	for _, f := range x {
		p.Mul(p, f)
	}
	return p
}

// relaxed is the relaxation lp of an instance in rational arithmetic: a variable per
// stage and one per job, its completion; a row ≥ for every subset of stages.
type relaxed struct {
	cost  []*big.Rat
	rows  [][]*big.Rat
	bound []*big.Rat
	head  []*big.Rat // per stage: r + h + the longest path to it
}

func relaxExactly(in *sched.Instance) *relaxed {
	x := sched.NewIndex(in)
	z := sizesOf(x)
	n := x.Stages()
	var speeds []*big.Rat
	for _, m := range in.Machines {
		for range m.Slots {
			speeds = append(speeds, rat(m.Speed))
		}
	}
	slices.SortFunc(speeds, func(a, b *big.Rat) int { return b.Cmp(a) })
	mu := new(big.Rat)
	for _, v := range speeds {
		mu.Add(mu, v)
	}
	r := &relaxed{}
	add := func(bound *big.Rat, terms ...any) {
		row := make([]*big.Rat, n+len(in.Jobs))
		for i := 0; i < len(terms); i += 2 {
			row[terms[i].(int)] = terms[i+1].(*big.Rat)
		}
		r.rows, r.bound = append(r.rows, row), append(r.bound, bound)
	}
	one, minus := big.NewRat(1, 1), big.NewRat(-1, 1)

	work, square, h := make([]*big.Rat, n), make([]*big.Rat, n), make([]*big.Rat, n)
	for s := range n {
		first, end := x.StageTasks(sched.StageID(s))
		total, longest, rate := new(big.Rat), new(big.Rat), new(big.Rat)
		for k := first; k < end; k++ {
			p := rat(z.Of(sched.StageID(s), k))
			total.Add(total, p)
			if p.Cmp(longest) > 0 {
				longest = p
			}
			if i := int(k - first); i < len(speeds) {
				rate.Add(rate, speeds[i])
			}
		}
		work[s] = total
		square[s] = new(big.Rat).Quo(mul(total, total), rate)
		h[s] = new(big.Rat).Quo(total, rate)
		if alone := new(big.Rat).Quo(longest, speeds[0]); alone.Cmp(h[s]) > 0 {
			h[s] = alone
		}
		release := big.NewRat(int64(in.Jobs[x.StageJob(sched.StageID(s))].Release), int64(sched.Second))
		add(new(big.Rat).Add(release, h[s]), s, one)
		r.cost = append(r.cost, new(big.Rat))
	}
	r.head = slices.Clone(r.bound)
	for j := range in.Jobs {
		r.cost = append(r.cost, rat(in.Jobs[j].Weight))
		first, end := x.JobStages(sched.JobID(j))
		for s := first; s < end; s++ {
			add(new(big.Rat), n+j, one, int(s), minus)
			for _, a := range in.Jobs[j].After {
				add(h[s], int(s), one, n+int(a), minus)
			}
			for _, a := range x.Stage(s).After {
				add(h[s], int(s), one, int(first)+a, minus)
			}
		}
	}
	half := big.NewRat(1, 2)
	for set := 1; set < 1<<n; set++ {
		var terms []any
		total, squares := new(big.Rat), new(big.Rat)
		for s := range n {
			if set>>s&1 == 1 {
				terms = append(terms, s, work[s])
				total.Add(total, work[s])
				squares.Add(squares, square[s])
			}
		}
		f := new(big.Rat).Quo(mul(total, total), mu)
		add(f.Mul(f.Add(f, squares), half), terms...)
	}
	return r
}

// solve returns the optimum and the completion times of the stages and jobs at it.
// It solves the dual, max b·y, A'y ≤ cost: few rows, and y = 0 to start from; the
// completion times are its multipliers.
func (r *relaxed) solve(t *testing.T) (*big.Rat, []*big.Rat) {
	t.Helper()
	d := &exact.Problem{}
	for _, b := range r.bound {
		d.Cost = append(d.Cost, new(big.Rat).Neg(b))
	}
	for k, c := range r.cost {
		row := make([]*big.Rat, len(r.rows))
		for i := range row {
			row[i] = r.rows[i][k]
		}
		d.Add(row, lp.LessEqual, c)
	}
	s := exact.Solve(d)
	if s.Status != exact.Optimal {
		t.Fatalf("simplex: %v", s.Status)
	}
	for _, c := range s.Dual {
		c.Neg(c)
	}
	return s.Value.Neg(s.Value), s.Dual
}

// trivial returns the bound of heads and tails: Σ w_j times the longest path to j.
func (r *relaxed) trivial() *big.Rat {
	c := make([]*big.Rat, len(r.cost))
	for k := range c {
		c[k] = new(big.Rat)
	}
	for range c { // relax every row of one or two variables until nothing moves
		for i, row := range r.rows {
			to, from, terms := -1, -1, 0
			for k, a := range row {
				if a != nil {
					terms++
					if a.Cmp(big.NewRat(1, 1)) == 0 {
						to = k
					} else if a.Cmp(big.NewRat(-1, 1)) == 0 {
						from = k
					}
				}
			}
			need := new(big.Rat).Set(r.bound[i])
			switch {
			case terms == 2 && to >= 0 && from >= 0:
				need.Add(need, c[from])
			case i >= len(r.head):
				continue // a row (S2), or of a kind not meant
			}
			if c[to].Cmp(need) < 0 {
				c[to].Set(need)
			}
		}
	}
	total := new(big.Rat)
	for k, w := range r.cost {
		total.Add(total, mul(w, c[k]))
	}
	return total
}

// verify checks a plan by the rules of the machine model, plainly: O(tasks²).
func verify(t *testing.T, in *sched.Instance, plan *Plan) {
	t.Helper()
	x := sched.NewIndex(in)
	z := sizesOf(x)
	at := map[sched.TaskID]sched.Placement{}
	for _, p := range plan.Schedule.Tasks {
		if _, ok := at[p.Task]; ok {
			t.Fatalf("task %d runs twice", p.Task)
		}
		at[p.Task] = p
		s := x.TaskStage(p.Task)
		m := &in.Machines[p.Machine]
		if int(p.Slot) >= m.Slots || p.Slot < 0 || !in.MayRun(x.Stage(s), p.Machine) {
			t.Fatalf("task %d may not run on machine %d, slot %d", p.Task, p.Machine, p.Slot)
		}
		if p.Finish-p.Start != sched.Duration(z.Of(s, p.Task), m.Speed) {
			t.Fatalf("task %d runs from %v to %v", p.Task, p.Start, p.Finish)
		}
		if p.Start < in.Jobs[x.StageJob(s)].Release {
			t.Fatalf("task %d starts at %v, before its release", p.Task, p.Start)
		}
		for _, q := range plan.Schedule.Tasks {
			if q.Task != p.Task && q.Machine == p.Machine && q.Slot == p.Slot && q.Start < p.Finish && p.Start < q.Finish {
				t.Fatalf("tasks %d and %d overlap on machine %d, slot %d", p.Task, q.Task, p.Machine, p.Slot)
			}
		}
		for d := range in.Resources { // usage only rises when a task starts
			held := int64(0)
			for _, q := range plan.Schedule.Tasks {
				if need := x.Stage(x.TaskStage(q.Task)).Needs; need != nil && q.Machine == p.Machine && q.Start <= p.Start && p.Start < q.Finish {
					held += need[d]
				}
			}
			if held > m.Capacity[d] {
				t.Fatalf("at %v machine %d gives %d of %d %s", p.Start, p.Machine, held, m.Capacity[d], in.Resources[d])
			}
		}
	}
	if len(at) != x.Tasks() {
		t.Fatalf("%d of %d tasks run", len(at), x.Tasks())
	}
	span := func(s sched.StageID) (start, finish sched.Time) {
		start = sched.Never
		first, end := x.StageTasks(s)
		for k := first; k < end; k++ {
			start, finish = min(start, at[k].Start), max(finish, at[k].Finish)
		}
		return start, finish
	}
	cost := 0.0
	for j := range in.Jobs {
		first, end := x.JobStages(sched.JobID(j))
		complete := sched.Time(0)
		for s := first; s < end; s++ {
			start, finish := span(s)
			complete = max(complete, finish)
			for _, a := range x.Stage(s).After {
				if _, f := span(first + sched.StageID(a)); f > start {
					t.Fatalf("stage %s starts at %v, its predecessor finishes at %v", x.StageName(s), start, f)
				}
			}
			for _, a := range in.Jobs[j].After {
				if plan.Schedule.Completion[a] > start {
					t.Fatalf("stage %s starts at %v, job %d completes later", x.StageName(s), start, a)
				}
			}
			verifyInput(t, x, s, at)
		}
		if plan.Schedule.Completion[j] != complete {
			t.Fatalf("job %d completes at %v, not at %v", j, complete, plan.Schedule.Completion[j])
		}
		cost += in.Jobs[j].Weight * complete.Seconds()
	}
	if math.Abs(cost-plan.Cost) > 1e-9*cost {
		t.Fatalf("the plan costs %v, not %v", cost, plan.Cost)
	}
}

// verifyInput checks that every share of s's input is there when a task starts.
func verifyInput(t *testing.T, x *sched.Index, s sched.StageID, at map[sched.TaskID]sched.Placement) {
	t.Helper()
	first, end := x.StageTasks(s)
	base, _ := x.JobStages(x.StageJob(s))
	for _, in := range x.Stage(s).Input {
		lo, hi := x.StageTasks(base + sched.StageID(in.From))
		share := in.Bytes / (float64(hi-lo) * float64(end-first))
		for k := first; k < end; k++ {
			for q := lo; q < hi; q++ {
				arrives := at[q].Finish
				if a, b := at[q].Machine, at[k].Machine; a != b {
					arrives += sched.Duration(share, min(x.Instance.Machines[a].Port, x.Instance.Machines[b].Port))
				}
				if arrives > at[k].Start {
					t.Fatalf("task %d starts at %v, its input from task %d arrives at %v", k, at[k].Start, q, arrives)
				}
			}
		}
	}
}
