package supervise

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A disk that gets full, for real: nothing starts that the journal cannot name,
// what runs is reported, and all is in the journal when there is space again.
func TestSmallDisk(t *testing.T) {
	r := newTrial(t)
	if err := unix.Mount("none", r.cfg.Dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skip("this test may not mount a file system: ", err)
	}
	defer func() { r.ok(unix.Unmount(r.cfg.Dir, unix.MNT_DETACH)) }()
	c, _, err := Open(t.Context(), r.cfg)
	r.ok(err)
	r.c = c
	r.ok(c.Stage(Stage{Dir: r.dir, Logs: filepath.Join(r.dir, "logs"), Env: os.Environ()}))
	r.sh(0, "touch up; until test -e go; do sleep 0.01; done; exit 6")
	r.exists("up")
	filler := filepath.Join(r.cfg.Dir, "filler")
	_ = os.WriteFile(filler, make([]byte, 1<<20), 0o666) // as much as there is space for
	long := "./" + strings.Repeat("x", 3000)
	for k := 1; k < 10; k++ {
		r.start(k, long) // until the journal has no page left
	}
	r.write("go", "", 0o666)
	got := r.byTask(10)
	equal(t, "code of what ran", got[0].Code, 6)
	r.sh(10, "touch wrong")
	for len(r.notes) < 2 {
		select {
		case ev := <-c.Events():
			if ev.Exit != nil {
				t.Fatalf("exit %+v", ev.Exit)
			}
			r.noted(ev)
		case <-time.After(10 * time.Second):
			t.Fatal("no note")
		}
	}
	if want := "cannot write the journal of this run, will try again: write " + filepath.Join(r.cfg.Dir, journalName) + ": no space left on device"; r.notes[0] != want {
		t.Errorf("noted %q, want %q", r.notes[0], want)
	}
	if !strings.HasPrefix(r.notes[1], "nothing more can be started, will try again: ") {
		t.Errorf("noted %q", r.notes[1])
	}
	time.Sleep(retryWrite * 3 / 2)
	equal(t, "started without space", r.read("wrong"), "")
	if _, err := os.Stat(filepath.Join(r.dir, "wrong")); err == nil {
		t.Error("it was started without space")
	}
	// A driver that attaches now learns what the disk has not.
	c.Abandon()
	found := r.open()
	equal(t, "found", len(found.Exits), 10)
	r.ok(os.Remove(filler))
	r.sh(10, "touch right")
	equal(t, "error", r.next().Err, "")
	r.exists("right")
	r.close()
	for _, n := range r.notes[2:] { // the second driver was told too
		equal(t, "note", n, r.notes[1])
	}
	exits, torn, err := ReadJournal(r.cfg.Dir)
	equal(t, "in the journal", fmt.Sprint(len(exits), " ", torn, " ", err), "11  <nil>")
}

// Without space for its outputs nothing is started, until there is some.
func TestNoSpaceForOutputs(t *testing.T) {
	r := newTrial(t)
	logs := filepath.Join(r.dir, "logs")
	r.ok(os.Mkdir(logs, 0o777))
	if err := unix.Mount("none", logs, "tmpfs", 0, "nr_inodes=3"); err != nil {
		t.Skip("this test may not mount a file system: ", err)
	}
	defer func() { r.ok(unix.Unmount(logs, unix.MNT_DETACH)) }()
	r.open()
	r.ok(r.c.Stage(Stage{Dir: r.dir, Logs: logs, Env: os.Environ()}))
	for k := range 3 {
		r.sh(k, "exit 5")
	}
	equal(t, "the first", r.next().Code, 5)
	r.ok(r.c.Stop(key(2)))
	equal(t, "one that need not start any more", r.next().Lost, true)
	r.ok(os.Remove(filepath.Join(logs, "0.1.out")))
	r.ok(os.Remove(filepath.Join(logs, "0.1.err")))
	x := r.next()
	equal(t, "the second", fmt.Sprint(x.Task, x.Code), "1 5")
	r.close()
	if len(r.notes) != 1 || !strings.HasPrefix(r.notes[0], "nothing more can be started, will try again: open "+logs) {
		t.Errorf("noted %q", r.notes)
	}
}

// A supervisor without a driver stays until the disk has taken all that it knows.
func TestLeavesWhenAllIsWritten(t *testing.T) {
	r := newTrial(t)
	if err := unix.Mount("none", r.cfg.Dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("this test may not mount a file system: ", err)
	}
	defer func() { r.ok(unix.Unmount(r.cfg.Dir, unix.MNT_DETACH)) }()
	r.open()
	r.ok(r.c.Stage(Stage{Dir: r.dir, Logs: filepath.Join(r.dir, "logs"), Env: os.Environ()}))
	const n = 10
	for k := range n { // together their ends take more than a page of the journal
		r.sh(k, "echo >>up; until test -e go; do sleep 0.01; done; exit 6")
	}
	r.eventually("all run", func() bool { return len(r.read("up")) == n })
	filler := filepath.Join(r.cfg.Dir, "filler")
	_ = os.WriteFile(filler, make([]byte, 1<<20), 0o666) // as much as there is space for
	long := "./" + strings.Repeat("x", 4000)
	for k := range 3 {
		r.start(n+k, long)
	}
	r.byTask(3)
	pid := r.supervisor()
	r.c.Abandon()
	r.write("go", "", 0o666)
	time.Sleep(linger + retryWrite)
	equal(t, "the supervisor is there", alive(pid), true)
	r.ok(os.Remove(filler))
	r.eventually("it has ended", func() bool { return !alive(pid) })
	exits, torn, err := ReadJournal(r.cfg.Dir)
	equal(t, "in the journal", fmt.Sprint(len(exits), " ", torn, " ", err), fmt.Sprint(n+3, "  <nil>"))
}
