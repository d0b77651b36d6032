package cli

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"

	"github.com/fairlead-project/fairlead/internal/run"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
)

// watch shows a run on a terminal: a bar per active job, and one for the whole
// with the expected finish, which is that of the plan scaled by how fast the plan
// has been fulfilled so far.
type watch struct {
	w        progress.Writer
	total    *progress.Tracker
	jobs     []*progress.Tracker
	names    []string
	estimate estimate
	began    time.Time
	once     sync.Once
}

// maxBars keeps the display below a screenful.
const maxBars = 20

func (e *env) watchRun(x *sched.Index, o runOptions) *watch {
	if !isTerminal(e.stderr) {
		return &watch{}
	}
	w := &watch{w: e.newProgress(), total: &progress.Tracker{Message: "all jobs", Total: int64(x.Tasks())}, began: time.Now()}
	w.jobs = make([]*progress.Tracker, len(x.Instance.Jobs))
	for j := range x.Instance.Jobs {
		w.names = append(w.names, x.Instance.Jobs[j].Name)
	}
	w.estimate = e.estimateRun(x, o)
	w.w.AppendTracker(w.total)
	start(w.w)
	return w
}

// progress returns what to call on every change, nil if nobody watches.
func (w *watch) progress() func(run.Progress) {
	if w.w == nil {
		return nil
	}
	return w.update
}

func (w *watch) update(p run.Progress) {
	done := 0
	shown := 0
	for j, job := range p.Jobs {
		done += job.Done
		t := w.jobs[j]
		if job.State == policy.JobActive && t == nil && job.Running > 0 && shown < maxBars {
			t = &progress.Tracker{Message: w.names[j], Total: int64(job.Total)}
			w.jobs[j] = t
			w.w.AppendTracker(t)
		}
		if t == nil || t.IsDone() {
			continue
		}
		shown++
		t.SetValue(int64(job.Done))
		switch job.State {
		case policy.JobDone:
			t.MarkAsDone()
		case policy.JobFailed, policy.JobNotRun:
			t.MarkAsErrored()
		}
	}
	w.total.SetValue(int64(done))
	status := fmt.Sprintf("%d tasks running", len(p.Running))
	if finish, ok := w.estimate.finish(p.Now, done); ok {
		status += ", ends about " + w.began.Add(time.Duration(finish)).Format(time.TimeOnly)
	}
	w.w.SetPinnedMessages(status)
}

func (w *watch) stop() {
	if w.w == nil {
		return
	}
	w.once.Do(func() {
		for _, t := range append(w.jobs, w.total) {
			switch {
			case t == nil || t.IsDone():
			case t.Value() == t.Total:
				t.MarkAsDone()
			default:
				t.MarkAsErrored()
			}
		}
		w.w.SetPinnedMessages()
		finish(w.w)
	})
}

// estimate holds the planned finish times of the tasks, ascending.
type estimate []sched.Time

// estimateRun simulates the run with the estimated sizes; empty if they are not
// all known.
func (e *env) estimateRun(x *sched.Index, o runOptions) estimate {
	z, err := sim.Means(x)
	if err != nil {
		return nil
	}
	r, err := e.simulate(simulation{spec: o.policy, in: x.Instance, x: x, sizes: z, seed: o.seed})
	if err != nil {
		return nil
	}
	finish := make(estimate, 0, len(r.Schedule.Tasks))
	for _, t := range r.Schedule.Tasks {
		finish = append(finish, t.Finish)
	}
	slices.Sort(finish)
	return finish
}

// finish expects the end of the run when done tasks have finished by now.
func (e estimate) finish(now sched.Time, done int) (sched.Time, bool) {
	if len(e) == 0 || done > len(e) {
		return 0, false
	}
	planned := e[len(e)-1]
	if done == 0 {
		return max(now, planned), true
	}
	pace := float64(now) / float64(max(1, e[done-1]))
	return max(now, now+sched.Time(pace*float64(planned-e[done-1]))), true
}
