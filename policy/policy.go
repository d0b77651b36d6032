package policy

import (
	"math/rand/v2"

	"github.com/fairlead-project/fairlead/sched"
)

// Policy decides what starts where. Decide is called in rounds: once at every
// instant at which something has happened, after all events of that instant.
// It must not change what the View returns, nor keep it beyond the call; only
// Index and Estimates never change where arrivals are offline, so that a request
// may refer to them. The Decision's slices may be reused by the next call. A
// policy serves one run.
type Policy interface {
	Decide(now sched.Time, v View, rng *rand.Rand) (Decision, error)
}

// Solver is a Policy that needs long computations: it puts a [Request] into its
// Decision, the driver calls Solve (at once, or in the background while further
// decisions are made) and hands the Solution back through the View.
type Solver interface {
	Policy
	// Solve is a pure function of the request. It polls stop now and then
	// and returns the best it has when stop reports true; it never fails
	// for lack of time.
	Solve(req Request, stop func() bool) (*Solution, error)
}

// Decision is what a policy wants done now.
type Decision struct {
	Start []Start
	// Flows start and hold both their ports whole until they finish.
	Flows []sched.FlowID
	// Join makes activities share the rate of a group; Rates sets the groups'
	// rates. Rates belong to groups (a coflow, a port pair, a job), so that
	// a change costs one action however many flows it concerns.
	Join  []Join
	Rates []GroupRate
	// Wake asks for another round at this time even if nothing happens; a time
	// that is not later than now is ignored, so 0 asks for none.
	Wake sched.Time
	// Solve starts a long computation; nil: none.
	Solve *Request
	// Fallback says that a solution did not come in time and the order in hand
	// is used instead; it is counted.
	Fallback bool
	// Reasons says, for jobs whose reason has changed, why they wait.
	Reasons []Reason
}

// Start runs a task on a machine now. Slot is None for the lowest free slot.
type Start struct {
	Task    sched.TaskID
	Machine sched.MachineID
	Slot    int32
}

// GroupID numbers the groups of a policy: small integers of its own choice.
type GroupID int32

// Activity is a task or a flow that progresses at a rate instead of holding a
// slot or its ports: one of the two, the other is None.
type Activity struct {
	Task sched.TaskID
	Flow sched.FlowID
}

// Join puts a ready activity into a group: from now on it progresses at Share
// times the group's rate. It may move to another group later.
type Join struct {
	Activity Activity
	Group    GroupID
	Share    float64
}

// GroupRate sets a group's rate, in work per second: for tasks, work in seconds at
// speed 1 (a rate of 2 is a machine of speed 2); for flows, bytes.
type GroupRate struct {
	Group GroupID
	Rate  float64
}

// Request is a long computation, started by a Decision.
type Request struct {
	// ID is chosen by the policy and returned in the Solution.
	ID int32
	// Problem is the policy's own description: plain data.
	Problem any
}

// Solution is the answer to a Request. It is logged, so it is plain data.
type Solution struct {
	ID int32 `json:"id"`
	// Order lists stages, first to be served first.
	Order []sched.StageID `json:"order,omitempty"`
	// Rule names how the policy serves it, in the policy's own words.
	Rule string `json:"rule,omitempty"`
	// Queues holds, per slot of each machine (numbered through the machines),
	// the tasks it runs in this order; only for policies that bind tasks.
	Queues [][]sched.TaskID `json:"queues,omitempty"`
	// Lower and Upper are the relaxation's certified bounds, 0 if there are none.
	Lower float64 `json:"lower,omitempty"`
	Upper float64 `json:"upper,omitempty"`
	// Fallback says that the solve was cut short, so that the order is that of
	// an unfinished relaxation; Note says how far it came.
	Fallback bool   `json:"fallback,omitempty"`
	Note     string `json:"note,omitempty"`
}

// ReasonCode classifies why a job waits.
type ReasonCode uint8

// Reasons a policy gives. Waiting for a release, a job or input, that machines are
// down, that no slot is free or none with room, is known to the engine, which says
// so itself, whatever the policy said.
const (
	// Queued: other jobs come first (Behind), no slot is free.
	Queued ReasonCode = iota + 1
	// NoFit: slots are free, but not with the resources or pins it needs.
	NoFit
	// Reserved: it waits for Machine, where it is expected to finish earlier
	// than on any machine that is idle now.
	Reserved
	// Planning: it waits for the first plan.
	Planning
)

// Reason says why the pending tasks of a job have not started. The engine forgets
// it when the job changes state, when something of it starts, and, if the reason is
// Planning, when a Solution arrives.
type Reason struct {
	Job     sched.JobID
	Code    ReasonCode
	Behind  sched.JobID     // Queued: the job served last before it; None: unknown
	Machine sched.MachineID // Reserved
}
