package cli

import (
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-project/fairlead/trace/generate"
)

func newGenerate(e *env) *cobra.Command {
	var o generate.Options
	var out, arrivals string
	port := bytesFlag(0)
	cmd := &cobra.Command{
		Use:   "generate KIND",
		Short: "Generate a random workload to experiment with",
		Long: `Write a random workload, with its cluster, to standard output:

  mapreduce  WordCount-, Sort- and TeraSort-like jobs: most of the work in the
             map stage, in balance, most of it in the reduce stage
  layered    DAGs of stages in layers
  mixed      both by turns
  alibaba    DAG jobs after the distributions of Alibaba's trace of 2018

The same options give the same workload. Other machines, weights or arrivals
leave the jobs as they are, more jobs leave the first ones as they are.` + exits(exitUsage),
		Example: `  fairlead generate mixed --jobs 50 --load 0.7 --speed-skew 10 > jobs.yaml
  fairlead generate alibaba --weights skewed --seed 2 | fairlead simulate -
  fairlead generate layered --max-tasks 4 --min-tasks 1 --after 0.3 -o json`,
		Args:      exactly("KIND"),
		ValidArgs: generate.Kinds,
		RunE: func(_ *cobra.Command, args []string) error {
			encode, err := e.encoder(out, "", true)
			if err != nil {
				return err
			}
			o.Kind, o.Port = args[0], float64(port)
			switch arrivals {
			case "", generate.Poisson, generate.Intervals:
				o.Arrivals = arrivals
			default:
				if o.Gaps, err = e.readGaps(arrivals); err != nil {
					return err
				}
			}
			f, err := generate.File(o)
			if err != nil {
				return fail(exitUsage, err)
			}
			return wrote("standard output", buffered(e.stdout, func(w io.Writer) error { return encode(w, f) }))
		},
	}
	f := cmd.Flags()
	f.StringVarP(&out, "output", "o", "yaml", "`notation` to write: yaml or json")
	completes(cmd, "output", "yaml", "json")
	f.IntVar(&o.Jobs, "jobs", 20, "`number` of jobs")
	f.Uint64Var(&o.Seed, "seed", 0, "`seed` of all that is random")
	f.IntVar(&o.Machines, "machines", 16, "`number` of machines")
	f.IntVar(&o.Slots, "slots", 1, "`number` of slots per machine")
	f.Float64Var(&o.SpeedSkew, "speed-skew", 1, "speed of the fastest machine if the slowest has 1; `ratio`")
	f.Var(&port, "port", "bytes per second into and out of a machine, a `size` such as 125MB (default no limit)")
	f.Float64Var(&o.Load, "load", 0, "let jobs arrive so that they bring this `share` of what the machines can do (default all at once)")
	f.StringVar(&arrivals, "arrivals", "", "gaps between jobs: poisson, alibaba, or a `file` of seconds, one per line (default poisson, given a load)")
	completes(cmd, "arrivals", generate.Poisson, generate.Intervals)
	f.StringVar(&o.Weights, "weights", generate.Equal, "`how` jobs weigh: equal, uniform (1 to 10) or skewed (log-uniform from 1 to 100)")
	completes(cmd, "weights", generate.Equal, generate.Uniform, generate.Skewed)
	f.Float64Var(&o.WeightSkew, "weight-skew", 0, "the largest `weight` in place of 10 or 100")
	f.Float64Var(&o.After, "after", 0, "`probability` that a job waits for one of the eight before it")
	f.IntVar(&o.MinTasks, "min-tasks", 0, "least `number` of tasks per stage (default 8)")
	f.IntVar(&o.MaxTasks, "max-tasks", 0, "largest `number` of tasks per stage (default 32; alibaba 100)")
	f.Float64Var(&o.TaskSeconds, "task-seconds", 10, "mean size of a task in `seconds` at speed 1; not for alibaba")
	f.Float64Var(&o.StageCV, "stage-cv", 1, "coefficient of `variation` of sizes between stages; not for alibaba")
	f.Float64Var(&o.TaskCV, "task-cv", 0, "coefficient of `variation` of sizes within a stage")
	f.Float64Var(&o.SizeCV, "size-cv", 0, "make sizes lognormal distributions of this coefficient of `variation`")
	f.IntVar(&o.Layers, "layers", 5, "largest `number` of layers of a layered job")
	f.IntVar(&o.Width, "width", 4, "largest `number` of stages in a layer")
	f.Float64Var(&o.EdgeProb, "edge-prob", 0.3, "`probability` that a stage reads one of the layer before; one it always does")
	f.BoolVar(&o.Needs, "needs", false, "give machines a cpu and 1 GiB of memory per slot, and tasks needs of both")
	f.Float64Var(&o.CCR, "ccr", 0, "`seconds` that a task reads input per second that it computes; needs --port")
	zero := []struct {
		flag string
		to   *float64
	}{{"stage-cv", &o.StageCV}, {"edge-prob", &o.EdgeProb}}
	cmd.PreRunE = func(*cobra.Command, []string) error {
		for _, z := range zero {
			switch {
			case *z.to < 0:
				return usage("--%s %v: expected at least 0", z.flag, *z.to)
			case *z.to == 0: // what is said is meant
				*z.to = generate.NoSpread
			}
		}
		for _, name := range []string{"jobs", "machines", "slots", "min-tasks", "max-tasks", "layers", "width", "speed-skew", "task-seconds", "weight-skew"} {
			if fl := f.Lookup(name); fl.Changed && fl.Value.String() == "0" {
				return usage("--%s 0: expected more", name)
			}
		}
		return nil
	}
	return cmd
}

// readGaps reads a list of seconds.
func (e *env) readGaps(path string) ([]float64, error) {
	name, data, err := e.readFile(path, maxGaps)
	if err != nil {
		return nil, err
	}
	if len(data) > maxGaps {
		return nil, usage("%s: more than %d bytes", name, maxGaps)
	}
	var out []float64
	var bad []error
	for i, line := range strings.Split(string(data), "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		x, err := strconv.ParseFloat(line, 64)
		if err != nil || !(x >= 0 && x <= 1e9) {
			bad = append(bad, usage("%s:%d:1: found %.40q, expected seconds between two jobs, 0 to 1e9", name, i+1, line))
			break
		}
		out = append(out, x)
	}
	if len(out) == 0 && bad == nil {
		bad = append(bad, usage("%s is empty, expected a number of seconds per line", name))
	}
	return out, errors.Join(bad...)
}

const maxGaps = 16 << 20
