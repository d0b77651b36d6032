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
	// Plain keeps the plan's machines: every slot runs its own queue of tasks in
	// the planned order. Default: only the order of stages is kept, and each task
	// goes where it is expected to finish first when it is launched.
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
	dispatch
	params   SPCParams
	asked    bool
	deadline sched.Time
	planned  bool
	position []int32 // per stage: when it is its turn
	queues   queues  // with Plain
}

// NewSPC returns S-PC: solve the relaxation (S1) to (S4) of package algo/dag with the
// estimated sizes, and serve the stages in the order of their completion times in
// it. With Plain the tasks also keep the slots that list placement (the paper's
// Algorithm 1) gave them.
// Problem: Q|prec,r_j|Σw_jC_j. Guarantee, for Plain and exact sizes:
// 2(1+(m−1)/D), plus 1 with releases, where D is the least ratio of a stage's work
// to its largest task. Source: Aggarwal, Lan, Subramaniam, Xu, IEEE TNSM 2021.
// Departures: a stage is what the paper calls a job; without Plain machines are
// chosen again at launch, which has no proof but serves better when durations
// differ from their estimates. With Plain a task starts as soon as it heads its
// slot's queue and fits; where needs bind that may be sooner than planned, and then
// the schedule is not the planned one. Cost: one solve; then that of dispatch.
func NewSPC(params SPCParams) (policy.Policy, error) {
	if err := params.Validate(); err != nil {
		return nil, err
	}
	if params.Tolerance == 0 {
		params.Tolerance = defaultTolerance
	}
	p := &spc{params: params}
	p.q = newQueue(p.before)
	return p, nil
}

func (p *spc) before(a, b sched.StageID) bool {
	if p.position[a] != p.position[b] {
		return p.position[a] < p.position[b]
	}
	return a < b
}

func (p *spc) Decide(now sched.Time, v policy.View, _ *rand.Rand) (policy.Decision, error) {
	if p.position == nil {
		p.position = make([]int32, v.Index().Stages())
		p.q.update(now, v)
	}
	if !p.asked {
		return p.ask(now, v)
	}
	if !p.planned {
		if s := v.Solution(); s != nil {
			p.follow(v, s)
		} else if now < p.deadline {
			p.q.update(now, v)
			return policy.Decision{Wake: p.deadline}, nil
		} else if p.position[0] == 0 { // Smith's order counts from 1
			for i, s := range smithOrder(v) {
				p.position[s] = int32(i + 1)
			}
			p.q.rebuild()
			d, err := p.decide(now, v)
			d.Fallback = true
			return d, err
		}
	}
	if p.queues != nil {
		if p.queues.stuck(v) {
			p.queues = nil
			p.q.reset(now, v)
		} else {
			p.q.update(now, v)
			return policy.Decision{Start: p.queues.starts(&p.a, v, p.before)}, nil
		}
	}
	return p.decide(now, v)
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

// Solve solves the relaxation and, with Plain, places the tasks.
func (p *spc) Solve(req policy.Request, stop func() bool) (*policy.Solution, error) {
	problem, ok := req.Problem.(*algo.Problem)
	if !ok {
		return nil, fmt.Errorf("spc: request %d holds a %T", req.ID, req.Problem)
	}
	r, err := problem.Relax(queyranne.Options{
		Tolerance: p.params.Tolerance, MaxIterations: p.params.Iterations, Stop: stop,
	})
	if err != nil {
		return nil, err
	}
	sol := &policy.Solution{ID: req.ID, Lower: r.Lower, Upper: r.Primal}
	if r.Status != queyranne.Optimal {
		sol.Fallback = true
		sol.Note = fmt.Sprintf("the relaxation's gap is %.1e (%v after %d iterations)", r.Gap, r.Status, r.Iterations)
	}
	order := problem.Order(r.C)
	for _, node := range order {
		if s := problem.Nodes[node].Stage; s != sched.None {
			sol.Order = append(sol.Order, s)
		}
	}
	if p.params.Plain {
		place := func() (*algo.Plan, error) { return problem.List(order, 0) }
		if p.params.Subset {
			place = func() (*algo.Plan, error) { return problem.Best(order) }
		}
		plan, err := place()
		if err != nil {
			return nil, err
		}
		sol.Queues = queuesOf(problem, plan)
	}
	return sol, nil
}

func (p *spc) follow(v policy.View, s *policy.Solution) {
	p.planned = true
	for i := range p.position {
		p.position[i] = int32(len(p.position)) // not in the order: last
	}
	for i, stage := range s.Order {
		p.position[stage] = int32(i)
	}
	p.q.rebuild()
	if s.Queues != nil {
		p.queues = newQueues(v, s.Queues)
	}
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
