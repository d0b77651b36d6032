package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"time"

	"github.com/fairlead-project/fairlead/sched"
)

// WriteJobs writes a line per job as CSV (RFC 4180, but lines end in LF alone), in
// the order of the workload. Its columns:
//
//	job, weight
//	release, completion, flow_time  seconds; empty without completion
//	state                           done, failed, not-run, waiting, active
//	tasks_done                      tasks that have succeeded
//	attempts, attempts_failed       of all its tasks
//	cpu_seconds                     of all attempts, as far as it is known
func WriteJobs(w io.Writer, t *Timeline) error {
	out := csv.NewWriter(w) // keeps the first error
	_ = out.Write([]string{"job", "weight", "release", "completion", "flow_time", "state", "tasks_done", "attempts", "attempts_failed", "cpu_seconds"})
	_, use := t.Usage()
	for j := range t.Run.Jobs {
		job, u := &t.Run.Jobs[j], &use[j]
		completion, flow := "", ""
		if job.Completion != nil {
			c, r := sched.FromSeconds(*job.Completion), sched.FromSeconds(job.Release)
			completion, flow = decimal(c), decimal(c-r)
		}
		_ = out.Write([]string{
			job.Name, plain(job.Weight), decimal(sched.FromSeconds(job.Release)), completion, flow, job.State,
			strconv.Itoa(u.Attempts[Done]), strconv.Itoa(u.Total()), strconv.Itoa(u.Attempts[Failed]), decimal(sched.Time(u.CPU)),
		})
	}
	out.Flush()
	return out.Error()
}

// WriteTasks writes a line per attempt as CSV, like [WriteJobs], in order of start.
// Its columns:
//
//	job, stage, task, attempt   task counts from 0 within its stage, attempt from 1
//	machine, slot
//	start, finish, duration     seconds; finish is empty for what still runs
//	state                       done, failed, lost, stopped, running
//	exit_code, signal           as a shell reports them; exit_code is empty where unknown
//	cpu_seconds, peak_memory_bytes  empty where unknown
//	started_at                  wall time (RFC 3339); empty if the clock was virtual
//	command
//	stdout, stderr              paths of the outputs
func WriteTasks(w io.Writer, t *Timeline) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{
		"job", "stage", "task", "attempt", "machine", "slot", "start", "finish", "duration", "state",
		"exit_code", "signal", "cpu_seconds", "peak_memory_bytes", "started_at", "command", "stdout", "stderr",
	})
	for _, i := range t.inOrder() {
		a := &t.Attempts[i]
		finish, code, cpu, peak, wall := "", "", "", "", ""
		if a.State != Running {
			finish = decimal(a.Finish)
		}
		if a.State == Failed || a.State == Done {
			code = strconv.Itoa(a.ExitCode)
		}
		if a.CPU > 0 {
			cpu = decimal(sched.Time(a.CPU))
		}
		if a.PeakMemory > 0 {
			peak = strconv.FormatInt(a.PeakMemory, 10)
		}
		if !t.Began.IsZero() {
			wall = t.wall(a.Start).Format(time.RFC3339Nano)
		}
		_ = out.Write([]string{
			t.job(a), a.Stage, strconv.Itoa(a.Task), strconv.Itoa(a.Attempt), t.machine(a), strconv.Itoa(a.Slot),
			decimal(a.Start), finish, decimal(t.end(a) - a.Start), a.State.String(),
			code, a.Signal, cpu, peak, wall, a.Command, a.Stdout, a.Stderr,
		})
	}
	out.Flush()
	return out.Error()
}

// wall is the wall time of an instant.
func (t *Timeline) wall(at sched.Time) time.Time { return t.Began.Add(time.Duration(at)) }
