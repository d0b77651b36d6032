package run

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// Bounds of what a failure quotes, so that many failures stay small.
const (
	tailBytes = 4096
	tailLines = 10
	maxTails  = 100 // failures that quote anything
)

// failed records a failed attempt.
func (d *driver) failed(f *Failure) {
	if len(d.out.Failures) < maxTails {
		f.Tail = tail(f.Stderr)
	}
	j := d.x.StageJob(d.e.TaskStage(f.Task))
	if _, known := d.failedAt[j]; f.Final && !known {
		d.failedAt[j] = len(d.out.Failures)
	}
	d.out.Failures = append(d.out.Failures, *f)
}

// tail returns the last lines of a file, as far as it can be read, without
// characters that would confuse a terminal.
func tail(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	cut := false
	if info, err := f.Stat(); err == nil && info.Size() > tailBytes {
		_, err = f.Seek(-tailBytes, io.SeekEnd)
		cut = err == nil
	}
	b, _ := io.ReadAll(io.LimitReader(f, tailBytes)) // part of it is better than nothing
	text := strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.TrimRight(string(b), "\r\n"))
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	if cut && len(lines) > 1 {
		lines = lines[1:]
	}
	return lines[max(0, len(lines)-tailLines):]
}

func (d *driver) result() *Result {
	r := &d.out
	r.Wall = time.Duration(d.now())
	if d.finished {
		r.Wall = time.Duration(d.last)
	}
	r.Digest, r.Stats = d.e.Digest(), d.e.Stats()
	jobs := d.cfg.Instance.Jobs
	r.States = make([]policy.JobState, len(jobs))
	r.Schedule.Completion = make([]sched.Time, len(jobs))
	for j := range jobs {
		r.States[j], r.Schedule.Completion[j] = d.e.Job(sched.JobID(j))
		if _, failed := d.failedAt[sched.JobID(j)]; failed {
			r.States[j] = policy.JobFailed // also if the run ended before its other tasks did
		}
		if r.States[j] != policy.JobDone {
			r.Explain = append(r.Explain, d.explain(sched.JobID(j), r.States[j]))
		}
	}
	r.Sizes = sched.NewSizes(d.x)
	for s := range sched.StageID(d.x.Stages()) {
		d.observe(s)
	}
	slices.SortFunc(r.Schedule.Tasks, func(a, b sched.Placement) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Task, b.Task))
	})
	return r
}

// observe adds the tasks of s that completed to the schedule, and their sizes if
// all did and were seen to.
func (d *driver) observe(s sched.StageID) {
	first, end := d.x.StageTasks(s)
	sizes := make([]float64, 0, end-first)
	for t := first; t < end; t++ {
		if p := d.placed[t]; d.e.Task(t) == policy.TaskDone && p.Task != sched.None {
			d.out.Schedule.Tasks = append(d.out.Schedule.Tasks, p)
			sizes = append(sizes, observedSize(p.Finish-p.Start, d.cfg.Instance.Machines[p.Machine].Speed))
		}
	}
	if len(sizes) == int(end-first) {
		d.out.Sizes.SetEach(s, sizes)
	}
}

// observedSize returns the size that takes exactly t at the given speed: the
// product, less the last bits that would make [sched.Duration] round up to the
// next nanosecond.
func observedSize(t sched.Time, speed float64) float64 {
	p := t.Seconds() * speed
	for sched.Duration(p, speed) > t {
		p = math.Nextafter(p, 0)
	}
	return p
}

// explain says why a job is not done.
func (d *driver) explain(j sched.JobID, state policy.JobState) string {
	name, n := d.cfg.Instance.Jobs[j].Name, &d.progress.jobs[j]
	switch {
	case state == policy.JobFailed:
		f := &d.out.Failures[d.failedAt[j]]
		s := d.prepare(d.e.TaskStage(f.Task))
		return fmt.Sprintf("%s failed: task %d of stage %s: %s", name, f.Task-s.first, s.stage.Name, f.Err)
	case state == policy.JobNotRun:
		return d.e.Explain(j)
	case !d.progress.begun[j]:
		return name + " was not started"
	}
	return fmt.Sprintf("%s was stopped: %d of its %d tasks had finished", name, n.Done, n.Total)
}
