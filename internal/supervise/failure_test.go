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

// How a start can fail, as exit code, signal and message.
func TestFailures(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	bin := filepath.Join(r.dir, "bin")
	r.ok(os.Mkdir(bin, 0o777))
	r.write("plain", "#!/bin/sh\n", 0o666)
	r.write("bin/denied", "#!/bin/sh\n", 0o666)
	r.write("nothing", "\x00\x01", 0o777)
	r.write("lost", "#!/no/such/interpreter\n", 0o777)
	r.open()
	cases := []struct {
		name    string
		argv    []string
		workdir string
		code    int
		signal  string
		want    string // the beginning
	}{
		{"status", []string{"sh", "-c", "exit 7"}, "", 7, "", "exit status 7"},
		{"status255", []string{"sh", "-c", "exit 255"}, "", 255, "", "exit status 255"},
		{"killed", []string{"sh", "-c", "kill -KILL $$"}, "", 137, "SIGKILL", "ended by SIGKILL"},
		{"segv", []string{"sh", "-c", "kill -SEGV $$"}, "", 139, "SIGSEGV", "ended by SIGSEGV"},
		{"real-time", []string{"bash", "-c", "kill -40 $$"}, "", 168, "signal 40", "ended by signal 40"},
		{"missing", []string{"no-such-command-here", "x"}, "", 127, "", "command not found: no-such-command-here"},
		{"missing-path", []string{"./no/such"}, "", 127, "", "command not found: ./no/such"},
		{"empty", []string{""}, "", 127, "", "command not found: "},
		{"none", nil, "", 127, "", "command not found: there is none"},
		{"plain", []string{"./plain"}, "", 126, "", "cannot start ./plain: it is not executable (chmod +x)"},
		{"denied", []string{"denied"}, "", 126, "", "cannot start " + bin + "/denied: it is not executable (chmod +x)"},
		{"directory", []string{"./bin"}, "", 126, "", "cannot start ./bin: it is a directory"},
		{"format", []string{"./nothing"}, "", 126, "", "cannot start ./nothing: it is neither a program"},
		{"interpreter", []string{"./lost"}, "", 126, "", "cannot start ./lost: the interpreter that it names does not exist"},
		{"workdir", []string{"true"}, "nowhere", 126, "", "the working directory " + r.dir + "/nowhere is missing"},
		{"workfile", []string{"./true"}, "plain", 126, "", "the working directory " + r.dir + "/plain is missing, or is no directory"},
		{"too-long", []string{"true", strings.Repeat("x", 1<<20)}, "", 126, "", "cannot start /bin/true: argument list too long"},
		{"long", []string{"./" + strings.Repeat("x", 2*maxErr)}, "", 127, "", "command not found: ./xxx"},
		{"fine", []string{"true"}, "", 0, "", ""},
	}
	for i, c := range cases {
		st := Stage{ID: int32(i), Dir: filepath.Join(r.dir, c.workdir), Logs: filepath.Join(r.cfg.Dir, "logs"), Env: []string{"PATH=" + bin + ":/bin:/usr/bin"}}
		r.ok(r.c.Stage(st))
		r.ok(r.c.Start(Start{Key: key(i), Stage: st.ID, Output: c.name, Argv: c.argv}))
	}
	r.ok(r.c.Start(Start{Key: key(len(cases)), Stage: 99, Output: "x", Argv: []string{"true"}}))
	all := r.byTask(len(cases) + 1)
	for i, c := range cases {
		x := all[i]
		equal(t, c.name+": code and signal", fmt.Sprint(x.Code, x.Signal), fmt.Sprint(c.code, c.signal))
		if !strings.HasPrefix(x.Err, c.want) || c.want == "" && x.Err != "" {
			t.Errorf("%s: got %.200q, want %q", c.name, x.Err, c.want)
		}
		if len(x.Err) > maxErr+4 {
			t.Errorf("%s: %d bytes of error", c.name, len(x.Err))
		}
	}
	equal(t, "unknown stage", all[len(cases)].Err, "the driver has not said what its stage is")
	r.close()
	exits, torn, err := ReadJournal(r.cfg.Dir)
	equal(t, "journal", fmt.Sprint(len(exits), " ", torn, " ", err), fmt.Sprint(len(cases)+1, "  <nil>"))
	for _, x := range exits {
		equal(t, "in the journal", x, *all[int(x.Task)])
	}
}

// A folder that takes no outputs fails the start, and no other.
func TestUnwritableLogs(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	r.write("file", "in the way", 0o666)
	r.open()
	r.ok(r.c.Stage(Stage{ID: 1, Dir: r.dir, Logs: filepath.Join(r.dir, "file/logs")}))
	r.ok(r.c.Start(Start{Key: key(0), Stage: 1, Output: "x", Argv: []string{"true"}}))
	x := r.next()
	if x.Code != cannotStart || !strings.HasPrefix(x.Err, "cannot make the file for its standard output: ") {
		t.Errorf("got %+v", x)
	}
	r.ok(os.MkdirAll(filepath.Join(r.cfg.Dir, "logs", "1.1.err"), 0o777))
	r.start(1, "true")
	if x := r.next(); x.Code != cannotStart || !strings.HasPrefix(x.Err, "cannot make the file for its standard error: ") {
		t.Errorf("got %+v", x)
	}
	r.start(2, "true")
	equal(t, "another", r.next().Err, "")
	r.close()
}

// A command that is moved while its stage runs is found in its new place.
func TestMovedCommand(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	r.open()
	for _, dir := range []string{"a", "b"} {
		r.ok(os.Mkdir(filepath.Join(r.dir, dir), 0o777))
	}
	r.write("a/tool", "#!/bin/sh\nexit 3\n", 0o777)
	r.ok(r.c.Stage(Stage{ID: 1, Dir: r.dir, Logs: r.dir, Env: []string{"PATH=a:b:/bin:/usr/bin"}}))
	begin := func(k int) *Exit {
		r.ok(r.c.Start(Start{Key: key(k), Stage: 1, Output: "x", Argv: []string{"tool"}}))
		return r.next()
	}
	equal(t, "code", begin(0).Code, 3)
	r.ok(os.Rename(filepath.Join(r.dir, "a/tool"), filepath.Join(r.dir, "b/tool")))
	equal(t, "moved", begin(1).Code, 3)
	r.ok(os.Remove(filepath.Join(r.dir, "b/tool")))
	equal(t, "removed", begin(2).Err, "command not found: tool")
	r.close()
}

// Outputs get what a task writes, whatever and however much that is, and a task
// need not have any.
func TestOutputs(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	size := int64(1 << 30)
	var disk unix.Statfs_t
	if r.ok(unix.Statfs(r.cfg.Dir, &disk)); int64(disk.Bavail)*int64(disk.Bsize) < 4*size {
		size = 50 << 20 // or other tests would meet a full disk
	}
	r.open()
	r.sh(0, fmt.Sprintf("head -c %d /dev/zero", size))
	r.sh(1, `printf '\377\376\000bad'; printf '\300' >&2`)
	r.sh(2, "exec >&- 2>&-; sleep 0.1; exit 9")
	r.sh(3, "cat; echo $?")
	x := r.byTask(4)
	equal(t, "codes", fmt.Sprint(x[0].Code, x[1].Code, x[2].Code, x[3].Code), "0 0 9 0")
	info, err := os.Stat(filepath.Join(r.cfg.Dir, "logs/0.1.out"))
	r.ok(err)
	equal(t, "size", info.Size(), size)
	equal(t, "bytes", r.read("run/logs/1.1.out")+r.read("run/logs/1.1.err"), "\xff\xfe\x00bad\xc0")
	equal(t, "standard input", r.read("run/logs/3.1.out"), "0\n")
	r.close()
}

// What a start and its children use is counted.
func TestUsage(t *testing.T) {
	r := newTrial(t)
	r.open()
	const busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"
	r.sh(0, "sh -c '"+busy+"'; true")
	r.sh(1, "(setsid sh -c '"+busy+"; touch busy.done; exec sleep 60' &); until [ -e busy.done ]; do sleep 0.05; done")
	r.sh(2, "sleep 0.1")
	r.sh(3, "head -c 80000000 /dev/zero | tail -c 80000000 >/dev/null")
	x := r.byTask(4)
	for k, limits := range [][2]time.Duration{{20 * time.Millisecond, 5 * time.Second}, {20 * time.Millisecond, 5 * time.Second}, {0, 50 * time.Millisecond}} {
		if cpu := x[k].CPU; cpu < limits[0] || cpu > limits[1] {
			t.Errorf("task %d used %v of CPU, want %v", k, cpu, limits)
		}
	}
	for k, limits := range [][2]int64{{100 << 10, 60 << 20}, {100 << 10, 60 << 20}, {100 << 10, 60 << 20}, {75 << 20, 120 << 20}} {
		if rss := x[k].MaxRSS; rss < limits[0] || rss > limits[1] {
			t.Errorf("task %d used %d bytes of memory, want %d", k, rss, limits)
		}
	}
	var all unix.Rusage
	r.close()
	r.ok(unix.Getrusage(unix.RUSAGE_CHILDREN, &all))
	if sum := x[0].CPU + x[1].CPU + x[2].CPU + x[3].CPU; int64(sum) > all.Utime.Nano()+all.Stime.Nano() {
		t.Errorf("more CPU than the system says: %v", sum)
	}
}

// A task that removes the outputs of all does not keep others from starting.
func TestLogsAreRemoved(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	r.open()
	r.sh(0, "rm -r '"+filepath.Join(r.cfg.Dir, "logs")+"'")
	equal(t, "first", r.next().Err, "")
	r.sh(1, "echo here")
	equal(t, "second", r.next().Err, "")
	equal(t, "its output", r.read("run/logs/1.1.out"), "here\n")
	r.close()
}
