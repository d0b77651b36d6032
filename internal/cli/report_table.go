package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/fairlead-project/fairlead/report"
	"github.com/fairlead-project/fairlead/sched"
)

// table prints the report of a run for people.
func (r *recorded) table(w *bytes.Buffer, result *reportResult) {
	fmt.Fprintf(w, "%s, began %s, policy %s\n\n", cmp.Or(result.Workload, filepath.Base(r.Dir)), result.Began.Local().Format(time.DateTime), r.Manifest.Policy)
	starts := jobStarts(r.x, &sched.Schedule{Tasks: r.started()})
	jobTable(w, result.Runs[0], starts)
	w.WriteByte('\n')
	machineTable(w, result.Machines)
	if len(result.Slowest) > 0 {
		w.WriteString("\nSlowest tasks\n")
		t := newTable("task", "machine", "start", "took", "CPU", "peak memory", "state")
		rightAlign(t, 3, 4, 5, 6)
		for i := range result.Slowest {
			a := &result.Slowest[i]
			t.AppendRow(table.Row{a.name(), a.Machine, span(a.Start), span(a.Seconds), span(a.CPUSeconds), bytesOrDash(a.PeakMemoryBytes), a.State})
		}
		render(w, t)
	}
	if n := len(result.Failures); n > 0 {
		w.WriteString("\nFailed and lost attempts\n")
		t := newTable("task", "machine", "ended", "what happened", "standard error")
		rightAlign(t, 3)
		for i := range result.Failures[:min(n, mostFailed)] {
			a := &result.Failures[i]
			t.AppendRow(table.Row{a.name(), a.Machine, span(a.Start + a.Seconds), cmp.Or(a.Error, a.State), a.Stderr})
		}
		render(w, t)
		if n > mostFailed {
			fmt.Fprintf(w, "... and %d more: fairlead report -o json or --csv lists all\n", n-mostFailed)
		}
	}
	w.WriteByte('\n')
	r.sentences(w, result)
}

func (r *recorded) sentences(w *bytes.Buffer, result *reportResult) {
	one := &result.Runs[0]
	switch done := completed(one); {
	case one.Ratio != nil:
		fmt.Fprintf(w, "It cost %s. No schedule of these tasks costs less than %s: this one is within %.2f times the best possible.\n",
			number(one.WeightedCompletion), down(*one.LowerBound, 5), *one.Ratio)
	case one.Complete():
		fmt.Fprintf(w, "It cost %s.\n", number(one.WeightedCompletion))
	case done > 0:
		fmt.Fprintf(w, "%d of %d jobs completed; they cost %s.\n", done, len(one.Jobs), number(one.WeightedCompletion))
	default:
		fmt.Fprintf(w, "None of %d jobs completed.\n", len(one.Jobs))
	}
	if !result.Ended {
		fmt.Fprintf(w, "The run has not ended: it is under way, or fairlead run --resume --dir %s goes on with it.\n", result.Dir)
	}
	fmt.Fprintf(w, "Outputs of the tasks: %s/JOB/STAGE/TASK.ATTEMPT.out and .err\n", result.Logs)
}

// started lists all attempts as placements, to find the first of each job.
func (r *recorded) started() []sched.Placement {
	out := make([]sched.Placement, len(r.attempts))
	for i := range r.attempts {
		out[i] = sched.Placement{Task: r.attempts[i].Task, Start: r.attempts[i].Start}
	}
	return out
}

func (a *attemptResult) name() string {
	s := fmt.Sprintf("%s/%s %d", a.Job, a.Stage, a.Task)
	if a.Attempt > 1 {
		s += fmt.Sprintf(" (attempt %d)", a.Attempt)
	}
	return s
}

func machineTable(w *bytes.Buffer, machines []machineUsage) {
	t := newTable("machine", "speed", "slots", "attempts", "failed", "slots busy", "CPU", "peak memory")
	rightAlign(t, 2, 3, 4, 5, 6, 7, 8)
	for _, m := range machines {
		t.AppendRow(table.Row{m.Name, number(m.Speed), m.Slots, m.Attempts, m.Failed, fmt.Sprintf("%.0f %%", 100*m.Utilisation), span(m.CPUSeconds), bytesOrDash(m.PeakMemoryBytes)})
	}
	render(w, t)
}

func bytesOrDash(n int64) string {
	if n == 0 {
		return "-"
	}
	return report.Bytes(n)
}
