package dag

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/fairlead-project/fairlead/opt/queyranne"
	"github.com/fairlead-project/fairlead/sched"
)

// ErrProblem is wrapped by errors that say why an instance cannot be scheduled
// here.
var ErrProblem = errors.New("dag: cannot schedule this")

// Unit is one slot of a machine.
type Unit struct {
	Machine sched.MachineID
	Slot    int32
}

// Node is a stage, or the sink of a job with several last stages.
type Node struct {
	Job   sched.JobID
	Stage sched.StageID // sched.None for a sink
	// Weight is the job's on the node that ends it, 0 on others.
	Weight  float64
	Release sched.Time
	// Tasks is t_j, Size p_j and Longest p_j1; 0 for a sink.
	Tasks         int
	Size, Longest float64
}

// Problem is an instance, or some of its jobs, as S-PC sees it; see the package
// comment. It is read-only once built.
type Problem struct {
	Nodes []Node // in file order, a job's sink after its stages
	Arcs  []queyranne.Arc
	Units []Unit // by falling speed, then machine, then slot

	x      *sched.Index
	z      *sched.Sizes
	v      []float64 // v[h] is the speed of the h fastest units together
	preds  [][]int32 // per node
	level  []int32   // per node: arcs on the longest path to it
	jobs   []sched.JobID
	end    []int32 // per job of the problem: the node that ends it
	feeds  []bool  // per node: some later stage reads its output
	stages []int32 // node of each stage of the instance, -1 if not included
}

// NewProblem builds the problem of scheduling the given jobs, nil meaning all, with
// sizes z. The instance must be valid (sched.Instance.Validate). Precedence to jobs
// that are not included is dropped. The error, which wraps [ErrProblem], names the
// stage that has no size, or that is not a compute stage. Cost: linear, but for
// sorting the units.
func NewProblem(x *sched.Index, z *sched.Sizes, jobs []sched.JobID) (*Problem, error) {
	p := &Problem{x: x, z: z, jobs: jobs, stages: make([]int32, x.Stages())}
	if jobs == nil {
		for j := range x.Instance.Jobs {
			p.jobs = append(p.jobs, sched.JobID(j))
		}
	}
	for s := range p.stages {
		p.stages[s] = sched.None
	}
	if err := p.addUnits(); err != nil {
		return nil, err
	}
	ends := make([]int32, len(x.Instance.Jobs)) // per job of the instance
	for j := range ends {
		ends[j] = sched.None
	}
	for _, j := range p.jobs {
		end, err := p.addJob(j)
		if err != nil {
			return nil, err
		}
		ends[j] = end
		p.end = append(p.end, end)
	}
	p.addArcs(ends)
	if err := p.rank(); err != nil {
		return nil, err
	}
	return p, p.addInputs()
}

func (p *Problem) addUnits() error {
	machines := p.x.Instance.Machines
	for m := range machines {
		for s := range machines[m].Slots {
			p.Units = append(p.Units, Unit{sched.MachineID(m), int32(s)})
		}
	}
	if len(p.Units) == 0 {
		return fmt.Errorf("%w: no machine has a slot", ErrProblem)
	}
	slices.SortStableFunc(p.Units, func(a, b Unit) int {
		return cmp.Compare(machines[b.Machine].Speed, machines[a.Machine].Speed)
	})
	p.v = make([]float64, len(p.Units)+1)
	var total sum
	for l := range p.Units {
		total.add(p.speed(l))
		p.v[l+1] = max(p.v[l], total.value())
	}
	return nil
}

// speed returns v_l, l from 0.
func (p *Problem) speed(l int) float64 { return p.x.Instance.Machines[p.Units[l].Machine].Speed }

// mu returns μ.
func (p *Problem) mu() float64 { return p.v[len(p.Units)] }

// addJob appends the nodes of j and returns the one that ends it.
func (p *Problem) addJob(j sched.JobID) (int32, error) {
	job := &p.x.Instance.Jobs[j]
	first, stop := p.x.JobStages(j)
	for s := first; s < stop; s++ {
		switch st := p.x.Stage(s); {
		case st.Transfer():
			return 0, fmt.Errorf("%w: stage %s is a transfer, not a compute stage", ErrProblem, p.x.StageName(s))
		case st.Fluid != nil:
			return 0, fmt.Errorf("%w: stage %s shares rates instead of holding slots", ErrProblem, p.x.StageName(s))
		case !p.z.Known(s):
			return 0, fmt.Errorf("%w: the size of stage %s is unknown; give it one, or an estimate", ErrProblem, p.x.StageName(s))
		}
		n := Node{Job: j, Stage: s, Release: job.Release}
		n.Tasks, n.Size, n.Longest = p.measure(s)
		p.stages[s] = int32(len(p.Nodes))
		p.Nodes = append(p.Nodes, n)
	}
	last := p.x.Last(j)
	end := p.stages[last[0]]
	if len(last) > 1 {
		end = int32(len(p.Nodes))
		p.Nodes = append(p.Nodes, Node{Job: j, Stage: sched.None, Release: job.Release})
	}
	p.Nodes[end].Weight = job.Weight
	return end, nil
}

// measure returns t_j, p_j and p_j1 of a stage.
func (p *Problem) measure(s sched.StageID) (tasks int, total, longest float64) {
	first, end := p.x.StageTasks(s)
	tasks = int(end - first)
	if z, ok := p.z.Uniform(s); ok {
		return tasks, float64(tasks) * z, z
	}
	var acc sum
	for t := first; t < end; t++ {
		z := p.z.Of(s, t)
		acc.add(z)
		longest = max(longest, z)
	}
	return tasks, acc.value(), longest
}

// addArcs fills Arcs and preds; ends holds per job of the instance the node that
// ends it, or None.
func (p *Problem) addArcs(ends []int32) {
	p.preds = make([][]int32, len(p.Nodes))
	for _, j := range p.jobs {
		job := &p.x.Instance.Jobs[j]
		first, _ := p.x.JobStages(j)
		base := p.stages[first]
		var before []int32 // shared by the job's first stages
		for _, a := range job.After {
			if ends[a] != sched.None {
				before = append(before, ends[a])
			}
		}
		before = set(before)
		for s := range job.Stages {
			preds := before
			if after := job.Stages[s].After; len(after) > 0 {
				preds = nil
				for _, a := range after {
					preds = append(preds, base+int32(a))
				}
				preds = set(preds)
			}
			p.preds[base+int32(s)] = preds
		}
		if end := ends[j]; p.Nodes[end].Stage == sched.None {
			for _, s := range p.x.Last(j) {
				p.preds[end] = append(p.preds[end], p.stages[s])
			}
		}
	}
	for b, preds := range p.preds {
		for _, a := range preds {
			p.Arcs = append(p.Arcs, queyranne.Arc{From: a, To: int32(b)})
		}
	}
}

// set sorts v and removes duplicates.
func set(v []int32) []int32 {
	slices.Sort(v)
	return slices.Compact(v)
}

// rank computes the nodes' levels.
func (p *Problem) rank() error {
	p.level = make([]int32, len(p.Nodes))
	succs := make([][]int32, len(p.Nodes))
	missing := make([]int, len(p.Nodes))
	var ready []int32
	for b, preds := range p.preds {
		if missing[b] = len(preds); len(preds) == 0 {
			ready = append(ready, int32(b))
		}
		for _, a := range preds {
			succs[a] = append(succs[a], int32(b))
		}
	}
	for i := 0; i < len(ready); i++ {
		a := ready[i]
		for _, b := range succs[a] {
			p.level[b] = max(p.level[b], p.level[a]+1)
			if missing[b]--; missing[b] == 0 {
				ready = append(ready, b)
			}
		}
	}
	if len(ready) < len(p.Nodes) {
		return fmt.Errorf("%w: stages or jobs wait for each other in a cycle", ErrProblem)
	}
	return nil
}

// addInputs notes which stages are read by later ones, and refuses input from a
// stage that need not have finished by then.
func (p *Problem) addInputs() error {
	p.feeds = make([]bool, len(p.Nodes))
	for i, n := range p.Nodes {
		if n.Stage == sched.None {
			continue
		}
		for _, in := range p.x.Stage(n.Stage).Input {
			from := p.source(n, in)
			if !p.precedes(from, int32(i)) {
				return fmt.Errorf("%w: stage %s reads input from %s, which does not come before it; add it to its after",
					ErrProblem, p.x.StageName(n.Stage), p.x.StageName(p.Nodes[from].Stage))
			}
			p.feeds[from] = true
		}
	}
	return nil
}

// source returns the node that n reads in from.
func (p *Problem) source(n Node, in sched.Input) int32 {
	first, _ := p.x.JobStages(n.Job)
	return p.stages[first] + int32(in.From)
}

// precedes reports whether there is a path from a to b within their job.
func (p *Problem) precedes(a, b int32) bool {
	seen := map[int32]bool{}
	for stack := []int32{b}; len(stack) > 0; {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, u := range p.preds[v] {
			if u == a {
				return true
			}
			if !seen[u] && p.level[u] > p.level[a] && p.Nodes[u].Job == p.Nodes[a].Job {
				seen[u] = true
				stack = append(stack, u)
			}
		}
	}
	return false
}

// Name returns "job/stage", or "job" for a sink.
func (p *Problem) Name(node int32) string {
	n := p.Nodes[node]
	if n.Stage == sched.None {
		return p.x.Instance.Jobs[n.Job].Name
	}
	return p.x.StageName(n.Stage)
}

// Order returns the nodes by c, one value per node, non-decreasing; ties go to the
// node with fewer predecessors in a row before it, then to the first. If c satisfies
// (S4), every node comes after its predecessors.
func (p *Problem) Order(c []float64) []int32 {
	order := make([]int32, len(p.Nodes))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(c[a], c[b]), cmp.Compare(p.level[a], p.level[b]), cmp.Compare(a, b))
	})
	return order
}

// sum adds nonnegative numbers with a relative error of about two roundings,
// however many they are (Neumaier's compensated sum): the lower bound's proof
// allows for a small relative error in sizes and speeds.
type sum struct{ s, lost float64 }

func (a *sum) add(x float64) {
	t := a.s + x
	if a.s >= x {
		a.lost += (a.s - t) + x
	} else {
		a.lost += (x - t) + a.s
	}
	a.s = t
}

func (a *sum) value() float64 { return a.s + a.lost }

// Instance returns the instance that the problem was built from.
func (p *Problem) Instance() *sched.Instance { return p.x.Instance }

// Index returns the index of that instance.
func (p *Problem) Index() *sched.Index { return p.x }

// Sizes returns the sizes that the problem was built with.
func (p *Problem) Sizes() *sched.Sizes { return p.z }

// Jobs returns the jobs of the problem, in its order.
func (p *Problem) Jobs() []sched.JobID { return p.jobs }

// Tasks returns the number of tasks.
func (p *Problem) Tasks() int {
	n := 0
	for i := range p.Nodes {
		n += p.Nodes[i].Tasks
	}
	return n
}
