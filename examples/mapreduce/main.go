package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
)

const usage = `usage: mapreduce [-dir DIR] COMMAND

  generate [flags] JOB SPLIT   write one split of JOB's input, and its job.json
                               (flags: mapreduce generate -h)
  sample JOB                   terasort: choose the reducers' key ranges
  map JOB SPLIT                turn a split into one sorted run per reducer
  reduce JOB REDUCER           merge the reducer's runs into its part of the output
  check [-passes N] [JOB...]   verify the outputs (of all jobs in DIR)
  clean                        remove all jobs from DIR

Where FAIRLEAD_SPEED is set, work is done passes/FAIRLEAD_SPEED times over, so
that a slot of a slow machine takes longer even where all cores are alike.
`

func main() {
	runtime.GOMAXPROCS(1) // a task is given one slot, which is one core
	err := run(os.Args[1:], os.Getenv("FAIRLEAD_SPEED"), os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.As(err, new(usageError)):
		fmt.Fprintf(os.Stderr, "mapreduce: %v\n\n%s", err, usage)
		os.Exit(2)
	case err != nil:
		fmt.Fprintf(os.Stderr, "mapreduce: %v\n", err)
		os.Exit(1)
	}
}

type usageError string

func (e usageError) Error() string { return string(e) }

// run executes one command. speed is the declared speed of the machine it runs
// on, as a decimal; empty if it was started by hand.
func run(args []string, speed string, stdout, stderr io.Writer) error {
	top := newFlags("mapreduce", stderr)
	data := top.String("dir", "out", "directory of all jobs' files")
	if err := top.Parse(args); err != nil {
		return flagError(err)
	}
	if top.NArg() == 0 {
		return usageError("no command")
	}
	dir, command, args := dataDir(*data), top.Arg(0), top.Args()[1:]
	switch command {
	case "generate":
		return generateCommand(dir, args, speed, stderr)
	case "sample", "map", "reduce":
		return taskCommand(dir, command, args, speed)
	case "check":
		return checkCommand(dir, args, speed, stdout, stderr)
	case "clean":
		if len(args) != 0 {
			return usageError("clean takes no arguments")
		}
		return dir.clean()
	}
	return usageError(fmt.Sprintf("unknown command %q", command))
}

func newFlags(name string, stderr io.Writer) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(stderr)
	return f
}

func flagError(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	return usageError(err.Error())
}

func generateCommand(dir dataDir, args []string, speed string, stderr io.Writer) error {
	var j job
	f := newFlags("mapreduce generate", stderr)
	f.StringVar(&j.App, "app", "", "application: wordcount, sort or terasort")
	f.IntVar(&j.Splits, "splits", 1, "number of splits, and of map tasks")
	f.IntVar(&j.Reducers, "reducers", 1, "number of reduce tasks")
	f.IntVar(&j.Records, "records", 0, "records per split; words for wordcount")
	f.Uint64Var(&j.Seed, "seed", 0, "seed of the data")
	f.IntVar(&j.Passes, "passes", 1, "how often a task's work is done on a machine of speed 1")
	if err := f.Parse(args); err != nil {
		return flagError(err)
	}
	if f.NArg() != 2 {
		return usageError("generate: want JOB and SPLIT")
	}
	j.name, j.dir = f.Arg(0), dir
	if err := j.validate(); err != nil {
		return err
	}
	split, err := index(f.Arg(1), j.Splits, "split")
	if err != nil {
		return err
	}
	return repeat(j.Passes, speed, func() error { return generate(&j, split) })
}

func taskCommand(dir dataDir, command string, args []string, speed string) error {
	want := 2
	if command == "sample" {
		want = 1
	}
	if len(args) != want {
		return usageError(fmt.Sprintf("%s: want %d argument(s), got %d", command, want, len(args)))
	}
	j, err := dir.load(args[0])
	if err != nil {
		return err
	}
	var work func() error
	switch command {
	case "sample":
		work = func() error { return sampleTask(j) }
	case "map":
		split, err := index(args[1], j.Splits, "split")
		if err != nil {
			return err
		}
		work = func() error { return mapTask(j, split) }
	case "reduce":
		reducer, err := index(args[1], j.Reducers, "reducer")
		if err != nil {
			return err
		}
		work = func() error { return reduceTask(j, reducer) }
	}
	return repeat(j.Passes, speed, work)
}

func index(arg string, n int, what string) (int, error) {
	i, err := strconv.Atoi(arg)
	if err != nil || i < 0 || i >= n {
		return 0, usageError(fmt.Sprintf("no %s %q: want 0 to %d", what, arg, n-1))
	}
	return i, nil
}

// wholeTolerance forgives the rounding of a speed written with some decimals.
const wholeTolerance = 1e-6

// repeat does the work passes/speed times, really: every pass reads its input and
// writes its output again. Without a speed it does it once.
func repeat(passes int, speed string, work func() error) error {
	times := 1
	if speed != "" {
		v, err := strconv.ParseFloat(speed, 64)
		if err != nil || !(v > 0) {
			return fmt.Errorf("FAIRLEAD_SPEED=%q is not a positive number", speed)
		}
		q := float64(passes) / v
		times = int(math.Round(q))
		if times < 1 || math.Abs(q-math.Round(q)) > wholeTolerance {
			return fmt.Errorf("%d passes cannot be done at speed %s: %.3g is not a whole number of times; "+
				"change -passes or the machine's speed", passes, speed, q)
		}
	}
	for range times {
		if err := work(); err != nil {
			return err
		}
	}
	return nil
}
