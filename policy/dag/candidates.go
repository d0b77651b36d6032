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
	// searchTasks is how many starts of tasks the local search may simulate, about a
	// second; searchMoves how many moves it makes per job at most.
	searchTasks = 400_000
	searchMoves = 8
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
//   - the jobs by weight over remaining work, likewise, as wspt does;
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
		if err := c.search(stages); err != nil {
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

// try simulates s and keeps it if it costs less than handicap times the best so far.
func (c *chooser) try(s *policy.Solution, handicap float64) (better bool, err error) {
	in := c.problem.Instance()
	schedule, err := c.simulate(in, c.problem.Sizes(), newFollowed(s), c.stop)
	if err != nil {
		return false, err
	}
	cost := 0.0
	for j, done := range schedule.Completion {
		cost += float64(in.Jobs[j].Weight * done.Seconds())
	}
	if c.schedule != nil && cost >= c.cost*handicap {
		return false, nil
	}
	c.best, c.cost, c.schedule = s, cost, schedule
	return true, nil
}

// search improves the order of jobs: single jobs are moved to other places, near ones
// more often, and what is better is kept. Where the best is no order of jobs, it
// starts with the order in which they complete in it.
func (c *chooser) search(order []sched.StageID) error {
	x := c.problem.Index()
	stages := make([][]sched.StageID, len(x.Instance.Jobs))
	var jobs []sched.JobID
	for _, s := range order {
		j := x.StageJob(s)
		if stages[j] == nil {
			jobs = append(jobs, j)
		}
		stages[j] = append(stages[j], s)
	}
	rule := c.best.Rule
	if rule != byOrder && accepts(rule) == 0 {
		rule = byOrder
		slices.SortStableFunc(jobs, func(a, b sched.JobID) int {
			return cmp.Compare(c.schedule.Completion[a], c.schedule.Completion[b])
		})
	}
	rng := rand.New(rand.NewPCG(searchSeed, 0))
	n := len(jobs)
	for left := min(searchMoves*n, searchTasks/c.problem.Tasks()); left > 0 && n > 1; left-- {
		from := rng.IntN(n)
		to := place(rng, from, n)
		if to == from {
			continue
		}
		move(jobs, from, to)
		s := &policy.Solution{Rule: rule, Order: make([]sched.StageID, 0, len(order))}
		for _, j := range jobs {
			s.Order = append(s.Order, stages[j]...)
		}
		better, err := c.try(s, 1)
		if err != nil {
			return err
		}
		if !better {
			move(jobs, to, from)
		}
	}
	return nil
}

// place draws another place than from, of n, near ones more often; seldom it finds none
// and returns from.
func place(rng *rand.Rand, from, n int) int {
	// reach is the part of all places over which a job is moved at most.
	const reach = 0.25
	for range 100 {
		far := max(1, reach*float64(n)) * (2*rng.Float64() - 1) * rng.Float64()
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
