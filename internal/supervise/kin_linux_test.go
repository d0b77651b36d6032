package supervise

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What left its task's group, in whatever way, ends with it at a time-out.
func TestTimeoutOfStrays(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	r.open()
	r.write("nap", "echo $$ >>pids; sleep 61; true", 0o666)
	for k, script := range []string{
		"timeout 62 sh nap; echo done",
		"setsid sh nap; echo done",
		`(setsid sh -c "sh nap & sh nap" &); sleep 60`,
		`env -i setsid sh -c "env -i setsid sh nap; true"; echo done`,
	} {
		r.ok(r.c.Start(Start{Key: key(k), Output: fmt.Sprint(k), Argv: []string{"sh", "-c", script}, Timeout: time.Second}))
	}
	r.sh(4, "setsid sleep 1.5")
	r.lines("pids", 5)
	for _, x := range r.byTask(5) {
		want := "timed out after 1s"
		if x.Task == 4 {
			want = ""
		}
		equal(t, fmt.Sprint("task ", x.Task), x.Err, want)
		if x.Task != 4 {
			equal(t, "output", r.read(fmt.Sprintf("run/logs/%d.out", x.Task)), "")
		}
	}
	r.ended("pids")
	r.close()
	equal(t, "out of reach", r.lost, false)
}

// At the end orphans get the grace that their task gets, also one that has cleared
// its environment and whose task can therefore not be told.
func TestEndOfOrphans(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	r.cfg.Grace = time.Minute // all heed SIGTERM
	r.open()
	r.write("orphan", `trap "echo term >>$1; exit" TERM; touch $1.up; while :; do sleep 0.01; done`, 0o666)
	r.sh(0, `(setsid sh orphan marked &); (env -i setsid sh orphan bare &); trap "sleep 0.5; exit" TERM; until test -e marked.up && test -e bare.up; do sleep 0.01; done; touch up; while :; do sleep 0.01; done`)
	r.exists("up")
	began := time.Now()
	r.close()
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	equal(t, "known by its mark", r.read("marked"), "term\n")
	equal(t, "without a mark", r.read("bare"), "term\n")
}

// A stray gets SIGTERM once, and SIGKILL when it goes on after that.
func TestStubbornStray(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	r.open()
	r.write("stray", `echo $$ >>pids; trap "echo term >>terms" TERM; while :; do sleep 0.05; done`, 0o666)
	r.sh(0, "trap : TERM; setsid sh stray; wait; while :; do sleep 0.05; done")
	r.lines("pids", 1)
	r.ok(r.c.Stop(key(0)))
	equal(t, "signal", r.next().Signal, "SIGKILL")
	equal(t, "its ends", r.read("terms"), "term\n")
	r.ended("pids")
	r.close()
}

// A start has ended when nothing of it runs: a daemon that it has started is killed
// and collected before its exit is reported, even if it ignores all other signals.
func TestDaemonEndsWithItsTask(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	r.cfg.Grace = time.Minute // no leftover gets one
	r.open()
	r.sh(0, `(setsid sh -c "trap \"\" TERM HUP; echo \$\$ >>pids; sleep 64; true" &); while ! test -s pids; do sleep 0.01; done`)
	equal(t, "error", r.next().Err, "")
	r.ended("pids")
	r.sh(1, `sh -c "echo \$\$ >>pids2; sleep 64; true" & while ! test -s pids2; do sleep 0.01; done`)
	equal(t, "error", r.next().Err, "")
	r.ended("pids2")
	r.sh(2, `(env -i setsid sh -c "trap \"\" TERM; echo \$\$ >>pids3; sleep 64; true" &); while ! test -s pids3; do sleep 0.01; done`)
	equal(t, "error", r.next().Err, "")
	r.eventually("what nobody's name is on ends when nothing runs", func() bool {
		r.sh(3, "true")
		return !alive(atoi(t, r.read("pids3")))
	})
	r.close()
}

func atoi(t *testing.T, text string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(text, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// An orphan that ends by itself is collected while its task runs on.
func TestOrphanIsCollected(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	r.open()
	r.sh(0, `(setsid sh -c "echo \$\$ >pid" &); until test -s pid; do sleep 0.01; done; while kill -0 $(cat pid); do sleep 0.01; done`)
	equal(t, "error", r.next().Err, "")
	r.close()
}

// A number that has passed to a process with another parent is left alone.
func TestSignalSparesStrangers(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-c", "sleep 66 & echo $!; wait")
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
	s, ok := readStat(pid)
	equal(t, "stat", ok, true)
	stranger := s
	stranger.born -= tick
	for _, err := range []error{(relative{pid, 1}).signal(unix.SIGKILL), stranger.kill(unix.SIGKILL)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(50 * time.Millisecond)
	equal(t, "the stranger lives", alive(pid), true)
	if err := (relative{pid, cmd.Process.Pid}).signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	equal(t, "then it does not", alive(pid), false)
}

// Strays are those outside of the group, whose members are signalled together.
func TestStraysAreNotOfTheGroup(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 67 & setsid sleep 67 & echo $!; wait")
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
	s := &supervisor{}
	equal(t, "strays", fmt.Sprint(s.strays(&process{pid: cmd.Process.Pid})), fmt.Sprint([]relative{{pid, cmd.Process.Pid}}))
	_ = unix.Kill(pid, unix.SIGKILL)
	_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	_ = cmd.Wait()
}

// What the system says about this process agrees with what the library says, and
// its birth with the clock.
func TestReadStat(t *testing.T) {
	before := Now()
	cmd := exec.Command("sleep", "68")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	after := Now()
	s, ok := readStat(cmd.Process.Pid)
	equal(t, "found", ok, true)
	session, err := unix.Getsid(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "numbers", fmt.Sprint(s.pid, s.parent, s.group, s.session), fmt.Sprint(cmd.Process.Pid, os.Getpid(), unix.Getpgrp(), session))
	if s.born < before-int64(birthSlack) || s.born > after {
		t.Errorf("born at %d, between %d and %d", s.born, before, after)
	}
	found := false
	for _, p := range allProcesses() {
		found = found || p.pid == s.pid && p.born == s.born && p.parent == s.parent
	}
	equal(t, "among all", found, true)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	_, ok = readStat(cmd.Process.Pid)
	equal(t, "found when it is gone", ok, false)
}

// Waiting for many processes takes neither a thread nor a descriptor for each.
func TestWaitingIsCheap(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	r.open()
	const n = 300
	for k := range n {
		r.start(k, "sleep", "60")
	}
	r.sh(n, "true")
	equal(t, "code", r.next().Code, 0) // the others run
	pid := r.supervisor()
	for what, limit := range map[string]int{"task": 20, "fd": 20} {
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/%s", pid, what))
		r.ok(err)
		if len(entries) > limit {
			t.Errorf("%d entries in %s", len(entries), what)
		}
	}
	r.close()
	exits, _, err := ReadJournal(r.cfg.Dir)
	equal(t, "journal", fmt.Sprint(len(exits), err), fmt.Sprint(n+1, " <nil>"))
}

// Descriptors of the supervisor's, its journal's lock above all, do not get into
// what it starts.
func TestDescriptorsOfTasks(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	r.open()
	r.start(0, "ls", "-l", "/proc/self/fd")
	r.next()
	out := r.read("run/logs/0.1.out")
	// (This test may itself have inherited some that are for everybody.)
	if strings.Count(out, r.cfg.Dir) != 2 || strings.Contains(out, "socket:") || strings.Contains(out, "eventpoll") {
		t.Error(out)
	}
	r.close()
}
