package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"
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
	resume    bool
	noHistory bool
	backoff   time.Duration
	files     exports
}

const (
	defaultBackoff = time.Second
	maxBackoff     = 5 * time.Minute
)

func newRun(e *env) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run [FILE]",
		Short: "Run a workload here, for real",
		Long: `Run the tasks of a workload as processes on this computer, in the order and on
the machines that the policy chooses, and print what it cost, how far from
optimal that can be at most, and what first-in-first-out would have cost.

How long tasks take, and how much memory, is remembered: stages without a size
take it from earlier runs, as do machines without a speed (fairlead history
shows it). Without sizes a run is blind, and follows a policy that needs none.

A failed task is repeated as often as its stage's retries say, after a pause
that doubles; then its job fails. Other jobs go on, jobs after it are not run.
Ctrl-C (or SIGTERM) ends all that was started.

A small process beside this one watches the tasks and puts down how each one
ended. However a run is cut short, even by kill -9, --resume goes on with it:
what runs is watched again, what has finished is not repeated. Outputs of the
tasks and the event log are in the run's directory, which is printed at the end;
fairlead report shows it.` +
			exits(exitFailed, exitUsage, exitNotFound, exitInterrupted),
		Example: `  fairlead run jobs.yaml
  fairlead run jobs.yaml -j 8 --keep-going
  fairlead run jobs.yaml --dry-run
  fairlead run --resume`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.resume && len(args) == 0 {
				return nil
			}
			return exactly("FILE")(cmd, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			if len(args) == 0 {
				return e.run("", o)
			}
			if o.dryRun {
				o.history = !o.noHistory
				return e.plan(args[0], planOptions{
					given: o.given, out: o.out, policy: cmp.Or(o.policy, sizedPolicy), seed: o.seed, solve: solveFlags{tolerance: defaultTolerance},
				})
			}
			return e.run(args[0], o)
		},
	}
	o.out.addTo(cmd)
	f := cmd.Flags()
	o.given.addTo(f)
	o.given.addFromTo(cmd)
	f.StringVar(&o.policy, "policy", "", "`policy` to follow (default "+sizedPolicy+" where all sizes are known, else "+blindPolicy+")")
	completes(cmd, "policy", e.policyNames()...)
	f.Uint64Var(&o.seed, "seed", 0, "`seed` of random policies")
	f.BoolVar(&o.keepGoing, "keep-going", false, "after a failed task go on with all of its job that does not depend on it")
	f.BoolVar(&o.failFast, "fail-fast", false, "stop everything at the first failed task")
	f.BoolVar(&o.dryRun, "dry-run", false, "only show the plan, as fairlead plan --history does")
	f.StringVar(&o.dir, "dir", "", "`directory` for outputs and the event log (default a new one in the state home)")
	f.BoolVar(&o.resume, "resume", false, "go on with the run in --dir or, without it, with the latest one that was cut short")
	f.BoolVar(&o.noHistory, "no-history", false, "take nothing from earlier runs (this one is remembered all the same)")
	f.DurationVar(&o.backoff, "backoff", defaultBackoff, "`pause` before a failed task is repeated; it doubles each time, up to 5m, give or take a half")
	o.files.addTo(f)
	cmd.MarkFlagsMutuallyExclusive("keep-going", "fail-fast")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "dir")
	for _, other := range []string{"dry-run", "policy", "seed", "keep-going", "fail-fast", "slots", "assume", "memory", "backoff", "no-history", "from", "cluster"} {
		cmd.MarkFlagsMutuallyExclusive("resume", other) // it goes on as it began
	}
	return cmd
}

func (o *runOptions) validate() error {
	if o.backoff < 0 {
		return usage("--backoff %v: expected a duration of at least 0", o.backoff)
	}
	return o.files.validate()
}

func (e *env) run(path string, o runOptions) error {
	prepare := e.begin
	if o.resume {
		prepare = e.resume
	}
	s, err := prepare(path, o)
	if err != nil {
		return err
	}
	defer s.close()
	if !s.resumed {
		s.hint()
	}
	predicted := s.predict()
	o.policy, o.seed = s.spec, s.seed
	watch := e.watchRun(s.x, o)
	r, err := s.carryOut(watch.progress())
	watch.stop()
	if r == nil {
		return s.notBegun(err)
	}
	result := s.observed(r, predicted)
	e.reportFailures(r, &result)
	if perr := o.out.print(e.stdout, result, func(w *bytes.Buffer) { runTable(w, s.x, r, &result) }); perr != nil {
		return perr
	}
	if perr := s.export(o); perr != nil {
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
		return fail(exitInterrupted, fmt.Errorf("%s; fairlead run --resume --dir %s goes on", ended, s.cfg.Dir))
	case e.stopped():
		return errInterrupted // after the last task
	case !result.Runs[0].Complete():
		return fail(exitFailed, nil)
	}
	return nil
}

// notBegun explains why nothing was started.
func (s *session) notBegun(err error) error {
	if s.resumed {
		return fail(exitUsage, err)
	}
	return usage("%s: %w", nameOf(s.path), err)
}

// export writes the files that were asked for.
func (s *session) export(o runOptions) error {
	if len(o.files.files()) == 0 {
		return nil
	}
	r, err := s.e.readRun(s.cfg.Dir)
	if err != nil {
		return err
	}
	lower := math.NaN()
	if o.files.pictured() && r.measured() {
		lower = s.e.hindsight(r.x, r.sizes)
	}
	return s.e.export(&o.files, r.timeline(lower))
}
