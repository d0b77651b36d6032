package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-project/fairlead/internal/history"
	"github.com/fairlead-project/fairlead/internal/run"
	"github.com/fairlead-project/fairlead/sched"
)

// TestKillAndResume kills the example run at random moments, the driver alone or
// with its supervisor, and resumes it, until it is done; then nothing is lost and
// nothing was counted twice. FAIRLEAD_LONG=1 does it 500 times instead of 20.
func TestKillAndResume(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	t.Parallel()
	kills, long := 20, os.Getenv("FAIRLEAD_LONG") != ""
	if long {
		kills = 500
	}
	seed := uint64(1)
	if long {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	c := newCrash(t, rand.New(rand.NewPCG(seed, 0)))
	c.enough = func() bool { return c.kills >= kills && c.busy >= kills*3/4 || c.kills >= 2*kills }
	for round := 0; round == 0 || !c.enough(); round++ {
		c.round(round)
	}
	if c.busy < kills*3/4 {
		t.Errorf("only %d of %d kills came while tasks ran", c.busy, c.kills)
	}
	t.Logf("%d kills, %d while tasks ran, %d with the supervisor", c.kills, c.busy, c.both)
}

type crash struct {
	t    *testing.T
	rng  *rand.Rand
	dir  string
	file string

	kills, busy, both int
	enough            func() bool
}

// newCrash prepares the example. Its tasks append a line to a file when they have done
// their work.
func newCrash(t *testing.T, rng *rand.Rand) *crash {
	c := &crash{t: t, rng: rng, dir: t.TempDir()}
	c.file = example(t, c.dir, func(s string) string { return strings.ReplaceAll(s, "run: [out/mapreduce, ", "run: [./task, ") })
	write(t, c.dir, "task", `#!/bin/sh
out/mapreduce "$@" || exit
echo "$FAIRLEAD_JOB/$FAIRLEAD_STAGE/$FAIRLEAD_TASK $FAIRLEAD_ATTEMPT" >>effects
`, 0o777)
	return c
}

// round is one run, from its start through kills to its end.
func (c *crash) round(n int) {
	runDir := filepath.Join(c.dir, fmt.Sprintf("run-%d", n))
	os.Remove(filepath.Join(c.dir, "effects"))
	args := []string{"run", c.file, "--dir", runDir, "-o", "json"}
	for {
		cmd := command(c.dir, args...)
		out, err := os.Create(filepath.Join(c.dir, "out.txt"))
		if err != nil {
			c.t.Fatal(err)
		}
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			c.t.Fatal(err)
		}
		out.Close()
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		kill := make(chan struct{})
		if !c.enough() {
			go c.moment(kill, c.rng.IntN(5) > 0, time.Duration(c.rng.IntN(500))*time.Millisecond)
		}
		select {
		case err := <-done:
			if err != nil {
				text, _ := os.ReadFile(out.Name())
				c.t.Fatalf("%v\n%s", err, text)
			}
			c.check(runDir)
			return
		case <-kill:
			c.kill(cmd.Process, runDir)
			<-done
		}
		if _, err := os.Stat(filepath.Join(runDir, "run.json")); err == nil {
			args = []string{"run", "--resume", "--dir", runDir, "-o", "json"}
		}
	}
}

// moment waits for the time to kill: so long after the start, or after a task runs.
func (c *crash) moment(kill chan<- struct{}, task bool, wait time.Duration) {
	if task {
		for until := time.Now().Add(5 * time.Second); running(c.dir) == 0 && time.Now().Before(until); {
			time.Sleep(5 * time.Millisecond)
		}
	}
	time.Sleep(wait)
	close(kill)
}

// kill ends the driver, and half of the times its supervisor, at once.
func (c *crash) kill(driver *os.Process, runDir string) {
	c.kills++
	if running(c.dir) > 0 {
		c.busy++
	}
	supervisor := findProcess(func(args []string) bool { return len(args) > 2 && args[1] == "supervise" && args[2] == runDir })
	if c.rng.IntN(2) == 0 && supervisor > 0 {
		c.both++
		if c.rng.IntN(2) == 0 { // either one first
			driver.Kill()
			syscall.Kill(supervisor, syscall.SIGKILL)
			return
		}
		syscall.Kill(supervisor, syscall.SIGKILL)
	}
	driver.Kill()
}

// running counts the tasks that run below dir.
func running(dir string) (n int) {
	for _, p := range processes() {
		if cwd, err := os.Readlink(p + "/cwd"); err != nil || cwd != dir {
			continue
		}
		if args := arguments(p); len(args) > 1 && args[1] == "./task" {
			n++
		}
	}
	return n
}

func processes() []string {
	all, _ := filepath.Glob("/proc/[0-9]*")
	return all
}

func arguments(p string) []string {
	line, _ := os.ReadFile(p + "/cmdline")
	return strings.Split(string(line), "\x00")
}

// findProcess returns the number of a process by its arguments, 0 if there is none.
func findProcess(match func(args []string) bool) int {
	for _, p := range processes() {
		if match(arguments(p)) {
			pid, _ := strconv.Atoi(filepath.Base(p))
			return pid
		}
	}
	return 0
}

// check compares the effects of the tasks with what the run and the history say.
func (c *crash) check(runDir string) {
	attempts, err := run.ReadAttempts(runDir)
	if err != nil {
		c.t.Fatal(err)
	}
	r, err := run.Open(runDir)
	if err != nil {
		c.t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(c.dir, "effects"))
	if err != nil {
		c.t.Fatal(err)
	}
	effects := map[string]int{} // by task and attempt
	last := map[string]int32{}  // per task: the latest attempt that had an effect
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		effects[line]++
		task, number, _ := strings.Cut(line, " ")
		n, err := strconv.Atoi(number)
		if err != nil {
			c.t.Fatalf("an effect is %q", line)
		}
		last[task] = max(last[task], int32(n))
	}
	succeeded := map[string]int32{}
	for i := range attempts {
		a := &attempts[i]
		task := fmt.Sprintf("%s/%s/%d", a.Job, a.Stage, a.Index)
		if a.State == run.AttemptRunning {
			c.t.Errorf("%s attempt %d still runs", task, a.Attempt)
		}
		if a.State != run.AttemptDone {
			continue
		}
		if other, twice := succeeded[task]; twice {
			c.t.Errorf("%s succeeded in attempts %d and %d", task, other, a.Attempt)
		}
		succeeded[task] = a.Attempt
		if a.Job == "build" { // which leaves no effect
			continue
		}
		if n := effects[fmt.Sprintf("%s %d", task, a.Attempt)]; n != 1 || last[task] != a.Attempt {
			c.t.Errorf("%s succeeded in attempt %d, which had %d effects; the last effect is of attempt %d", task, a.Attempt, n, last[task])
		}
	}
	if x := sched.NewIndex(r.Instance); len(succeeded) != x.Tasks() {
		c.t.Errorf("%d of %d tasks succeeded", len(succeeded), x.Tasks())
	}
	c.history(r.Manifest.ID, attempts)
}

// history demands that the history has each attempt of the run once.
func (c *crash) history(id string, attempts []run.Attempt) {
	db, err := history.OpenReadOnly(filepath.Join(c.dir, "data", "fairlead", "history.db"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer db.Close()
	all, err := db.All(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	kept := map[string]int{}
	for i := range all {
		if a := &all[i]; a.Run == id {
			kept[fmt.Sprintf("%s/%s/%d.%d %v", a.Job, a.Stage, a.Task, a.Attempt, a.State)]++
		}
	}
	for i := range attempts {
		a := &attempts[i]
		key := fmt.Sprintf("%s/%s/%d.%d %s", a.Job, a.Stage, a.Index, a.Attempt, a.State)
		if kept[key] != 1 {
			c.t.Errorf("the history has %s %d times", key, kept[key])
		}
		delete(kept, key)
	}
	for key := range kept {
		c.t.Errorf("the history has %s, which never was", key)
	}
}
