// Package cli is the command line: one file per command, cmd_<name>.go. Results go
// to stdout, progress and messages to stderr. Nothing else reads the environment.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/fairlead-project/fairlead/internal/supervise"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/policy/all"
)

// env is what the commands use of the world.
type env struct {
	ctx            context.Context
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	policies       *policy.Registry
	data           string // --data

	inputs []os.FileInfo // what has been read, so that it is not overwritten
	piped  bool          // standard input has been read
	// guarded: processes run that have to be ended first, in bounded time, so a
	// second signal must not end this one at once.
	guarded atomic.Bool
}

// stopped reports whether the user has asked to stop.
func (e *env) stopped() bool { return e.ctx.Err() != nil }

// say writes a message to stderr. That nobody may be there to read it is no reason
// to fail.
func (e *env) say(format string, args ...any) {
	_, _ = fmt.Fprintf(e.stderr, "fairlead: "+format+"\n", args...)
}

// Main runs the command line and returns the exit code.
func Main(args []string) int {
	if len(args) > 0 && args[0] == "run" && !supervise.Coarse() {
		coarsen()
	}
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	e := &env{
		ctx: ctx, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		getenv: os.Getenv, policies: all.Registry(),
	}
	// A second signal ends the program at once, as users expect.
	context.AfterFunc(ctx, func() {
		if !e.guarded.Load() {
			stop()
		}
	})
	return execute(e, args)
}

// coarsen starts this program anew in its own place, so that it wakes less often: a run
// of short tasks costs noticeably less. If it cannot, it costs more.
func coarsen() {
	if self, err := os.Executable(); err == nil {
		_ = supervise.Coarsen(func() error { return syscall.Exec(self, os.Args, os.Environ()) })
	}
}

func execute(e *env, args []string) int {
	root := newRoot(e)
	root.SetArgs(args)
	err := root.ExecuteContext(e.ctx)
	if err == nil {
		return exitOK
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		exit = &exitError{exitUsage, err} // cobra's own: usage
	}
	if exit.err != nil {
		e.say("%v", err)
	}
	return exit.code
}

// columns of a terminal that help fits into.
const columns = 80

func newRoot(e *env) *cobra.Command {
	root := &cobra.Command{
		Use:   "fairlead",
		Short: "Schedule data-parallel work, and prove how good the schedule is",
		Long: `Fairlead runs or simulates jobs that are DAGs of stages, on machines of different
speeds, and certifies how far from optimal the result can be at most.` +
			exits(exitFailed, exitUsage, exitNotFound, exitInvalid, exitInterrupted),
		Example: `  fairlead init jobs.yaml        write a commented example
  fairlead plan jobs.yaml        see what would happen
  fairlead run jobs.yaml         run it here, for real
  fairlead simulate jobs.yaml    compare policies`,
		Version:           versionString(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true, // the same manual pages every day
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	root.SetFlagErrorFunc(badFlag)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprint(".FlagUsagesWrapped ", columns)))
	root.SetVersionTemplate("fairlead {{.Version}}\n")
	root.PersistentFlags().StringVar(&e.data, "data", "", "`directory` of the history (default fairlead in the XDG data home)")
	root.AddCommand(
		newRun(e), newPlan(e), newSimulate(e), newBound(e), newVerify(e),
		newHistory(e), newReport(e), newPolicies(e), newInit(e), newGenerate(e), newAdversary(e), newConvert(e), newMan(e), newVersion(e), newSupervise(),
	)
	return root
}
