package dag

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/fairlead-project/fairlead/opt/queyranne"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// OnlineParams are the parameters of [NewSPCOnline].
type OnlineParams struct {
	// Tolerance and Iterations end each solve, Patience bounds the wait for the
	// first; as in [SPCParams].
	Tolerance  float64  `json:"tolerance"`
	Iterations int      `json:"iterations"`
	Patience   *float64 `json:"patience"`
}

// Validate reports parameters that make no sense.
func (p *OnlineParams) Validate() error {
	return (&SPCParams{Tolerance: p.Tolerance, Iterations: p.Iterations, Patience: p.Patience}).Validate()
}

// When to solve again, apart from arrivals and machines lost or joined, which
// always lead to a solve. What has moved since the last one is the work that is now
// expected and was not then, or the other way round.
const (
	// movedShare: below this part of all remaining work the order hardly changes.
	movedShare = 0.05
	// minInterval and intervalShare: drift is looked at no more often than this, and
	// than this part of the time that the remaining work takes. So the number of
	// solves for drift grows with the logarithm of the work, however many tasks
	// drift, and near the end nothing is solved that would be over before the order
	// matters.
	minInterval   = sched.Second
	intervalShare = 0.05
)

// online is S-PC that solves again as things change.
type online struct {
	dispatch
	smiths
	params   OnlineParams
	simulate Simulator
	book     book
	rule     string // of the latest solution

	id       int32
	solving  bool
	planned  bool // or not waiting for a plan any more
	deadline sched.Time

	known   int
	seen    []bool
	live    []sched.JobID // known, and not ended as far as was looked
	fresh   []sched.JobID // became known after the latest request
	outages int
	looked  float64    // at this much work to be repeated
	due     bool       // something happened that a solve must take in
	next    sched.Time // drift is not looked at before

	order []sched.StageID // of the latest solution
	pos   []float64       // per stage: its place in order; between two for a job inserted there
	merit []float64       // per job: Smith's ratio when it was inserted
}

// NewSPCOnline returns S-PC for jobs that arrive and sizes that are estimates. It
// solves the relaxation of S-PC anew for what is left, all known jobs released now,
// when a job arrives, a machine is lost or joins, or the work that is left turns
// out to differ much from what the last solve took it to be: by tasks that end far
// from their estimates, run or progress so, or must be repeated. Until the solution is
// there the earlier order holds, and new jobs stand in it where Smith's rule puts
// them; what arrives meanwhile goes into the next solve, and never are two under way.
// Jobs are served in the order of their completion times in the relaxation, the
// stages of a job by the longest way to its end, each task where it is expected to
// finish first, by estimates that are corrected per stage by what was observed; or, if
// simulating what is left says that this is cheaper, by weight over remaining work as
// wspt does, or with a liking for idle machines (see candidates.go). No task is bound to
// a machine before it starts.
// Problem: Q|prec,r_j,online|Σw_jC_j. Guarantee: none. Source: the re-optimisation
// of Aggarwal, Lan, Subramaniam, Xu, IEEE TNSM 2021. Departures: theirs plans anew when
// the best machine of a task changes; here every launch chooses its machine, and
// the order is planned anew only when it may have changed. Cost: per solve, linear
// in the tasks left, plus the solver's; else that of dispatch.
func NewSPCOnline(params OnlineParams, simulate Simulator) (policy.Policy, error) {
	if err := params.Validate(); err != nil {
		return nil, err
	}
	if params.Tolerance == 0 {
		params.Tolerance = defaultTolerance
	}
	p := &online{params: params, simulate: simulate}
	p.accept = near // until a solution says otherwise
	p.q = newQueue(p.before)
	return p, nil
}

// before orders the stages: those of the solution by their places in it, others
// where they were inserted, there by Smith's ratio.
func (p *online) before(a, b sched.StageID) bool {
	if p.rule == bySmith {
		return p.smiths.before(a, b)
	}
	if p.pos[a] != p.pos[b] {
		return p.pos[a] < p.pos[b]
	}
	x := p.book.x
	ja, jb := x.StageJob(a), x.StageJob(b)
	if ja == jb {
		return a < b
	}
	if p.merit[ja] != p.merit[jb] {
		return p.merit[ja] > p.merit[jb]
	}
	return byRelease(x, a, b) < 0
}

func (p *online) Decide(now sched.Time, v policy.View, _ *rand.Rand) (policy.Decision, error) {
	if p.pos == nil {
		if v.Estimates() == nil {
			return policy.Decision{}, errors.New("spc-online plans with sizes: it needs to know them, at least as distributions")
		}
		x := v.Index()
		p.pos, p.merit, p.seen = make([]float64, x.Stages()), make([]float64, len(x.Instance.Jobs)), make([]bool, len(x.Instance.Jobs))
		p.book.init(v)
		p.factor = p.book.factor
		p.deadline = sched.Never
	}
	if s := v.Solution(); p.solving && s != nil && s.ID == p.id {
		p.solving, p.planned = false, true
		p.follow(v, s)
	}
	p.book.observe(v)
	p.arrivals(v)
	if n := v.Outages(); n != p.outages {
		p.outages, p.due = n, true
	}
	p.drift(now, v)
	var request *policy.Request
	if p.due && !p.solving {
		r, err := p.ask(now, v)
		if err != nil {
			return policy.Decision{}, err
		}
		request = r
	}
	d, err := p.act(now, v)
	d.Solve = request
	return d, err
}

// act waits for the first plan, or dispatches.
func (p *online) act(now sched.Time, v policy.View) (policy.Decision, error) {
	if !p.planned && p.solving {
		if p.deadline == sched.Never {
			patience := defaultPatience
			if p.params.Patience != nil {
				patience = *p.params.Patience
			}
			p.deadline = now + sched.FromSeconds(patience)
		}
		if now < p.deadline {
			p.q.update(now, v)
			d := policy.Decision{Wake: p.deadline}
			for _, s := range v.Changed() {
				d.Reasons = append(d.Reasons, policy.Reason{
					Job: v.Index().StageJob(s), Code: policy.Planning, Behind: sched.None, Machine: sched.None,
				})
			}
			return d, nil
		}
	}
	if p.rule == bySmith {
		p.refresh(v, p.q)
	}
	late := !p.planned && p.solving
	p.planned = p.planned || late
	d, err := p.decide(now, v)
	d.Fallback = late
	p.book.started(now, v, d.Start)
	return d, err
}

// arrivals inserts the jobs that have become known into the order.
func (p *online) arrivals(v policy.View) {
	known := v.Known()
	for i := len(known) - 1; p.known < len(known); i-- { // they are the latest, as a rule
		j := known[i]
		if p.seen[j] {
			continue
		}
		p.known++
		p.seen[j] = true
		p.live, p.fresh = append(p.live, j), append(p.fresh, j)
		p.insert(v, j)
		p.due = true
	}
}

// insert gives the stages of j a place before the first in the order whose job has
// a smaller Smith's ratio.
func (p *online) insert(v policy.View, j sched.JobID) {
	jobs := v.Index().Instance.Jobs
	p.merit[j] = smith(jobs[j].Weight, v.Remaining(j))
	place := len(p.order)
	for i, s := range p.order {
		if k := v.Index().StageJob(s); !over(v.Job(k)) && smith(jobs[k].Weight, v.Remaining(k)) < p.merit[j] {
			place = i
			break
		}
	}
	for s, end := v.Index().JobStages(j); s < end; s++ {
		p.pos[s] = float64(place) - 0.5
	}
}

func over(s policy.JobState) bool { return s != policy.JobWaiting && s != policy.JobActive }

// drift finds out, now and then, whether the work that is left has moved so far
// from what the last solve knew that there must be another.
func (p *online) drift(now sched.Time, v policy.View) {
	if p.due || p.solving || now < p.next && p.book.repeated == p.looked {
		return
	}
	p.looked = p.book.repeated
	p.live = slices.DeleteFunc(p.live, func(j sched.JobID) bool { return over(v.Job(j)) })
	left := 0.0
	for _, j := range p.live {
		left += v.Remaining(j)
	}
	moved := p.book.repeated
	if now >= p.next {
		p.next = now + max(minInterval, sched.FromSeconds(intervalShare*left/p.book.speed))
		moved += p.book.moved(now, v)
		p.book.repeated, p.looked = 0, 0 // failures add up between two looks, not for ever
	}
	p.due = moved > movedShare*left
}

// ask requests a solution for what is left; nil if nothing is, or no machine is up.
func (p *online) ask(now sched.Time, v policy.View) (*policy.Request, error) {
	p.live = slices.DeleteFunc(p.live, func(j sched.JobID) bool { return over(v.Job(j)) })
	p.due = false
	rest, err := p.remainder(now, v)
	if rest == nil || err != nil {
		return nil, err
	}
	p.book.solved(now, v)
	p.fresh, p.looked = p.fresh[:0], 0
	p.solving = true
	p.id++
	return &policy.Request{ID: p.id, Problem: rest}, nil
}

// Solve solves the relaxation of what is left, and simulates ways to serve it.
func (p *online) Solve(req policy.Request, stop func() bool) (*policy.Solution, error) {
	rest, ok := req.Problem.(*remainder)
	if !ok {
		return nil, fmt.Errorf("spc-online: request %d holds a %T", req.ID, req.Problem)
	}
	r, err := rest.problem.Relax(queyranne.Options{
		Tolerance: p.params.Tolerance, MaxIterations: p.params.Iterations, Stop: stop,
	})
	if err != nil {
		return nil, err
	}
	c := chooser{problem: rest.problem, simulate: p.simulate, stop: stop}
	sol := c.online(r)
	sol.ID = req.ID
	for i, s := range sol.Order {
		sol.Order[i] = rest.stages[s]
	}
	noteGap(sol, r)
	return sol, nil
}

// follow takes over an order. Jobs that became known too late for it are inserted.
func (p *online) follow(v policy.View, s *policy.Solution) {
	p.order, p.rule, p.accept = s.Order, s.Rule, accepts(s.Rule)
	if p.rule == bySmith {
		p.refreshAll(v)
	}
	for i, stage := range s.Order {
		p.pos[stage] = float64(i)
	}
	for _, j := range p.fresh {
		p.insert(v, j)
	}
	p.q.rebuild()
}
