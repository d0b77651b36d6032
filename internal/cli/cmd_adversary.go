package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-project/fairlead/internal/adversary"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
)

type adversaryOptions struct {
	adversary.Options
	out             format
	policy, against string
	file            string
}

type adversaryResult struct {
	header
	Policy   string  `json:"policy"`
	Against  string  `json:"against"`
	Ratio    float64 `json:"ratio"`
	Cost     float64 `json:"cost"`
	Other    float64 `json:"otherCost"`
	Tried    int     `json:"tried"`
	Jobs     int     `json:"jobs"`
	Tasks    int     `json:"tasks"`
	Machines int     `json:"machines"`
}

// againstBound is the rival that no policy can beat.
const againstBound = "bound"

func newAdversary(e *env) *cobra.Command {
	var o adversaryOptions
	cmd := &cobra.Command{
		Use:   "adversary",
		Short: "Search a small workload on which a policy does badly",
		Long: `Search, by simulated annealing, a small workload on which a policy's total
weighted completion time is largest in relation to another policy's, or to the
lower bound. Sizes, weights, releases and speeds are whole numbers, so that what
is found can be read; --write keeps it for simulate.

The same seed finds the same workload, on any number of cores.` + exits(exitUsage, exitInterrupted),
		Example: `  fairlead adversary --policy heft --against fifo -w worst.yaml
  fairlead adversary --policy spc --against bound --steps 2000
  fairlead simulate worst.yaml --policy heft,fifo`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return e.adversary(&o) },
	}
	o.out.addTo(cmd)
	f := cmd.Flags()
	f.StringVar(&o.policy, "policy", "", "the `policy` that is to do badly; must be given")
	f.StringVar(&o.against, "against", againstBound, "the `policy` to compare with, or bound")
	completes(cmd, "policy", e.policyNames()...)
	completes(cmd, "against", append([]string{againstBound}, e.policyNames()...)...)
	f.IntVar(&o.Jobs, "jobs", 4, "most `jobs`")
	f.IntVar(&o.Stages, "stages", 3, "most `stages` of a job")
	f.IntVar(&o.Tasks, "tasks", 4, "most `tasks` of a stage")
	f.IntVar(&o.Machines, "machines", 3, "most `machines`, of one slot each")
	f.IntVar(&o.Size, "size", 20, "largest size, and release, in `seconds`")
	f.IntVar(&o.Weight, "weight", 20, "largest `weight`")
	f.IntVar(&o.Speed, "speed", 10, "largest `speed`")
	f.IntVar(&o.Steps, "steps", 3000, "`steps` of each search")
	f.IntVar(&o.Restarts, "restarts", 4, "independent `searches`")
	f.IntVar(&o.Workers, "parallel", runtime.GOMAXPROCS(0), "`searches` at a time")
	f.Uint64Var(&o.Seed, "seed", 0, "`seed` of the search")
	f.StringVarP(&o.file, "write", "w", "", "write the workload that was found to this `file`")
	must(cmd.MarkFlagRequired("policy"))
	return cmd
}

func (e *env) adversary(o *adversaryOptions) error {
	for _, spec := range []string{o.policy, o.against} {
		if spec == againstBound && spec == o.against {
			continue
		}
		if _, _, err := e.parsePolicy(spec); err != nil {
			return err
		}
	}
	if err := o.Validate(); err != nil {
		return usage("%w", err)
	}
	if isStdout(o.file) && o.out != "table" {
		return usage("-w - and -o %s: both go to standard output", o.out)
	}
	bar := e.newBar("searching", int64(o.Steps)*int64(o.Restarts))
	defer bar.stop()
	cost := func(in *sched.Instance) (adversary.Cost, error) { return e.costs(in, o.policy, o.against) }
	r, err := adversary.Search(o.Options, cost, bar.step, e.stopped)
	bar.stop()
	stopped := errors.Is(err, adversary.ErrStopped)
	switch {
	case err != nil && !stopped:
		return fail(exitUsage, err)
	case r.File == nil:
		return errInterrupted
	}
	in, err := r.File.Instance(nil)
	if err != nil {
		return err
	}
	result := adversaryResult{
		header: header{apiVersion, "Adversary"}, Policy: o.policy, Against: o.against, Ratio: r.Ratio(),
		Cost: r.Mine, Other: r.Other, Tried: r.Tried, Jobs: len(in.Jobs), Tasks: r.Tasks, Machines: len(in.Machines),
	}
	r.File.Metadata.Name = "worst-of-" + strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, o.policy)
	if o.file != "" {
		if err := e.writeTo(o.file, func(w io.Writer) error { return r.File.EncodeYAML(w) }); err != nil {
			return err
		}
	}
	if !isStdout(o.file) {
		err = o.out.print(e.stdout, result, func(b *bytes.Buffer) {
			t := newTable("policy", "cost", "against", "cost", "ratio", "jobs", "tasks", "machines", "tried")
			t.AppendRow([]any{o.policy, number(r.Mine), o.against, number(r.Other), number(r.Ratio()), result.Jobs, r.Tasks, result.Machines, r.Tried})
			rightAlign(t, 2, 4, 5, 6, 7, 8, 9)
			render(b, t)
			if o.file == "" {
				fmt.Fprintf(b, "\n")
				_ = r.File.EncodeYAML(b) // a buffer takes everything
			}
		})
		if err != nil {
			return err
		}
	}
	if stopped {
		return errInterrupted
	}
	return nil
}

// costs returns the total weighted completion time under a policy, and under another one
// or the lower bound.
func (e *env) costs(in *sched.Instance, spec, against string) (c adversary.Cost, err error) {
	x := sched.NewIndex(in)
	z, err := sim.Means(x)
	if err != nil {
		return c, err
	}
	cost := func(spec string) (float64, error) {
		r, err := e.simulate(simulation{spec: spec, in: in, x: x, sizes: z, lower: math.NaN()})
		if err != nil {
			return 0, err
		}
		return r.WeightedCompletion, nil
	}
	if c.Mine, err = cost(spec); err != nil {
		return c, err
	}
	if against != againstBound {
		c.Other, err = cost(against)
		return c, err
	}
	b, err := e.relax(x, z, solveFlags{tolerance: looseTolerance})
	if err != nil {
		return c, err
	}
	c.Other = b.Lower
	return c, nil
}
