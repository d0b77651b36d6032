package dag

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fairlead-project/fairlead/opt/queyranne"
	"github.com/fairlead-project/fairlead/sched"
)

// Insertion gives the schedule that its definition gives, which is feasible, and is
// never later than placing without it where that starts from the same placements.
func TestInsertAgainstSlowTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	filled := 0
	for trial := range 600 {
		in := randomInstance(rng, 4, 24)
		if trial%4 > 0 {
			constrain(rng, in)
		}
		if in.Validate() != nil {
			continue // some stage fits nowhere
		}
		p := newProblem(t, in)
		r, err := p.RelaxStrong(queyranne.Options{MaxIterations: 50})
		if err != nil {
			t.Fatal(err)
		}
		order := p.JobOrder(r.C)
		plan, err := p.Insert(order)
		if err != nil {
			t.Fatal(err)
		}
		verify(t, in, plan)
		if want := slowList(p, order, len(p.Units), true); !slices.Equal(plan.Placed, want) {
			t.Fatalf("trial %d:\ngot  %v\nwant %v", trial, plan.Placed, want)
		}
		list, err := p.List(order, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range plan.Placed { // as long as nothing was filled in
			if b := list.Placed[i]; a != b {
				if a.Finish > b.Finish {
					t.Fatalf("trial %d: task %d ends at %v, without insertion at %v", trial, a.Task, a.Finish, b.Finish)
				}
				filled++
				break
			}
		}
	}
	if filled < 100 {
		t.Errorf("gaps were filled in %d instances only", filled)
	}
}

// Where the tasks of many machines would take long, nothing is inserted.
func TestInsertHasABudget(t *testing.T) {
	p := wide(40_000, 1000)
	order := p.Order(make([]float64, len(p.Nodes)))
	plan, err := p.Insert(order)
	if err != nil {
		t.Fatal(err)
	}
	list, err := p.List(order, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(plan.Placed, list.Placed) {
		t.Error("40,000 tasks on 1,000 units are not placed as by List")
	}
}

// The theorem: list placement, with and without insertion, in the order of the jobs ends
// every job within the published ratio of its completion in the relaxation, and within
// max r + Σ (p + (m−1) p_1)/μ over the stages up to it.
func TestJobOrderKeepsTheGuarantee(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	worst := 0.0
	for trial := range 1000 {
		in := randomInstance(rng, 4, 30)
		p := newProblem(t, in)
		relax := p.Relax
		if trial%2 == 0 {
			relax = p.RelaxStrong
		}
		r, err := relax(queyranne.Options{Tolerance: 1e-6})
		if err != nil {
			t.Fatal(err)
		}
		order := p.JobOrder(r.C)
		published, ok := p.Published()
		if !ok {
			t.Fatal("no ratio")
		}
		for _, place := range []func([]int32) (*Plan, error){p.Insert, func(o []int32) (*Plan, error) { return p.List(o, 0) }} {
			plan, err := place(order)
			if err != nil {
				t.Fatal(err)
			}
			release, own, mu, m := 0.0, 0.0, p.mu(), float64(len(p.Units))
			for _, i := range order {
				n := p.Nodes[i]
				release = max(release, n.Release.Seconds())
				own += (n.Size + (m-1)*n.Longest) / mu
				c := plan.Completion[i].Seconds() - 1e-9*float64(len(plan.Schedule.Tasks))
				if c > (release+own)*(1+1e-12) {
					t.Fatalf("trial %d: %s ends at %v, later than %v", trial, p.Name(i), c, release+own)
				}
				if p.end[slices.Index(p.jobs, n.Job)] != i {
					continue
				}
				if c > published*r.C[i]*(1+1e-12) {
					t.Fatalf("trial %d: job %s ends at %v, more than %v times %v", trial, p.Name(i), c, published, r.C[i])
				}
				if r.C[i] > 0 {
					worst = max(worst, c/r.C[i]/published)
				}
			}
		}
	}
	if worst < 0.3 {
		t.Errorf("the ratio is at most %v of the guarantee: the instances are too easy", worst)
	}
}

// Jobs by when they end, stages by the longest way to the end of the job, found over
// all paths.
func TestJobOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(45, 46))
	for trial := range 300 {
		p := newProblem(t, randomInstance(rng, 4, 30))
		c := make([]float64, len(p.Nodes))
		for _, i := range p.topological() { // satisfies (S4)
			c[i] = rng.Float64()
			for _, k := range p.preds[i] {
				c[i] = max(c[i], c[k])
			}
			c[i] += p.head(p.Nodes[i])
		}
		end := map[sched.JobID]float64{}
		for i, n := range p.Nodes {
			end[n.Job] = max(end[n.Job], c[i])
		}
		var longest func(i int32) float64
		longest = func(i int32) float64 {
			best := 0.0
			for _, a := range p.Arcs {
				if a.From == i && p.Nodes[a.To].Job == p.Nodes[i].Job {
					best = max(best, longest(a.To))
				}
			}
			return best + p.head(p.Nodes[i])
		}
		order := p.JobOrder(c)
		seen := make([]bool, len(p.Nodes))
		for i, b := range order {
			for _, a := range p.preds[b] {
				if !seen[a] {
					t.Fatalf("trial %d: %s comes before %s", trial, p.Name(b), p.Name(a))
				}
			}
			if seen[b] = true; i == 0 {
				continue
			}
			a := order[i-1]
			if ja, jb := p.Nodes[a].Job, p.Nodes[b].Job; ja != jb && end[ja] > end[jb] ||
				ja == jb && longest(a) < longest(b)*(1-1e-12) {
				t.Fatalf("trial %d: %s comes before %s", trial, p.Name(a), p.Name(b))
			}
		}
	}
}

func TestGaps(t *testing.T) {
	g := gaps{{0, sched.Never}}
	take := func(from, length, want sched.Time) {
		t.Helper()
		i, start := g.find(from, length)
		if start != want {
			t.Errorf("%d long after %d: starts at %d, want %d; free %v", length, from, start, want, g)
		}
		g.take(i, start, start+length)
		if !slices.IsSortedFunc(g, func(a, b gap) int { return cmp.Compare(a.from, b.from) }) || g[len(g)-1].to != sched.Never {
			t.Errorf("free: %v", g)
		}
	}
	take(10, 5, 10) // [0,10) stays free
	take(0, 4, 0)   // [4,10)
	take(0, 7, 15)  // fits nowhere before
	take(5, 5, 5)   // [4,5)
	take(0, 1, 4)   // all filled up to 22
	take(0, 1, 22)
	take(0, 0, 23)
	if want := (gaps{{23, sched.Never}}); !slices.Equal(g, want) {
		t.Errorf("left %v, want %v", g, want)
	}
	if _, start := (gaps{{5, sched.Never}}).find(0, math.MaxInt64/2); start != 5 {
		t.Errorf("a very long task starts at %d", start)
	}
}
