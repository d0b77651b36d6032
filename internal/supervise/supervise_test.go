package supervise

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// program is this test's own, which is the supervisor too, and drivers that get
// killed.
var program, _ = os.Executable()

func TestMain(m *testing.M) {
	os.Setenv("GORACE", "atexit_sleep_ms=0") // a supervisor shall end at once under -race too
	switch {
	case len(os.Args) == 3 && os.Args[1] == "supervise":
		os.Exit(Main(os.Args[2]))
	case len(os.Args) == 3 && os.Args[1] == "drive":
		os.Exit(drive(os.Args[2]))
	}
	os.Exit(m.Run())
}

// trial is a run's directory, and a driver's view of it.
type trial struct {
	t     testing.TB
	dir   string // of the tasks; the run's is below it
	cfg   Config
	c     *Client
	notes []string
	lost  bool // a note has said that something is out of reach
}

func newTrial(t testing.TB) *trial {
	t.Helper()
	dir := t.TempDir()
	run := filepath.Join(dir, "run")
	if err := os.Mkdir(run, 0o777); err != nil {
		t.Fatal(err)
	}
	return &trial{t: t, dir: dir, cfg: Config{
		Dir: run, Run: fmt.Sprintf("test%d", time.Now().UnixNano()), Grace: 200 * time.Millisecond,
		Command: []string{program, "supervise"},
	}}
}

// open attaches or starts a supervisor, and announces stage 0.
func (r *trial) open() Found {
	r.t.Helper()
	c, found, err := Open(r.t.Context(), r.cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.c = c
	r.ok(c.Stage(Stage{Dir: r.dir, Logs: filepath.Join(r.cfg.Dir, "logs"), Env: os.Environ()}))
	return found
}

func (r *trial) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *trial) close() {
	r.t.Helper()
	r.ok(r.c.Close())
}

func key(task int) Key { return Key{Task: int32(task), Attempt: 1, Nonce: int64(1000 + task)} }

func (r *trial) start(task int, argv ...string) {
	r.t.Helper()
	r.ok(r.c.Start(Start{Key: key(task), Output: fmt.Sprintf("%d.1", task), Argv: argv}))
}

func (r *trial) sh(task int, script string) {
	r.t.Helper()
	r.start(task, "sh", "-c", script)
}

// next returns the next exit; notes on the way are kept.
func (r *trial) next() *Exit {
	r.t.Helper()
	limit := time.After(30 * time.Second)
	for {
		select {
		case ev, ok := <-r.c.Events():
			if !ok {
				r.t.Fatal("no more events")
			}
			if ev.Gone != nil {
				r.t.Fatal(ev.Gone)
			}
			if ev.Exit != nil {
				return ev.Exit
			}
			r.noted(ev)
		case <-limit:
			r.t.Fatal("no exit in 30 s")
		}
	}
}

func (r *trial) noted(ev Event) {
	r.notes = append(r.notes, ev.Note)
	r.lost = r.lost || ev.OutOfReach
}

// gone waits for the news that the supervisor is gone, and returns them and the
// exits before.
func (r *trial) gone() (exits []Exit, err error) {
	r.t.Helper()
	limit := time.After(30 * time.Second)
	for {
		select {
		case ev, ok := <-r.c.Events():
			switch {
			case !ok:
				if err == nil {
					r.t.Error("the events end without a word")
				}
				return exits, err
			case ev.Exit != nil:
				exits = append(exits, *ev.Exit)
			case ev.Gone != nil:
				err = ev.Gone
			default:
				r.noted(ev)
			}
		case <-limit:
			r.t.Fatal("not gone after 30 s")
		}
	}
}

// byTask collects n exits.
func (r *trial) byTask(n int) map[int]*Exit {
	r.t.Helper()
	all := map[int]*Exit{}
	for range n {
		x := r.next()
		if all[int(x.Task)] != nil {
			r.t.Errorf("task %d was reported twice", x.Task)
		}
		all[int(x.Task)] = x
	}
	return all
}

func (r *trial) read(name string) string {
	b, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	return string(b)
}

func (r *trial) write(name, text string, mode os.FileMode) {
	r.t.Helper()
	r.ok(os.WriteFile(filepath.Join(r.dir, name), []byte(text), mode))
}

// eventually waits up to ten seconds for what must come true soon.
func (r *trial) eventually(what string, ok func() bool) {
	r.t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("not so after 10 s: %s", what)
		}
	}
}

// exists waits for a file.
func (r *trial) exists(name string) {
	r.t.Helper()
	r.eventually(name+" exists", func() bool {
		_, err := os.Stat(filepath.Join(r.dir, name))
		return err == nil
	})
}

// lines waits until a file has n lines, and returns them.
func (r *trial) lines(name string, n int) []string {
	r.t.Helper()
	r.eventually(fmt.Sprintf("%s has %d lines", name, n), func() bool { return strings.Count(r.read(name), "\n") >= n })
	return strings.Fields(r.read(name))
}

// ended checks that the processes whose numbers a file lists do not run any more.
func (r *trial) ended(name string) {
	r.t.Helper()
	pids := strings.Fields(r.read(name))
	if len(pids) == 0 {
		r.t.Fatalf("no process has noted its number in %s", name)
	}
	for _, pid := range pids {
		n, err := strconv.Atoi(pid)
		r.ok(err)
		if alive(n) {
			r.t.Errorf("process %d still runs", n)
			_ = unix.Kill(n, unix.SIGKILL)
		}
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

// supervisor returns the process number of the latest supervisor.
func (r *trial) supervisor() int {
	r.t.Helper()
	f, err := os.Open(filepath.Join(r.cfg.Dir, journalName))
	r.ok(err)
	defer f.Close()
	pid := 0
	_, err = readRecords(f, func(_ int64, rec record) {
		if rec.opened != nil {
			pid = rec.opened.PID
		}
	})
	r.ok(err)
	return pid
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	found := r.open()
	equal(t, "attached", found.Attached, false)
	equal(t, "exits", len(found.Exits), 0)
	before := Now()
	r.sh(0, "echo $FAIRLEAD_RUN; exit 3")
	x := r.next()
	if x.At < before || x.At > Now() {
		t.Errorf("ended at %d, started after %d", x.At, before)
	}
	equal(t, "key", x.Key, key(0))
	equal(t, "exit", fmt.Sprintf("%d %q %q %v", x.Code, x.Signal, x.Err, x.Lost), `3 "" "exit status 3" false`)
	equal(t, "output", r.read("run/logs/0.1.out"), r.cfg.Run+".0.1.1000\n")
	r.close()
	exits, torn, err := ReadJournal(r.cfg.Dir)
	equal(t, "journal", fmt.Sprint(exits, torn, err), fmt.Sprint([]Exit{*x}, "", nil))
	if log := r.read("run/" + logName); strings.TrimSpace(log) != "" {
		t.Errorf("the supervisor said %q", log)
	}
}

// A start is a start once: asked again while it runs, it is not started again; asked
// after its end, or after that of its supervisor, its exit is reported again.
func TestStartTwice(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	r.open()
	const script = "echo x >>ran; while ! test -e go; do sleep 0.01; done; exit 4"
	r.sh(0, script)
	r.sh(0, script)
	r.lines("ran", 1)
	r.write("go", "", 0o666)
	first := *r.next()
	equal(t, "code", first.Code, 4)
	r.sh(0, script)
	equal(t, "exit", *r.next(), first)
	r.close()
	found := r.open()
	equal(t, "found", fmt.Sprint(found.Exits), fmt.Sprint([]Exit{first}))
	r.sh(0, script)
	equal(t, "exit", *r.next(), first)
	r.close()
	equal(t, "ran", r.read("ran"), "x\n")
	exits, _, err := ReadJournal(r.cfg.Dir)
	equal(t, "in the journal", fmt.Sprint(exits, err), fmt.Sprint([]Exit{first}, error(nil)))
}

func TestStop(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	r.open()
	r.sh(0, "echo $$ >>pids; exec sleep 60")
	r.sh(1, stubborn)
	r.lines("pids", 3)
	began := time.Now()
	for k := range 3 {
		r.ok(r.c.Stop(key(k)))
	}
	x := r.byTask(3)
	if took := time.Since(began); took < r.cfg.Grace || took > 5*time.Second {
		t.Errorf("took %v, want the grace and little more", took)
	}
	equal(t, "polite", x[0].Err, "ended by SIGTERM")
	equal(t, "stubborn", x[1].Err, "ended by SIGKILL")
	equal(t, "never started", fmt.Sprint(x[2].Lost, " ", x[2].Err), "true it was never started")
	r.ended("pids")
	r.ok(r.c.Stop(key(1)))
	equal(t, "stopped again", *r.next(), *x[1])
	r.close()
	exits, _, _ := ReadJournal(r.cfg.Dir)
	equal(t, "journalled", len(exits), 2)
}

// Both the task and its child ignore SIGTERM.
const stubborn = `trap "" TERM; sh -c "trap \"\" TERM; echo \$\$ >>pids; while :; do sleep 0.05; done" & echo $$ >>pids; while :; do sleep 0.05; done`

func TestTimeout(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	r.open()
	r.write("stubborn", stubborn, 0o666)
	begin := func(task int, timeout time.Duration, argv ...string) {
		r.ok(r.c.Start(Start{Key: key(task), Output: fmt.Sprint(task), Argv: argv, Timeout: timeout}))
	}
	began := time.Now()
	begin(0, time.Second, "sh", "-c", "echo $$ >>pids; exec sleep 60")
	begin(1, time.Second, "sh", "stubborn")
	begin(2, 10*time.Minute, "true")
	begin(3, 600*time.Millisecond, "sh", "-c", `trap "exit 0" TERM; while :; do sleep 0.01; done`)
	x := r.byTask(4)
	if took := time.Since(began); took < time.Second+r.cfg.Grace || took > 8*time.Second {
		t.Errorf("took %v, want 1 s until SIGTERM and %v until SIGKILL", took, r.cfg.Grace)
	}
	equal(t, "polite", fmt.Sprint(x[0].Signal, ": ", x[0].Err), "SIGTERM: timed out after 1s")
	equal(t, "stubborn", fmt.Sprint(x[1].Signal, ": ", x[1].Err), "SIGKILL: timed out after 1s")
	equal(t, "quick", x[2].Err, "")
	equal(t, "that it ended well does not help", fmt.Sprint(x[3].Code, ": ", x[3].Err), "0: timed out after 600ms")
	equal(t, "noted", len(strings.Fields(r.read("pids"))), 3)
	r.ended("pids")
	r.close()
}

// What still runs when the driver closes is ended and journalled.
func TestCloseEndsAll(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	r.open()
	r.sh(0, "echo $$ >>pids; sleep 60; true")
	r.sh(1, stubborn)
	r.lines("pids", 3)
	began := time.Now()
	r.close()
	if took := time.Since(began); took < r.cfg.Grace || took > 5*time.Second {
		t.Errorf("took %v, want the grace and little more", took)
	}
	r.ended("pids")
	exits, torn, err := ReadJournal(r.cfg.Dir)
	equal(t, "journal", fmt.Sprint(len(exits), " ", torn, " ", err), "2  <nil>")
	for _, x := range exits {
		equal(t, "end", x.Err, map[int32]string{0: "ended by SIGTERM", 1: "ended by SIGKILL"}[x.Task])
	}
	if _, err := os.Stat(filepath.Join(r.cfg.Dir, socketName)); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	c, _, err := Open(t.Context(), r.cfg)
	r.ok(err)
	r.c = c
	r.ok(os.MkdirAll(filepath.Join(r.dir, "sub/bin"), 0o777))
	r.write("sub/bin/show", "#!/bin/sh\nprintf '%s|' \"$@\"; env; pwd; cat\n", 0o777)
	r.ok(c.Stage(Stage{
		ID: 7, Dir: filepath.Join(r.dir, "sub"), Logs: filepath.Join(r.dir, "a/b"),
		Env: []string{"PATH=bin:/usr/bin:/bin", "BYTES=\xff\xfe", "FAIRLEAD_RUN=outer.1.2.3"},
	}))
	r.ok(c.Start(Start{
		Key: key(5), Stage: 7, Output: "x", Argv: []string{"show", "", "a b", "\xff"},
		Env: []string{"FAIRLEAD_TASK=5", "FAIRLEAD_RUN=mine"},
	}))
	x := r.next()
	equal(t, "error", x.Err, "")
	r.ok(c.Start(Start{Key: key(6), Stage: 7, Output: "y", Argv: []string{"env"}}))
	r.next()
	equal(t, "marks", strings.Count(r.read("a/b/y.out"), markVar), 1)
	var got []string
	args, rest, _ := strings.Cut(r.read("a/b/x.out"), "\xff|")
	for _, line := range strings.Split(strings.TrimSpace(rest), "\n") {
		if !strings.HasPrefix(line, "_=") && !strings.HasPrefix(line, "SHLVL=") && !strings.HasPrefix(line, "OLDPWD=") && !strings.HasPrefix(line, "PWD=") {
			got = append(got, line)
		}
	}
	slices.Sort(got)
	equal(t, "arguments", args, "|a b|")
	equal(t, "environment", strings.Join(got, "\n"), strings.Join([]string{
		filepath.Join(r.dir, "sub"), "BYTES=\xff\xfe", "FAIRLEAD_RUN=outer.1.2.3 " + r.cfg.Run + ".5.1.1005", "FAIRLEAD_TASK=5", "PATH=bin:/usr/bin:/bin",
	}, "\n"))
	r.close()
}

// More than a socket takes waits in memory, and holds up nothing.
func TestDriverThatDoesNotRead(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	r.open()
	const n = 500
	long := strings.Repeat("x", 4000)
	for k := range n {
		r.start(k, "./"+long) // fails, and says so at length
	}
	r.start(n, "touch", "last")
	r.exists("last")
	x := r.byTask(n + 1)
	equal(t, "code", x[n-1].Code, notFound)
	equal(t, "last", x[n].Err, "")
	r.close()
}

// After a run no goroutine is left, and nothing else of it.
func TestNoGoroutineLeaks(t *testing.T) {
	before := runtime.NumGoroutine()
	for k := range 3 {
		r := newTrial(t)
		r.open()
		r.sh(0, "exec sleep 60")
		r.sh(1, "true")
		if k == 1 {
			r.c.Abandon()
			r.open()
		}
		r.close()
		r.eventually("no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
	}
	if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err != unix.ECHILD {
		t.Errorf("a child is left: wait gives %d, %v", pid, err)
	}
}

// Nobody else may read what a run does, or tell its supervisor what to do.
func TestModes(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	r.open()
	for _, name := range []string{socketName, journalName, logName} {
		info, err := os.Stat(filepath.Join(r.cfg.Dir, name))
		r.ok(err)
		equal(t, name, info.Mode().Perm(), 0o600)
	}
	r.close()
}

// A socket's path is short, a directory's may be long.
func TestLongDirectory(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	r.cfg.Dir = filepath.Join(r.dir, strings.Repeat("long/", 60))
	r.ok(os.MkdirAll(r.cfg.Dir, 0o777))
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		_, _, err := Open(t.Context(), r.cfg)
		if err == nil || !strings.Contains(err.Error(), "use a shorter directory") {
			t.Errorf("got %v", err)
		}
		return
	}
	r.open()
	r.sh(0, "true")
	equal(t, "error", r.next().Err, "")
	r.c.Abandon()
	equal(t, "attached", r.open().Attached, true)
	r.close()
}

// What a supervisor cannot start with, it says.
func TestOpenErrors(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"no directory", func(c *Config) { c.Dir += "/none" }, "supervise: cannot make the supervisor's socket: "},
		{"no command", func(c *Config) { c.Command = nil }, "supervise: cannot start the supervisor: there is no command for it"},
		{"missing command", func(c *Config) { c.Command = []string{"/no/such"} }, "supervise: cannot start the supervisor: fork/exec /no/such: no such file"},
		{"it dies", func(c *Config) { c.Command = []string{"sh", "-c", "echo ouch; echo broken >&2; exit 3", "x"} }, "supervise: the supervisor has died (exit status 3); the last line of its supervisor.log: broken"},
	} {
		cfg := r.cfg
		c.change(&cfg)
		if _, _, err := Open(t.Context(), cfg); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
	// By hand it does nothing: here its descriptor 3 is none.
	cmd := exec.Command(program, "supervise", r.cfg.Dir)
	out, err := cmd.CombinedOutput()
	equal(t, "by hand", fmt.Sprint(string(out), err), "supervise: this command is started by `fairlead run`, not by hand\nexit status 1")
}
