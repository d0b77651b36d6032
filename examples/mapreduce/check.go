package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
)

// verdict is what a check found to be right.
type verdict struct {
	in    int // records generated; words for wordcount
	out   int // records in the output
	bytes int64
	claim string
}

// checkJob verifies the output of one job: exactly one part per reducer, with the
// contents that the application's check demands.
func checkJob(j *job) (verdict, error) {
	entries, err := os.ReadDir(j.output())
	if err != nil {
		return verdict{}, err
	}
	expected := map[string]bool{}
	for r := range j.Reducers {
		expected[filepath.Base(j.part(r))] = true
	}
	for _, e := range entries {
		if !expected[e.Name()] {
			return verdict{}, fmt.Errorf("%s is not part of the output", filepath.Join(j.output(), e.Name()))
		}
	}
	return j.app().check(j)
}

// checkCommand verifies the jobs named, or all, and prints a table. It fails if
// one of them is wrong, after all have been looked at.
func checkCommand(dir dataDir, args []string, speed string, stdout, stderr io.Writer) error {
	f := newFlags("mapreduce check", stderr)
	passes := f.Int("passes", 1, "how often to check on a machine of speed 1")
	if err := f.Parse(args); err != nil {
		return flagError(err)
	}
	names := f.Args()
	if len(names) == 0 {
		var err error
		if names, err = dir.jobs(); err != nil {
			return err
		}
		if len(names) == 0 {
			return fmt.Errorf("no jobs in %s: nothing to check", dir)
		}
	}
	var failures []error
	t := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "JOB\tAPPLICATION\tPARTS\tRECORDS IN\tRECORDS OUT\tBYTES\tVERIFIED")
	for _, name := range names {
		j, err := dir.load(name)
		var v verdict
		if err == nil {
			err = repeat(*passes, speed, func() (err error) {
				v, err = checkJob(j)
				return err
			})
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("job %s: %w", name, err))
			fmt.Fprintf(t, "%s\t\t\t\t\t\tWRONG\n", name)
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%s\n", name, j.App, j.Reducers, v.in, v.out, v.bytes, v.claim)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return errors.Join(failures...)
}
