package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// Explain says in one sentence where job j stands and, if it waits, for what: what
// follows from the present state, and where that leaves a choice, the reason that
// the policy gave. Cost: O(stages · machines · resources + flows) of the job.
func (e *Engine) Explain(j sched.JobID) string {
	st := e.st
	job, state := &st.in.Jobs[j], &st.jobs[j]
	switch state.state {
	case policy.JobDone:
		return fmt.Sprintf("%s completed at %v", job.Name, state.completion)
	case policy.JobFailed:
		return job.Name + " failed: a task of it failed"
	case policy.JobNotRun:
		return fmt.Sprintf("%s is not run: %s did not complete", job.Name, st.lacking(j))
	case policy.JobWaiting:
		if !state.arrived {
			return fmt.Sprintf("%s waits for its release at %v", job.Name, job.Release)
		}
		return fmt.Sprintf("%s waits for %s to complete", job.Name, st.lacking(j))
	}
	if state.running > 0 {
		return job.Name + " is running: " + st.whatRuns(j)
	}
	return job.Name + " " + st.waiting(j)
}

// whatRuns counts the tasks and flows of j that run.
func (st *state) whatRuns(j sched.JobID) string {
	var tasks, flows int32
	for s, end := st.x.JobStages(j); s < end; s++ {
		if st.x.Stage(s).Transfer() {
			flows += st.stages[s].active
		} else {
			tasks += st.stages[s].active
		}
	}
	var parts []string
	if tasks > 0 {
		parts = append(parts, fmt.Sprintf("%d of its tasks", tasks))
	}
	if flows > 0 {
		parts = append(parts, fmt.Sprintf("%d of its flows", flows))
	}
	return strings.Join(parts, " and ")
}

// prospect is how near a stage is to a start, on the machine where it is nearest.
type prospect struct {
	level level
	// lacks, at the level noRoom, names the resources of which no machine that
	// has a free slot has enough.
	lacks []string
	// machine, at the level onItsWay, is where input arrives next.
	machine sched.MachineID
	// pins, at the level allBusy, says that slots are free on other machines.
	pins bool
}

type level uint8

const (
	none      level = iota // nothing of it is pending
	nowhere                // no machine could ever run it
	allDown                // all that could are down
	endDown                // of flows: one end of each is down
	portsBusy              // of flows: their ports are in use
	allBusy                // no slot is free
	noRoom                 // slots are free, but not with the resources it needs
	onItsWay               // its input has not arrived where there is room
	startable
)

// waiting says for what an active job waits of which nothing runs.
func (st *state) waiting(j sched.JobID) string {
	var best prospect
	for s, end := st.x.JobStages(j); s < end; s++ {
		if st.pending(s) > 0 {
			if p := st.prospect(s); p.level > best.level {
				best = p
			}
		}
	}
	if best.level == none {
		return st.whatIsDelayed(j)
	}
	r := st.reasons[j]
	queued := "is queued"
	if r.Code == policy.Queued && r.Behind != sched.None && st.jobs[r.Behind].state == policy.JobActive {
		queued += " behind " + st.in.Jobs[r.Behind].Name
	}
	switch {
	case best.level == nowhere:
		return "waits: no machine can run it"
	case best.level == allDown:
		return "waits: every machine it may run on is down"
	case best.level == endDown:
		return "waits: machines that its flows need are down"
	case best.level == portsBusy:
		return queued + ": the ports of its flows are in use"
	case best.level == allBusy && best.pins:
		return queued + ": no slot is free on the machines it may run on"
	case best.level == allBusy:
		return queued + ": no slot is free"
	// From here on there are free slots, and the policy may have had a plan for them.
	case r.Code == policy.Reserved && st.machines[r.Machine].up:
		return fmt.Sprintf("waits for machine %s, where it is expected to finish first", st.in.Machines[r.Machine].Name)
	case r.Code == policy.Planning:
		return "waits for the first plan"
	case best.level == noRoom:
		return fmt.Sprintf("is queued: slots are free, but none with the %s its tasks need", strings.Join(best.lacks, " and "))
	case best.level == onItsWay:
		return "waits for input to arrive on machine " + st.in.Machines[best.machine].Name
	case queued != "is queued":
		return queued
	}
	return "is ready to start"
}

// whatIsDelayed names the task of j that is the first to be repeated; all that
// could run of j is to be.
func (st *state) whatIsDelayed(j sched.JobID) string {
	for _, d := range st.delayed {
		if s := st.taskStage[d.task]; st.x.StageJob(s) == j && st.taskState[d.task] == policy.TaskDelayed && !st.stages[s].cancelled {
			return fmt.Sprintf("waits until %v before attempt %d of a task of %s", d.until, st.taskAttempt[d.task]+1, st.x.Stage(s).Name)
		}
	}
	return "waits for its failed tasks"
}

// prospect looks at a stage with pending tasks or flows.
func (st *state) prospect(s sched.StageID) prospect {
	stage := st.x.Stage(s)
	switch {
	case stage.Transfer():
		return prospect{level: st.flowLevel(s)}
	case stage.Fluid != nil: // it holds no slot
		return prospect{level: startable}
	}
	v := (*view)(st)
	p := prospect{pins: stage.Machines != nil && v.Idle(0) >= 0}
	able := nowhere // startable: a machine that could run it, if it were empty, is up
	free, short := 0, make([]int, len(st.in.Resources))
	for m := range sched.MachineID(len(st.machines)) {
		if st.in.MayRun(stage, m) {
			able = max(able, allDown)
			if st.machines[m].up {
				able = startable
			}
		}
		if !pinned(stage, m) {
			continue
		}
		switch v.obstacle(s, m) {
		case noSlot:
			p.level = max(p.level, allBusy)
		case noResource:
			p.level = max(p.level, noRoom)
			free++
			for d, n := range stage.Needs {
				if n > v.Free(m, d) {
					short[d]++
				}
			}
		case noInput:
			if p.level < onItsWay || v.InputReady(s, m) < v.InputReady(s, p.machine) {
				p.level, p.machine = onItsWay, m
			}
		case nothing:
			p.level = startable
			return p
		}
	}
	switch {
	case able < startable:
		p.level = able
	case p.level == noRoom:
		p.lacks = st.lacks(short, free)
	}
	return p
}

// lacks names the resources that are short on all of the n machines; if there is
// none, those that are short on some.
func (st *state) lacks(short []int, n int) (names []string) {
	if !slices.Contains(short, n) {
		n = 1
	}
	for d, k := range short {
		if k >= n {
			names = append(names, st.in.Resources[d])
		}
	}
	return names
}

// flowLevel looks at the pending flows of a stage.
func (st *state) flowLevel(s sched.StageID) level {
	best := endDown
	v := (*view)(st)
	for f, end := st.x.StageFlows(s); f < end; f++ {
		if v.Flow(f) != policy.TaskPending {
			continue
		}
		if v.PortsFree(f) {
			return startable
		}
		if fl := st.flow(f); st.machines[fl.From].up && st.machines[fl.To].up {
			best = portsBusy
		}
	}
	return best
}

// explained keeps the reason that the policy gives.
func (st *state) explained(r policy.Reason) error {
	jobs, machines := len(st.jobs), len(st.machines)
	if r.Job < 0 || int(r.Job) >= jobs || r.Behind < sched.None || int(r.Behind) >= jobs ||
		r.Machine < sched.None || int(r.Machine) >= machines || r.Code == policy.Reserved && r.Machine == sched.None {
		return fmt.Errorf("reason %+v names a job or machine that does not exist", r)
	}
	st.reasons[r.Job] = r
	return nil
}

// lacking names the first job that j waits for and that is not done.
func (st *state) lacking(j sched.JobID) string {
	for _, a := range st.in.Jobs[j].After {
		if st.jobs[a].state != policy.JobDone {
			return st.in.Jobs[a].Name
		}
	}
	return "another job"
}
