package cli

import (
	"cmp"
	"slices"
	"sort"

	"github.com/fairlead-project/fairlead/internal/run"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
)

// forecast says when a run's jobs will end: when the plan has them end, from where
// the run stands in the plan, at the pace at which it has come there. The plan is a
// simulation with the estimated sizes. Where it stands is told by the work that is
// done: in the plan, as much is done at one instant.
type forecast struct {
	x     *sched.Index
	sizes *sched.Sizes
	jobs  []plannedJob // by JobID
	all   curve
	end   sched.Time

	begun            bool
	began, planBegan sched.Time // where the run and the plan stood when this began
	pace             float64    // what takes a second in the plan takes so many
}

type plannedJob struct {
	curve
	finish sched.Time
	done   []float64 // seconds of slots that its first k tasks take
}

// memory of the pace: the plan counts as if this share of it had already come true at
// its own pace, so that the first tasks do not decide alone.
const paceMemory = 0.05

// almost is what a task that takes longer than expected, and reports nothing, counts
// as done of it.
const almost = 0.95

// newForecast plans the run; nil if sizes are not known.
func (e *env) newForecast(x *sched.Index, o runOptions) *forecast {
	z, err := sim.Means(x)
	if err != nil {
		return nil
	}
	r, err := e.simulate(simulation{spec: o.policy, in: x.Instance, x: x, sizes: z, seed: o.seed})
	if err != nil {
		return nil
	}
	return forecastOf(x, z, &r.Schedule)
}

func forecastOf(x *sched.Index, z *sched.Sizes, s *sched.Schedule) *forecast {
	f := &forecast{x: x, sizes: z, jobs: make([]plannedJob, len(x.Instance.Jobs)), pace: 1}
	byFinish := slices.Clone(s.Tasks)
	slices.SortStableFunc(byFinish, func(a, b sched.Placement) int { return cmp.Compare(a.Finish, b.Finish) })
	byJob := make([][]sched.Placement, len(f.jobs))
	for _, p := range byFinish {
		j := x.StageJob(x.TaskStage(p.Task))
		byJob[j] = append(byJob[j], p)
		f.end = max(f.end, p.Finish)
	}
	for j := range f.jobs {
		job := &f.jobs[j]
		job.done = make([]float64, 1, len(byJob[j])+1)
		for k, p := range byJob[j] {
			job.finish = p.Finish
			job.done = append(job.done, job.done[k]+(p.Finish-p.Start).Seconds())
		}
		job.curve = curveOf(byJob[j])
	}
	f.all = curveOf(byFinish)
	return f
}

// curve says how much work a plan has done: until the instant at[i], slots have been
// busy for work[i] seconds; linear in between.
type curve struct {
	at   []sched.Time
	work []float64
}

func curveOf(tasks []sched.Placement) curve {
	type change struct {
		at   sched.Time
		busy int
	}
	changes := make([]change, 0, 2*len(tasks))
	for _, p := range tasks {
		changes = append(changes, change{p.Start, 1}, change{p.Finish, -1})
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	var c curve
	busy, last, work := 0, sched.Time(0), 0.0
	for _, ch := range changes {
		work += float64(busy) * (ch.at - last).Seconds()
		c.at, c.work = append(c.at, ch.at), append(c.work, work)
		busy, last = busy+ch.busy, ch.at
	}
	return c
}

// position is the instant at which so much work is done. While the plan does nothing,
// it waits for something else than work: then the instant nearest to now is taken.
func (c *curve) position(work float64, now sched.Time) sched.Time {
	n := len(c.work)
	if n == 0 {
		return 0
	}
	first := sort.Search(n, func(i int) bool { return c.work[i] >= work-workTolerance })
	if first == n {
		return c.at[n-1]
	}
	if c.work[first] <= work+workTolerance {
		after := sort.Search(n, func(i int) bool { return c.work[i] > work+workTolerance }) - 1
		return max(c.at[first], min(c.at[after], now))
	}
	if first == 0 {
		return 0
	}
	share := (work - c.work[first-1]) / (c.work[first] - c.work[first-1])
	return c.at[first-1] + sched.Time(share*float64(c.at[first]-c.at[first-1]))
}

// workTolerance, in seconds, is far below what anyone sees, and above what sums of
// the same durations in another order differ by.
const workTolerance = 1e-6

// fraction is how much of a running task is done, by its own report or, without one,
// by its age.
func (f *forecast) fraction(r *run.Running, now sched.Time) float64 {
	if r.Progress > 0 {
		return r.Progress
	}
	expected := f.pace * float64(f.expected(r))
	if expected <= 0 {
		return almost
	}
	return max(0, min(almost, float64(now-r.Since)/expected))
}

// expected is how long a running task takes on its machine, by its estimated size.
func (f *forecast) expected(r *run.Running) sched.Time {
	return sched.Duration(f.sizes.Of(f.x.TaskStage(r.Task), r.Task), f.x.Instance.Machines[r.Machine].Speed)
}

// ends returns when each job is expected to end, Never for those that have ended, and
// when the last of them is.
func (f *forecast) ends(p *run.Progress) (jobs []sched.Time, last sched.Time) {
	work, partial := 0.0, make([]float64, len(f.jobs))
	for i := range p.Running {
		r := &p.Running[i]
		partial[f.x.StageJob(f.x.TaskStage(r.Task))] += float64(f.fraction(r, p.Now) * f.expected(r).Seconds())
	}
	have := make([]float64, len(f.jobs))
	for j := range f.jobs {
		done := f.jobs[j].done
		all := done[len(done)-1]
		have[j] = min(all, done[min(p.Jobs[j].Done, len(done)-1)]+partial[j])
		if over(p.Jobs[j].State) {
			have[j] = all // also what failed: nothing of it is to come
		}
		work += have[j]
	}
	at := f.all.position(work, p.Now)
	if !f.begun {
		f.begun, f.began, f.planBegan = true, p.Now, at
	}
	memory := paceMemory * float64(f.end)
	if planned := memory + float64(at-f.planBegan); planned > 0 {
		f.pace = max(0, (memory+float64(p.Now-f.began))/planned)
	}
	jobs = make([]sched.Time, len(f.jobs))
	for j := range f.jobs {
		jobs[j] = sched.Never
		if over(p.Jobs[j].State) {
			continue
		}
		// A job that is behind the rest of the plan is where its own work is.
		job := &f.jobs[j]
		left := job.finish - min(at, job.position(have[j], at))
		jobs[j] = p.Now + sched.Time(f.pace*float64(max(0, left)))
		last = max(last, jobs[j])
	}
	return jobs, last
}

// over reports whether nothing more comes of a job.
func over(s policy.JobState) bool { return s != policy.JobWaiting && s != policy.JobActive }
