package run

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-project/fairlead/internal/supervise"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/workload"
)

// AttemptState is how an attempt ended, or that it has not.
type AttemptState string

// Lost attempts ended unseen, stopped ones because the run did; neither uses up a
// retry.
const (
	AttemptRunning AttemptState = "running"
	AttemptDone    AttemptState = "done"
	AttemptFailed  AttemptState = "failed"
	AttemptLost    AttemptState = "lost"
	AttemptStopped AttemptState = "stopped"
)

// Attempt is one start of a task and what became of it.
type Attempt struct {
	Task    sched.TaskID
	Attempt int32 // from 1
	Job     string
	Stage   string
	Index   int // of the task in its stage
	// Machine and Slot are None if an attempt is known only from its end: the log
	// has lost where it was started.
	Machine sched.MachineID
	Slot    int32
	// Start and Finish on the run's clock; Finish is 0 while it runs.
	Start, Finish sched.Time
	State         AttemptState
	// ExitCode as a shell reports it: 128 + n for signal n, 127 for a command that
	// is not found, 126 for what could not be started otherwise.
	ExitCode int
	Signal   string // such as SIGKILL; empty if none ended it
	Err      string // what happened, such as "exit status 2"; empty if it succeeded
	// OutOfMemory: the system ended it for its use of memory.
	OutOfMemory bool
	// CPU is user and system time, MaxRSS the peak use of memory in bytes; 0: unknown.
	CPU    time.Duration
	MaxRSS int64
	// FirstProgress is the first progress that it reported, zero if none.
	FirstProgress policy.Mark
	// Stdout and Stderr are paths of its outputs; one that succeeded has only those in
	// which something is.
	Stdout, Stderr string
	// Command is its command line, quoted for a shell.
	Command string
}

// ReadAttempts returns all attempts of the run in a directory, in order of start, be
// it finished, under way or cut short.
func ReadAttempts(dir string) ([]Attempt, error) {
	r, err := Open(dir)
	if err != nil {
		return nil, err
	}
	x := sched.NewIndex(r.Instance)
	s := &scan{}
	f, err := os.Open(filepath.Join(dir, eventsName))
	switch {
	case err == nil:
		defer f.Close()
		if s, err = scanLog(f, x.Tasks(), len(r.Instance.Machines)); err != nil {
			return nil, fmt.Errorf("run: %w", err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("run: %w", err)
	}
	exits, _, err := supervise.ReadJournal(dir)
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	clock := clock{r.Manifest.Began.At} // after a restart of the computer a guess, see settle
	return s.attempts(&describer{x: x, dir: dir}, exits, clock), nil
}

// attempts joins what the log and the supervisor's journal say.
func (s *scan) attempts(d *describer, exits []supervise.Exit, clock clock) []Attempt {
	ended := make(map[supervise.Key]*supervise.Exit, len(exits))
	for i := range exits {
		ended[exits[i].Key] = &exits[i]
	}
	out := make([]Attempt, 0, len(s.starts))
	done := map[sched.TaskID]bool{}
	for i := range s.starts {
		a := d.describe(&s.starts[i])
		key := keyOf(a.Task, a.Attempt, a.Start)
		x := ended[key]
		if _, ok := s.recovered[a.Task]; ok && a.State == AttemptLost && x != nil && succeeded(x) && !done[a.Task] {
			a.State = AttemptDone // its end was only heard of later
		}
		a.settle(x, clock)
		delete(ended, key)
		done[a.Task] = done[a.Task] || a.State == AttemptDone
		out = append(out, a)
	}
	// Starts that the log has lost count if they succeeded: their tasks are not
	// repeated. The others are void.
	for i := range exits {
		x := &exits[i]
		t := sched.TaskID(x.Task)
		if ended[x.Key] == nil || !succeeded(x) || t < 0 || int(t) >= d.x.Tasks() || done[t] {
			continue
		}
		done[t] = true
		out = append(out, d.unseen(x, s.recovered[t], clock))
	}
	slices.SortStableFunc(out, func(a, b Attempt) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Task, b.Task))
	})
	return out
}

// succeeded reports whether an exit is that of a task that is done.
func succeeded(x *supervise.Exit) bool { return x.Err == "" && !x.Lost }

func keyOf(t sched.TaskID, attempt int32, at sched.Time) supervise.Key {
	return supervise.Key{Task: int32(t), Attempt: attempt, Nonce: int64(at)}
}

// settle adds what is known of the exit, nil: nothing. Where the log says nothing of
// the end, the supervisor's word is taken.
func (a *Attempt) settle(x *supervise.Exit, clock clock) {
	if x == nil {
		if a.State == AttemptFailed {
			a.Err = "how it ended was not recorded"
		}
		return
	}
	switch {
	case a.State == AttemptLost && !x.Lost:
		a.State = AttemptStopped
	case a.State != AttemptRunning:
	case x.Lost:
		a.State = AttemptLost
	case x.Stopped:
		a.State = AttemptStopped
	case x.Err == "":
		a.State = AttemptDone
	default:
		a.State = AttemptFailed
	}
	if a.Finish == 0 {
		a.Finish = max(a.Start, clock.at(x.At))
	}
	a.ExitCode, a.Signal, a.Err, a.OutOfMemory, a.CPU, a.MaxRSS = x.Code, x.Signal, x.Err, x.OutOfMemory, x.CPU, x.MaxRSS
}

// describer fills in what follows from the instance and the run's directory.
type describer struct {
	x   *sched.Index
	dir string
}

// unseen describes an attempt of which only the exit is known, and when that became
// known; 0: it has not yet.
func (d *describer) unseen(x *supervise.Exit, at sched.Time, clock clock) Attempt {
	a := d.describe(&start{
		task: sched.TaskID(x.Task), attempt: x.Attempt, machine: sched.None, slot: sched.None, at: sched.Time(x.Nonce),
		end: at, state: AttemptRunning,
	})
	a.settle(x, clock)
	return a
}

func (d *describer) describe(s *start) Attempt {
	id := d.x.TaskStage(s.task)
	stage, job := d.x.Stage(id), &d.x.Instance.Jobs[d.x.StageJob(id)]
	first, _ := d.x.StageTasks(id)
	k := int(s.task - first)
	base := filepath.Join(logsOf(d.dir, job.Name, stage.Name), outputOf(k, s.attempt))
	machine := ""
	if s.machine != sched.None {
		machine = d.x.Instance.Machines[s.machine].Name
	}
	argv, _ := workload.Argv(stage.Run, workload.Fields{Job: job.Name, Stage: stage.Name, Task: k, Machine: machine, Attempt: int(s.attempt)})
	return Attempt{
		Task: s.task, Attempt: s.attempt, Job: job.Name, Stage: stage.Name, Index: k,
		Machine: s.machine, Slot: s.slot, Start: s.at, Finish: s.end, State: s.state, FirstProgress: s.first,
		Stdout: base + ".out", Stderr: base + ".err", Command: shellQuote(argv),
	}
}

func logsOf(dir, job, stage string) string { return filepath.Join(dir, "logs", job, stage) }

// plainWord is what no shell takes for more than it is: an assignment begins with a
// name.
var plainWord = regexp.MustCompile(`^([A-Za-z0-9_@%+:,./-]+|[@%+:,./-][A-Za-z0-9_@%+=:,./-]*)$`)

// shellQuote writes a command line that a shell splits into argv again.
func shellQuote(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		if words[i] = w; !plainWord.MatchString(w) {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
