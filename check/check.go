package check

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// ErrUnsupported is wrapped by the error for an instance whose schedules cannot
// be checked: stages that share rates, shuffles (a schedule does not record their
// flows) and, unless Observed, random flow sizes.
var ErrUnsupported = errors.New("check: schedule cannot be checked")

// Options says what kind of schedule it is.
type Options struct {
	// Observed: the times were measured, not computed. A task or flow may take any
	// time, sizes are not used (z may be nil), and input need not be waited for
	// longer than for the stage it comes from.
	Observed bool
}

// Report is what a valid schedule costs. Sums are over completed jobs, in weight
// × seconds.
type Report struct {
	WeightedCompletion float64    // sum w_j C_j
	WeightedFlowTime   float64    // sum w_j (C_j - r_j)
	Makespan           sched.Time // when the last task or flow finishes, also of jobs that did not complete
	Completed          int        // jobs
}

// Schedule checks s against the instance and, unless opts.Observed, the realised
// sizes, and returns its cost. A job whose Completion is Never may lack tasks; it
// must lack at least one. The error is a [*Violation], or wraps ErrUnsupported or
// [sched.ErrInstance]. Cost: O(n log n) for n tasks and flows, plus machines ×
// resources and, per stage that reads input, machines.
func Schedule(in *sched.Instance, z *sched.Sizes, s *sched.Schedule, opts Options) (Report, error) {
	if err := in.Validate(); err != nil {
		return Report{}, err
	}
	c := &checker{in: in, x: sched.NewIndex(in), z: z, s: s, opts: opts}
	for _, step := range []func() error{
		c.supported, c.tasksExist, c.flowsExist, c.completions, c.lengths, c.starts, c.machines, c.ports,
	} {
		if err := step(); err != nil {
			return Report{}, err
		}
	}
	return c.report(), nil
}

type checker struct {
	in   *sched.Instance
	x    *sched.Index
	z    *sched.Sizes
	s    *sched.Schedule
	opts Options

	stageOf []sched.StageID // by task
	finish  []sched.Time    // by stage: its last finish, Never if something of it is missing
	done    []sched.Time    // by job: likewise
}

func (c *checker) supported() error {
	for s := range sched.StageID(c.x.Stages()) {
		st := c.x.Stage(s)
		why := ""
		switch {
		case st.Fluid != nil:
			why = "shares rates"
		case st.Shuffle != nil:
			why = "is a shuffle, whose flows a schedule does not record"
		case !st.Transfer() && !c.opts.Observed && (c.z == nil || !c.z.Known(s)):
			why = "has no realised sizes"
		}
		for _, f := range st.Flows {
			if _, ok := size.Value(f.Size); !ok && !c.opts.Observed {
				why = fmt.Sprintf("has a flow of random size (%v)", f.Size)
			}
		}
		if why != "" {
			return fmt.Errorf("%w: stage %s %s", ErrUnsupported, c.x.StageName(s), why)
		}
	}
	return nil
}

// tasksExist checks that placements name existing things, are in order and
// unique, and notes stages' finish times.
func (c *checker) tasksExist() error {
	c.stageOf = make([]sched.StageID, c.x.Tasks())
	c.finish = make([]sched.Time, c.x.Stages())
	for s := range c.finish {
		first, end := c.x.StageTasks(sched.StageID(s))
		for t := first; t < end; t++ {
			c.stageOf[t] = sched.StageID(s)
		}
	}
	seen := make([]bool, c.x.Tasks())
	for i, p := range c.s.Tasks {
		switch {
		case p.Task < 0 || int(p.Task) >= len(seen):
			return broken(Range, "placement %d: there is no task %d", i, p.Task)
		case p.Machine < 0 || int(p.Machine) >= len(c.in.Machines):
			return broken(Range, "placement %d: there is no machine %d", i, p.Machine)
		}
		m := &c.in.Machines[p.Machine]
		switch {
		case p.Slot < 0 || int(p.Slot) >= m.Slots:
			return c.atTask(broken(Range, "slot %d of %d", p.Slot, m.Slots), p)
		case p.Start < 0 || p.Finish < p.Start || p.Finish > sched.MaxTime:
			return c.atTask(broken(Range, "runs from %v to %v", p.Start, p.Finish), p)
		case seen[p.Task]:
			return c.atTask(broken(Once, "runs a second time, from %v", p.Start), p)
		case i > 0 && byStart(c.s.Tasks[i-1], p) > 0:
			return c.atTask(broken(Order, "listed after a task that starts later, or at the same time with a larger number"), p)
		}
		seen[p.Task] = true
		s := c.stageOf[p.Task]
		c.finish[s] = max(c.finish[s], p.Finish)
	}
	for t, ok := range seen {
		if !ok {
			c.finish[c.stageOf[t]] = sched.Never
		}
	}
	return nil
}

func byStart(a, b sched.Placement) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Task, b.Task))
}

func (c *checker) flowsExist() error {
	seen := make([]bool, c.x.Flows())
	for i, f := range c.s.Flows {
		switch {
		case f.Flow < 0 || int(f.Flow) >= len(seen):
			return broken(Range, "transmission %d: there is no flow %d", i, f.Flow)
		case f.Start < 0 || f.Finish < f.Start || f.Finish > sched.MaxTime:
			return c.atFlow(broken(Range, "runs from %v to %v", f.Start, f.Finish), f.Flow)
		case seen[f.Flow]:
			return c.atFlow(broken(Once, "runs a second time, from %v", f.Start), f.Flow)
		}
		seen[f.Flow] = true
		s := c.x.FlowStage(f.Flow)
		c.finish[s] = max(c.finish[s], f.Finish)
	}
	for f, ok := range seen {
		if !ok {
			c.finish[c.x.FlowStage(sched.FlowID(f))] = sched.Never
		}
	}
	return nil
}

// completions compares the recorded C_j with the stages' finish times.
func (c *checker) completions() error {
	if len(c.s.Completion) != len(c.in.Jobs) {
		return broken(Completion, "%d completion times for %d jobs", len(c.s.Completion), len(c.in.Jobs))
	}
	c.done = make([]sched.Time, len(c.in.Jobs))
	for j := range c.done {
		first, end := c.x.JobStages(sched.JobID(j))
		c.done[j] = slices.Max(c.finish[first:end])
		claimed := c.s.Completion[j]
		switch {
		case claimed == c.done[j]:
		case c.done[j] != sched.Never:
			return c.atJob(broken(Completion, "recorded as %v, but its last task or flow finishes at %v", claimed, c.done[j]), sched.JobID(j))
		default:
			s := first
			for c.finish[s] != sched.Never {
				s++
			}
			return c.atStage(broken(Once, "not all of it runs, but its job is recorded to complete at %v", claimed), s)
		}
	}
	return nil
}

// lengths checks durations.
func (c *checker) lengths() error {
	if c.opts.Observed {
		return nil
	}
	for _, p := range c.s.Tasks {
		work, speed := c.z.Of(c.stageOf[p.Task], p.Task), c.in.Machines[p.Machine].Speed
		if want := sched.Duration(work, speed); p.Finish-p.Start != want {
			return c.atTask(broken(Length, "takes %v, but size %v at speed %v takes %v", p.Finish-p.Start, work, speed, want), p)
		}
	}
	for _, t := range c.s.Flows {
		f := c.flow(t.Flow)
		bytes, _ := size.Value(f.Size)
		rate := min(c.in.Machines[f.From].Port, c.in.Machines[f.To].Port)
		if want := sched.Duration(bytes, rate); t.Finish-t.Start != want {
			return c.atFlow(broken(Length, "takes %v, but %v bytes at %v bytes/s take %v", t.Finish-t.Start, bytes, rate, want), t.Flow)
		}
	}
	return nil
}

func (c *checker) flow(f sched.FlowID) *sched.Flow {
	s := c.x.FlowStage(f)
	first, _ := c.x.StageFlows(s)
	return &c.x.Stage(s).Flows[f-first]
}

func (c *checker) report() Report {
	var r Report
	for _, p := range c.s.Tasks {
		r.Makespan = max(r.Makespan, p.Finish)
	}
	for _, f := range c.s.Flows {
		r.Makespan = max(r.Makespan, f.Finish)
	}
	for j, done := range c.done {
		if done == sched.Never {
			continue
		}
		job := &c.in.Jobs[j]
		r.Completed++
		r.WeightedCompletion += float64(job.Weight * done.Seconds())
		r.WeightedFlowTime += float64(job.Weight * (done - job.Release).Seconds())
	}
	return r
}
