package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Eight tasks whose peaks sum to twice the budget, and a slot for each: the first run
// knows nothing of that; from the second on no more of them run at once than the
// budget has room for, none is ended for want of memory, and waiting costs nothing.
func TestMemoryIsRespected(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "w.yaml", `
apiVersion: fairlead.dev/v1alpha1
kind: Workload
metadata: {name: hogs}
cluster: {machines: [{name: m, slots: 8}]}
jobs:
- {name: a, stages: [{name: s, count: 8, run: "(head -c 62914560 /dev/zero; sleep 1) | tail -c 62914560 >/dev/null"}]}
`, 0o666) // tail holds 60 MiB until its input ends
	const budget = "260MiB"
	fairlead(t, dir, "run", "w.yaml", "--dir", "first", "--memory", budget)
	if n := atOnce(t, filepath.Join(dir, "first", "events.jsonl")); n != 8 {
		t.Errorf("the first run had %d tasks at once: it cannot have known", n)
	}
	cmd := command(dir, "run", "w.yaml", "--dir", "second", "--memory", budget, "-o", "json")
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stdout)
	}
	if strings.Contains(string(stdout), "memory") {
		t.Errorf("memory is mentioned:\n%s", stdout)
	}
	if n := atOnce(t, filepath.Join(dir, "second", "events.jsonl")); n < 2 || n > 4 {
		t.Errorf("the second run had %d tasks at once, want 2 to 4", n)
	}
	var o struct {
		Wall     float64           `json:"wallSeconds"`
		CPU      float64           `json:"cpuSeconds"`
		Failures []json.RawMessage `json:"failures"`
	}
	if err := json.Unmarshal(stdout, &o); err != nil {
		t.Fatal(err)
	}
	if len(o.Failures) > 0 {
		t.Errorf("failures: %s", o.Failures)
	}
}

// atOnce returns how many tasks ran at the same time at most.
func atOnce(t *testing.T, log string) (most int) {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, `"event":"taskFinished"`) {
			n--
		}
		n += strings.Count(line, `"do":"startTask"`)
		most = max(most, n)
	}
	return most
}

// While tasks wait for memory that others hold, neither driver nor supervisor does
// anything: both together use at most one part in a hundred of the time.
func TestWaitingForMemoryCostsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "w.yaml", `
apiVersion: fairlead.dev/v1alpha1
kind: Workload
cluster: {machines: [{name: m, slots: 8, resources: {memory: 1Gi}}]}
jobs:
- {name: a, stages: [{name: hold, size: 12, needs: {memory: 900Mi}, run: [sleep, "12"]}]}
- {name: b, stages: [{name: wait, count: 400, size: 1, needs: {memory: 200Mi}, run: [sleep, "1"]}]}
`, 0o666)
	cmd := command(dir, "run", "w.yaml", "--dir", "run", "--policy", "fifo")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "run", "events.jsonl")
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if text, _ := os.ReadFile(log); strings.Contains(string(text), "startTask") {
			break
		}
		if time.Now().After(until) {
			t.Fatal("nothing starts")
		}
	}
	time.Sleep(2 * time.Second) // and the start is over
	supervisor := findProcess(func(args []string) bool {
		return len(args) > 2 && args[1] == "supervise" && args[2] == filepath.Join(dir, "run")
	})
	if supervisor == 0 {
		t.Fatal("there is no supervisor")
	}
	before, began := cpuOf(t, cmd.Process.Pid)+cpuOf(t, supervisor), time.Now()
	time.Sleep(8 * time.Second)
	used, waited := cpuOf(t, cmd.Process.Pid)+cpuOf(t, supervisor)-before, time.Since(began)
	t.Logf("%v of CPU in %v", used, waited)
	if used > waited/100 {
		t.Errorf("waiting for memory took %v of CPU in %v", used, waited)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || err.(*exec.ExitError).ExitCode() != 130 {
		t.Errorf("ended with %v", err)
	}
}

// cpuOf is the time that a process itself has used.
func cpuOf(t *testing.T, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	ticks := 0
	for _, field := range f[11:13] {
		n, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}
