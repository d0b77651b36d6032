package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// What running costs besides the tasks, beside make, which keeps no record.
const (
	trueTasks     = 10_000
	trueSlots     = 2
	overheadRatio = 1.5
	overheadBytes = 150 << 20
)

// overhead runs tasks that do nothing, under fairlead and under make.
func (b *bench) overhead() error {
	makefile, err := b.trueFiles()
	if err != nil {
		return err
	}
	workload := filepath.Join(b.dir, "true.yaml")
	var ratios, peaks []float64
	var ours, theirs cost
	for i := range b.runs {
		progress("%s × true on %d slots: make, then fairlead", grouped(trueTasks), trueSlots)
		began := time.Now()
		cmd := exec.Command("make", "-s", "-j"+strconv.Itoa(trueSlots), "-f", makefile)
		cmd.Env = append(os.Environ(), "MAKEFLAGS=") // this may run below another make
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("make: %w: %s", err, out)
		}
		theirs = cost{wall: time.Since(began), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
		if ours, err = b.trueRun(workload, filepath.Join(b.dir, fmt.Sprintf("true-%d", i))); err != nil {
			return err
		}
		ratios = append(ratios, ours.cpu.Seconds()/theirs.cpu.Seconds())
		peaks = append(peaks, float64(ours.peak))
	}
	b.claims = append(b.claims,
		claim{what: "run, 10,000 × `true` on 2 slots: CPU, relative to `make -j2`", show: times, target: overheadRatio, runs: ratios},
		claim{what: "the same: peak memory of driver and supervisor", show: memory, target: overheadBytes, runs: peaks},
	)
	b.tables = append(b.tables, table{
		title: "Running tasks",
		text: `10,000 tasks that do nothing, each a process of its own, on 2 slots; the last of the
runs. The CPU time is that of everything: the tasks, and what started them. Fairlead
journals every start and every exit, and syncs its log to the disk before it acts.`,
		head: []string{"Command", "CPU", "Wall", "CPU per task"},
		rows: [][]string{
			{"`make -j2`", seconds(theirs.cpu.Seconds()), seconds(theirs.wall.Seconds()), seconds(theirs.cpu.Seconds() / trueTasks)},
			{"`fairlead run`", seconds(ours.cpu.Seconds()), seconds(ours.wall.Seconds()), seconds(ours.cpu.Seconds() / trueTasks)},
		},
	})
	return nil
}

// trueFiles writes the workload, and the same for make, whose path it returns.
func (b *bench) trueFiles() (makefile string, err error) {
	var m bytes.Buffer
	m.WriteString("all:")
	for i := range trueTasks {
		fmt.Fprintf(&m, " t%d", i)
	}
	m.WriteByte('\n')
	for i := range trueTasks {
		fmt.Fprintf(&m, "t%d:\n\t@true\n", i)
	}
	makefile = filepath.Join(b.dir, "true.mk")
	if err := os.WriteFile(makefile, m.Bytes(), 0o666); err != nil {
		return "", err
	}
	return makefile, os.WriteFile(filepath.Join(b.dir, "true.yaml"), fmt.Appendf(nil, `apiVersion: fairlead.dev/v1alpha1
kind: Workload
metadata: {name: "true"}
cluster: {machines: [{name: m, slots: %d}]}
jobs:
- name: a
  stages: [{name: s, count: %d, run: ["true"]}]
`, trueSlots, trueTasks), 0o666)
}

// trueRun runs the workload in dir; the peak is that of all processes of fairlead
// together.
func (b *bench) trueRun(workload, dir string) (cost, error) {
	var stderr bytes.Buffer
	cmd := exec.Command(b.fairlead, "run", workload, "--dir", dir)
	cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+dir+".data")
	cmd.Stderr = &stderr
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return cost{}, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var c cost
	for {
		select {
		case err := <-done:
			switch {
			case err != nil:
				return cost{}, fmt.Errorf("fairlead run: %w: %s", err, &stderr)
			case c.peak == 0:
				return cost{}, errors.New("this system does not say how much memory processes hold")
			}
			c.wall = time.Since(began)
			c.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			return c, nil
		case <-tick.C:
			c.peak = max(c.peak, b.resident())
		}
	}
}

// resident is the memory that the processes of the command hold now.
func (b *bench) resident() (bytes int64) {
	exes, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, exe := range exes {
		if target, err := os.Readlink(exe); err != nil || target != b.fairlead {
			continue
		}
		statm, _ := os.ReadFile(filepath.Join(filepath.Dir(exe), "statm")) // empty: it has ended
		if f := strings.Fields(string(statm)); len(f) > 1 {
			pages, _ := strconv.ParseInt(f[1], 10, 64)
			bytes += pages * int64(os.Getpagesize())
		}
	}
	return bytes
}
