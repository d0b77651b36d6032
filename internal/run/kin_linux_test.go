package run

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

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
