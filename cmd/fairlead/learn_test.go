package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// outcome is what `run -o json` says, as far as these tests ask.
type outcome struct {
	Runs []struct {
		Policy             string  `json:"policy"`
		WeightedCompletion float64 `json:"weightedCompletion"`
		Makespan           float64 `json:"makespan"`
	} `json:"runs"`
	Predicted *struct {
		Makespan float64 `json:"makespan"`
	} `json:"predicted"`
}

// fairlead runs the command with homes of its own below dir.
func fairlead(t *testing.T, dir string, args ...string) (stdout []byte, stderr string) {
	t.Helper()
	cmd := command(dir, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("fairlead %s: %v\n%s", strings.Join(args, " "), err, &errs)
	}
	return out.Bytes(), errs.String()
}

func command(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("fairlead", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+filepath.Join(dir, "data"), "XDG_STATE_HOME="+filepath.Join(dir, "state"),
		"GORACE=atexit_sleep_ms=0")
	return cmd
}

// example prepares the MapReduce example in dir, with less data, and returns the path of
// the file, in which edit may change more.
func example(t *testing.T, dir string, edit func(string) string) string {
	t.Helper()
	program := filepath.Join(dir, "mapreduce")
	build := exec.Command("go", "build", "-o", program, "../../examples/mapreduce")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile("../../examples/mapreduce.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := string(text)
	replace := func(pattern, by string, least int) {
		re := regexp.MustCompile(pattern)
		if n := len(re.FindAllString(s, -1)); n < least {
			t.Fatalf("the example has %d times %q, expected %d", n, pattern, least)
		}
		s = re.ReplaceAllString(s, by)
	}
	replace(`run: go build .*`, `run: mkdir -p out && cp `+program+` out/ && out/mapreduce clean`, 1)
	replace(`-records=(\d+)\d`, `-records=$1`, 9)
	replace(`-passes=8`, `-passes=2`, 9)
	write(t, dir, "mapreduce.yaml", edit(s), 0o666)
	return filepath.Join(dir, "mapreduce.yaml")
}

// TestExampleWithoutSizes runs the example, with all that it says of sizes and releases
// left out, again and again. The first run is blind and says so; later ones say how
// long they will take, and how long they took. Other work on this computer may spoil
// one of them.
func TestExampleWithoutSizes(t *testing.T) {
	dir := t.TempDir()
	file := example(t, dir, func(s string) string {
		s = regexp.MustCompile(`(?m)^ +size:.*\n`).ReplaceAllString(s, "")
		return regexp.MustCompile(`release: \d+`).ReplaceAllString(s, "release: 0")
	})
	var off []float64
	for n := range 4 {
		stdout, stderr := fairlead(t, dir, "run", file, "-o", "json")
		var o outcome
		if err := json.Unmarshal(stdout, &o); err != nil {
			t.Fatal(err)
		}
		switch blind := strings.Contains(stderr, "running blind"); {
		case n == 0 && (!blind || o.Predicted != nil || o.Runs[0].Policy != "fifo"):
			t.Fatalf("the first run under %s predicts %v\n%s", o.Runs[0].Policy, o.Predicted, stderr)
		case n == 0:
			continue
		case blind || o.Predicted == nil || o.Runs[0].Policy != "spc-online":
			t.Fatalf("run %d under %s predicts %v\n%s", n, o.Runs[0].Policy, o.Predicted, stderr)
		case !strings.Contains(stderr, "expected to take"):
			t.Errorf("run %d does not say what it expects:\n%s", n, stderr)
		}
		off = append(off, math.Abs(o.Predicted.Makespan-o.Runs[0].Makespan)/o.Runs[0].Makespan)
		t.Logf("expected %.2f s, took %.2f s", o.Predicted.Makespan, o.Runs[0].Makespan)
		if off[len(off)-1] <= 0.25 {
			return
		}
	}
	t.Errorf("predictions were off by %.2f of what happened", off)
}

// The speeds of three machines, which only the tasks know.
var trueSpeeds = map[string]float64{"a": 4, "b": 1, "c": 2}

// slowWorkload has jobs whose tasks sleep for their size over the true speed of the
// machine they run on. told: sizes and speeds are in the file.
func slowWorkload(told bool) string {
	var b strings.Builder
	b.WriteString("apiVersion: fairlead.dev/v1alpha1\nkind: Workload\nmetadata: {name: learn}\ncluster:\n  machines:\n")
	for _, m := range []string{"a", "b", "c"} {
		fmt.Fprintf(&b, "  - {name: %s", m)
		if told {
			fmt.Fprintf(&b, ", speed: %v", trueSpeeds[m])
		}
		b.WriteString("}\n")
	}
	b.WriteString("jobs:\n")
	stage := func(name, after string, count int, size float64) {
		fmt.Fprintf(&b, "  - {name: %s%s, count: %d", name, after, count)
		if told {
			fmt.Fprintf(&b, ", size: %v", size)
		}
		fmt.Fprintf(&b, ", run: [./work, %q, %q, %q]}\n", took(size, "a"), took(size, "b"), took(size, "c"))
	}
	for j := range 7 {
		fmt.Fprintf(&b, "- name: j%d\n  weight: %d\n  stages:\n", j, 1+j*j)
		stage("map", "", 3, 0.6-0.05*float64(j))
		stage("reduce", ", after: [map]", 1, 0.3+0.1*float64(j%3))
	}
	return b.String()
}

// took is how long a task of a size takes on a machine.
func took(size float64, machine string) string {
	return strconv.FormatFloat(size/trueSpeeds[machine], 'f', -1, 64)
}

// TestLearnSpeeds: without sizes and speeds in the file, runs learn both. The last
// three of ten cost what a run costs that is told the truth.
func TestLearnSpeeds(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "work", `#!/bin/sh
case $FAIRLEAD_MACHINE in
a) exec sleep $1 ;;
b) exec sleep $2 ;;
c) exec sleep $3 ;;
esac
`, 0o777)
	write(t, dir, "learn.yaml", slowWorkload(false), 0o666)
	write(t, dir, "told.yaml", slowWorkload(true), 0o666)
	cost := func(home, file string) float64 {
		stdout, _ := fairlead(t, filepath.Join(dir, home), "run", filepath.Join(dir, file), "-o", "json")
		var o outcome
		if err := json.Unmarshal(stdout, &o); err != nil {
			t.Fatal(err)
		}
		return o.Runs[0].WeightedCompletion
	}
	for _, home := range []string{"learning", "telling"} {
		if err := os.Mkdir(filepath.Join(dir, home), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	var learnt []float64
	for range 10 {
		learnt = append(learnt, cost("learning", "learn.yaml"))
	}
	for again := 0; ; again++ { // other work on this computer may spoil a run
		told := cost("telling", "told.yaml")
		t.Logf("learning: %.1f; told: %.1f", learnt, told)
		if learnt[0] < 1.10*told {
			t.Errorf("the first run cost %.2f: there is nothing to learn from %.2f", learnt[0], told)
		}
		worst := slices.Max(learnt[len(learnt)-3:])
		if worst <= 1.10*told {
			return
		}
		if again == 3 {
			t.Fatalf("a run after so many others cost %.2f, told the truth it costs %.2f", worst, told)
		}
		for range 3 {
			learnt = append(learnt, cost("learning", "learn.yaml"))
		}
	}
}

func write(t *testing.T, dir, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
