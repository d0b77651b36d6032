package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-project/fairlead/report"
	"github.com/fairlead-project/fairlead/sched"
)

type reportOptions struct {
	out   format
	files exports
}

type reportResult struct {
	header
	Dir      string    `json:"dir"`
	ID       string    `json:"id"`
	Workload string    `json:"workload"`
	Began    time.Time `json:"began"`
	// Ended: nothing more would be started; otherwise the run goes on, or can be
	// resumed.
	Ended    bool            `json:"ended"`
	Runs     []report.Run    `json:"runs"`
	Machines []machineUsage  `json:"machines"`
	Attempts map[string]int  `json:"attempts"`
	Slowest  []attemptResult `json:"slowest"`
	Failures []attemptResult `json:"failures"`
	Logs     string          `json:"logs"`
}

type machineUsage struct {
	Name     string  `json:"name"`
	Speed    float64 `json:"speed"`
	Slots    int     `json:"slots"`
	Attempts int     `json:"attempts"`
	Failed   int     `json:"failed"`
	// Busy is the time that slots were taken, Utilisation its share of all.
	BusySeconds     float64 `json:"busySeconds"`
	Utilisation     float64 `json:"utilisation"`
	CPUSeconds      float64 `json:"cpuSeconds"`
	PeakMemoryBytes int64   `json:"peakMemoryBytes"`
}

type attemptResult struct {
	Job             string  `json:"job"`
	Stage           string  `json:"stage"`
	Task            int     `json:"task"`
	Attempt         int     `json:"attempt"`
	Machine         string  `json:"machine"`
	Slot            int     `json:"slot"`
	Start           float64 `json:"start"`
	Seconds         float64 `json:"seconds"`
	State           string  `json:"state"`
	ExitCode        int     `json:"exitCode"`
	Signal          string  `json:"signal"`
	Error           string  `json:"error"`
	CPUSeconds      float64 `json:"cpuSeconds"`
	PeakMemoryBytes int64   `json:"peakMemoryBytes"`
	Command         string  `json:"command"`
	Stdout          string  `json:"stdout"`
	Stderr          string  `json:"stderr"`
}

func newReport(e *env) *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:   "report [RUN]",
		Short: "Show what a run did, as a table, a picture, or for other tools",
		Long: `Show what a run did: its jobs, how busy its machines were, its slowest tasks and
what failed. RUN is the directory of a run, or its name in the state home;
without it, the latest run there. A run that has not ended is shown as far as it
has come.

With options for files, only these are written, unless -o is given as well. A
file can be - for standard output.` + exits(exitUsage, exitNotFound),
		Example: `  fairlead report
  fairlead report --html run.html --trace run.json
  fairlead report ./out --joblog - | cut -f 1,4,7`,
		Args: atMost("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			files := len(o.files.files()) > 0
			return e.report(name, o, !files || cmd.Flags().Changed("output"))
		},
	}
	o.out.addTo(cmd)
	o.files.addTo(cmd.Flags())
	return cmd
}

func (e *env) report(name string, o reportOptions, print bool) error {
	if err := o.files.validate(); err != nil {
		return err
	}
	if print && o.files.toStdout() > 0 {
		return usage("-o prints to standard output: name a file for the other output")
	}
	dir, err := e.findRun(name)
	if err != nil {
		return err
	}
	r, err := e.readRun(dir)
	if err != nil {
		return err
	}
	if err := o.files.outside(dir); err != nil {
		return err
	}
	lower := math.NaN()
	if r.measured() && (print || o.files.pictured()) {
		lower = e.hindsight(r.x, r.sizes)
	}
	t := r.timeline(lower)
	if err := e.export(&o.files, t); err != nil || !print {
		return err
	}
	result := r.report(t)
	return o.out.print(e.stdout, result, func(w *bytes.Buffer) { r.table(w, &result) })
}

// findRun returns the directory of a run: a path, a name in the state home, or, for
// "", the latest there.
func (e *env) findRun(name string) (string, error) {
	if name == "" {
		dirs, err := e.runs()
		if err == nil && len(dirs) == 0 {
			err = errors.New("there is no run in the state home: name the directory of one, or make one with fairlead run FILE")
		}
		if err != nil {
			return "", fail(exitNotFound, err)
		}
		return dirs[0], nil
	}
	places := []string{name}
	if home, err := e.runsHome(); err == nil && filepath.Base(name) == name {
		places = append(places, filepath.Join(home, name))
	}
	for _, dir := range places {
		if _, err := os.Stat(filepath.Join(dir, manifestFile)); err == nil {
			dir, err := filepath.Abs(dir)
			if err != nil {
				return "", fail(exitUsage, err)
			}
			return dir, nil
		}
	}
	return "", fail(exitNotFound, fmt.Errorf("%s is not the directory of a run, nor the name of one in the state home: it has no run.json", name))
}

// mostSlow is how many of the slowest tasks are shown, mostFailed how many failures
// a table has.
const (
	mostSlow   = 5
	mostFailed = 20
)

func (r *recorded) report(t *report.Timeline) reportResult {
	m := &r.Manifest
	result := reportResult{
		header: header{apiVersion, "RunReport"}, Dir: r.Dir, ID: m.ID, Workload: m.Workload, Began: m.Began.Wall,
		Ended: !t.Unfinished, Runs: []report.Run{t.Run}, Attempts: map[string]int{},
		Machines: []machineUsage{}, Slowest: []attemptResult{}, Failures: []attemptResult{},
		Logs: filepath.Join(r.Dir, "logs"),
	}
	machines, _ := t.Usage()
	for i := range machines {
		u, of := &machines[i], &t.Machines[i]
		result.Machines = append(result.Machines, machineUsage{
			Name: of.Name, Speed: of.Speed, Slots: of.Slots, Attempts: u.Total(), Failed: u.Attempts[report.Failed],
			BusySeconds: u.Busy.Seconds(), Utilisation: t.Utilisation(u, of.Slots),
			CPUSeconds: u.CPU.Seconds(), PeakMemoryBytes: u.PeakMemory,
		})
	}
	for s := report.Done; s <= report.Running; s++ {
		result.Attempts[s.String()] = 0
	}
	order := make([]int, len(r.attempts))
	for i := range r.attempts {
		order[i] = i
		result.Attempts[t.Attempts[i].State.String()]++
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(r.length(j, t), r.length(i, t)) })
	for _, i := range order[:min(mostSlow, len(order))] {
		result.Slowest = append(result.Slowest, r.attempt(i, t))
	}
	for _, i := range t.Failures() {
		result.Failures = append(result.Failures, r.attempt(i, t))
	}
	return result
}

// length is how long an attempt took, or has been running.
func (r *recorded) length(i int, t *report.Timeline) sched.Time {
	if t.Attempts[i].State == report.Running {
		return t.Now - t.Attempts[i].Start
	}
	return t.Attempts[i].Finish - t.Attempts[i].Start
}

func (r *recorded) attempt(i int, t *report.Timeline) attemptResult {
	a := &r.attempts[i]
	machine := ""
	if a.Machine != sched.None {
		machine = r.Instance.Machines[a.Machine].Name
	}
	return attemptResult{
		Job: a.Job, Stage: a.Stage, Task: a.Index, Attempt: int(a.Attempt), Machine: machine, Slot: int(a.Slot),
		Start: a.Start.Seconds(), Seconds: r.length(i, t).Seconds(), State: t.Attempts[i].State.String(),
		ExitCode: a.ExitCode, Signal: a.Signal, Error: a.Err, CPUSeconds: a.CPU.Seconds(), PeakMemoryBytes: a.MaxRSS,
		Command: a.Command, Stdout: a.Stdout, Stderr: a.Stderr,
	}
}
