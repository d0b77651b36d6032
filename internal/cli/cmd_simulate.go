package cli

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/fairlead-project/fairlead/cert"
	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/report"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
)

type simulateOptions struct {
	given
	out             format
	policies        string
	seed            uint64
	sizes, arrivals string
	log, replay     string
	jobs            bool
	noBound         bool
	stats           bool
	seeds, parallel int
	against, html   string
}

type simulateResult struct {
	header
	Runs []report.Run `json:"runs"`
}

func newSimulate(e *env) *cobra.Command {
	var o simulateOptions
	cmd := &cobra.Command{
		Use:   "simulate FILE...",
		Short: "Simulate a workload under one or more policies",
		Long: `Run a workload on a virtual clock, by the same engine that runs it for real, and
compare the policies' cost with a lower bound for the sizes that were realised.

cost is the total weighted completion time, flow cost the same counted from the
releases; ratio and flowRatio divide them by the bound. The same seed gives the
same result.

--seeds N simulates every policy on N seeds, and several FILEs are several
workloads: then means and 95 % confidence intervals are printed, and every
policy is compared with the first one, or --against, on the same instances.
--html writes all that and the charts as one page. The simulations are spread
over the cores; what comes out is the same on any number.

--log writes what happened and what was decided, a JSON object per line;
--replay feeds such a log, of a simulation or of a run, to a fresh engine and
compares its decisions: other ones, or a damaged log, exit with 4.` + exits(exitUsage, exitInvalid, exitInterrupted),
		Example: `  fairlead simulate jobs.yaml --policy spc,wspt,fifo
  fairlead simulate jobs.yaml --policy spc:plain=true --jobs
  fairlead simulate jobs.yaml --policy spc,wspt --seeds 30 --html page.html
  fairlead simulate a.yaml b.yaml c.yaml --policy heft,spc --against heft
  fairlead simulate jobs.yaml --policy fifo --log events.jsonl
  fairlead simulate jobs.yaml --replay events.jsonl`,
		Args: atLeast("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			if o.replay != "" {
				if len(args) > 1 {
					return usage("--replay is of one run: name one FILE")
				}
				return e.replayLog(args[0], o)
			}
			return e.simulateAll(args, o)
		},
	}
	o.out.addTo(cmd)
	f := cmd.Flags()
	o.given.addTo(f)
	o.given.addFromTo(cmd)
	o.given.addHistoryTo(f)
	f.StringVar(&o.policies, "policy", "spc,wspt,fifo", "`policies`, separated by commas (fairlead policies lists them)")
	completes(cmd, "policy", e.policyNames()...)
	f.Uint64Var(&o.seed, "seed", 0, "`seed` of random sizes and random policies")
	f.StringVar(&o.sizes, "sizes", "", "show policies sizes as `what`: exact, distribution, nothing (default what each needs)")
	completes(cmd, "sizes", "exact", "distribution", "nothing")
	f.StringVar(&o.arrivals, "arrivals", "", "let policies know jobs `when`: offline, online (default what each needs)")
	completes(cmd, "arrivals", "offline", "online")
	f.BoolVar(&o.jobs, "jobs", false, "print every job as well")
	f.BoolVar(&o.noBound, "no-bound", false, "do not compute the lower bound")
	f.BoolVar(&o.stats, "stats", false, "print what the engine did, and how fast, to stderr")
	f.StringVar(&o.log, "log", "", "write the event log to this `file` (one policy only); given -, print nothing else")
	f.IntVar(&o.seeds, "seeds", 1, "simulate `N` seeds, from --seed on, and compare")
	f.IntVar(&o.parallel, "parallel", runtime.GOMAXPROCS(0), "`simulations` at a time")
	f.StringVar(&o.against, "against", "", "compare with this `policy` (default the first one)")
	completes(cmd, "against", e.policyNames()...)
	f.StringVar(&o.html, "html", "", "write the comparison with charts to this `file`: one page that needs no other")
	f.StringVar(&o.replay, "replay", "", "replay the event log in this `file`")
	for _, other := range []string{"policy", "seed", "sizes", "arrivals", "log", "jobs", "stats", "no-bound", "seeds", "against", "html"} {
		cmd.MarkFlagsMutuallyExclusive("replay", other) // the log says, or there is none
	}
	return cmd
}

func (e *env) simulateAll(paths []string, o simulateOptions) error {
	specs := policy.SplitList(o.policies)
	switch {
	case len(specs) == 0:
		return usage("--policy is empty: name at least one policy")
	case o.log != "" && len(specs) > 1:
		return usage("--log takes one policy: name it with --policy")
	}
	if err := o.validateSeveral(specs, paths); err != nil {
		return err
	}
	known := make([]*policy.Knowledge, len(specs))
	for i, spec := range specs { // before any work
		var err error
		if known[i], err = e.knowledge(spec, o); err != nil {
			return err
		}
	}
	if o.several(paths) {
		return e.compare(paths, specs, known, &o)
	}
	path := paths[0]
	in, err := e.load(path, o.given)
	if err != nil {
		return err
	}
	x := sched.NewIndex(in)
	z, err := sim.Realise(x, o.seed)
	if err != nil {
		return noSizes(path, err)
	}
	lower := math.NaN()
	if !o.noBound {
		lower = e.hindsight(x, z)
	}
	result := simulateResult{header: header{apiVersion, "SimulationList"}}
	var starts [][]sched.Time
	bar := e.newBar("simulating", int64(len(specs))*int64(x.Tasks()))
	defer bar.stop()
	for i, spec := range specs {
		s := simulation{spec: spec, in: in, x: x, sizes: z, seed: o.seed, lower: lower, knowledge: known[i], observe: bar.countEnds()}
		r, err := e.simulateLogged(s, o.log)
		if err != nil {
			return err
		}
		if o.stats {
			fmt.Fprintf(e.stderr, "%s: %d tasks, %d events, %d decisions in %.3f s: %.0f events/s; digest %016x\n",
				spec, x.Tasks(), r.Stats.Events, r.Stats.Decisions, r.spent.Seconds(), float64(r.Stats.Events)/r.spent.Seconds(), r.Digest)
			if s := r.Solution; s != nil {
				fmt.Fprintf(e.stderr, "%s: planned with the relaxation between %s and %s, %d fallbacks\n",
					spec, number(s.Lower), number(s.Upper), r.Stats.Fallbacks)
			}
		}
		result.Runs = append(result.Runs, r.Run)
		if o.jobs && o.out == "table" {
			starts = append(starts, jobStarts(x, &r.Schedule))
		}
	}
	bar.stop()
	if isStdout(o.log) {
		return nil
	}
	return o.out.print(e.stdout, result, func(w *bytes.Buffer) {
		summarise(w, result.Runs)
		for i := range starts {
			fmt.Fprintf(w, "\n%s\n", result.Runs[i].Policy)
			jobTable(w, result.Runs[i], starts[i])
		}
	})
}

// knowledge returns what a policy is shown.
func (e *env) knowledge(spec string, o simulateOptions) (*policy.Knowledge, error) {
	entry, _, err := e.parsePolicy(spec)
	if err != nil {
		return nil, err
	}
	k := entry.Knowledge
	if o.sizes != "" {
		if k.Sizes, err = policy.ParseSizes(o.sizes); err != nil {
			return nil, usage("--sizes: %w", err)
		}
	}
	if o.arrivals != "" {
		if k.Arrivals, err = policy.ParseArrivals(o.arrivals); err != nil {
			return nil, usage("--arrivals: %w", err)
		}
	}
	return &k, nil
}

// simulateLogged simulates and writes the event log if there is a path for it.
func (e *env) simulateLogged(s simulation, path string) (*simulated, error) {
	if path == "" {
		return e.simulate(s)
	}
	var r *simulated
	err := e.writeTo(path, func(w io.Writer) error {
		log, err := engine.NewLogWriter(w, s.x, engine.LogHeader{
			Workload: s.in.Name, SHA256: cert.Hash(s.in), Policy: s.spec, Seed: s.seed,
			Sizes: s.knowledge.Sizes.String(), Arrivals: s.knowledge.Arrivals.String(), Simulated: true,
		})
		if err != nil {
			return err
		}
		count, writes := s.observe, error(nil)
		s.observe = func(now sched.Time, ev engine.Event, actions []engine.Action) error {
			if count != nil {
				if err := count(now, ev, actions); err != nil {
					return err
				}
			}
			writes = log.Event(now, ev, actions)
			return writes
		}
		if r, err = e.simulate(s); writes != nil {
			return writes
		}
		if err != nil {
			return err
		}
		return log.Close(r.Digest)
	})
	return r, err
}
