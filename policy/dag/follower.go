package dag

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// The rules by which a follower serves what is ready: Solution.Rule. All but byQueue
// choose the machine of a task when it is launched, as dispatch does.
const (
	// byOrder: stages in the order of the solution.
	byOrder = "order"
	// byOrderNear, byOrderEager: the same, but a task that can start now on a machine
	// where it ends within near, or eager, times what the best one offers does so.
	byOrderNear  = "near"
	byOrderEager = "eager"
	// byAnyMachine: the same, on idle machines in turn, whatever their speeds.
	byAnyMachine = "any machine"
	// bySmith: jobs by weight over remaining work.
	bySmith = "wspt"
	// byQueue: every slot runs its own queue, until something turns out otherwise than
	// planned; then by order.
	byQueue = "plan"
)

// Where a machine that could start a task idles until a faster one is free, its time is
// lost to jobs that come later. How much that counts depends on the workload.
const (
	near  = 1.25
	eager = 1.5
)

// accepts returns dispatch.accept for a rule.
func accepts(rule string) float64 {
	switch rule {
	case byOrderNear:
		return near
	case byOrderEager:
		return eager
	}
	return 0
}

// follower carries out a solution: it serves stages by the solution's rule, and within
// it by their places in the order.
type follower struct {
	dispatch
	smiths
	rule     string
	position []int32 // per stage: when it is its turn
	queues   queues
	strict   bool // keep to the queues whatever happens, while the machines are there
	due      []due
	greedy   greedy // for byAnyMachine
}

// due is a task that was started from a queue, and when it should have ended.
type due struct {
	task sched.TaskID
	at   sched.Time
}

func (f *follower) init() {
	f.q = newQueue(f.before)
	f.greedy.q, f.greedy.pick = f.q, f.greedy.inTurn
}

func (f *follower) before(a, b sched.StageID) bool {
	if f.rule == bySmith {
		return f.smiths.before(a, b)
	}
	if f.position[a] != f.position[b] {
		return f.position[a] < f.position[b]
	}
	return a < b
}

// follow takes over a solution.
func (f *follower) follow(v policy.View, s *policy.Solution) {
	f.rule, f.accept, f.queues = s.Rule, accepts(s.Rule), nil
	if f.rule == bySmith {
		f.refreshAll(v)
	}
	if s.Queues != nil {
		f.queues = newQueues(v, s.Queues)
	}
	f.sort(v, s.Order)
}

// sort orders the stages.
func (f *follower) sort(v policy.View, order []sched.StageID) {
	if f.position == nil {
		f.position = make([]int32, v.Index().Stages())
	}
	for i := range f.position {
		f.position[i] = int32(len(f.position)) // not in the order: last
	}
	for i, stage := range order {
		f.position[stage] = int32(i)
	}
	f.q.rebuild()
}

// act decides what starts now.
func (f *follower) act(now sched.Time, v policy.View) (policy.Decision, error) {
	if f.rule == bySmith {
		f.refresh(v, f.q)
	}
	if f.rule == byAnyMachine {
		return f.greedy.decide(now, v), nil
	}
	if f.queues != nil {
		if f.queues.stuck(v) || !f.strict && f.strayed(now, v) {
			f.queues = nil
			f.q.reset(now, v)
		} else {
			f.q.update(now, v)
			d := policy.Decision{Start: f.queues.starts(&f.a, v, f.before)}
			if !f.strict {
				d.Wake = f.watch(now, v, d.Start)
			}
			return d, nil
		}
	}
	return f.decide(now, v)
}

// straying: what differs from its estimate by less is rounding.
const straying = 1e-6

// strayed reports whether a task has ended otherwise than estimated, failed, or has not
// ended when it should have: then dispatch, which sees where things stand, is better
// than queues.
func (f *follower) strayed(now sched.Time, v policy.View) bool {
	for _, s := range v.Changed() {
		for t, end := v.Index().StageTasks(s); t < end; t++ {
			switch v.Task(t) {
			case policy.TaskDelayed, policy.TaskFailed:
				return true
			case policy.TaskDone:
				size, ok := v.Observed(t)
				expected := v.Estimates().Of(s, t)
				if ok && math.Abs(size-expected) > straying*(1+expected) {
					return true
				}
			}
		}
	}
	f.due = slices.DeleteFunc(f.due, func(d due) bool { return v.Task(d.task) != policy.TaskRunning })
	return slices.ContainsFunc(f.due, func(d due) bool { return d.at < now })
}

// watch notes when the tasks that start should end, and returns when to look next.
func (f *follower) watch(now sched.Time, v policy.View, starts []policy.Start) sched.Time {
	x := v.Index()
	for _, st := range starts {
		size := v.Estimates().Of(x.TaskStage(st.Task), st.Task)
		end := now + sched.Duration(size+straying*(1+size), x.Instance.Machines[st.Machine].Speed)
		f.due = append(f.due, due{st.Task, end})
	}
	next := sched.Never
	for _, d := range f.due {
		next = min(next, d.at)
	}
	if next == sched.Never {
		return 0
	}
	return next + 1
}

// followed is a policy that carries out one solution from the start.
type followed struct {
	follower
	solution *policy.Solution
}

func newFollowed(s *policy.Solution) *followed {
	p := &followed{solution: s}
	p.init()
	return p
}

func (p *followed) Decide(now sched.Time, v policy.View, _ *rand.Rand) (policy.Decision, error) {
	if p.solution != nil {
		p.follow(v, p.solution)
		p.solution = nil
	}
	return p.act(now, v)
}

// smiths keeps the jobs' ratios of weight to remaining work.
type smiths struct {
	x     *sched.Index
	ratio []float64 // per job
	alike bool      // all weights count as 1
}

func (p *smiths) of(v policy.View, j sched.JobID) float64 {
	weight := p.x.Instance.Jobs[j].Weight
	if p.alike {
		weight = 1
	}
	return smith(weight, v.Remaining(j))
}

func (p *smiths) before(a, b sched.StageID) bool {
	ja, jb := p.x.StageJob(a), p.x.StageJob(b)
	if ja == jb {
		return a < b
	}
	if p.ratio[ja] != p.ratio[jb] {
		return p.ratio[ja] > p.ratio[jb]
	}
	jobs := p.x.Instance.Jobs
	return cmp.Or(cmp.Compare(jobs[ja].Release, jobs[jb].Release), cmp.Compare(ja, jb)) < 0
}

// refresh takes in what has changed since the last round, and moves the jobs in q.
func (p *smiths) refresh(v policy.View, q *queue) {
	p.x = v.Index()
	if p.ratio == nil {
		p.ratio = make([]float64, len(p.x.Instance.Jobs))
	}
	if q.stages == nil {
		q.stages = make([]queued, p.x.Stages())
	}
	for _, s := range v.Changed() {
		j := p.x.StageJob(s)
		if r := p.of(v, j); r != p.ratio[j] {
			q.reorder(v, j, func() { p.ratio[j] = r })
		}
	}
}

// refreshAll computes every known job's ratio.
func (p *smiths) refreshAll(v policy.View) {
	p.x = v.Index()
	p.ratio = make([]float64, len(p.x.Instance.Jobs))
	for _, j := range v.Known() {
		p.ratio[j] = p.of(v, j)
	}
}

// inOrderOfStart sorts tasks of a queue by when they are planned to start, those that
// take no time before those that do, others as they were placed.
func inOrderOfStart(placed []sched.Placement) []sched.Placement {
	placed = slices.Clone(placed)
	slices.SortStableFunc(placed, func(a, b sched.Placement) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Finish, b.Finish))
	})
	return placed
}
