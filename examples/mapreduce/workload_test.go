package main

import (
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/workload"
)

// TestWorkload runs the commands of ../mapreduce.yaml, on less data: the numbers
// of tasks must be those that the flags of generate say, and everything that is
// made must be verified at the end.
func TestWorkload(t *testing.T) {
	text, err := os.ReadFile("../mapreduce.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file, err := workload.Parse("mapreduce.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	in, err := file.Instance(nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var made []string // jobs whose output is there
	for _, job := range in.Jobs {
		for _, stage := range job.Stages {
			if stage.Run.Shell != "" {
				continue // the build
			}
			for task := range stage.Count {
				args := lessData(t, stage.Run, workload.Fields{Job: job.Name, Stage: stage.Name, Task: task})
				if args[0] != "out/mapreduce" || args[1] != stage.Name {
					t.Errorf("%s/%s runs %q", job.Name, stage.Name, args)
				}
				speed := strconv.FormatFloat(in.Machines[task%len(in.Machines)].Speed, 'f', -1, 64)
				if err := run(append([]string{"-dir", dir}, args[1:]...), speed, io.Discard, io.Discard); err != nil {
					t.Fatalf("%q: %v", args, err)
				}
				if stage.Name == "check" {
					checked := slices.Sorted(slices.Values(args[3:]))
					if !slices.Equal(checked, slices.Sorted(slices.Values(made))) || !slices.Equal(checked, names(in, job.After)) {
						t.Errorf("made %v, checked %v after %v", made, checked, names(in, job.After))
					}
				}
			}
			if stage.Name == "check" {
				continue
			}
			j, err := dataDir(dir).load(job.Name)
			if err != nil {
				t.Fatal(err)
			}
			tasks := map[string]int{"generate": j.Splits, "sample": 1, "map": j.Splits, "reduce": j.Reducers}
			if stage.Count != tasks[stage.Name] {
				t.Errorf("%s/%s has %d tasks, want %d", job.Name, stage.Name, stage.Count, tasks[stage.Name])
			}
			if stage.Name == "reduce" {
				made = append(made, job.Name)
			}
		}
	}
	if len(made) != 9 {
		t.Errorf("%d jobs: %v", len(made), made)
	}
}

// lessData returns the task's command line with fewer records and passes.
func lessData(t *testing.T, c *sched.Command, f workload.Fields) []string {
	args, err := workload.Argv(c, f)
	if err != nil {
		t.Fatal(err)
	}
	for i, arg := range args {
		switch flag, _, _ := strings.Cut(arg, "="); flag {
		case "-records":
			args[i] = "-records=200"
		case "-passes":
			args[i] = "-passes=2" // the least that both speeds divide
		}
	}
	return args
}

func names(in *sched.Instance, jobs []sched.JobID) []string {
	var all []string
	for _, j := range jobs {
		all = append(all, in.Jobs[j].Name)
	}
	slices.Sort(all)
	return all
}
