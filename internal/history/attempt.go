package history

import (
	"fmt"
	"time"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// State is how an attempt ended.
type State uint8

const (
	// Done: it succeeded.
	Done State = iota + 1
	// Failed: it ended by itself without success, or was ended for taking too long.
	Failed
	// Lost: how it ended is not known.
	Lost
	// Stopped: it was ended because the run was.
	Stopped
)

func (s State) String() string {
	switch s {
	case Done:
		return "done"
	case Failed:
		return "failed"
	case Lost:
		return "lost"
	case Stopped:
		return "stopped"
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// Attempt is what happened when a task was started once. Run, Job, Stage, Task and
// Attempt identify it.
type Attempt struct {
	Run      string // a name that no other run has
	Workload string // the workload's name; may be empty
	Job      string
	Stage    string
	Task     int // position in the stage
	Attempt  int // from 1
	Tasks    int // number of tasks of the stage

	Machine string
	// Speed is what the machine's speed was taken to be, and SpeedAssumed whether the
	// workload left it open.
	Speed        float64
	SpeedAssumed bool
	// Size is the mean size that the workload states, 0: none.
	Size float64
	// Input is how many bytes the task reads, 0: not stated.
	Input float64

	Launched time.Time  // wall clock
	Start    sched.Time // on the run's clock, as the two below
	End      sched.Time
	// FirstProgressAt is when the task first reported progress, and FirstProgress how
	// much, in 0..1. FirstProgressAt 0: it never did.
	FirstProgressAt sched.Time
	FirstProgress   float64

	State    State
	ExitCode int    // as a shell reports it
	Signal   string // such as SIGKILL; empty: none
	CPU      time.Duration
	Memory   int64 // peak use in bytes; 0: unknown
	// OutOfMemory: the system ended it for its use of memory.
	OutOfMemory bool
}

// Describe fills in what the instance says about task t and the machine it runs on.
// The instance must be the workload as it is written, before [Resolve]: what was
// learnt is not stated.
func (a *Attempt) Describe(x *sched.Index, t sched.TaskID, m sched.MachineID) {
	s := x.TaskStage(t)
	first, _ := x.StageTasks(s)
	st, mach := x.Stage(s), &x.Instance.Machines[m]
	a.Workload = x.Instance.Name
	a.Job, a.Stage = x.Instance.Jobs[x.StageJob(s)].Name, st.Name
	a.Task, a.Tasks = int(t-first), st.Count
	a.Machine, a.Speed, a.SpeedAssumed = mach.Name, mach.Speed, mach.SpeedAssumed
	a.Size, a.Input = statedMean(st.Size(a.Task)), inputOf(st)
}

// statedMean returns a size's mean, 0 if it has none.
func statedMean(d size.Dist) float64 {
	if d == nil {
		return 0
	}
	return d.Mean()
}

// inputOf returns the bytes that each task of st reads.
func inputOf(st *sched.Stage) float64 {
	total := 0.0
	for _, in := range st.Input {
		total += in.Bytes
	}
	return total / float64(max(1, st.Count))
}

// seconds returns how long the attempt took, at least what a clock can tell.
func (a *Attempt) seconds() float64 { return max((a.End - a.Start).Seconds(), shortest) }

// shortest is the resolution of [sched.Time]: no task takes less, and logarithms are
// taken of what it took.
const shortest = 1e-9

// launch returns how long it took until work began, in seconds, if the attempt
// reported progress: that the task reached FirstProgress by then and went on at a
// steady rate until the end says how much of the time before was work.
func (a *Attempt) launch() (delay float64, ok bool) {
	at := (a.FirstProgressAt - a.Start).Seconds()
	after := (a.End - a.FirstProgressAt).Seconds()
	p := a.FirstProgress
	if a.FirstProgressAt == 0 || at < 0 || !(after > 0) || !(p >= 0 && p < 1) {
		return 0, false
	}
	return max(0, at-float64(after*p/(1-p))), true
}
