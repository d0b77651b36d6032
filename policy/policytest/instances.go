package policytest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// Random returns a random instance: a few machines, some alike, with slots,
// memory and ports, jobs with precedence among and within them, releases, needs,
// pins and input. No two tasks' durations or releases are equal in general, so
// that ties do not decide anything.
func Random(rng *rand.Rand) *sched.Instance {
	in := &sched.Instance{Name: "random", Resources: []string{"memory"}}
	for m := range 1 + rng.IntN(4) {
		port := math.Inf(1)
		if rng.IntN(2) == 0 {
			port = 1 + 20*rng.Float64()
		}
		in.Machines = append(in.Machines, sched.Machine{
			Name: fmt.Sprintf("m%d", m), Speed: 0.5 + 3*rng.Float64(), Slots: 1 + rng.IntN(3),
			Capacity: []int64{1000 * int64(1+rng.IntN(4))}, Port: port,
		})
	}
	for j := range 1 + rng.IntN(5) {
		job := sched.Job{
			Name: fmt.Sprintf("j%d", j), Weight: rng.Float64() * 5,
			Release: sched.FromSeconds(8 * rng.Float64()),
		}
		if j == 0 {
			job.Release = 0
		}
		for a := range j {
			if rng.IntN(5) == 0 {
				job.After = append(job.After, sched.JobID(a))
			}
		}
		for s := range 1 + rng.IntN(4) {
			job.Stages = append(job.Stages, randomStage(rng, in, s))
		}
		in.Jobs = append(in.Jobs, job)
	}
	return in
}

func randomStage(rng *rand.Rand, in *sched.Instance, s int) sched.Stage {
	st := sched.Stage{Name: fmt.Sprintf("s%d", s), Count: 1 + rng.IntN(4)}
	for a := range s {
		if rng.IntN(2) == 0 {
			st.After = append(st.After, a)
			if rng.IntN(3) == 0 {
				st.Input = append(st.Input, sched.Input{From: a, Bytes: 30 * rng.Float64()})
			}
		}
	}
	n := 1
	if rng.IntN(2) == 0 {
		n = st.Count
	}
	for range n {
		st.Sizes = append(st.Sizes, size.Exact(0.1+4*rng.Float64()))
	}
	if rng.IntN(3) == 0 { // needs that fit the smallest machine
		st.Needs = []int64{int64(1 + rng.IntN(1000))}
	}
	if rng.IntN(5) == 0 {
		st.Machines = []sched.MachineID{sched.MachineID(rng.IntN(len(in.Machines)))}
	}
	return st
}

// Rename returns a copy in which everything is called something else.
func Rename(in *sched.Instance) *sched.Instance {
	out := Clone(in)
	for m := range out.Machines {
		out.Machines[m].Name = fmt.Sprintf("zz-%d", len(out.Machines)-m)
	}
	for j := range out.Jobs {
		out.Jobs[j].Name = fmt.Sprintf("yy-%d", len(out.Jobs)-j)
		for s := range out.Jobs[j].Stages {
			out.Jobs[j].Stages[s].Name = fmt.Sprintf("xx-%d", len(out.Jobs[j].Stages)-s)
		}
	}
	return out
}

// Reorder returns a copy with jobs and machines in another order: job j is
// jobAt[j] there, machine m is machineAt[m].
func Reorder(in *sched.Instance, rng *rand.Rand) (out *sched.Instance, jobAt, machineAt []int) {
	jobAt, machineAt = rng.Perm(len(in.Jobs)), rng.Perm(len(in.Machines))
	src := Clone(in)
	out = Clone(in)
	for m := range src.Machines {
		out.Machines[machineAt[m]] = src.Machines[m]
	}
	for j := range src.Jobs {
		job := src.Jobs[j]
		for k, a := range job.After {
			job.After[k] = sched.JobID(jobAt[a])
		}
		for s := range job.Stages {
			for k, m := range job.Stages[s].Machines {
				job.Stages[s].Machines[k] = sched.MachineID(machineAt[m])
			}
			slices.Sort(job.Stages[s].Machines)
		}
		out.Jobs[jobAt[j]] = job
	}
	return out, jobAt, machineAt
}

// Clone copies an instance deeply enough to be altered.
func Clone(in *sched.Instance) *sched.Instance {
	out := *in
	out.Machines = slices.Clone(in.Machines)
	out.Jobs = slices.Clone(in.Jobs)
	for j := range out.Jobs {
		out.Jobs[j].After = slices.Clone(in.Jobs[j].After)
		out.Jobs[j].Stages = slices.Clone(in.Jobs[j].Stages)
		for s := range out.Jobs[j].Stages {
			st := &out.Jobs[j].Stages[s]
			st.Sizes, st.Machines, st.Input = slices.Clone(st.Sizes), slices.Clone(st.Machines), slices.Clone(st.Input)
		}
	}
	return &out
}
