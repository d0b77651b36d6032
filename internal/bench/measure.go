package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cost is what one measurement took.
type cost struct {
	wall, cpu time.Duration // cpu: user and system, all threads
	peak      int64         // bytes, resident; of a process
	allocs    uint64        // of a call
}

// call measures f in this process.
func call(f func() error) (cost, error) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, wall := cpuTime(), time.Now()
	err := f()
	c := cost{wall: time.Since(wall), cpu: cpuTime() - cpu}
	runtime.ReadMemStats(&after)
	c.allocs = after.Mallocs - before.Mallocs
	return c, err
}

// cpuTime is what this process has used so far.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err) // it has no way to fail
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// command runs fairlead and measures the whole process. The error has what it
// wrote to stderr, which is returned too.
func (b *bench) command(args ...string) (cost, string, error) {
	var stderr bytes.Buffer
	cmd := exec.Command(b.fairlead, args...)
	cmd.Stderr = &stderr
	began := time.Now()
	err := cmd.Run()
	wall := time.Since(began)
	if err != nil {
		return cost{}, "", fmt.Errorf("fairlead %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	s := cmd.ProcessState
	usage, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return cost{}, "", errors.New("this system does not say how much memory a process has used")
	}
	peak := int64(usage.Maxrss)
	if runtime.GOOS != "darwin" { // which counts bytes, others kilobytes
		peak <<= 10
	}
	return cost{wall: wall, cpu: s.UserTime() + s.SystemTime(), peak: peak}, stderr.String(), nil
}

// machine describes the computer.
func machine() string {
	model := "an unknown processor"
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d cores, %s, %s/%s", model, runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// loadAverage is the number of threads that wanted to run during the last minute,
// 0 if the system does not say.
func loadAverage() float64 {
	data, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(data), " ")
	load, _ := strconv.ParseFloat(first, 64)
	return load
}
