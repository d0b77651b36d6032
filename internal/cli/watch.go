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
)

// watch shows a run on a terminal: a bar per active job and one for the whole, with
// how many of the tasks are done, and when they are expected to end.
type watch struct {
	w    progress.Writer
	ends bool // there is room for them

	mu       sync.Mutex
	x        *sched.Index
	forecast *forecast // nil: there is none, or not yet
	latest   run.Progress
	seen     time.Time // when latest came
	total    *watched
	jobs     []*watched // by JobID; nil: not shown
	quit     chan struct{}
	once     sync.Once
}

// watched is one bar. Its value counts thousandths of tasks.
type watched struct {
	*progress.Tracker
	tasks int
	began sched.Time // when it came into view
	mu    sync.Mutex
	text  string // beside the bar
}

const (
	// maxBars keeps the display below a screenful.
	maxBars    = 20
	perTask    = 1000
	watchEvery = time.Second // tasks grow older though nothing happens
)

func (e *env) watchRun(x *sched.Index, o runOptions) *watch {
	if !isTerminal(e.stderr) {
		return &watch{}
	}
	w := &watch{w: e.newProgress(), x: x, jobs: make([]*watched, len(x.Instance.Jobs)), quit: make(chan struct{})}
	// Beside a bar: share done, and [tasks done/all, ends HH:MM:SS].
	rest := 40
	if w.ends = e.width() >= 64; !w.ends {
		rest = 24
	}
	message, length := barWidths(e.width(), rest)
	w.w.SetMessageLength(message)
	w.w.SetTrackerLength(length)
	style := w.w.Style()
	style.Visibility.Value, style.Visibility.Time, style.Visibility.ETA = true, false, false
	w.total = w.bar("all jobs", x.Tasks(), 0)
	start(w.w)
	go w.plan(e, o)
	go w.tick()
	return w
}

// bar shows another one.
func (w *watch) bar(name string, tasks int, now sched.Time) *watched {
	b := &watched{tasks: tasks, began: now, text: fmt.Sprintf("0/%d", tasks)}
	b.Tracker = &progress.Tracker{Message: name, Total: int64(tasks) * perTask, Units: progress.Units{
		Formatter: func(int64) string {
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.text
		},
	}}
	w.w.AppendTracker(b.Tracker)
	return b
}

func (b *watched) say(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = text
}

// plan makes the forecast, which may take longer than the first tasks do.
func (w *watch) plan(e *env, o runOptions) {
	f := e.newForecast(w.x, o)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forecast = f
}

func (w *watch) tick() {
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	for {
		select {
		case <-w.quit:
			return
		case <-t.C:
			w.mu.Lock()
			if !w.seen.IsZero() {
				w.show(w.latest.Now + sched.Time(time.Since(w.seen)))
			}
			w.mu.Unlock()
		}
	}
}

// progress returns what to call on every change, nil if nobody watches.
func (w *watch) progress() func(run.Progress) {
	if w.w == nil {
		return nil
	}
	return w.update
}

func (w *watch) update(p run.Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.latest = run.Progress{Now: p.Now, Jobs: append(w.latest.Jobs[:0], p.Jobs...), Running: append(w.latest.Running[:0], p.Running...)}
	w.seen = time.Now()
	w.show(p.Now)
}

// show draws the latest progress as it is now.
func (w *watch) show(now sched.Time) {
	p := w.latest
	p.Now = now
	var ends []sched.Time
	last := sched.Never
	partial := make([]float64, len(p.Jobs))
	for i := range p.Running {
		r := &p.Running[i]
		done := r.Progress
		if w.forecast != nil {
			done = w.forecast.fraction(r, now)
		}
		partial[w.x.StageJob(w.x.TaskStage(r.Task))] += done
	}
	if w.forecast != nil {
		ends, last = w.forecast.ends(&p)
	}
	done, value, shown := 0, 0.0, 0
	for j, job := range p.Jobs {
		done += job.Done
		value += float64(job.Done) + partial[j]
		b := w.jobs[j]
		if job.State == policy.JobActive && b == nil && job.Running > 0 && shown < maxBars {
			b = w.bar(w.x.Instance.Jobs[j].Name, job.Total, now)
			w.jobs[j] = b
		}
		if b == nil || b.IsDone() {
			continue
		}
		shown++
		end := sched.Never
		if ends != nil {
			end = ends[j]
		}
		b.say(w.counts(job.Done, job.Total, end, now))
		if over(job.State) {
			b.finished(job.Done, now)
		}
		b.SetValue(int64(perTask * (float64(job.Done) + partial[j]))) // at the total it is done
		if job.State == policy.JobFailed || job.State == policy.JobNotRun {
			b.MarkAsErrored()
		}
	}
	w.total.say(w.counts(done, w.total.tasks, sched.Never, now))
	if done == w.total.tasks {
		w.total.finished(done, now)
	}
	w.total.SetValue(int64(perTask * value))
	status := fmt.Sprintf("%d tasks running", len(p.Running))
	if last != sched.Never && last > now {
		status += ", ends about " + clockTime(last-now)
	}
	w.w.SetPinnedMessages(status)
}

// finished says how long it took.
func (b *watched) finished(done int, now sched.Time) {
	b.say(fmt.Sprintf("%d/%d in %s", done, b.tasks, span((now - b.began).Seconds())))
}

func (w *watch) counts(done, total int, end, now sched.Time) string {
	s := fmt.Sprintf("%d/%d", done, total)
	if w.ends && end != sched.Never {
		s += ", ends " + clockTime(max(0, end-now))
	}
	return s
}

// clockTime is when a time has passed, with the day unless it is near.
func clockTime(in sched.Time) string {
	at := time.Now().Add(time.Duration(in))
	switch {
	case in < sched.Time(12*time.Hour):
		return at.Format(time.TimeOnly)
	case in < sched.Time(6*24*time.Hour):
		return at.Format("Mon 15:04")
	}
	return at.Format(time.DateOnly)
}

func (w *watch) stop() {
	if w.w == nil {
		return
	}
	w.once.Do(func() {
		close(w.quit)
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, b := range append(slices.Clone(w.jobs), w.total) {
			if b == nil || b.IsDone() {
				continue
			}
			if b.Value() == b.Total {
				b.MarkAsDone()
			} else {
				b.MarkAsErrored()
			}
		}
		w.w.SetPinnedMessages()
		finish(w.w)
	})
}
