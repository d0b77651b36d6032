package dag

import (
	"cmp"
	"slices"

	algo "github.com/fairlead-project/fairlead/algo/dag"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// remainder is the problem of what is left at some time, from when its times count.
// It shares nothing with the View, which goes on changing while it is solved.
type remainder struct {
	problem *algo.Problem
	stages  []sched.StageID // which stage of the instance each of the problem's is
}

// remainder describes what is left: of the live jobs the tasks that have not
// ended, those that run with the size that is left of them; on the machines that are
// up. Nil if nothing is left, or no machine is up. Needs, pins and input are left out,
// as the relaxation ignores them.
func (p *online) remainder(now sched.Time, v policy.View) (*remainder, error) {
	in := &sched.Instance{}
	for m, mach := range v.Index().Instance.Machines {
		if v.Machine(sched.MachineID(m)).Up && mach.Slots > 0 {
			in.Machines = append(in.Machines, sched.Machine{Name: mach.Name, Speed: mach.Speed, Slots: mach.Slots, Port: mach.Port})
		}
	}
	rest := &remainder{}
	var sizes [][]float64
	at := map[sched.JobID]sched.JobID{}
	var jobs []sched.JobID
	for _, j := range jobsByContent(v, p.live) {
		stages, each, err := p.stagesLeft(now, v, j, &rest.stages)
		if err != nil {
			return nil, err
		}
		if len(stages) == 0 {
			continue
		}
		job := &v.Index().Instance.Jobs[j]
		at[j] = sched.JobID(len(in.Jobs))
		jobs = append(jobs, j)
		sizes = append(sizes, each...)
		in.Jobs = append(in.Jobs, sched.Job{Name: job.Name, Weight: job.Weight, Release: max(0, job.Release-now), Stages: stages})
	}
	if len(in.Jobs) == 0 || len(in.Machines) == 0 {
		return nil, nil
	}
	for i, j := range jobs {
		for _, a := range v.Index().Instance.Jobs[j].After {
			if k, left := at[a]; left {
				in.Jobs[i].After = append(in.Jobs[i].After, k)
			}
		}
	}
	x := sched.NewIndex(in)
	z := sched.NewSizes(x)
	for s, each := range sizes {
		z.SetEach(sched.StageID(s), each)
	}
	problem, err := algo.NewProblem(x, z, nil)
	rest.problem = problem
	return rest, err
}

// stagesLeft returns the stages of j that have tasks left, with the sizes of those,
// and appends which stages they are to ids.
func (p *online) stagesLeft(now sched.Time, v policy.View, j sched.JobID, ids *[]sched.StageID) (left []sched.Stage, sizes [][]float64, err error) {
	first, end := v.Index().JobStages(j)
	at := make([]int, end-first)
	for s := first; s < end; s++ {
		st := v.Index().Stage(s)
		each, err := p.tasksLeft(now, v, s)
		if err != nil {
			return nil, nil, err
		}
		if at[s-first] = -1; len(each) == 0 && st.Count > 0 {
			continue
		}
		at[s-first] = len(left)
		rest := sched.Stage{Name: st.Name, Count: len(each), Fluid: st.Fluid}
		for _, a := range st.After {
			if at[a] >= 0 {
				rest.After = append(rest.After, at[a])
			}
		}
		left, sizes, *ids = append(left, rest), append(sizes, each), append(*ids, s)
	}
	return left, sizes, nil
}

// tasksLeft returns the sizes of the tasks of s that have not ended.
func (p *online) tasksLeft(now sched.Time, v policy.View, s sched.StageID) (sizes []float64, err error) {
	for t, end := v.Index().StageTasks(s); t < end; t++ {
		switch v.Task(t) {
		case policy.TaskBlocked, policy.TaskPending, policy.TaskDelayed:
			size, err := p.size(v, s, t)
			if err != nil {
				return nil, err
			}
			sizes = append(sizes, size)
		}
	}
	for _, l := range p.book.stages[s].running {
		size, _ := p.book.predict(now, v, s, l)
		speed := v.Index().Instance.Machines[l.machine].Speed
		sizes = append(sizes, size-float64((now-l.since).Seconds()*speed))
	}
	return sizes, nil
}

// order returns the stages that are left by the completion times c: jobs by when
// they end, the stages of a job by the longest way to its end.
func (r *remainder) order(c []float64) []sched.StageID {
	p := r.problem
	end := make([]float64, len(p.Instance().Jobs))
	for i, n := range p.Nodes {
		end[n.Job] = max(end[n.Job], c[i])
	}
	order := p.Order(c)
	way := ways(p, order)
	slices.SortStableFunc(order, func(a, b int32) int {
		ja, jb := p.Nodes[a].Job, p.Nodes[b].Job
		return cmp.Or(cmp.Compare(end[ja], end[jb]), cmp.Compare(ja, jb), cmp.Compare(way[b], way[a]))
	})
	stages := make([]sched.StageID, 0, len(order))
	for _, i := range order {
		if s := p.Nodes[i].Stage; s != sched.None {
			stages = append(stages, r.stages[s])
		}
	}
	return stages
}

// ways returns, per node, the least time from its start to the end of its job: the
// upward rank, with the machines as fast and as many as they are. The order must be
// topological.
func ways(p *algo.Problem, order []int32) []float64 {
	machines := p.Instance().Machines
	speed := make([]float64, len(p.Units)+1) // of the fastest units together
	for l, u := range p.Units {
		speed[l+1] = speed[l] + machines[u.Machine].Speed
	}
	next := make([][]int32, len(p.Nodes))
	for _, a := range p.Arcs {
		if p.Nodes[a.From].Job == p.Nodes[a.To].Job {
			next[a.From] = append(next[a.From], a.To)
		}
	}
	way := make([]float64, len(p.Nodes))
	for _, i := range slices.Backward(order) {
		for _, k := range next[i] {
			way[i] = max(way[i], way[k])
		}
		if n := &p.Nodes[i]; n.Tasks > 0 {
			way[i] += max(n.Size/speed[min(n.Tasks, len(p.Units))], n.Longest/speed[1])
		}
	}
	return way
}
