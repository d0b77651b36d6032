package dag

import (
	algo "github.com/fairlead-project/fairlead/algo/dag"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// remainder is the problem of what is left at some time, from when its times count.
// It shares nothing with the View, which goes on changing while it is solved.
type remainder struct {
	problem *algo.Problem
	stages  []sched.StageID // which stage of the instance each of the problem's is
	// machines holds what each machine of the instance is in the problem; None: down.
	machines []sched.MachineID
}

// remainder describes what is left: of the live jobs the tasks that have not
// ended, those that run with the size that is left of them; on the machines that are
// up. Nil if nothing is left, or no machine is up. Input from stages that are done, and
// pins to machines that are all down, are left out.
func (p *online) remainder(now sched.Time, v policy.View) (*remainder, error) {
	in := &sched.Instance{Resources: v.Index().Instance.Resources}
	rest := &remainder{machines: make([]sched.MachineID, len(v.Index().Instance.Machines))}
	for m, mach := range v.Index().Instance.Machines {
		if rest.machines[m] = sched.None; v.Machine(sched.MachineID(m)).Up && mach.Slots > 0 {
			rest.machines[m] = sched.MachineID(len(in.Machines))
			in.Machines = append(in.Machines, mach)
		}
	}
	var sizes [][]float64
	at := map[sched.JobID]sched.JobID{}
	var jobs []sched.JobID
	for _, j := range jobsByContent(v, p.live) {
		stages, each, err := p.stagesLeft(now, v, j, rest)
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
// and appends which stages they are to r.stages.
func (p *online) stagesLeft(now sched.Time, v policy.View, j sched.JobID, r *remainder) (left []sched.Stage, sizes [][]float64, err error) {
	first, end := v.Index().JobStages(j)
	at := make([]int, end-first) // in left; -1: done
	for s := first; s < end; s++ {
		each, err := p.tasksLeft(now, v, s)
		if err != nil {
			return nil, nil, err
		}
		st := v.Index().Stage(s)
		if at[s-first] = -1; len(each) == 0 && st.Count > 0 {
			continue
		}
		at[s-first] = len(left)
		left = append(left, sched.Stage{Name: st.Name, Count: len(each), Fluid: st.Fluid, Needs: st.Needs, Machines: r.pins(st.Machines)})
		sizes, r.stages = append(sizes, each), append(r.stages, s)
	}
	for s := first; s < end; s++ { // stages may stand in any order in the file
		if at[s-first] < 0 {
			continue
		}
		st, rest := v.Index().Stage(s), &left[at[s-first]]
		for _, i := range st.Input {
			if at[i.From] >= 0 {
				rest.Input = append(rest.Input, sched.Input{From: at[i.From], Bytes: i.Bytes})
			}
		}
		for _, a := range st.After {
			if at[a] >= 0 {
				rest.After = append(rest.After, at[a])
			}
		}
	}
	return left, sizes, nil
}

// pins returns those of the machines that are up, nil if none is.
func (r *remainder) pins(machines []sched.MachineID) (up []sched.MachineID) {
	for _, m := range machines {
		if r.machines[m] != sched.None {
			up = append(up, r.machines[m])
		}
	}
	return up
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
