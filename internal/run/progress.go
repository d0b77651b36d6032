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
	running []Running
	changed bool
	stale   bool       // a job may have changed its state
	next    sched.Time // no call before
}

func (g *progress) init(d *driver) {
	g.jobs = make([]JobProgress, len(d.cfg.Instance.Jobs))
	for j := range g.jobs {
		for s := range d.cfg.Instance.Jobs[j].Stages {
			g.jobs[j].Total += d.cfg.Instance.Jobs[j].Stages[s].Count
		}
	}
	g.stale = true
}

func (g *progress) started(j sched.JobID) {
	g.jobs[j].Running++
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
	for _, p := range d.running {
		g.running = append(g.running, Running{Task: p.task, Attempt: p.attempt, Machine: p.machine, Slot: p.slot, Since: p.since})
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
