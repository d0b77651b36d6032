package policytest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// Random returns a random instance: a few machines, with slots, memory and ports,
// jobs with precedence among and within them, releases, needs, pins and input. No
// two tasks' durations or releases are equal in general, so that ties do not decide
// anything.
func Random(rng *rand.Rand) *sched.Instance { return generator{rng, false}.instance() }

// RandomTies returns a random instance in which nearly everything is equal to
// something else: small whole numbers, tasks that take no time, machines alike.
func RandomTies(rng *rand.Rand) *sched.Instance { return generator{rng, true}.instance() }

type generator struct {
	*rand.Rand
	ties bool
}

// real returns a number in [low, high), a whole one if there are to be ties.
func (g generator) real(low, high float64) float64 {
	x := low + (high-low)*g.Float64()
	if g.ties {
		return math.Floor(x)
	}
	return x
}

func (g generator) instance() *sched.Instance {
	in := &sched.Instance{Name: "random", Resources: []string{"memory"}}
	for m := range 1 + g.IntN(4) {
		port := math.Inf(1)
		if g.IntN(2) == 0 {
			port = 1 + g.real(0, 20)
		}
		in.Machines = append(in.Machines, sched.Machine{
			Name: fmt.Sprintf("m%d", m), Speed: max(0.5, g.real(0.5, 3.5)), Slots: 1 + g.IntN(3),
			Capacity: []int64{1000 * int64(1+g.IntN(4))}, Port: port,
		})
		if g.ties && g.IntN(3) == 0 {
			in.Machines[m].Slots = 1 + g.IntN(12)
		}
	}
	for j := range 1 + g.IntN(5) {
		job := sched.Job{Name: fmt.Sprintf("j%d", j), Weight: g.real(0, 5), Release: sched.FromSeconds(g.real(0, 8))}
		if j == 0 {
			job.Release = 0
		}
		for a := range j {
			if g.IntN(5) == 0 {
				job.After = append(job.After, sched.JobID(a))
			}
		}
		for s := range 1 + g.IntN(4) {
			job.Stages = append(job.Stages, g.stage(in, s))
		}
		in.Jobs = append(in.Jobs, job)
	}
	if g.ties { // and an order in the file that says nothing about precedence
		in, _, _ = Reorder(in, g.Rand)
		for j := range in.Jobs {
			in.Jobs[j].Stages = shuffled(in.Jobs[j].Stages, g.Rand)
		}
	}
	return in
}

func (g generator) stage(in *sched.Instance, s int) sched.Stage {
	st := sched.Stage{Name: fmt.Sprintf("s%d", s), Count: 1 + g.IntN(4)}
	if g.ties && g.IntN(3) == 0 {
		st.Count = 1 + g.IntN(20)
	}
	for a := range s {
		if g.IntN(2) == 0 {
			st.After = append(st.After, a)
			if g.IntN(3) == 0 {
				st.Input = append(st.Input, sched.Input{From: a, Bytes: g.real(0, 30)})
			}
		}
	}
	n := 1
	if g.IntN(2) == 0 {
		n = st.Count
	}
	for range n {
		st.Sizes = append(st.Sizes, size.Exact(g.real(0.1, 4.1)))
	}
	if g.IntN(3) == 0 { // needs that fit the smallest machine
		st.Needs = []int64{int64(1 + g.IntN(1000))}
	}
	if g.IntN(5) == 0 {
		st.Machines = []sched.MachineID{sched.MachineID(g.IntN(len(in.Machines)))}
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

// shuffled returns the stages of a job in another order.
func shuffled(stages []sched.Stage, rng *rand.Rand) []sched.Stage {
	at := rng.Perm(len(stages))
	out := make([]sched.Stage, len(stages))
	for s, st := range stages {
		for k, a := range st.After {
			st.After[k] = at[a]
		}
		for k := range st.Input {
			st.Input[k].From = at[st.Input[k].From]
		}
		out[at[s]] = st
	}
	return out
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
