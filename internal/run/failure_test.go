package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-project/fairlead/sched"
)

// How an attempt can fail, as exit code, signal and message.
func TestFailures(t *testing.T) {
	r := newTrial(t, "{name: m}", "- {name: placeholder, stages: [{name: s, run: 'true'}]}\n")
	bin := filepath.Join(r.dir, "bin")
	if err := os.Mkdir(bin, 0o777); err != nil {
		t.Fatal(err)
	}
	r.write("plain", "#!/bin/sh\n", 0o666)
	r.write("bin/denied", "#!/bin/sh\n", 0o666)
	r.write("nothing", "\x00\x01", 0o777)
	r.write("lost", "#!/no/such/interpreter\n", 0o777)
	cases := []struct {
		name     string
		argv     []string
		workdir  string
		code     int
		signal   string
		contains string
	}{
		{"status", []string{"sh", "-c", "exit 7"}, "", 7, "", "exit status 7"},
		{"status255", []string{"sh", "-c", "exit 255"}, "", 255, "", "exit status 255"},
		{"killed", []string{"sh", "-c", "kill -KILL $$"}, "", 137, "SIGKILL", "ended by SIGKILL"},
		{"segv", []string{"sh", "-c", "kill -SEGV $$"}, "", 139, "SIGSEGV", "ended by SIGSEGV"},
		{"missing", []string{"no-such-command-here", "x"}, "", 127, "", "command not found: no-such-command-here"},
		{"missing-path", []string{"./no/such"}, "", 127, "", "command not found: ./no/such"},
		{"plain", []string{"./plain"}, "", 126, "", "cannot start ./plain: it is not executable (chmod +x)"},
		{"denied", []string{"denied"}, "", 126, "", "cannot start " + bin + "/denied: it is not executable (chmod +x)"},
		{"directory", []string{"./bin"}, "", 126, "", "cannot start ./bin: it is a directory"},
		{"format", []string{"./nothing"}, "", 126, "", "cannot start ./nothing: it is neither a program"},
		{"interpreter", []string{"./lost"}, "", 126, "", "cannot start ./lost: the interpreter that it names does not exist"},
		{"workdir", []string{"true"}, "nowhere", 126, "", "the working directory " + r.dir + "/nowhere is missing"},
		{"workfile", []string{"./true"}, "plain", 126, "", "the working directory " + r.dir + "/plain is missing, or is no directory"},
		{"too-long", []string{"true", strings.Repeat("x", 160<<10)}, "", 126, "", "argument list too long"},
		{"fine", []string{"true"}, "", 0, "", ""},
	}
	job := r.cfg.Instance.Jobs[0]
	r.cfg.Instance.Jobs = nil
	for _, c := range cases {
		j := job
		j.Name = c.name
		j.Stages = []sched.Stage{job.Stages[0]}
		j.Stages[0].Run = &sched.Command{Argv: c.argv}
		j.Stages[0].Workdir = c.workdir
		r.cfg.Instance.Jobs = append(r.cfg.Instance.Jobs, j)
	}
	r.cfg.Env = []string{"PATH=" + bin + ":/bin:/usr/bin"}
	res := r.run(t.Context())
	equal(t, "failures", len(res.Failures), len(cases)-1)
	equal(t, "done", res.States[len(cases)-1].String(), "done")
	for i := range res.Failures {
		f, c := &res.Failures[i], &cases[i]
		equal(t, c.name+": exit code", f.ExitCode, c.code)
		equal(t, c.name+": signal", f.Signal, c.signal)
		equal(t, c.name+": final", f.Final, true)
		if !strings.Contains(f.Err, c.contains) {
			t.Errorf("%s: got %q, want %q", c.name, f.Err, c.contains)
		}
		if want := c.name + " failed: task 0 of stage s: " + f.Err; res.Explain[i] != want {
			t.Errorf("got %q, want %q", res.Explain[i], want)
		}
	}
}

// A disk that takes no logs fails the attempt, not the run.
func TestLogFileCannotBeMade(t *testing.T) {
	r := newTrial(t, "{name: m}", `
- {name: a, stages: [{name: s, run: 'true'}]}
- {name: b, stages: [{name: s, run: 'true'}]}
`)
	if err := os.MkdirAll(filepath.Join(r.cfg.Dir, "logs"), 0o777); err != nil {
		t.Fatal(err)
	}
	r.write("run/logs/a", "in the way", 0o666)
	res := r.run(t.Context())
	equal(t, "states", r.states(res), "a:failed b:done")
	equal(t, "code", res.Failures[0].ExitCode, 126)
	if got := res.Failures[0].Err; !strings.HasPrefix(got, "cannot make the file for its standard output: ") {
		t.Errorf("got %q", got)
	}
}

func TestRetries(t *testing.T) {
	r := newTrial(t, "{name: m}", `
- {name: third, stages: [{name: s, retries: 2, run: 'test $FAIRLEAD_ATTEMPT = 3'}]}
- {name: never, stages: [{name: s, retries: 2, run: [no-such-command]}]}
`)
	res := r.run(t.Context())
	equal(t, "states", r.states(res), "third:done never:failed")
	equal(t, "failures", len(res.Failures), 5)
	for _, f := range res.Failures {
		equal(t, "final", f.Final, f.Task == 1 && f.Attempt == 3)
	}
	equal(t, "tasks in the schedule", len(res.Schedule.Tasks), 1)
}

// One job fails: the rest of it is not started, what follows it is not run,
// others go on.
const failing = `
- name: bad
  stages:
  - {name: ok, run: 'true'}
  - {name: fails, count: 3, after: [ok], run: 'test $FAIRLEAD_TASK != 0'}
  - {name: apart, after: [ok], count: 2, run: 'sleep 0.1; echo $FAIRLEAD_TASK >>apart'}
  - {name: after, after: [fails], run: 'touch wrong'}
- {name: follows, after: [bad], stages: [{name: s, run: 'touch wrong'}]}
- {name: other, release: 50ms, stages: [{name: s, count: 2, run: 'true'}]}
`

func TestFailedJob(t *testing.T) {
	r := newTrial(t, "{name: m}", failing)
	res := r.run(t.Context())
	equal(t, "states", r.states(res), "bad:failed follows:not-run other:done")
	equal(t, "explained", strings.Join(res.Explain, "\n"),
		"bad failed: task 0 of stage fails: exit status 1\nfollows is not run: bad did not complete")
	equal(t, "started after the failure", r.read("apart")+r.read("wrong"), "")
	equal(t, "known", fmt.Sprint(res.Sizes.Known(0), res.Sizes.Known(1), res.Sizes.Known(5)), "true false true")
	equal(t, "completion", res.Schedule.Completion[0], sched.Never)
}

func TestKeepGoing(t *testing.T) {
	r := newTrial(t, "{name: m}", failing)
	r.cfg.KeepGoing = true
	res := r.run(t.Context())
	equal(t, "states", r.states(res), "bad:failed follows:not-run other:done")
	equal(t, "the rest of the job", r.read("apart"), "0\n1\n")
	if _, err := os.Stat(filepath.Join(r.dir, "wrong")); err == nil {
		t.Error("what depends on a failed task was run")
	}
	equal(t, "failures", len(res.Failures), 1)
}

func TestFailFast(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 2}", `
- {name: long, stages: [{name: s, run: 'echo $$ >>pids; sleep 60'}]}
- {name: bad, stages: [{name: s, retries: 1, run: 'until test -s pids; do sleep 0.01; done; exit 3'}]}
- {name: later, release: 10s, stages: [{name: s, run: 'touch wrong'}]}
`)
	r.cfg.FailFast = true
	began := time.Now()
	res := r.run(t.Context())
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	equal(t, "states", r.states(res), "long:active bad:failed later:waiting")
	equal(t, "interrupted", res.Interrupted, false)
	equal(t, "failures", len(res.Failures), 2)
	equal(t, "explained", strings.Join(res.Explain, "\n"),
		"long was stopped: 0 of its 1 tasks had finished\nbad failed: task 0 of stage s: exit status 3\nlater was not started")
	r.gone("pids")
	equal(t, "started later", r.read("wrong"), "")
}

// gone checks that the processes whose numbers a file lists do not run any more.
func (r *trial) gone(name string) {
	r.t.Helper()
	pids := strings.Fields(r.read(name))
	if len(pids) == 0 {
		r.t.Fatalf("no process has noted its number in %s", name)
	}
	for _, pid := range pids {
		n, err := strconv.Atoi(pid)
		if err != nil {
			r.t.Fatal(err)
		}
		r.eventually("process "+pid+" is gone", func() bool { return !alive(n) })
	}
}

// alive reports whether a process exists and is no zombie: an orphan's zombie is
// for init to collect, which may take it some time.
func alive(pid int) bool {
	if unix.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return runtime.GOOS != "linux"
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}

// eventually waits up to five seconds for what must come true soon.
func (r *trial) eventually(what string, ok func() bool) {
	r.t.Helper()
	for end := time.Now().Add(5 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("not so after 5 s: %s", what)
		}
	}
}

// Both the task and its child ignore SIGTERM.
const stubborn = `trap "" TERM; sh -c "trap \"\" TERM; echo \$\$ >>pids; while :; do sleep 0.05; done" & echo $$ >>pids; while :; do sleep 0.05; done`

func TestTimeout(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 3}", `
- {name: polite, stages: [{name: s, timeout: 1s, run: 'echo $$ >>pids; sleep 60'}]}
- {name: stubborn, stages: [{name: s, timeout: 1s, run: placeholder}]}
- {name: quick, stages: [{name: s, timeout: 10m, run: 'true'}]}
`)
	r.cfg.Instance.Jobs[1].Stages[0].Run.Shell = stubborn
	began := time.Now()
	res := r.run(t.Context())
	if took := time.Since(began); took < 1200*time.Millisecond || took > 6*time.Second {
		t.Errorf("took %v, want 1 s until SIGTERM and 200 ms until SIGKILL", took)
	}
	equal(t, "states", r.states(res), "polite:failed stubborn:failed quick:done")
	for i, want := range []string{"SIGTERM", "SIGKILL"} {
		equal(t, "signal", res.Failures[i].Signal, want)
		equal(t, "message", res.Failures[i].Err, "timed out after 1s")
	}
	r.gone("pids")
	equal(t, "noted", len(strings.Fields(r.read("pids"))), 3)
}

// That it ended well after all does not help a task that was told to end.
func TestTimeoutOfGracefulTask(t *testing.T) {
	r := newTrial(t, "{name: m}", `
- {name: a, stages: [{name: s, timeout: 400ms, run: 'trap "exit 0" TERM; while :; do sleep 0.01; done'}]}
`)
	res := r.run(t.Context())
	equal(t, "states", r.states(res), "a:failed")
	equal(t, "exit code", res.Failures[0].ExitCode, 0)
}

// What a task leaves running does not outlive it, even if it holds its output.
func TestBackgroundChild(t *testing.T) {
	r := newTrial(t, "{name: m}", `
- {name: a, stages: [{name: s, count: 2, run: 'sh -c "echo \$\$ >>pids; sleep 60" & while ! test -s pids; do sleep 0.01; done; echo done'}]}
`)
	began := time.Now()
	res := r.run(t.Context())
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	equal(t, "states", r.states(res), "a:done")
	equal(t, "output", r.read("run/logs/a/s/0.1.out"), "done\n")
	r.gone("pids")
}

func TestInterrupt(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 3}", `
- {name: quick, stages: [{name: s, run: 'true'}]}
- {name: polite, stages: [{name: s, count: 2, run: 'if [ $FAIRLEAD_TASK = 0 ]; then exit 0; fi; echo $$ >>pids; sh -c "echo \$\$ >>pids; sleep 60; true"; exit 1'}]}
- {name: stubborn, stages: [{name: s, run: placeholder}]}
- {name: later, release: 1m, stages: [{name: s, run: 'touch wrong'}]}
- {name: behind, after: [stubborn], stages: [{name: s, run: 'touch wrong'}]}
`)
	r.cfg.Instance.Jobs[2].Stages[0].Run.Shell = stubborn
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for strings.Count(r.read("pids"), "\n") < 4 {
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
	}()
	began := time.Now()
	res := r.run(ctx)
	if took := time.Since(began); took < r.cfg.Grace || took > 5*time.Second {
		t.Errorf("took %v, want a grace of %v and little more", took, r.cfg.Grace)
	}
	equal(t, "interrupted", res.Interrupted, true)
	equal(t, "states", r.states(res), "quick:done polite:active stubborn:active later:waiting behind:waiting")
	equal(t, "failures", len(res.Failures), 0)
	equal(t, "finished", len(res.Schedule.Tasks), 2)
	equal(t, "explained", strings.Join(res.Explain, "\n"), "polite was stopped: 1 of its 2 tasks had finished\n"+
		"stubborn was stopped: 0 of its 1 tasks had finished\nlater was not started\nbehind was not started")
	r.gone("pids")
	equal(t, "started later", r.read("wrong"), "")
}

// Without grace, what ignores SIGTERM is killed at once.
func TestNoGrace(t *testing.T) {
	r := newTrial(t, "{name: m}", "- {name: a, stages: [{name: s, run: placeholder}]}\n")
	r.cfg.Instance.Jobs[0].Stages[0].Run.Shell = stubborn
	r.cfg.Grace = -1
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var interrupted time.Time
	go func() {
		for strings.Count(r.read("pids"), "\n") < 2 {
			time.Sleep(5 * time.Millisecond)
		}
		interrupted = time.Now()
		cancel()
	}()
	res := r.run(ctx)
	equal(t, "interrupted", res.Interrupted, true)
	if took := time.Since(interrupted); took > 2*time.Second {
		t.Errorf("took %v to end", took)
	}
	r.recorded()
	equal(t, "remembered", r.cfg.Grace, -1)
	r.gone("pids")
}

func TestInterruptedBeforeStart(t *testing.T) {
	r := newTrial(t, "{name: m}", "- {name: a, stages: [{name: s, run: 'touch wrong'}]}\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	res := r.run(ctx)
	equal(t, "interrupted", res.Interrupted, true)
	equal(t, "states", r.states(res), "a:active")
	equal(t, "started", res.Stats.Starts, 0)
}

// After interrupted, failed and timed-out runs no goroutine is left.
func TestNoGoroutineLeaks(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 3 {
		r := newTrial(t, "{name: m, slots: 2}", `
- {name: a, stages: [{name: s, count: 3, timeout: 50ms, run: 'sleep 60'}]}
- {name: b, stages: [{name: s, count: 20, run: 'exit 1'}]}
- {name: c, release: 100ms, stages: [{name: s, count: 20, run: 'sleep 60'}]}
`)
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		res := r.run(ctx)
		cancel()
		equal(t, "interrupted", res.Interrupted, true)
		r.eventually("no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
	}
}

// What the tasks use is counted, also of those that the end of a run stops.
func TestCPUTime(t *testing.T) {
	r := newTrial(t, "{name: m}", `
- {name: a, stages: [{name: s, count: 2, run: 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; test $FAIRLEAD_TASK = 0'}]}
- {name: idle, stages: [{name: s, run: 'sleep 0.2'}]}
`)
	if res := r.countsCPU(t.Context()); res.Wall < 200*time.Millisecond {
		t.Errorf("wall %v", res.Wall)
	}

	r = newTrial(t, "{name: m}", `
- {name: a, stages: [{name: s, run: 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; touch busy; exec sleep 60'}]}
`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go r.when("busy", cancel)
	equal(t, "interrupted", r.countsCPU(ctx).Interrupted, true)
}

// countsCPU runs and compares the tasks' CPU time with what the system has counted
// for all children meanwhile.
func (r *trial) countsCPU(ctx context.Context) *Result {
	r.t.Helper()
	used := func() time.Duration {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &u); err != nil {
			r.t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	res := r.run(ctx)
	if want := used() - before; res.TaskCPU < want*6/10 || res.TaskCPU > want || want < 5*time.Millisecond {
		r.t.Errorf("CPU time %v, the system says %v with the supervisor", res.TaskCPU, want)
	}
	return res
}

// when calls f as soon as a task has made a file of that name, or after 10 s.
func (r *trial) when(name string, f func()) {
	for range 2000 {
		if _, err := os.Stat(filepath.Join(r.dir, name)); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	f()
}
