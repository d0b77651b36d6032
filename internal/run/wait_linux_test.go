package run

import (
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func threads(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "\nThreads:")
	n, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Waiting for many processes takes no thread for each.
func TestWaitingTakesNoThreads(t *testing.T) {
	fd, err := unix.PidfdOpen(os.Getpid(), unix.PIDFD_NONBLOCK)
	if err != nil {
		t.Skip("no pidfds here: ", err)
	}
	unix.Close(fd)
	r := newTrial(t, "{name: m, slots: 200}", "- {name: a, stages: [{name: s, count: 200, run: [sleep, '60']}]}\n")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	before, now := threads(t), 0
	r.cfg.Progress = func(p Progress) {
		if len(p.Running) == 200 {
			time.Sleep(50 * time.Millisecond) // all of them are waited for
			now = threads(t)
			cancel()
		}
	}
	res := r.run(ctx)
	equal(t, "interrupted", res.Interrupted, true)
	if now == 0 || now > before+50 {
		t.Errorf("%d threads while 200 processes ran, %d before", now, before)
	}
}

// Both ways to wait return when the process has exited, not before, and leave its
// status to be collected; also if it has exited already.
func TestAwaitExit(t *testing.T) {
	for name, wait := range map[string]func(int){
		"poll": func(pid int) {
			if !pollExit(pid) {
				t.Log("cannot poll here")
				blockForExit(pid)
			}
		},
		"block": blockForExit,
	} {
		pid, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "0.2"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		equal(t, name+": has exited", hasExited(pid), false)
		for range 2 {
			wait(pid)
			equal(t, name+": has exited", hasExited(pid), true)
		}
		if took := time.Since(began); took < 100*time.Millisecond || took > 10*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
		if got, err := unix.Wait4(pid, nil, 0, nil); got != pid || err != nil {
			t.Errorf("%s: wait gives %d, %v", name, got, err)
		}
	}
}
