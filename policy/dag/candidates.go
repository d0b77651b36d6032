package dag

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	algo "github.com/fairlead-project/fairlead/algo/dag"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// Simulator returns what comes of running p on an instance whose jobs are all known
// from the start, where tasks take the given sizes, which p knows. It stops, with an
// error that wraps ErrStopped, when stop reports true. Package sim is one; it is a
// parameter because the simulator is built on policies.
type Simulator func(in *sched.Instance, z *sched.Sizes, p policy.Policy, stop func() bool) (*sched.Schedule, error)

// ErrStopped is wrapped by the error of a simulation that was told to stop.
var ErrStopped = errors.New("dag: told to stop")

const (
	// manyTasks: above, spc simulates only the candidates that it promises not to be
	// worse than, and does not search.
	manyTasks = 20_000
	// fewTasks: above, a solve of spc-online simulates nothing, since there may be one
	// for every job that arrives.
	fewTasks = 5_000
	// searchTasks is how many starts of tasks the local search may simulate, insertTasks
	// how many it may place, each about a second's; searchMoves how many moves it
	// makes per job at most.
	searchTasks = 400_000
	insertTasks = 3_000_000
	searchMoves = 30
	searchSeed  = 1
	// arriving: see chooser.online.
	arriving = 1.02
)

// chooser finds the cheapest of several ways to serve a problem, by simulation with
// the sizes that are expected.
type chooser struct {
	problem  *algo.Problem
	simulate Simulator // nil: the first candidate is taken
	stop     func() bool

	best     *policy.Solution
	cost     float64
	schedule *sched.Schedule // nil: nothing simulated yet
}

// offline returns the cheapest of
//
//   - the order of the jobs in the relaxation r, dispatched by event, with and without
//     preferring machines that are idle;
//   - the jobs by weight over remaining work, dispatched as wspt does;
//   - the paper's own plan, for which the guarantee was proved;
//   - list placement with insertion in the order of the jobs, for which it holds as well
//     ([algo.Problem.JobOrder], [algo.Problem.Insert]);
//
// after a local search from it.
func (c *chooser) offline(r *algo.Relaxation) (*policy.Solution, error) {
	order := c.problem.JobOrder(r.C)
	stages := c.problem.Stages(order)
	c.best = &policy.Solution{Rule: byOrder, Order: stages}
	tasks := c.problem.Tasks()
	if c.simulate == nil || tasks == 0 {
		return c.best, nil
	}
	paper, err := plain(c.problem, r.Weak(), false)
	if err != nil {
		return nil, err
	}
	candidates := []*policy.Solution{c.best, {Rule: bySmith, Order: stages}, paper}
	if tasks <= manyTasks {
		plan, err := c.problem.Insert(order)
		if err != nil {
			return nil, err
		}
		candidates = append(candidates, &policy.Solution{Rule: byOrderNear, Order: stages},
			&policy.Solution{Rule: byOrderEager, Order: stages}, slotted(c.problem, order, plan))
	}
	for _, s := range candidates {
		if _, err := c.try(s, 1); err != nil {
			return c.giveUp(err), nil
		}
	}
	if tasks <= manyTasks {
		if err := c.search(order); err != nil {
			return c.giveUp(err), nil
		}
	}
	return c.best, nil
}

// online returns the cheapest of the dispatched ones among these. Jobs that are yet to
// come gain by idle machines being used, which no simulation of what is known can
// see: so that is preferred where it costs less than arriving times as much.
func (c *chooser) online(r *algo.Relaxation) *policy.Solution {
	stages := c.problem.Stages(c.problem.JobOrder(r.C))
	c.best = &policy.Solution{Rule: byOrder, Order: stages}
	if c.simulate == nil || c.problem.Tasks() > fewTasks {
		return c.best
	}
	for _, rule := range []string{byOrder, bySmith, byOrderNear, byOrderEager} {
		handicap := 1.0
		if accepts(rule) > 0 {
			handicap = arriving
		}
		if _, err := c.try(&policy.Solution{Rule: rule, Order: stages}, handicap); err != nil {
			return c.giveUp(err)
		}
	}
	return c.best
}

// giveUp returns the best so far. A simulation that failed, which none should, is
// noted: it is no reason not to serve what is there.
func (c *chooser) giveUp(err error) *policy.Solution {
	if !errors.Is(err, ErrStopped) {
		s := *c.best
		s.Note = err.Error()
		c.best = &s
	}
	return c.best
}

// try returns the cost of s, by simulation, and keeps s if that is less than handicap
// times the least so far.
func (c *chooser) try(s *policy.Solution, handicap float64) (float64, error) {
	in := c.problem.Instance()
	schedule, err := c.simulate(in, c.problem.Sizes(), newFollowed(s), c.stop)
	if err != nil {
		return 0, err
	}
	cost := 0.0
	for j, done := range schedule.Completion {
		cost += float64(in.Jobs[j].Weight * done.Seconds())
	}
	if c.schedule == nil || cost < c.cost*handicap {
		c.best, c.cost, c.schedule = s, cost, schedule
	}
	return cost, nil
}

// search improves the order of jobs, first as the best dispatched candidate serves it,
// then as list placement with insertion does.
func (c *chooser) search(order []int32) error {
	p := c.problem
	nodes := make([][]int32, len(p.Instance().Jobs))
	var jobs []sched.JobID
	for _, i := range order {
		j := p.Nodes[i].Job
		if nodes[j] == nil {
			jobs = append(jobs, j)
		}
		nodes[j] = append(nodes[j], i)
	}
	all := make([]int32, 0, len(order))
	serve := func(jobs []sched.JobID) []int32 {
		all = all[:0]
		for _, j := range jobs {
			all = append(all, nodes[j]...)
		}
		return all
	}
	if err := c.searchDispatched(slices.Clone(jobs), serve); err != nil {
		return err
	}
	return c.searchInserted(jobs, serve)
}

// searchDispatched starts with the order of the best candidate; where that is no order of
// jobs, with the order in which they complete in it.
func (c *chooser) searchDispatched(jobs []sched.JobID, serve func([]sched.JobID) []int32) error {
	rule := c.best.Rule
	if rule != byOrder && accepts(rule) == 0 {
		rule = byOrder
		slices.SortStableFunc(jobs, func(a, b sched.JobID) int {
			return cmp.Compare(c.schedule.Completion[a], c.schedule.Completion[b])
		})
	}
	return c.climb(jobs, searchTasks, func() (float64, error) {
		return c.try(&policy.Solution{Rule: rule, Order: c.problem.Stages(serve(jobs))}, 1)
	})
}

// searchInserted starts with the order of the relaxation or by weight over work, whichever
// is better. Insertion costs less than simulation, so there are more moves.
func (c *chooser) searchInserted(jobs []sched.JobID, serve func([]sched.JobID) []int32) error {
	p := c.problem
	cost := func(jobs []sched.JobID) float64 {
		cost, err := p.InsertCost(serve(jobs))
		if err != nil { // a job comes before one that it waits for
			return math.Inf(1)
		}
		return cost
	}
	work := make([]float64, len(p.Instance().Jobs))
	for _, n := range p.Nodes {
		work[n.Job] += n.Size
	}
	bySmith := slices.Clone(jobs)
	slices.SortStableFunc(bySmith, func(a, b sched.JobID) int {
		all := p.Instance().Jobs
		return cmp.Compare(smith(all[b].Weight, work[b]), smith(all[a].Weight, work[a]))
	})
	if cost(bySmith) < cost(jobs) {
		jobs = bySmith
	}
	if err := c.climb(jobs, insertTasks, func() (float64, error) { return cost(jobs), nil }); err != nil {
		return err
	}
	order := serve(jobs)
	plan, err := p.Insert(order)
	if err != nil {
		return err
	}
	_, err = c.try(slotted(p, order, plan), 1)
	return err
}

// climb moves single jobs to other places, near ones more often, and takes back what
// costs more than before: what costs the same opens ways to what costs less. It ends when
// so many tasks have been placed.
func (c *chooser) climb(jobs []sched.JobID, tasks int, cost func() (float64, error)) error {
	least, err := cost()
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(searchSeed, 0))
	n := len(jobs)
	for left := min(min(searchMoves, 2*n)*n, tasks/c.problem.Tasks()); left > 0 && n > 1; left-- {
		from := rng.IntN(n)
		to := place(rng, from, n)
		if to == from {
			continue
		}
		if c.stop() {
			return ErrStopped
		}
		move(jobs, from, to)
		now, err := cost()
		if err != nil {
			return err
		}
		if now <= least {
			least = now
		} else {
			move(jobs, to, from)
		}
	}
	return nil
}

// place draws another place than from, of n, near ones more often; seldom it finds none
// and returns from.
func place(rng *rand.Rand, from, n int) int {
	for range 100 {
		far := float64(n) * (2*rng.Float64() - 1) * rng.Float64()
		to := from + int(math.Copysign(math.Ceil(math.Abs(far)), far))
		if to != from && to >= 0 && to < n {
			return to
		}
	}
	return from
}

// move takes the element at from to to.
func move(jobs []sched.JobID, from, to int) {
	j := jobs[from]
	if from < to {
		copy(jobs[from:to], jobs[from+1:to+1])
	} else {
		copy(jobs[to+1:from+1], jobs[to:from])
	}
	jobs[to] = j
}
