package run

import (
	"time"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// showEvery is the least time between two calls of Config.Progress. Each costs
// the driver, and most of all its caller, time in proportion to the number of
// jobs, which must not be spent on every event; an eye needs no more than this.
const showEvery = sched.Time(50 * time.Millisecond)

// progress counts tasks as they start and end.
type progress struct {
	jobs    []JobProgress
	begun   []bool // something of the job has been started
	running []Running
	changed bool
	stale   bool       // a job may have changed its state
	next    sched.Time // no call before
}

func (g *progress) init(d *driver) {
	g.jobs = make([]JobProgress, len(d.cfg.Instance.Jobs))
	g.begun = make([]bool, len(g.jobs))
	for s := range sched.StageID(d.x.Stages()) {
		job := &g.jobs[d.x.StageJob(s)]
		for t, end := d.x.StageTasks(s); t < end; t++ {
			job.Total++
			switch d.e.Task(t) {
			case policy.TaskDone:
				job.Done++
			case policy.TaskFailed:
				job.Failed++
			case policy.TaskRunning:
				job.Running++
			}
		}
	}
	g.stale = true
}

func (g *progress) started(j sched.JobID) {
	g.jobs[j].Running++
	g.begun[j] = true
	g.changed = true
}

// ended counts the end of an attempt and, if it was the last one, of its task.
func (g *progress) ended(j sched.JobID, state policy.TaskState) {
	job := &g.jobs[j]
	job.Running--
	switch state {
	case policy.TaskDone:
		job.Done++
	case policy.TaskFailed:
		job.Failed++
	}
	g.changed = true
	g.stale = g.stale || job.Failed > 0 || job.Done == job.Total
}

// recovered counts a task that has turned out to be done.
func (g *progress) recovered(j sched.JobID) {
	g.jobs[j].Done++
	g.changed, g.stale = true, true
}

// show passes on where the run stands if that has changed. If it is too early for
// that, it returns when to try again.
func (g *progress) show(d *driver) sched.Time {
	if d.cfg.Progress == nil || !g.changed && !g.stale {
		return sched.Never
	}
	now := d.now()
	if now < g.next {
		return g.next
	}
	if g.stale {
		for j := range g.jobs {
			g.jobs[j].State, _ = d.e.Job(sched.JobID(j))
		}
	}
	g.running = g.running[:0]
	for j := range g.jobs {
		g.jobs[j].Partial = 0
	}
	for _, a := range d.running {
		g.jobs[a.stage.job].Partial += a.progress
		g.running = append(g.running, Running{
			Task: a.task, Attempt: a.attempt, Machine: a.machine, Slot: a.slot, Since: a.at, Progress: a.progress,
		})
	}
	g.changed, g.stale, g.next = false, false, now+showEvery
	d.cfg.Progress(Progress{Now: now, Jobs: g.jobs, Running: g.running})
	return sched.Never
}

// last shows how the run ended.
func (g *progress) last(d *driver) {
	g.next = 0
	g.show(d)
}
