package engine

import (
	"fmt"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// Explain says in one sentence where job j stands and, if it waits, for what.
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
		return fmt.Sprintf("%s is running: %d of its tasks", job.Name, state.running)
	}
	switch r := st.reasons[j]; r.Code {
	case policy.Queued:
		if r.Behind == sched.None {
			return job.Name + " is queued: no slot is free"
		}
		return fmt.Sprintf("%s is queued behind %s: no slot is free", job.Name, st.in.Jobs[r.Behind].Name)
	case policy.NoFit:
		return job.Name + " is queued: no machine has a free slot with the resources its tasks need"
	case policy.Reserved:
		return fmt.Sprintf("%s waits for machine %s, where it is expected to finish first", job.Name, st.in.Machines[r.Machine].Name)
	case policy.Planning:
		return job.Name + " waits for the first plan"
	}
	return job.Name + " is ready to start"
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
