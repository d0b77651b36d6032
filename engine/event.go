package engine

import (
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// EventKind says what happened.
type EventKind uint8

// Kinds of events. In one instant a driver delivers arrivals first, then machines
// lost and joined, what tasks did, flows, Solved, and Wake last.
const (
	JobArrived EventKind = iota + 1
	MachineLost
	MachineJoined
	TaskFinished
	TaskFailed
	FlowFinished
	Solved
	Wake
	// TaskLost: how the attempt ended is not known. Like what ran on a lost
	// machine, it uses up no retry, and the task is pending again at once.
	TaskLost
	// TaskRecovered: the task is known to have succeeded though this engine has
	// not seen it, for its log has lost its tail, or an earlier run did it.
	TaskRecovered
	// TaskProgress: the attempt has done the part Value of its work. State only:
	// it leads to no decision by itself.
	TaskProgress
)

// Event is something that happened. Which fields matter depends on Kind; build
// one with the functions below.
type Event struct {
	Kind    EventKind
	Job     sched.JobID
	Task    sched.TaskID
	Attempt int32 // which start of Task this is about, from 1
	Flow    sched.FlowID
	Machine sched.MachineID
	// Value of a TaskProgress event, in (0, 1]. Others, and such as do not exceed
	// the latest, are ignored.
	Value float64
	// Solution of a Solved event.
	Solution *policy.Solution
}

// Arrived says that job j is released.
func Arrived(j sched.JobID) Event { return Event{Kind: JobArrived, Job: j} }

// Finished says that an attempt of task t has succeeded.
func Finished(t sched.TaskID, attempt int32) Event {
	return Event{Kind: TaskFinished, Task: t, Attempt: attempt}
}

// Failed says that an attempt of task t has failed.
func Failed(t sched.TaskID, attempt int32) Event {
	return Event{Kind: TaskFailed, Task: t, Attempt: attempt}
}

// Lost says that it is not known how an attempt of task t ended.
func Lost(t sched.TaskID, attempt int32) Event {
	return Event{Kind: TaskLost, Task: t, Attempt: attempt}
}

// Recovered says that task t is known to have succeeded.
func Recovered(t sched.TaskID) Event { return Event{Kind: TaskRecovered, Task: t} }

// Progress says that an attempt of task t has done the part value of its work.
func Progress(t sched.TaskID, attempt int32, value float64) Event {
	return Event{Kind: TaskProgress, Task: t, Attempt: attempt, Value: value}
}

// ActionKind says what to do.
type ActionKind uint8

// Kinds of actions.
const (
	StartTask ActionKind = iota + 1
	StartFlow
	JoinGroup
	SetRate
	WakeAt
	Solve
)

// Action is something the driver must do.
type Action struct {
	Kind    ActionKind
	Task    sched.TaskID // StartTask; JoinGroup (None: a flow joins)
	Attempt int32
	Machine sched.MachineID
	Slot    int32
	Flow    sched.FlowID   // StartFlow; JoinGroup (None: a task joins)
	Group   policy.GroupID // JoinGroup, SetRate
	Value   float64        // JoinGroup: the share; SetRate: the rate
	At      sched.Time     // WakeAt
	Request *policy.Request
}
