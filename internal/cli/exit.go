package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitInvalid     = 4
	exitInterrupted = 130 // by SIGINT, SIGTERM or SIGHUP
)

var exitMeaning = map[int]string{
	exitOK: "ok", exitFailed: "some task failed", exitUsage: "usage or bad input", exitNotFound: "not found",
	exitInvalid: "certificate or log invalid", exitInterrupted: "interrupted",
}

// exits is the paragraph of a command's help about its exit codes.
func exits(codes ...int) string {
	b := strings.Builder{}
	fmt.Fprintf(&b, "\n\nExit codes: %d %s", exitOK, exitMeaning[exitOK])
	for i, c := range codes {
		space := " "
		if i == 2 { // within 80 columns
			space = "\n"
		}
		fmt.Fprintf(&b, ",%s%d %s", space, c, exitMeaning[c])
	}
	return b.String() + "."
}

// exitError ends the program with a code; err may be nil if all has been said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func fail(code int, err error) error { return &exitError{code, err} }

func usage(format string, args ...any) error {
	return fail(exitUsage, fmt.Errorf(format, args...))
}

var errInterrupted = fail(exitInterrupted, errors.New("interrupted"))

// exactly takes the arguments that the command's Use line names.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		expected := cmp.Or(strings.Join(names, " and "), "no arguments")
		return usage("expected %s, found %d\nUsage: %s", expected, len(args), cmd.UseLine())
	}
}

// atLeast takes one argument or more.
func atLeast(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return usage("expected %s, found 0\nUsage: %s", name, cmd.UseLine())
	}
}

// atMost takes one argument or none.
func atMost(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= 1 {
			return nil
		}
		return usage("expected at most one %s, found %d\nUsage: %s", name, len(args), cmd.UseLine())
	}
}

// badFlag explains a wrong flag in the words of its command.
func badFlag(cmd *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	if errors.As(err, &bad) {
		expected, ok := map[string]string{
			"int": "a whole number", "uint64": "a whole number of at least 0", "float64": "a number",
			"duration": "a duration such as 10s or 1m30s", "bool": "true or false",
			"size": "a positive number of bytes such as 500MB or 2GiB",
		}[bad.GetFlag().Value.Type()]
		if !ok {
			expected = bad.Unwrap().Error()
		}
		err = fmt.Errorf("--%s: found %q, expected %s", bad.GetFlag().Name, bad.GetValue(), expected)
	}
	return usage("%w\nSee %s --help", err, cmd.CommandPath())
}
