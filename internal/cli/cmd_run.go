package cli

import (
	"bytes"
	"cmp"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/fairlead-project/fairlead/cert"
	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/internal/run"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
)

type runOptions struct {
	given
	out       format
	policy    string
	seed      uint64
	keepGoing bool
	failFast  bool
	dryRun    bool
	dir       string
}

func newRun(e *env) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Run a workload here, for real",
		Long: `Run the tasks of a workload as processes on this computer, in the order and on the
machines that the policy chooses, and print what it cost, how far from optimal
that can be at most, and what first-in-first-out would have cost.

A failed task fails its job; other jobs go on, and jobs after it are not run.
Ctrl-C (or SIGTERM) ends all that was started. Outputs of the tasks and the event
log are kept in the run's directory, which is printed at the end.` + exits(exitFailed, exitUsage, exitInterrupted),
		Example: `  fairlead run jobs.yaml
  fairlead run jobs.yaml -j 8 --keep-going
  fairlead run jobs.yaml --dry-run`,
		Args: exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			if o.dryRun {
				return e.plan(args[0], planOptions{
					given: o.given, out: o.out, policy: cmp.Or(o.policy, "spc"), seed: o.seed, solve: solveFlags{tolerance: defaultTolerance},
				})
			}
			return e.run(args[0], o)
		},
	}
	o.out.addTo(cmd)
	f := cmd.Flags()
	o.given.addTo(f)
	f.StringVar(&o.policy, "policy", "", "`policy` to follow (default spc where all sizes are known, else fifo)")
	completes(cmd, "policy", e.policyNames()...)
	f.Uint64Var(&o.seed, "seed", 0, "`seed` of random policies")
	f.BoolVar(&o.keepGoing, "keep-going", false, "after a failed task go on with all of its job that does not depend on it")
	f.BoolVar(&o.failFast, "fail-fast", false, "stop everything at the first failed task")
	f.BoolVar(&o.dryRun, "dry-run", false, "only show the plan, as fairlead plan does")
	f.StringVar(&o.dir, "dir", "", "`directory` for outputs and the event log (default a new one in the state home)")
	cmd.MarkFlagsMutuallyExclusive("keep-going", "fail-fast")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "dir")
	return cmd
}

func (e *env) run(path string, o runOptions) error {
	in, err := e.load(path, o.given)
	if err != nil {
		return err
	}
	x := sched.NewIndex(in)
	missing := sim.Unsized(x)
	if o.policy == "" {
		o.policy = "spc"
		if missing != nil {
			o.policy = "fifo"
			e.say("%s has no size (%d such stages): running under fifo, which needs none", missing[0], len(missing))
		}
	}
	entry, p, err := e.parsePolicy(o.policy)
	if err != nil {
		return err
	}
	if missing != nil && entry.Knowledge.Sizes != policy.SizesUnknown {
		return usage("%s: %s has no size (%d such stages), and %s needs one of every stage; give them a `size`, or use --policy fifo",
			nameOf(path), missing[0], len(missing), entry.Full())
	}
	dir, err := e.runDir(o.dir, in.Name)
	if err != nil {
		return fail(exitUsage, err)
	}
	watch := e.watchRun(x, o)
	e.guarded.Store(true)
	r, err := run.Run(e.ctx, run.Config{
		Instance: in, Policy: p, Knowledge: entry.Knowledge, Seed: o.seed, Estimates: sim.MeansWhereKnown(x),
		BaseDir: dirOf(path), Dir: dir, KeepGoing: o.keepGoing, FailFast: o.failFast,
		Header: engine.LogHeader{
			Workload: in.Name, SHA256: cert.Hash(in), Policy: o.policy, Seed: o.seed, KeepGoing: o.keepGoing,
			Sizes: entry.Knowledge.Sizes.String(), Arrivals: entry.Knowledge.Arrivals.String(),
		},
		Progress: watch.progress(),
	})
	e.guarded.Store(false)
	watch.stop()
	if r == nil {
		if o.dir == "" {
			os.Remove(dir) // ours, and nothing is in it
		}
		return usage("%s: %w", nameOf(path), err)
	}
	result := e.observed(x, o, r)
	result.Dir = dir
	e.reportFailures(r, &result)
	if perr := o.out.print(e.stdout, result, func(w *bytes.Buffer) { runTable(w, x, r, &result) }); perr != nil {
		return perr
	}
	switch {
	case err != nil:
		return fail(exitFailed, err)
	case r.Interrupted:
		ended := "interrupted: everything that was started has been ended"
		if r.OutOfReach {
			ended += ", unless it left its task's process group"
		}
		return fail(exitInterrupted, errors.New(ended))
	case e.stopped():
		return errInterrupted // after the last task
	case !result.Runs[0].Complete():
		return fail(exitFailed, nil)
	}
	return nil
}
