package dag

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	algo "github.com/fairlead-project/fairlead/algo/dag"
	"github.com/fairlead-project/fairlead/opt/queyranne"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// SPCParams are the parameters of [NewSPC].
type SPCParams struct {
	// Plain is the paper's own plan, of which every slot keeps its queue of tasks
	// whatever happens. Default: the best of several plans, by simulation.
	Plain bool `json:"plain"`
	// Subset, with Plain, plans for the m' fastest slots, for all m', and keeps
	// the best plan.
	Subset bool `json:"subset"`
	// Tolerance and Iterations end the solve of the relaxation: at this relative
	// gap (default 1e-4), or after so many iterations (default: by size).
	Tolerance  float64 `json:"tolerance"`
	Iterations int     `json:"iterations"`
	// Patience is how long, in seconds, to wait for the plan before starting
	// tasks in Smith's order (weight over work of the job). Default 1.
	Patience *float64 `json:"patience"`
}

// Validate reports parameters that make no sense.
func (p *SPCParams) Validate() error {
	switch {
	case !(p.Tolerance >= 0) || p.Tolerance >= 1:
		return fmt.Errorf("tolerance %v is not in [0, 1)", p.Tolerance)
	case p.Iterations < 0:
		return fmt.Errorf("iterations %d is negative", p.Iterations)
	case p.Subset && !p.Plain:
		return errors.New("subset=true needs plain=true: only fixed machines can be left out")
	case p.Patience != nil && !(*p.Patience >= 0 && *p.Patience <= maxPatience):
		return fmt.Errorf("patience %v is not in [0, %v] seconds", *p.Patience, maxPatience)
	}
	return nil
}

const (
	// defaultTolerance: the order hardly changes below, the solve takes longer.
	defaultTolerance = 1e-4
	defaultPatience  = 1.0
	maxPatience      = 1e6
)

// spc plans once, at the start, and follows the plan.
type spc struct {
	follower
	params   SPCParams
	simulate Simulator
	asked    bool
	deadline sched.Time
	planned  bool
	late     bool // the plan is; Smith's order is served meanwhile
}

// NewSPC returns S-PC: solve the relaxation (S1), (S2+) to (S4+) of package algo/dag
// with the estimated sizes, serve the jobs in the order of their completion times in
// it, the stages of a job by the longest way to its end, and each task where it is
// expected to finish first when it is launched. That is one of several candidates: the
// plan simulates them all (see candidates.go) with the estimated sizes, improves the best by
// a bounded local search, and keeps the cheapest. With exact sizes what was simulated
// is what happens, so the cost is never above that of a candidate. Two of them are list
// placements, which are carried out slot by slot until something turns out otherwise
// than planned.
//
// With Plain it is the paper's own: the relaxation (S1) to (S4), its order of stages,
// and the slots that list placement (Algorithm 1) gives the tasks, whatever happens.
// Problem: Q|prec,r_j|Σw_jC_j. Guarantee, for exact sizes: 2(1+(m−1)/D), plus 1 with
// releases, where D is the least ratio of a stage's work to its largest task; where
// needs, pins or input bind, none. Source: Aggarwal, Lan, Subramaniam, Xu, IEEE TNSM
// 2021. Departures: a stage is what the paper calls a job; the candidates. With Plain a
// task starts as soon as it heads its slot's queue and fits; where needs bind that may
// be sooner than planned, and then the schedule is not the planned one. Cost: the
// solve, six simulations (three for more than manyTasks tasks) and a local search of
// searchTasks simulated and insertTasks inserted tasks at most; then that of dispatch.
// Without a simulator the plan is the order of the relaxation.
func NewSPC(params SPCParams, simulate Simulator) (policy.Policy, error) {
	if err := params.Validate(); err != nil {
		return nil, err
	}
	if params.Tolerance == 0 {
		params.Tolerance = defaultTolerance
	}
	p := &spc{params: params, simulate: simulate}
	p.strict = params.Plain
	p.init()
	return p, nil
}

func (p *spc) Decide(now sched.Time, v policy.View, _ *rand.Rand) (policy.Decision, error) {
	if p.position == nil {
		p.sort(v, nil)
		p.q.update(now, v)
	}
	if !p.asked {
		return p.ask(now, v)
	}
	if s := v.Solution(); s != nil && !p.planned {
		p.planned = true
		p.follow(v, s)
		if p.late && !p.strict { // its slots are for tasks that have begun elsewhere by now
			p.queues = nil
		}
	}
	if !p.planned && !p.late {
		if now < p.deadline {
			p.q.update(now, v)
			return policy.Decision{Wake: p.deadline}, nil
		}
		p.late = true
		p.sort(v, smithOrder(v))
		d, err := p.decide(now, v)
		d.Fallback = true
		return d, err
	}
	return p.act(now, v)
}

// ask requests the plan.
func (p *spc) ask(now sched.Time, v policy.View) (policy.Decision, error) {
	if v.Knowledge().Arrivals != policy.Offline {
		return policy.Decision{}, errors.New("spc plans with all jobs and releases known: it needs offline arrivals")
	}
	z := v.Estimates()
	if z == nil {
		return policy.Decision{}, errors.New("spc plans with sizes: it needs to know them, at least as distributions")
	}
	problem, err := algo.NewProblem(v.Index(), z, jobsByContent(v, v.Known()))
	if err != nil {
		return policy.Decision{}, err
	}
	p.asked = true
	patience := defaultPatience
	if p.params.Patience != nil {
		patience = *p.params.Patience
	}
	p.deadline = now + sched.FromSeconds(patience)
	d := policy.Decision{Wake: p.deadline, Solve: &policy.Request{ID: 1, Problem: problem}}
	for _, s := range v.Changed() {
		d.Reasons = append(d.Reasons, policy.Reason{
			Job: v.Index().StageJob(s), Code: policy.Planning, Behind: sched.None, Machine: sched.None,
		})
	}
	if patience == 0 { // a round at this very instant, in case no event comes
		d.Wake = now + 1
	}
	return d, nil
}

// Solve solves the relaxation and chooses among the candidates.
func (p *spc) Solve(req policy.Request, stop func() bool) (*policy.Solution, error) {
	problem, err := problemOf(req)
	if err != nil {
		return nil, err
	}
	relax := problem.RelaxStrong
	if p.params.Plain {
		relax = problem.Relax
	}
	r, err := relax(queyranne.Options{
		Tolerance: p.params.Tolerance, MaxIterations: p.params.Iterations, Stop: stop,
	})
	if err != nil {
		return nil, err
	}
	var sol *policy.Solution
	if p.params.Plain {
		sol, err = plain(problem, r, p.params.Subset)
	} else {
		c := chooser{problem: problem, simulate: p.simulate, stop: stop}
		sol, err = c.offline(r)
	}
	if err != nil {
		return nil, err
	}
	sol.ID, sol.Lower, sol.Upper = req.ID, r.Lower, r.Primal
	noteGap(sol, r)
	return sol, nil
}

func problemOf(req policy.Request) (*algo.Problem, error) {
	p, ok := req.Problem.(*algo.Problem)
	if !ok {
		return nil, fmt.Errorf("request %d holds a %T", req.ID, req.Problem)
	}
	return p, nil
}

// noteGap says in the solution that the solve was cut short.
func noteGap(s *policy.Solution, r *algo.Relaxation) {
	if r.Status == queyranne.Optimal {
		return
	}
	s.Fallback = true
	if s.Note != "" {
		s.Note += "; "
	}
	s.Note += fmt.Sprintf("the relaxation's gap is %.1e (%v after %d iterations)", r.Gap, r.Status, r.Iterations)
}

// plain returns the paper's own plan, or with subset the best on the m' fastest slots.
func plain(problem *algo.Problem, r *algo.Relaxation, subset bool) (*policy.Solution, error) {
	order := problem.Order(r.C)
	place := func() (*algo.Plan, error) { return problem.List(order, 0) }
	if subset {
		place = func() (*algo.Plan, error) { return problem.Best(order) }
	}
	plan, err := place()
	if err != nil {
		return nil, err
	}
	return slotted(problem, order, plan), nil
}

// jobsByContent returns jobs in an order that comes from what they are, not
// from where they stand in the file: the solver's rounding depends on the order of
// its nodes, and where completion times nearly tie, so does the order it finds.
func jobsByContent(v policy.View, jobs []sched.JobID) []sched.JobID {
	jobs = slices.Clone(jobs)
	all := v.Index().Instance.Jobs
	slices.SortStableFunc(jobs, func(a, b sched.JobID) int {
		return cmp.Or(
			cmp.Compare(all[a].Release, all[b].Release),
			cmp.Compare(all[a].Weight, all[b].Weight),
			cmp.Compare(v.Remaining(a), v.Remaining(b)),
			cmp.Compare(len(all[a].Stages), len(all[b].Stages)),
		)
	})
	return jobs
}

// smithOrder returns the known jobs' stages by weight over work of the job.
func smithOrder(v policy.View) []sched.StageID {
	jobs := slices.Clone(v.Known())
	weight := func(j sched.JobID) float64 { return smith(v.Index().Instance.Jobs[j].Weight, v.Remaining(j)) }
	slices.SortStableFunc(jobs, func(a, b sched.JobID) int { return cmp.Compare(weight(b), weight(a)) })
	var order []sched.StageID
	for _, j := range jobs {
		for s, end := v.Index().JobStages(j); s < end; s++ {
			order = append(order, s)
		}
	}
	return order
}
