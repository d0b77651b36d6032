package engine

import (
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// EventKind says what happened.
type EventKind uint8

// Kinds of events, in the order in which a driver delivers those of one instant.
const (
	JobArrived EventKind = iota + 1
	MachineLost
	MachineJoined
	TaskFinished
	TaskFailed
	FlowFinished
	Solved
	Wake
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
