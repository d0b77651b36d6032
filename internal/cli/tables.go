package cli

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/fairlead-project/fairlead/report"
	"github.com/fairlead-project/fairlead/sched"
)

// summarise prints one line per policy.
func summarise(w *bytes.Buffer, runs []report.Run) {
	t := newTable("policy", "cost", "bound", "ratio", "flow cost", "flowRatio", "makespan", "mean flow", "p95 flow")
	rightAlign(t, 2, 3, 4, 5, 6, 7, 8, 9)
	for _, r := range runs {
		t.AppendRow(table.Row{
			r.Policy, number(r.WeightedCompletion), optional(r.LowerBound), optional(r.Ratio),
			number(r.WeightedFlowTime), optional(r.FlowRatio),
			span(r.Makespan), optionalSpan(r.MeanFlowTime), optionalSpan(r.P95FlowTime),
		})
	}
	render(w, t)
}

// span prints seconds.
func span(s float64) string {
	switch {
	case s >= 100*3600:
		return number(s/3600) + " h"
	case s >= 600:
		return time.Duration(math.Round(s) * 1e9).String()
	case s >= 0.01 || s == 0:
		return fmt.Sprintf("%.2f s", s)
	}
	return fmt.Sprintf("%.2g ms", s*1000)
}

func optionalSpan(s *float64) string {
	if s == nil {
		return "-"
	}
	return span(*s)
}

// jobTable prints one line per job.
func jobTable(w *bytes.Buffer, r report.Run, starts []sched.Time) {
	t := newTable("job", "weight", "state", "release", "start", "finish", "flow time")
	rightAlign(t, 2, 4, 5, 6, 7)
	for j, job := range r.Jobs {
		row := table.Row{job.Name, strconv.FormatFloat(job.Weight, 'g', -1, 64), job.State, span(job.Release), "-", "-", "-"}
		if starts[j] != sched.Never {
			row[4] = span(starts[j].Seconds())
		}
		if job.Completion != nil {
			row[5], row[6] = span(*job.Completion), span(*job.Completion-job.Release)
		}
		t.AppendRow(row)
	}
	render(w, t)
}

// jobStarts returns when each job's first task started, Never for none.
func jobStarts(x *sched.Index, s *sched.Schedule) []sched.Time {
	starts := make([]sched.Time, len(x.Instance.Jobs))
	for j := range starts {
		starts[j] = sched.Never
	}
	for _, p := range s.Tasks {
		j := x.StageJob(x.TaskStage(p.Task))
		starts[j] = min(starts[j], p.Start)
	}
	return starts
}
