package cli

import (
	"bytes"
	"fmt"
	"math"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fairlead-project/fairlead/report"
	"github.com/fairlead-project/fairlead/sched"
)

type planOptions struct {
	given
	out         format
	policy      string
	seed        uint64
	certificate string
	tasks       bool
	solve       solveFlags
}

type planResult struct {
	header
	Runs  []report.Run  `json:"runs"`
	Order []string      `json:"order"`
	Tasks []plannedTask `json:"tasks"`
	Flows []struct{}    `json:"flows"`
}

type plannedTask struct {
	Job     string  `json:"job"`
	Stage   string  `json:"stage"`
	Task    int     `json:"task"`
	Machine string  `json:"machine"`
	Slot    int     `json:"slot"`
	Start   float64 `json:"start"`
	Finish  float64 `json:"finish"`
}

func newPlan(e *env) *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use:   "plan FILE",
		Short: "Show what would happen, and how far from optimal it can be",
		Long: `Simulate a workload with the estimated sizes, print when each job would start
and finish, and compare the cost with a certified lower bound. Nothing is run.

Sizes that are distributions are replaced by their means; the bound is then left
out, as it would not hold for what really happens.` + exits(exitUsage, exitInterrupted),
		Example: `  fairlead plan jobs.yaml --tasks
  fairlead plan jobs.yaml --policy fifo -o json`,
		Args: exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error { return e.plan(args[0], o) },
	}
	o.out.addTo(cmd)
	f := cmd.Flags()
	o.given.addTo(f)
	o.given.addFromTo(cmd)
	o.given.addHistoryTo(f)
	f.StringVar(&o.policy, "policy", sizedPolicy, "`policy` to plan with (fairlead policies lists them)")
	completes(cmd, "policy", e.policyNames()...)
	f.Uint64Var(&o.seed, "seed", 0, "`seed` of random policies")
	f.BoolVar(&o.tasks, "tasks", false, "print every task as well")
	f.StringVar(&o.certificate, "certificate", "", "write the bound's certificate to this `file`; given -, print nothing else")
	o.solve.addTo(f)
	return cmd
}

func (e *env) plan(path string, o planOptions) error {
	if err := o.solve.validate(); err != nil {
		return err
	}
	if err := o.validateCertificate(o.certificate); err != nil {
		return err
	}
	if _, _, err := e.parsePolicy(o.policy); err != nil { // before any work
		return err
	}
	x, z, random, err := e.loadSized(path, o.given)
	if err != nil {
		return err
	}
	in := x.Instance
	if random != "" && o.certificate != "" {
		return usage("%s: stage %s has random sizes: a certificate needs exact ones", nameOf(path), random)
	}
	var b *bound
	lower := math.NaN()
	if random == "" {
		if b, err = e.relax(x, z, o.solve); err != nil {
			return err
		}
		lower = b.Lower
	}
	r, err := e.simulate(simulation{spec: o.policy, in: in, x: x, sizes: z, seed: o.seed, lower: lower})
	if err != nil {
		return err
	}
	if o.certificate != "" {
		if err := e.writeCertificate(o.certificate, b, in, o.given); err != nil || isStdout(o.certificate) {
			return err
		}
	}
	result := planOf(x, r)
	return o.out.print(e.stdout, result, func(w *bytes.Buffer) {
		jobTable(w, r.Run, jobStarts(x, &r.Schedule))
		if o.tasks {
			w.WriteByte('\n')
			taskTable(w, result.Tasks)
		}
		w.WriteByte('\n')
		summarise(w, result.Runs)
		if random != "" {
			fmt.Fprintf(w, "\nNo bound, and mean sizes: those of %s are random.\n", random)
		}
	})
}

// planOf lists the order of the stages and every task. The order is that of the
// policy's plan, if it makes one, otherwise that of the stages' first starts.
func planOf(x *sched.Index, r *simulated) planResult {
	result := planResult{header: header{apiVersion, "Plan"}, Runs: []report.Run{r.Run}, Order: []string{}, Flows: []struct{}{}}
	var order []sched.StageID
	if r.Solution != nil {
		order = r.Solution.Order
	} else {
		seen := make([]bool, x.Stages())
		for _, p := range r.Schedule.Tasks {
			if s := x.TaskStage(p.Task); !seen[s] {
				seen[s] = true
				order = append(order, s)
			}
		}
	}
	for _, s := range order {
		result.Order = append(result.Order, x.StageName(s))
	}
	result.Tasks = make([]plannedTask, 0, len(r.Schedule.Tasks))
	for _, p := range r.Schedule.Tasks {
		s := x.TaskStage(p.Task)
		first, _ := x.StageTasks(s)
		result.Tasks = append(result.Tasks, plannedTask{
			Job: x.Instance.Jobs[x.StageJob(s)].Name, Stage: x.Stage(s).Name, Task: int(p.Task - first),
			Machine: x.Instance.Machines[p.Machine].Name, Slot: int(p.Slot),
			Start: p.Start.Seconds(), Finish: p.Finish.Seconds(),
		})
	}
	return result
}

func taskTable(w *bytes.Buffer, tasks []plannedTask) {
	t := newTable("job", "stage", "task", "machine", "slot", "start", "finish")
	rightAlign(t, 3, 5, 6, 7)
	for _, p := range tasks {
		t.AppendRow(table.Row{p.Job, p.Stage, p.Task, p.Machine, p.Slot, span(p.Start), span(p.Finish)})
	}
	render(w, t)
}
