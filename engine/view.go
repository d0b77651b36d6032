package engine

import (
	"math/bits"
	"slices"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// view shows the state to the policy.
type view state

func (v *view) Index() *sched.Index         { return v.visible }
func (v *view) Estimates() *sched.Sizes     { return v.shown }
func (v *view) Knowledge() policy.Knowledge { return v.cfg.Knowledge }
func (v *view) Known() []sched.JobID        { return v.known }
func (v *view) Changed() []sched.StageID    { return v.changed }

func (v *view) Job(j sched.JobID) policy.JobState {
	if v.hidden(j) {
		return policy.JobWaiting
	}
	return v.jobs[j].state
}

// hidden reports whether the policy does not know of j yet. That it will not run
// may have been settled already.
func (v *view) hidden(j sched.JobID) bool {
	return !v.jobs[j].arrived && v.cfg.Knowledge.Arrivals == policy.Online
}

func (v *view) Stage(s sched.StageID) policy.StageState {
	st := &v.stages[s]
	return policy.StageState{
		Ready:   st.ready && !st.cancelled,
		Pending: int((*state)(v).pending(s)),
		Running: int(st.active),
		Done:    int(st.done),
	}
}

func (v *view) Task(t sched.TaskID) policy.TaskState {
	return v.unit(v.taskState[t], v.taskStage[t])
}

func (v *view) Flow(f sched.FlowID) policy.TaskState {
	return v.unit(v.flowState[f], v.x.FlowStage(f))
}

// unit refines TaskBlocked, which is all that is stored before a start, and
// TaskDelayed by the state of the stage.
func (v *view) unit(t policy.TaskState, s sched.StageID) policy.TaskState {
	switch {
	case t != policy.TaskBlocked && t != policy.TaskDelayed:
		return t
	case v.stages[s].cancelled && !v.hidden(v.x.StageJob(s)):
		return policy.TaskCancelled
	case t == policy.TaskDelayed:
		return t
	case v.stages[s].ready && !v.stages[s].cancelled:
		return policy.TaskPending
	}
	return policy.TaskBlocked
}

func (v *view) Remaining(j sched.JobID) float64 {
	if v.jobs[j].state == policy.JobDone {
		return 0
	}
	return max(0, v.jobs[j].remaining)
}

func (v *view) BySpeed() []sched.MachineID { return v.bySpeed }

func (v *view) Idle(rank int) int {
	for w := rank / 64; w < len(v.idle); w++ {
		set := v.idle[w]
		if w == rank/64 {
			set &= ^uint64(0) << (rank % 64)
		}
		if set != 0 {
			return w*64 + bits.TrailingZeros64(set)
		}
	}
	return -1
}

func (v *view) Machine(m sched.MachineID) policy.MachineState {
	return policy.MachineState{Up: v.machines[m].up, FreeSlots: int(v.machines[m].free)}
}

func (v *view) Outages() int { return v.outages }

func (v *view) Free(m sched.MachineID, d int) int64 { return v.free[int(m)*len(v.in.Resources)+d] }

func (v *view) Slot(m sched.MachineID, slot int32) (sched.TaskID, sched.Time) {
	g := v.slotFirst[m] + slot
	return v.slotTask[g], v.slotSince[g]
}

func (v *view) Progress(t sched.TaskID) (first, last policy.Mark, ok bool) {
	p, ok := v.progress[t]
	return p.first, p.last, ok
}

func (v *view) Observed(t sched.TaskID) (size float64, ok bool) {
	ran := v.taskRan[t]
	if ran == 0 {
		return 0, false
	}
	return (ran - 1).Seconds() * v.in.Machines[(*state)(v).slotMachine(v.taskSlot[t])].Speed, true
}

func (v *view) Fits(s sched.StageID, m sched.MachineID) bool { return v.obstacle(s, m) == nothing }

// obstacle completes the sentence "the task cannot start on this machine, ...".
type obstacle string

const (
	nothing    obstacle = ""
	down       obstacle = "which is down"
	noSlot     obstacle = "which has no free slot"
	noResource obstacle = "which lacks the resources it needs"
	elsewhere  obstacle = "where its stage may not run"
	noInput    obstacle = "where its input has not arrived"
)

// obstacle says what keeps a task of s from starting on m now. It looks only at
// what the policy may know of s.
func (v *view) obstacle(s sched.StageID, m sched.MachineID) obstacle {
	switch {
	case !v.machines[m].up:
		return down
	case v.machines[m].free == 0:
		return noSlot
	}
	stage := v.visible.Stage(s)
	base := int(m) * len(v.in.Resources)
	for d, n := range stage.Needs {
		if n > v.free[base+d] {
			return noResource
		}
	}
	switch {
	case !pinned(stage, m):
		return elsewhere
	case v.InputReady(s, m) > v.now:
		return noInput
	}
	return nothing
}

// pinned reports whether the pins of a stage, which are ascending, allow m.
func pinned(stage *sched.Stage, m sched.MachineID) bool {
	if stage.Machines == nil {
		return true
	}
	_, found := slices.BinarySearch(stage.Machines, m)
	return found
}

func (v *view) InputReady(s sched.StageID, m sched.MachineID) sched.Time { return v.inputs.at(s, m) }

func (v *view) PortsFree(f sched.FlowID) bool {
	s := v.x.FlowStage(f)
	first, _ := v.x.StageFlows(s)
	fl := &v.visible.Stage(s).Flows[f-first]
	return !v.sourceBusy[fl.From] && !v.sinkBusy[fl.To] && v.machines[fl.From].up && v.machines[fl.To].up
}

func (v *view) Attained(a policy.Activity) float64 {
	return v.groups.attained(v.activity(a), v.now)
}

func (v *view) activity(a policy.Activity) activity { return (*state)(v).activity(a) }

func (v *view) Solution() *policy.Solution { return v.solution }
