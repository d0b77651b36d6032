package cli

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/fairlead-project/fairlead/internal/run"
	"github.com/fairlead-project/fairlead/report"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
)

type runResult struct {
	header
	Runs []report.Run `json:"runs"`
	// Simulated compares with what policies would have done with the durations
	// that were observed.
	Simulated []report.Run `json:"simulated"`
	// Utilisation is the CPU time of the tasks over slots × wall time.
	Utilisation float64       `json:"utilisation"`
	CPUSeconds  float64       `json:"cpuSeconds"`
	WallSeconds float64       `json:"wallSeconds"`
	Slots       int           `json:"slots"`
	Dir         string        `json:"dir"`
	Failures    []taskFailure `json:"failures"`
	Notes       []string      `json:"notes"`
	// Predicted is how long it was expected to take, before it began.
	Predicted *prediction `json:"predicted"`
	Resumed   bool        `json:"resumed"`
}

type taskFailure struct {
	Job      string `json:"job"`
	Stage    string `json:"stage"`
	Task     int    `json:"task"`
	Attempt  int    `json:"attempt"`
	Machine  string `json:"machine"`
	ExitCode int    `json:"exitCode"`
	Signal   string `json:"signal"`
	Error    string `json:"error"`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	tail     []string
}

// observed compares a run with the bound and with simulations on the durations
// that were observed.
func (s *session) observed(r *run.Result, predicted *prediction) runResult {
	e, x := s.e, s.x
	in := x.Instance
	result := runResult{
		header: header{apiVersion, "RunList"}, Simulated: []report.Run{},
		CPUSeconds: r.TaskCPU.Seconds(), WallSeconds: r.Wall.Seconds(), Slots: slots(in),
		Failures: []taskFailure{}, Notes: append([]string{}, r.Notes...),
		Dir: s.cfg.Dir, Predicted: predicted, Resumed: s.resumed,
	}
	if r.Stats.Fallbacks > 0 {
		note := "the plan came late; until then tasks started by weight over work of their job"
		if r.Solution != nil && r.Solution.Note != "" {
			note = "the plan is that of an unfinished solve: " + r.Solution.Note
		}
		result.Notes = append(result.Notes, note)
	}
	if total := result.WallSeconds * float64(result.Slots); total > 0 {
		result.Utilisation = result.CPUSeconds / total
	}
	for _, f := range r.Failures {
		stage := x.TaskStage(f.Task)
		first, _ := x.StageTasks(stage)
		result.Failures = append(result.Failures, taskFailure{
			Job: in.Jobs[x.StageJob(stage)].Name, Stage: x.Stage(stage).Name, Task: int(f.Task - first), Attempt: int(f.Attempt),
			Machine: in.Machines[f.Machine].Name, ExitCode: f.ExitCode, Signal: f.Signal, Error: f.Err,
			Stdout: f.Stdout, Stderr: f.Stderr, tail: f.Tail,
		})
	}
	as := func(lower float64) report.Run {
		return report.NewRun(s.spec, s.seed, in, r.Schedule.Completion, r.States, lower)
	}
	lower := math.NaN()
	done := as(lower)
	result.Runs = []report.Run{done}
	if !done.Complete() || e.stopped() {
		return result // what failed or was cut short compares with nothing
	}
	lower = e.hindsight(x, r.Sizes)
	result.Runs[0] = as(lower)
	estimates := sim.MeansWhereKnown(x)
	for _, spec := range slices.Compact([]string{s.spec, "fifo"}) {
		c, err := e.simulate(simulation{
			spec: spec, in: in, x: x, sizes: r.Sizes, estimates: estimates, seed: s.seed, lower: lower,
		})
		if err != nil {
			e.say("no comparison with %s: %v", spec, err)
			continue
		}
		result.Simulated = append(result.Simulated, c.Run)
	}
	return result
}

// runTable prints the jobs, the run beside its simulations, and what that means.
func runTable(w *bytes.Buffer, x *sched.Index, r *run.Result, result *runResult) {
	jobTable(w, result.Runs[0], jobStarts(x, &r.Schedule))
	w.WriteByte('\n')
	seen := result.Runs[0]
	rows := []report.Run{seen}
	rows[0].Policy += " (as run)"
	for _, s := range result.Simulated {
		s.Policy += " (simulated)"
		rows = append(rows, s)
	}
	summarise(w, rows)
	w.WriteByte('\n')
	switch done := completed(&seen); done {
	case len(seen.Jobs):
	case 0:
		w.WriteString("No job completed, so there is no cost.\n")
	default:
		fmt.Fprintf(w, "Only %d of %d jobs completed: the costs are theirs alone, and compare with nothing.\n", done, len(seen.Jobs))
	}
	if seen.Ratio != nil {
		fmt.Fprintf(w, "No schedule of these tasks costs less than %s: this one is within %.2f times the best possible.\n",
			down(*seen.LowerBound, 5), *seen.Ratio)
	}
	if own, fifo := simulatedAs(result, seen.Policy), simulatedAs(result, "fifo"); own != nil && fifo != nil && own != fifo && own.WeightedCompletion > 0 {
		fmt.Fprintf(w, "With the same durations fifo would have cost %s, %.2f times as much.\n",
			number(fifo.WeightedCompletion), fifo.WeightedCompletion/own.WeightedCompletion)
	}
	if p := result.Predicted; p != nil && seen.Complete() {
		fmt.Fprintf(w, "It was expected to take %v, and took %s.\n", p, span(seen.Makespan))
	}
	fmt.Fprintf(w, "The tasks used %.0f %% of %d slots for %s. Outputs and event log: %s\n",
		100*result.Utilisation, result.Slots, span(result.WallSeconds), result.Dir)
}

// simulatedAs returns the simulation of a policy, nil if there is none.
func simulatedAs(result *runResult, policy string) *report.Run {
	i := slices.IndexFunc(result.Simulated, func(r report.Run) bool { return r.Policy == policy })
	if i < 0 {
		return nil
	}
	return &result.Simulated[i]
}

func completed(r *report.Run) int {
	n := 0
	for _, j := range r.Jobs {
		if j.Completion != nil {
			n++
		}
	}
	return n
}

// reportFailures says on stderr what failed and what was not run because of it.
func (e *env) reportFailures(r *run.Result, result *runResult) {
	failures := result.Failures
	const most = 20
	for i, f := range failures {
		if i == most {
			e.say("... and %d more failed attempts, see the event log", len(failures)-most)
			break
		}
		what := f.Error
		if f.Attempt > 1 {
			what = fmt.Sprintf("attempt %d: %s", f.Attempt, what)
		}
		e.say("%s/%s task %d failed on %s: %s; output in %s", f.Job, f.Stage, f.Task, f.Machine, what, f.Stderr)
		for _, line := range f.tail {
			fmt.Fprintf(e.stderr, "    %s\n", line)
		}
	}
	for _, why := range r.Explain {
		e.say("%s", why)
	}
	for _, note := range result.Notes {
		e.say("note: %s", note)
	}
}
