package cli

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/report"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
)

// sampled is one instance with realised sizes: a file at a seed.
type sampled struct {
	name  string // of the file
	seed  uint64
	in    *sched.Instance
	x     *sched.Index
	z     *sched.Sizes
	lower float64
	alike bool // sizes and bound are those of the sample before
}

type comparisonResult struct {
	header
	Runs       []report.Run        `json:"runs"`
	Comparison []report.Comparison `json:"comparison"`
}

// several reports whether policies are to be compared over several instances, or in a
// page.
func (o *simulateOptions) several(paths []string) bool {
	return len(paths) > 1 || o.seeds > 1 || o.against != "" || o.html != ""
}

func (o *simulateOptions) validateSeveral(specs, paths []string) error {
	switch {
	case o.seeds < 1:
		return usage("--seeds %d: expected at least one", o.seeds)
	case o.parallel < 1:
		return usage("--parallel %d: expected at least one", o.parallel)
	case o.against != "" && !slices.Contains(specs, o.against):
		return usage("--against %s: it is not one of the policies: add it to --policy", o.against)
	case isStdout(o.html) && o.out != "table":
		return usage("--html - and -o %s: both go to standard output", o.out)
	}
	for i, spec := range specs {
		if slices.Contains(specs[:i], spec) {
			return usage("--policy names %s twice", spec)
		}
	}
	if !o.several(paths) {
		return nil
	}
	for _, single := range []struct {
		flag  string
		given bool
	}{{"--log", o.log != ""}, {"--jobs", o.jobs}, {"--stats", o.stats}} {
		if single.given {
			return usage("%s is for one simulation of one file: leave out --seeds, --against, --html and further files", single.flag)
		}
	}
	for i, p := range paths { // whose runs could not be told apart
		if slices.Contains(paths[:i], p) {
			return usage("%s is given twice", p)
		}
	}
	return nil
}

// compare simulates every policy on every file and seed, several at a time. What is
// printed does not depend on how many.
func (e *env) compare(paths, specs []string, known []*policy.Knowledge, o *simulateOptions) error {
	samples, err := e.sample(paths, specs, o)
	if err != nil {
		return err
	}
	n := len(samples) * len(specs)
	runs := make([]report.Run, n)
	first := make([]*simulated, len(specs)) // on the first sample, for the page
	bar := e.newBar("simulating", int64(n))
	defer bar.stop()
	err = e.parallel(o.parallel, n, bar, func(i int) error {
		s, k := &samples[i/len(specs)], i%len(specs)
		r, err := e.simulate(simulation{spec: specs[k], in: s.in, x: s.x, sizes: s.z, seed: s.seed, lower: s.lower, knowledge: known[k]})
		if err != nil {
			return fmt.Errorf("%s, seed %d: %w", s.name, s.seed, err)
		}
		if i < len(specs) && o.html != "" {
			first[i] = r
		}
		runs[i] = r.Run
		if len(paths) > 1 {
			runs[i].Workload = s.name
		}
		return nil
	})
	bar.stop()
	if err != nil {
		return err
	}
	against := o.against
	if against == "" {
		against = specs[0]
	}
	result := comparisonResult{header{apiVersion, "SimulationList"}, runs, report.Compare(runs, against)}
	if o.html != "" {
		page := &report.Page{Title: titleOf(paths), Runs: runs, Comparison: result.Comparison}
		for i := range samples {
			page.Loads = append(page.Loads, load(samples[i].x, samples[i].z))
		}
		for k, r := range first {
			t := report.FromSchedule("simulation", samples[0].x, &r.Schedule, runs[k])
			page.Timelines = append(page.Timelines, t)
		}
		if err := e.writeTo(o.html, page.Write); err != nil {
			return err
		}
		if isStdout(o.html) {
			return nil
		}
	}
	return o.out.print(e.stdout, result, func(w *bytes.Buffer) { comparisonTable(w, result.Comparison, len(samples)) })
}

// sample reads the files and draws the sizes of every seed, with the bounds. A file in
// which nothing is random has one seed.
func (e *env) sample(paths, specs []string, o *simulateOptions) ([]sampled, error) {
	draws := slices.ContainsFunc(specs, e.drawsRandomly)
	var out []sampled
	for _, path := range paths {
		in, err := e.load(path, o.given)
		if err != nil {
			return nil, err
		}
		x := sched.NewIndex(in)
		seeds, random := o.seeds, randomStage(x) != ""
		if seeds > 1 && !draws && !random {
			e.say("%s: sizes are exact and no policy draws: all seeds are alike, so there is one", nameOf(path))
			seeds = 1
		}
		for i := range seeds {
			out = append(out, sampled{name: nameOf(path), seed: o.seed + uint64(i), in: in, x: x, lower: math.NaN(), alike: i > 0 && !random})
		}
	}
	bar := e.newBar("bounds", int64(len(out)))
	defer bar.stop()
	err := e.parallel(o.parallel, len(out), bar, func(i int) (err error) {
		s := &out[i]
		if s.alike {
			return nil
		}
		if s.z, err = sim.Realise(s.x, s.seed); err != nil {
			return noSizes(s.name, err)
		}
		if o.noBound {
			return nil
		}
		b, err := e.relax(s.x, s.z, solveFlags{tolerance: looseTolerance})
		if err != nil {
			return usage("%s: no lower bound: %w (--no-bound does without)", s.name, err)
		}
		s.lower = b.Lower
		return nil
	})
	for i := range out {
		if out[i].alike {
			out[i].z, out[i].lower = out[i-1].z, out[i-1].lower
		}
	}
	return out, err
}

// drawsRandomly reports whether the policy uses random numbers.
func (e *env) drawsRandomly(spec string) bool {
	entry, _, err := e.parsePolicy(spec)
	return err == nil && entry.Random
}

// parallel calls do for 0 to n-1, several at a time, and returns the error of the
// smallest number; after an error nothing new is begun.
func (e *env) parallel(workers, n int, bar *bar, do func(i int) error) error {
	var mu sync.Mutex
	next, failed, at := 0, error(nil), n
	var wg sync.WaitGroup
	for range min(workers, n) {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				stop := i >= n || failed != nil || e.stopped()
				mu.Unlock()
				if stop {
					return
				}
				err := do(i)
				mu.Lock()
				if err != nil && i < at {
					failed, at = err, i
				}
				bar.step()
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if e.stopped() || errors.Is(failed, errInterrupted) {
		return errInterrupted
	}
	return failed
}

// load is the work per second up to the last release over what the machines can do; 0 if
// all jobs are there from the beginning.
func load(x *sched.Index, z *sched.Sizes) float64 {
	work, speed, last := 0.0, 0.0, sched.Time(0)
	for s := range sched.StageID(x.Stages()) {
		for t, end := x.StageTasks(s); t < end; t++ {
			work += z.Of(s, t)
		}
	}
	for m := range x.Instance.Machines {
		speed += x.Instance.Machines[m].Speed * float64(x.Instance.Machines[m].Slots)
	}
	for j := range x.Instance.Jobs {
		last = max(last, x.Instance.Jobs[j].Release)
	}
	if last == 0 {
		return 0
	}
	return work / (speed * last.Seconds())
}

func titleOf(paths []string) string {
	var names []string
	for _, p := range paths {
		names = append(names, strings.TrimSuffix(filepath.Base(nameOf(p)), filepath.Ext(p)))
	}
	if len(names) > 3 {
		names = append(names[:3], fmt.Sprintf("and %d more", len(names)-3))
	}
	return strings.Join(names, ", ")
}

// comparisonTable prints one line per policy.
func comparisonTable(w *bytes.Buffer, list []report.Comparison, instances int) {
	t := newTable("policy", "flow cost", "ratio", "flowRatio", "flow cost / "+list[0].Against, "won-tied-lost")
	rightAlign(t, 2, 3, 4, 5, 6)
	for _, c := range list {
		row := table.Row{c.Policy, number(c.FlowCost.Mean), c.Ratio.String(), c.FlowRatio.String(), c.FlowFactor.String(), "-"}
		if c.Policy != c.Against {
			row[5] = fmt.Sprintf("%d-%d-%d", c.Wins, c.Ties, c.Losses)
		} else {
			row[4] = "1"
		}
		t.AppendRow(row)
	}
	render(w, t)
	fmt.Fprintf(w, "\nMeans over %s", count(instances, "instance"))
	if instances > 1 {
		fmt.Fprint(w, " with 95 % confidence intervals (bootstrap over instances; quotients are paired, their mean geometric)")
	}
	fmt.Fprintln(w, ".")
}
