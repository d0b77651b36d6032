package run

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// nap is a number of seconds to sleep, in the command line of no other process.
func nap(n int) string { return fmt.Sprintf("%d.%07d", 600+n, os.Getpid()) }

// sleepers returns the command lines that contain nap(n).
func sleepers(t *testing.T, n int) (found []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		t.Fatal("no processes to see: ", err)
	}
	for _, f := range files {
		if b, _ := os.ReadFile(f); bytes.Contains(b, []byte(nap(n))) {
			found = append(found, f+": "+string(b))
		}
	}
	return found
}

// noSleepers fails if a process sleeps for nap(n), and ends it.
func (r *trial) noSleepers(n int) {
	r.t.Helper()
	for _, s := range sleepers(r.t, n) {
		r.t.Errorf("still runs: %q", s)
		var pid int
		if _, err := fmt.Sscanf(s, "/proc/%d/", &pid); err == nil {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// What left its task's group, in whatever way, ends with it at a time-out.
func TestTimeoutOfStrays(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 5}", `
- {name: group, stages: [{name: s, timeout: 500ms, run: 'timeout `+nap(1)+` sleep `+nap(1)+`; echo done'}]}
- {name: session, stages: [{name: s, timeout: 500ms, run: 'setsid sleep `+nap(1)+`; echo done'}]}
- {name: daemon, stages: [{name: s, timeout: 500ms, run: '(setsid sh -c "sleep `+nap(1)+` & sleep `+nap(1)+`" &); sleep 60'}]}
- {name: bare, stages: [{name: s, timeout: 500ms, run: 'env -i setsid sh -c "env -i setsid sleep `+nap(1)+`; true"; echo done'}]}
- {name: other, after: [group, session, daemon, bare], stages: [{name: s, run: 'true'}]}
- {name: meanwhile, stages: [{name: s, run: 'setsid sleep 1.5'}]}
`)
	seen := make(chan int, 1)
	time.AfterFunc(300*time.Millisecond, func() { seen <- len(sleepers(t, 1)) })
	res := r.run(t.Context())
	equal(t, "states", r.states(res), "group:failed session:failed daemon:failed bare:failed other:not-run meanwhile:done")
	for _, f := range res.Failures {
		equal(t, "failure", f.Err, "timed out after 500ms")
	}
	if n := <-seen; n < 6 {
		t.Errorf("%d processes were seen before", n)
	}
	equal(t, "out of reach", res.OutOfReach, false)
	r.noSleepers(1)
}

// The same at an interrupt, with one that clears its environment besides and whose
// task can therefore not be told.
func TestInterruptOfStrays(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 4}", `
- {name: session, stages: [{name: s, run: 'setsid sleep `+nap(2)+`'}]}
- {name: group, stages: [{name: s, run: 'timeout `+nap(2)+` sleep `+nap(2)+`; echo done'}]}
- {name: daemon, stages: [{name: s, run: '(setsid sleep `+nap(2)+` &); sleep 60'}]}
- {name: bare, stages: [{name: s, run: '(env -i setsid sleep `+nap(2)+` &); sleep 60'}]}
`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for end := time.Now().Add(5 * time.Second); len(sleepers(t, 2)) < 5 && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(50 * time.Millisecond)
		cancel()
	}()
	r.cfg.Grace = time.Minute // all of them heed SIGTERM
	began := time.Now()
	equal(t, "interrupted", r.run(ctx).Interrupted, true)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v: somebody has not got SIGTERM", took)
	}
	r.noSleepers(2)
}

// Orphans get the grace that their task gets.
func TestInterruptOfOrphans(t *testing.T) {
	r := newTrial(t, "{name: m}", `
- {name: a, stages: [{name: s, run: '(setsid sh orphan marked &); (env -i setsid sh orphan bare &); trap "sleep 0.5; exit" TERM; until test -e marked.up && test -e bare.up; do sleep 0.01; done; touch up; while :; do sleep 0.01; done'}]}
`)
	r.write("orphan", `trap "echo term >>$1; exit" TERM; touch $1.up; while :; do sleep 0.01; done`, 0o666)
	r.cfg.Grace = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go r.when("up", cancel)
	equal(t, "interrupted", r.run(ctx).Interrupted, true)
	equal(t, "known by its mark", r.read("marked"), "term\n")
	equal(t, "without a mark", r.read("bare"), "term\n")
}

// A stray gets SIGTERM once, and SIGKILL when it goes on after that.
func TestStubbornStray(t *testing.T) {
	r := newTrial(t, "{name: m}", `
- {name: a, stages: [{name: s, timeout: 1s, run: 'trap : TERM; setsid sh stray `+nap(3)+`; wait; while :; do sleep 0.05; done'}]}
`)
	r.write("stray", `trap "echo term >>terms" TERM; while :; do sleep 0.05; done`, 0o666)
	began := time.Now()
	res := r.run(t.Context())
	if took := time.Since(began); took < 1200*time.Millisecond || took > 6*time.Second {
		t.Errorf("took %v, want 1 s until SIGTERM and 200 ms until SIGKILL", took)
	}
	equal(t, "states", r.states(res), "a:failed")
	equal(t, "its ends", r.read("terms"), "term\n")
	r.noSleepers(3)
}

// A task has ended when it has ended: a daemon that it started is killed and
// collected before the run goes on, even if it ignores all other signals.
func TestDaemonEndsWithItsTask(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 2}", `
- {name: meanwhile, stages: [{name: s, timeout: 20s, run: 'until test -e over; do sleep 0.01; done'}]}
- name: a
  stages:
  - {name: daemon, run: '(setsid sh -c "trap \"\" TERM HUP; echo \$\$ >pid; sleep `+nap(4)+`; true" &); while ! test -s pid; do sleep 0.01; done'}
  - {name: gone, after: [daemon], timeout: 5s, run: 'while kill -0 $(cat pid); do sleep 0.01; done; touch over'}
- {name: bare, stages: [{name: s, run: '(env -i setsid sh -c "trap \"\" TERM; touch up; sleep `+nap(4)+`; true" &); while ! test -e up; do sleep 0.01; done'}]}
`)
	r.cfg.Grace = time.Minute // no leftover gets one
	began := time.Now()
	equal(t, "states", r.states(r.run(t.Context())), "meanwhile:done a:done bare:done")
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	r.noSleepers(4)
}

// An orphan that ends by itself is collected while its task runs on.
func TestOrphanIsCollected(t *testing.T) {
	r := newTrial(t, "{name: m}", `
- {name: a, stages: [{name: s, timeout: 8s, run: '(setsid sh -c "echo \$\$ >pid" &); until test -s pid; do sleep 0.01; done; while kill -0 $(cat pid); do sleep 0.01; done'}]}
`)
	equal(t, "states", r.states(r.run(t.Context())), "a:done")
}

// Children of other parts of this program are neither ended nor collected, whether
// they were there before or come during the run.
func TestOtherChildren(t *testing.T) {
	child := func(own bool) *exec.Cmd {
		cmd := exec.Command("sleep", nap(5))
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: own}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	end := func(cmd *exec.Cmd) {
		t.Helper()
		equal(t, "has ended", stateOf(cmd.Process.Pid) == 'Z', false)
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
			t.Errorf("wait gives %v", err)
		}
	}
	const jobs = "- {name: a, stages: [{name: s, count: 3, run: 'setsid sleep 0.1 & sleep 0.05'}]}\n"
	adopts := func(own bool, before bool) bool {
		d, err := newDriver(newTrial(t, "{name: m}", jobs).cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer d.end()
		if !before {
			d.adopt()
			defer d.disown()
		}
		c := child(own)
		defer end(c)
		if before {
			d.adopt()
			defer d.disown()
		}
		s, ok := readStat(c.Process.Pid)
		equal(t, "stat", ok, true)
		_, is := d.owner(c.Process.Pid, s)
		return is
	}
	equal(t, "adopts, in this group", adopts(false, false), false)
	equal(t, "adopts, from before", adopts(true, true), false)

	before := child(true)
	if _, err := Run(t.Context(), newTrial(t, "{name: m}", jobs).cfg); err != nil {
		t.Fatal(err)
	}
	end(before)

	r := newTrial(t, "{name: m}", jobs)
	var during *exec.Cmd
	r.cfg.Progress = func(Progress) {
		if during == nil {
			during = child(false)
		}
	}
	if _, err := Run(t.Context(), r.cfg); err != nil {
		t.Fatal(err)
	}
	end(during)
}

// stateOf returns a process's state as ps does; 0 if there is none.
func stateOf(pid int) byte {
	s, _ := readStat(pid)
	return s.state
}

// After a run this process is no subreaper any more, unless it was one before.
func TestSubreaperIsRestored(t *testing.T) {
	is := func() (n int32) {
		_, _, errno := unix.Syscall(unix.SYS_PRCTL, unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&n)), 0)
		equal(t, "errno", errno, 0)
		return n
	}
	for _, before := range []int32{0, 1} {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, uintptr(before), 0, 0, 0); err != nil {
			t.Fatal(err)
		}
		r := newTrial(t, "{name: m}", "- {name: a, stages: [{name: s, run: 'true'}]}\n")
		during := int32(0)
		r.cfg.Progress = func(Progress) { during = is() }
		r.run(t.Context())
		equal(t, "during", during, 1)
		equal(t, "after", is(), before)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
}

// A number that has passed to a process with another parent is left alone.
func TestSignalSparesStrangers(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep "+nap(6)+" & echo $!; wait")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	var pid int
	if err == nil {
		_, err = fmt.Fscan(out, &pid)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := (relative{pid, 1}).signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	equal(t, "the stranger has ended", stateOf(pid) == 'Z' || stateOf(pid) == 0, false)
	if err := (relative{pid, cmd.Process.Pid}).signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	equal(t, "sleepers", len(sleepers(t, 6)), 0)
}

// Strays are those outside of the group, whose members are signalled together.
func TestStraysAreNotOfTheGroup(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep "+nap(7)+" & setsid sleep "+nap(7)+" & echo $!; wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	var pid int
	if err == nil {
		_, err = fmt.Fscan(out, &pid)
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if s, _ := readStat(pid); s.group == pid {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	d := &driver{}
	equal(t, "strays", fmt.Sprint(d.strays(&process{pid: cmd.Process.Pid})), fmt.Sprint([]relative{{pid, cmd.Process.Pid}}))
	_ = unix.Kill(pid, unix.SIGKILL)
	_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	_ = cmd.Wait()
}
