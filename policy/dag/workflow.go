package dag

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	algo "github.com/fairlead-project/fairlead/algo/dag"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// workflow plans every job as a whole when it can start, by a heuristic for the makespan
// of one workflow, around what earlier plans have taken.
type workflow struct {
	dispatch
	plan  func(*algo.Graph, float64, algo.Busy) ([]algo.Slot, error)
	busy  algo.Busy // per processor
	procs []processor
	mean  float64 // seconds per byte between two machines

	queues queues // nil: given up, tasks are dispatched
	starts map[sched.TaskID]float64
	begun  []bool // per job: planned
	order  []int  // per stage: when its job was planned
	next   int
}

type processor struct {
	machine sched.MachineID
	slot    int
}

// NewHEFT returns HEFT for jobs that arrive: a job is planned when it can start, in order
// of arrival, by [algo.Graph.HEFT], around what the plans of the jobs before it have taken;
// each slot then runs its tasks in the planned order. That is how workflow systems use
// it. Weights are not looked at. Ranks count the tasks of a stage one by one.
// Problem: Q|prec,comm,online|C_max per job. Guarantee: none. Source: Topcuoglu, Hariri,
// Wu, IEEE TPDS 13(3), 2002. Departures: many jobs, as above; needs bind when a task
// starts, not in the plan, except that a task is planned only where it fits; when a
// machine is lost that has planned tasks, or is down on which alone a task may run, what
// is left is dispatched in the order in which jobs were planned. Cost: per job that of HEFT on slots as processors.
func NewHEFT() policy.Policy {
	return newWorkflow(func(g *algo.Graph, from float64, busy algo.Busy) ([]algo.Slot, error) { return g.HEFT(from, busy) })
}

// NewPEFT returns PEFT for jobs that arrive, in the way of [NewHEFT].
// Problem: Q|prec,comm,online|C_max per job. Guarantee: none. Source: Arabnejad,
// Barbosa, IEEE TPDS 25(3), 2014. Departures and cost: as those of NewHEFT.
func NewPEFT() policy.Policy {
	return newWorkflow(func(g *algo.Graph, from float64, busy algo.Busy) ([]algo.Slot, error) { return g.PEFT(from, busy) })
}

func newWorkflow(plan func(*algo.Graph, float64, algo.Busy) ([]algo.Slot, error)) policy.Policy {
	p := &workflow{plan: plan, starts: map[sched.TaskID]float64{}}
	p.q = newQueue(func(a, b sched.StageID) bool {
		if p.order[a] != p.order[b] {
			return p.order[a] < p.order[b]
		}
		return a < b
	})
	return p
}

func (p *workflow) init(v policy.View) {
	x := v.Index()
	machines := x.Instance.Machines
	p.begun, p.order = make([]bool, len(x.Instance.Jobs)), make([]int, x.Stages())
	p.queues = make(queues, len(machines))
	pairs := 0
	for m := range machines {
		p.queues[m] = make([][]sched.TaskID, machines[m].Slots)
		for slot := range machines[m].Slots {
			p.procs = append(p.procs, processor{sched.MachineID(m), slot})
		}
	}
	// The mean over pairs of different machines, by the rates in order: of the pairs
	// with the i-th slowest and a faster one, the slower port decides.
	rates := make([]float64, len(machines))
	for m := range machines {
		rates[m] = machines[m].Port
	}
	slices.Sort(rates)
	for i, r := range rates {
		faster := len(rates) - 1 - i
		p.mean += float64(faster) / r
		pairs += faster
	}
	if pairs > 0 {
		p.mean /= float64(pairs)
	}
	p.busy = make(algo.Busy, len(p.procs))
}

func (p *workflow) Decide(now sched.Time, v policy.View, _ *rand.Rand) (policy.Decision, error) {
	if p.begun == nil {
		p.init(v)
	}
	var fresh []sched.JobID
	for _, s := range v.Changed() {
		if j := v.Index().StageJob(s); !p.begun[j] && v.Job(j) == policy.JobActive {
			p.begun[j] = true
			fresh = append(fresh, j)
		}
	}
	slices.SortStableFunc(fresh, func(a, b sched.JobID) int { return arrival(v, a, b) })
	for _, j := range fresh {
		p.next++
		for s, end := v.Index().JobStages(j); s < end; s++ {
			p.order[s] = p.next
		}
		if p.queues != nil {
			if err := p.add(now, v, j); err != nil {
				return policy.Decision{}, err
			}
		}
	}
	if p.queues != nil && p.queues.stuck(v) {
		p.queues = nil
		p.q.reset(now, v)
	}
	if p.queues == nil {
		return p.decide(now, v)
	}
	p.q.update(now, v)
	return policy.Decision{Start: p.queues.starts(&p.a, v, p.q.less)}, nil
}

// arrival orders jobs by release, heavier and then smaller ones first.
func arrival(v policy.View, a, b sched.JobID) int {
	jobs := v.Index().Instance.Jobs
	return cmp.Or(
		cmp.Compare(jobs[a].Release, jobs[b].Release),
		cmp.Compare(jobs[b].Weight, jobs[a].Weight),
		cmp.Compare(v.Remaining(a), v.Remaining(b)),
	)
}

// add plans j and puts its tasks into the queues.
func (p *workflow) add(now sched.Time, v policy.View, j sched.JobID) error {
	g, tasks, err := p.graph(v, j)
	if err != nil {
		return err
	}
	p.forget(now.Seconds())
	slots, err := p.plan(g, now.Seconds(), p.busy)
	if err != nil { // the machines that it is pinned to are down
		p.queues = nil
		p.q.reset(now, v)
		return nil
	}
	changed := map[processor]bool{}
	for _, s := range slots {
		if t := tasks[s.Task]; t != sched.None {
			at := p.procs[s.Proc]
			p.starts[t] = s.Start
			p.queues[at.machine][at.slot] = append(p.queues[at.machine][at.slot], t)
			changed[at] = true
		}
	}
	for at := range changed { // in any order: each has its own queue
		slices.SortStableFunc(p.queues[at.machine][at.slot], func(a, b sched.TaskID) int { return cmp.Compare(p.starts[a], p.starts[b]) })
	}
	return nil
}

// forget drops what was busy before now.
func (p *workflow) forget(now float64) {
	for i, b := range p.busy {
		k, _ := slices.BinarySearchFunc(b, now, func(b algo.Interval, t float64) int { return cmp.Compare(b.To, t) })
		p.busy[i] = b[k:]
	}
}

// graph describes job j: its tasks, and joints between stages, which cost nothing and
// save an edge for every pair of tasks where no data moves. tasks holds None for those.
func (p *workflow) graph(v policy.View, j sched.JobID) (g *algo.Graph, tasks []sched.TaskID, err error) {
	x := v.Index()
	in := x.Instance
	machines := in.Machines
	g = &algo.Graph{Mean: p.mean, Transfer: func(a, b int) float64 { return 1 / min(machines[a].Port, machines[b].Port) }}
	for _, at := range p.procs {
		g.Machine = append(g.Machine, int(at.machine))
	}
	first, end := x.JobStages(j)
	begin := make([]int32, end-first)
	joint := make([]int32, end-first) // after the stage; None: not made
	for s := first; s < end; s++ {
		begin[s-first], joint[s-first] = int32(len(g.Cost)), sched.None
		st := x.Stage(s)
		for t, last := x.StageTasks(s); t < last; t++ {
			size, err := estimate(v, s, t)
			if err != nil {
				return nil, nil, err
			}
			row := make([]float64, len(p.procs))
			for i, at := range p.procs {
				row[i] = math.Inf(1)
				if v.Machine(at.machine).Up && in.MayRun(st, at.machine) {
					row[i] = sched.Duration(size, machines[at.machine].Speed).Seconds()
				}
			}
			g.Cost, g.In, tasks = append(g.Cost, row), append(g.In, nil), append(tasks, t)
		}
	}
	free := make([]float64, len(p.procs))
	joinTo := func(a sched.StageID) int32 { // the joint after stage a
		if k := a - first; joint[k] == sched.None {
			var edges []algo.Edge
			for i := range int32(x.Stage(a).Count) {
				edges = append(edges, algo.Edge{From: begin[k] + i})
			}
			joint[k] = int32(len(g.Cost))
			g.Cost, g.In, tasks = append(g.Cost, free), append(g.In, edges), append(tasks, sched.None)
		}
		return joint[a-first]
	}
	for s := first; s < end; s++ {
		st := x.Stage(s)
		var in []algo.Edge
		for _, a := range st.After {
			if from := first + sched.StageID(a); x.Stage(from).Count == 1 {
				in = append(in, algo.Edge{From: begin[a]})
			} else {
				in = append(in, algo.Edge{From: joinTo(from)})
			}
		}
		for _, i := range st.Input {
			from := x.Stage(first + sched.StageID(i.From))
			share := i.Bytes / (float64(from.Count) * float64(st.Count))
			for k := range int32(from.Count) {
				in = append(in, algo.Edge{From: begin[i.From] + k, Data: share})
			}
		}
		for k := range int32(st.Count) {
			g.In[begin[s-first]+k] = in
		}
	}
	return g, tasks, nil
}
