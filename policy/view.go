package policy

import (
	"fmt"

	"github.com/fairlead-project/fairlead/sched"
)

// SizeKnowledge says what a policy knows of sizes.
type SizeKnowledge uint8

// Arrivals says when a policy learns of a job.
type Arrivals uint8

const (
	// SizesUnknown: nothing before the task has finished.
	SizesUnknown SizeKnowledge = iota
	// SizesDistribution: the distribution; Estimates holds its mean.
	SizesDistribution
	// SizesExact: the size itself, even where the workload has a distribution.
	SizesExact
)

const (
	// Online: at its release.
	Online Arrivals = iota
	// Offline: all jobs and releases at time 0.
	Offline
)

// Knowledge is what a policy is allowed to know.
type Knowledge struct {
	Sizes    SizeKnowledge
	Arrivals Arrivals
}

func (s SizeKnowledge) String() string {
	return [...]string{"nothing", "distribution", "exact"}[s]
}

func (a Arrivals) String() string { return [...]string{"online", "offline"}[a] }

// ParseSizes is the inverse of SizeKnowledge.String.
func ParseSizes(s string) (SizeKnowledge, error) {
	for k := SizesUnknown; k <= SizesExact; k++ {
		if k.String() == s {
			return k, nil
		}
	}
	return 0, fmt.Errorf("%q is not a knowledge of sizes: use nothing, distribution or exact", s)
}

// ParseArrivals is the inverse of Arrivals.String.
func ParseArrivals(s string) (Arrivals, error) {
	for a := Online; a <= Offline; a++ {
		if a.String() == s {
			return a, nil
		}
	}
	return 0, fmt.Errorf("%q is not a kind of arrivals: use online or offline", s)
}

// JobState is where a job stands.
type JobState uint8

// A job waits until it is released and the jobs before it are done.
const (
	JobWaiting JobState = iota
	JobActive
	JobDone
	JobFailed
	JobNotRun // a job before it did not complete
)

func (s JobState) String() string {
	return [...]string{"waiting", "active", "done", "failed", "not-run"}[s]
}

// TaskState is where a task, or a flow, stands.
type TaskState uint8

// A task is blocked until its stage is ready.
const (
	TaskBlocked TaskState = iota
	TaskPending
	TaskRunning
	TaskDone
	TaskFailed
	TaskCancelled
	TaskDelayed // has failed, and waits before its next attempt
)

func (s TaskState) String() string {
	return [...]string{"blocked", "pending", "running", "done", "failed", "cancelled", "delayed"}[s]
}

// StageState counts a stage's tasks and flows.
type StageState struct {
	Ready                  bool // its tasks may start
	Pending, Running, Done int
}

// Mark is a task's progress at a time: the part of its work that is done.
type Mark struct {
	At    sched.Time
	Value float64 // in (0, 1]
}

// MachineState is a machine's dynamic state.
type MachineState struct {
	Up        bool
	FreeSlots int
}

// View is what a policy may see. It is valid during one call of Decide and does
// not change during it: a policy that starts several tasks keeps account itself.
type View interface {
	// Index gives the instance as far as the policy may know it: jobs that
	// have not become known are blank, sizes are missing if unknown.
	Index() *sched.Index
	// Estimates holds the sizes as the policy may know them (means for a
	// distribution); stages without are not Known in it.
	Estimates() *sched.Sizes
	Knowledge() Knowledge
	// Known lists the jobs known so far, by release, then JobID.
	Known() []sched.JobID
	// Changed lists, ascending, the stages whose tasks or flows have changed
	// state since the last round: got ready, finished, failed, may be repeated.
	Changed() []sched.StageID

	Job(j sched.JobID) JobState
	Stage(s sched.StageID) StageState
	Task(t sched.TaskID) TaskState
	Flow(f sched.FlowID) TaskState
	// Remaining is the estimated work of j's tasks that have not finished, in
	// seconds at speed 1. Tasks without an estimate, and flows, count nothing.
	Remaining(j sched.JobID) float64

	// BySpeed lists the machines, fastest first, then by MachineID. A rank is
	// a position in it.
	BySpeed() []sched.MachineID
	// Idle returns the first rank >= rank whose machine is up and has a free
	// slot, or -1.
	Idle(rank int) int
	Machine(m sched.MachineID) MachineState
	// Outages counts how often a machine was lost or has joined so far.
	Outages() int
	// Free returns what is free of resource d on m, in thousandths.
	Free(m sched.MachineID, d int) int64
	// Slot returns what runs in a slot (None: nothing), and since when.
	Slot(m sched.MachineID, slot int32) (t sched.TaskID, since sched.Time)
	// Progress returns the first and the latest progress that the present attempt
	// of a running task has reported; not ok if none.
	Progress(t sched.TaskID) (first, last Mark, ok bool)
	// Observed returns the size, in seconds at speed 1, that a finished task turned
	// out to have: how long it ran times the speed of its machine. Not ok if it has
	// not finished, or not been seen to run in a slot.
	Observed(t sched.TaskID) (size float64, ok bool)
	// Fits reports whether a task of s could start on m now: slot, needs,
	// pins, input.
	Fits(s sched.StageID, m sched.MachineID) bool
	// InputReady returns when the input of stage s, which must be ready, is
	// on m; 0 if it has none.
	InputReady(s sched.StageID, m sched.MachineID) sched.Time

	// PortsFree reports whether flow f could hold both its ports now.
	PortsFree(f sched.FlowID) bool
	// Attained is the work that an activity of a group has received: of a task
	// in seconds at speed 1, of a flow in bytes.
	Attained(a Activity) float64

	// Solution returns the latest answer to a Request, nil before the first.
	Solution() *Solution
}
