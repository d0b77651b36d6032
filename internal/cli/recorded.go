package cli

import (
	"math"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-project/fairlead/internal/run"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/report"
	"github.com/fairlead-project/fairlead/sched"
)

// recorded is a run as its directory tells it.
type recorded struct {
	*run.Recorded
	x        *sched.Index
	attempts []run.Attempt
	states   []policy.JobState
	schedule sched.Schedule // of the attempts that succeeded
	sizes    *sched.Sizes   // of the stages whose tasks have all succeeded
}

// readRun reads a run's directory. Its files count as inputs.
func (e *env) readRun(dir string) (*recorded, error) {
	o, err := run.Open(dir)
	if err != nil {
		return nil, fail(exitUsage, err)
	}
	attempts, err := run.ReadAttempts(dir)
	if err != nil {
		return nil, fail(exitUsage, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fail(exitUsage, err)
	}
	for _, name := range entries {
		switch filepath.Ext(name.Name()) {
		case ".json", ".jsonl", ".log":
			if info, err := os.Stat(filepath.Join(dir, name.Name())); err == nil {
				e.inputs = append(e.inputs, info)
			}
		}
	}
	r := &recorded{Recorded: o, x: sched.NewIndex(o.Instance), attempts: attempts}
	r.derive()
	return r, nil
}

// derive finds out from the attempts what became of tasks and jobs.
func (r *recorded) derive() {
	in, x := r.Instance, r.x
	const none = -1
	done := make([]int, x.Tasks())     // index of the attempt that succeeded
	failures := make([]int, x.Tasks()) // that use up retries
	for t := range done {
		done[t] = none
	}
	started := make([]bool, len(in.Jobs))
	for i := range r.attempts {
		a := &r.attempts[i]
		started[x.StageJob(x.TaskStage(a.Task))] = true
		switch a.State {
		case run.AttemptDone:
			done[a.Task] = i
			r.schedule.Tasks = append(r.schedule.Tasks, sched.Placement{Task: a.Task, Machine: a.Machine, Slot: a.Slot, Start: a.Start, Finish: a.Finish})
		case run.AttemptFailed:
			failures[a.Task]++
		}
	}
	r.states = make([]policy.JobState, len(in.Jobs))
	r.schedule.Completion = make([]sched.Time, len(in.Jobs))
	r.sizes = sched.NewSizes(x)
	for j := range in.Jobs {
		state, completion := policy.JobDone, sched.Time(0)
		first, end := x.JobStages(sched.JobID(j))
		for s := first; s < end; s++ {
			ft, et := x.StageTasks(s)
			sizes := make([]float64, 0, et-ft)
			for t := ft; t < et; t++ {
				switch {
				case done[t] != none:
					a := &r.attempts[done[t]]
					completion = max(completion, a.Finish)
					if a.Machine != sched.None {
						// Rounded down: a bound for these sizes holds for the durations.
						sizes = append(sizes, math.Nextafter((a.Finish-a.Start).Seconds()*in.Machines[a.Machine].Speed, 0))
					}
				case failures[t] > x.Stage(s).Retries:
					state = policy.JobFailed
				case state == policy.JobDone:
					state = policy.JobWaiting
				}
			}
			if len(sizes) == int(et-ft) {
				r.sizes.SetEach(s, sizes)
			}
		}
		if state == policy.JobWaiting && started[j] {
			state = policy.JobActive
		}
		r.states[j], r.schedule.Completion[j] = state, sched.Never
		if state == policy.JobDone {
			r.schedule.Completion[j] = completion
		}
	}
	r.notRun()
}

// notRun marks the jobs after those that did not complete, however far behind them.
func (r *recorded) notRun() {
	for changed := true; changed; {
		changed = false
		for j := range r.states {
			if r.states[j] != policy.JobWaiting {
				continue
			}
			for _, a := range r.Instance.Jobs[j].After {
				if s := r.states[a]; s == policy.JobFailed || s == policy.JobNotRun {
					r.states[j], changed = policy.JobNotRun, true
				}
			}
		}
	}
}

// measured reports whether it is known how large every task was: all have succeeded,
// and the log tells on which machines.
func (r *recorded) measured() bool {
	for s := range sched.StageID(r.x.Stages()) {
		if r.x.Stage(s).Count > 0 && !r.sizes.Known(s) {
			return false
		}
	}
	return true
}

// timeline is the run for pictures and exports; lower is a bound on its cost, NaN for
// none.
func (r *recorded) timeline(lower float64) *report.Timeline {
	m := &r.Manifest
	t := &report.Timeline{
		Name: m.Workload, Kind: "run", Began: m.Began.Wall,
		Unfinished: !ended(r.Dir),
		Run:        report.NewRun(m.Policy, m.Seed, r.Instance, r.schedule.Completion, r.states, lower),
		Machines:   report.MachinesOf(r.Instance),
		Attempts:   make([]report.Attempt, len(r.attempts)),
	}
	for i := range r.attempts {
		a := &r.attempts[i]
		t.Attempts[i] = report.Attempt{
			ID: a.Task, Job: int(r.x.StageJob(r.x.TaskStage(a.Task))), Stage: a.Stage, Task: a.Index, Attempt: int(a.Attempt),
			Machine: int(a.Machine), Slot: int(a.Slot), Start: a.Start, Finish: a.Finish, State: attemptStates[a.State],
			ExitCode: a.ExitCode, Signal: a.Signal, Error: a.Err, CPU: a.CPU, PeakMemory: a.MaxRSS,
			Command: a.Command, Stdout: a.Stdout, Stderr: a.Stderr,
		}
		t.Now = max(t.Now, a.Start, a.Finish)
	}
	if t.Unfinished && supervised(r.Dir) {
		t.Now = max(t.Now, sched.Time(time.Since(m.Began.Wall)))
	}
	return t
}

var attemptStates = map[run.AttemptState]report.AttemptState{
	run.AttemptDone: report.Done, run.AttemptFailed: report.Failed, run.AttemptLost: report.Lost,
	run.AttemptStopped: report.Stopped, run.AttemptRunning: report.Running,
}

// supervised reports whether a supervisor is at work in dir: it keeps a lock on its
// journal. The look disturbs nobody, since a supervisor that begins tries again.
func supervised(dir string) bool {
	f, err := os.Open(filepath.Join(dir, "journal.jsonl"))
	if err != nil {
		return false
	}
	defer f.Close() // and the lock ends
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == unix.EWOULDBLOCK
}
