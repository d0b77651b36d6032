package cli

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fairlead-project/fairlead/internal/history"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
)

type historyOptions struct {
	given
	out    format
	file   string
	forget bool
	seed   uint64
}

type historyResult struct {
	header
	Path     string           `json:"path"`
	Stages   []stageHistory   `json:"stages"`
	Machines []machineHistory `json:"machines"`
	// Expected is what a next run of --for is expected to take; null without --for, and
	// where sizes are still unknown.
	Expected *expectedRun `json:"expected"`
	Unknown  []string     `json:"unknown"` // stages of --for without a size
}

// stageHistory has sizes in seconds at speed 1, null if no attempt has succeeded.
type stageHistory struct {
	Job      string   `json:"job"`
	Stage    string   `json:"stage"`
	Runs     int      `json:"runs"`
	Attempts int      `json:"attempts"`
	Done     int      `json:"done"`
	Mean     *float64 `json:"mean"`
	Median   *float64 `json:"median"`
	P90      *float64 `json:"p90"`
	CV       *float64 `json:"cv"`
	// PerTask: the tasks differ from each other in every run, and each is expected to
	// take what it took.
	PerTask  bool      `json:"perTask"`
	Launch   float64   `json:"launch"`
	Memory   int64     `json:"memory"` // what a task is given, in bytes; 0: unknown
	LastSeen time.Time `json:"lastSeen"`
}

type machineHistory struct {
	Machine  string         `json:"machine"`
	Speed    float64        `json:"speed"`
	Source   history.Source `json:"source"`
	Attempts int            `json:"attempts"`
}

type expectedRun struct {
	Policy string `json:"policy"`
	prediction
	Jobs []expectedJob `json:"jobs"`
}

type expectedJob struct {
	Name       string  `json:"name"`
	Work       float64 `json:"work"` // mean sizes of all its tasks, in seconds at speed 1
	Completion float64 `json:"completion"`
}

func newHistory(e *env) *cobra.Command {
	var o historyOptions
	cmd := &cobra.Command{
		Use:   "history [JOB]",
		Short: "Show what earlier runs tell of sizes and speeds",
		Long: `Show what is remembered of earlier runs, of all jobs or of one: how large the
tasks of each stage are, in seconds on a machine of speed 1, how much memory a
task should be given, and how fast machines are. Later runs count more than
earlier ones.

The speed of a machine is stated by the workload or learnt by comparison: of
stages that other machines have run as well, or whose sizes are stated. Where
nothing is stated the median machine has speed 1.

--for says what a next run of a workload is expected to take.` + exits(exitUsage, exitNotFound, exitInterrupted),
		Example: `  fairlead history
  fairlead history etl
  fairlead history --for jobs.yaml
  fairlead history --forget etl`,
		Args: atMost("JOB"),
		RunE: func(_ *cobra.Command, args []string) error {
			job := ""
			if len(args) == 1 {
				job = args[0]
			}
			switch {
			case o.forget && job == "":
				return usage("--forget: name the job to forget")
			case o.forget:
				return e.forget(job)
			case o.file != "" && job != "":
				return usage("--for shows the jobs of a file: leave out %s", job)
			case o.file != "":
				return e.expect(o)
			}
			return e.history(job, o)
		},
	}
	o.out.addTo(cmd)
	f := cmd.Flags()
	o.given.addTo(f)
	o.given.addFromTo(cmd)
	f.StringVar(&o.file, "for", "", "what is known of the workload in this `file`, and what running it would take")
	f.Uint64Var(&o.seed, "seed", 0, "`seed` of the sizes that are drawn for --for")
	f.BoolVar(&o.forget, "forget", false, "remove all that is remembered of the job")
	cmd.MarkFlagsMutuallyExclusive("for", "forget")
	must(cmd.MarkFlagFilename("for", "yaml", "yml", "json"))
	return cmd
}

// history shows all that is known, or what is of one job.
func (e *env) history(job string, o historyOptions) error {
	path, err := e.historyPath()
	if err != nil {
		return fail(exitUsage, err)
	}
	db, err := e.readHistory()
	if err != nil {
		return err
	}
	known := &history.Estimates{}
	if db != nil {
		defer db.Close()
		attempts, err := db.All(e.ctx)
		if err != nil {
			return fail(exitUsage, err)
		}
		known = history.Learn(attempts, history.Options{})
	}
	result := historyOf(path, known, func(k history.Key) bool { return job == "" || k.Job == job })
	if job != "" && len(result.Stages) == 0 {
		return fail(exitNotFound, fmt.Errorf("no run of a job named %s is remembered in %s", job, path))
	}
	return o.out.print(e.stdout, result, func(w *bytes.Buffer) { historyTable(w, &result) })
}

// expect shows what is known of a workload, and what running it would take.
func (e *env) expect(o historyOptions) error {
	if err := o.validate(); err != nil {
		return err
	}
	in, err := e.read(o.file, o.given)
	if err != nil {
		return err
	}
	path, err := e.historyPath()
	if err != nil {
		return fail(exitUsage, err)
	}
	resolved, learned, err := e.learn(in, o.file, o.budget())
	if err != nil {
		return err
	}
	known := &history.Estimates{}
	if learned != nil {
		known = learned.Estimates
	}
	resolved = assume(resolved, o.assume)
	x := sched.NewIndex(resolved)
	stages := map[history.Key]bool{}
	for s := range sched.StageID(x.Stages()) {
		stages[history.Key{Job: resolved.Jobs[x.StageJob(s)].Name, Stage: x.Stage(s).Name}] = true
	}
	result := historyOf(path, known, func(k history.Key) bool { return stages[k] })
	result.Machines = slices.DeleteFunc(result.Machines, func(m machineHistory) bool {
		return !slices.ContainsFunc(resolved.Machines, func(here sched.Machine) bool { return here.Name == m.Machine })
	})
	if unknown := sim.Unsized(x); unknown != nil {
		result.Unknown = unknown
	} else if result.Expected, err = e.expected(x, o.seed); err != nil {
		return err
	}
	return o.out.print(e.stdout, result, func(w *bytes.Buffer) { historyTable(w, &result) })
}

// expected simulates the run, whose sizes are known, under the policy of run.
func (e *env) expected(x *sched.Index, seed uint64) (*expectedRun, error) {
	z := sim.MeansWhereKnown(x)
	r, err := e.simulate(simulation{spec: sizedPolicy, in: x.Instance, x: x, sizes: z, estimates: z, seed: seed, lower: math.NaN()})
	if err != nil {
		return nil, err
	}
	p := e.predict(x, sizedPolicy, seed, math.MaxInt64) // it is what was asked for
	if p == nil {
		return nil, errInterrupted // nothing else can have failed after the first one
	}
	run := &expectedRun{Policy: sizedPolicy, prediction: *p}
	for j := range x.Instance.Jobs {
		job := expectedJob{Name: x.Instance.Jobs[j].Name, Completion: r.Schedule.Completion[j].Seconds()}
		first, end := x.JobStages(sched.JobID(j))
		for s := first; s < end; s++ {
			for t, last := x.StageTasks(s); t < last; t++ {
				job.Work += z.Of(s, t)
			}
		}
		run.Jobs = append(run.Jobs, job)
	}
	return run, nil
}

func (e *env) forget(job string) error {
	path, err := e.historyPath()
	if err != nil {
		return fail(exitUsage, err)
	}
	db, err := e.readHistory() // which makes no file
	if err != nil {
		return err
	}
	n := int64(0)
	if db != nil {
		db.Close()
		if db, err = history.Open(path); err != nil {
			return fail(exitUsage, err)
		}
		defer db.Close()
		if n, err = db.Forget(e.ctx, job); err != nil {
			return fail(exitUsage, err)
		}
	}
	if n == 0 {
		return fail(exitNotFound, fmt.Errorf("no run of a job named %s is remembered in %s", job, path))
	}
	e.say("forgotten: %s of %s", count(int(n), "attempt"), job)
	return nil
}

func historyOf(path string, known *history.Estimates, wanted func(history.Key) bool) historyResult {
	r := historyResult{header: header{apiVersion, "History"}, Path: path, Stages: []stageHistory{}, Machines: []machineHistory{}, Unknown: []string{}}
	for i := range known.Stages {
		s := &known.Stages[i]
		if !wanted(s.Key) {
			continue
		}
		h := stageHistory{
			Job: s.Job, Stage: s.Key.Stage, Runs: s.Runs, Attempts: s.Attempts, Done: s.Done,
			PerTask: s.ByTask != nil, Launch: s.Launch, Memory: s.Memory, LastSeen: s.LastSeen.UTC().Truncate(time.Second),
		}
		if s.Sizes != nil {
			mean := s.Sizes.Mean()
			cv := math.Sqrt(s.Sizes.Variance()) / mean
			h.Mean, h.Median, h.P90, h.CV = &mean, &s.Median, &s.P90, &cv
		}
		r.Stages = append(r.Stages, h)
	}
	for _, m := range known.Machines {
		r.Machines = append(r.Machines, machineHistory{m.Name, m.Speed, m.Source, m.Attempts})
	}
	return r
}

func historyTable(w *bytes.Buffer, r *historyResult) {
	if len(r.Stages) == 0 {
		fmt.Fprintf(w, "Nothing is remembered yet: fairlead run keeps what tasks took in %s\n", r.Path)
	} else {
		t := newTable("job", "stage", "runs", "attempts", "mean", "median", "p90", "cv", "per task", "memory", "last seen")
		rightAlign(t, 3, 4, 5, 6, 7, 8, 10)
		for _, s := range r.Stages {
			each := "-"
			if s.PerTask {
				each = "yes"
			}
			t.AppendRow(table.Row{
				s.Job, s.Stage, s.Runs, s.Attempts, optionalSpan(s.Mean), optionalSpan(s.Median), optionalSpan(s.P90), optional(s.CV),
				each, memoryText(s.Memory), s.LastSeen.Local().Format(time.DateTime),
			})
		}
		render(w, t)
	}
	if len(r.Machines) > 0 {
		t := newTable("machine", "speed", "source", "attempts")
		rightAlign(t, 2, 4)
		for _, m := range r.Machines {
			t.AppendRow(table.Row{m.Machine, number(m.Speed), m.Source, m.Attempts})
		}
		w.WriteByte('\n')
		render(w, t)
	}
	if n := len(r.Unknown); n > 0 {
		fmt.Fprintf(w, "\n%s has no size, and earlier runs do not tell it (%s): what a run would take is not known.\n", r.Unknown[0], count(n, "such stage"))
	}
	if x := r.Expected; x != nil {
		t := newTable("job", "work", "finish")
		rightAlign(t, 2, 3)
		for _, j := range x.Jobs {
			t.AppendRow(table.Row{j.Name, span(j.Work), span(j.Completion)})
		}
		w.WriteByte('\n')
		render(w, t)
		fmt.Fprintf(w, "\nUnder %s a run is expected to take %v.\n", x.Policy, &x.prediction)
	}
}

func memoryText(bytes int64) string {
	if bytes == 0 {
		return "-"
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}
