package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-project/fairlead/policy/all"
)

// onTerminal runs a command line with a terminal as stderr and returns what it
// shows, and what came to stdout.
func onTerminal(t *testing.T, environ map[string]string, args ...string) (shown, stdout string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	defer master.Close()
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	screen, done := &bytes.Buffer{}, make(chan struct{})
	go func() {
		_, _ = io.Copy(screen, master) // ends with an error when the terminal is closed
		close(done)
	}()
	var out bytes.Buffer
	home := testEnv(t)
	e := &env{
		ctx: t.Context(), stdout: &out, stderr: terminal, policies: all.Registry(),
		getenv: func(key string) string { return cmp.Or(environ[key], home(key)) },
	}
	if code := execute(e, args); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	terminal.Close()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the terminal does not end")
	}
	return screen.String(), out.String()
}

const slow = preamble + `
cluster: {machines: [{name: m, slots: 2}]}
jobs:
- {name: etl, stages: [{name: s, count: 4, size: 0.3, run: [sleep, "0.3"]}]}
`

func TestProgressOnATerminal(t *testing.T) {
	path := file(t, "w.yaml", slow)
	run := func(n string, environ map[string]string) string {
		shown, stdout := onTerminal(t, environ, "run", path, "--dir", filepath.Join(t.TempDir(), n))
		for _, want := range []string{"etl", "all jobs", "2 tasks running, ends about ", "[0/4, ends ", "[2/4, ends ", "done [4/4 in "} {
			if !strings.Contains(shown, want) {
				t.Errorf("no %q on the terminal:\n%q", want, shown)
			}
		}
		if strings.Contains(stdout, "\x1b") || !strings.Contains(stdout, " (as run)") {
			t.Errorf("stdout:\n%q", stdout)
		}
		return shown
	}
	const cyan = "\x1b[36m"
	if shown := run("colour", map[string]string{"TERM": "xterm"}); !strings.Contains(shown, cyan) {
		t.Errorf("no colour:\n%q", shown)
	}
	if shown := run("plain", map[string]string{"TERM": "xterm", "NO_COLOR": "1"}); strings.Contains(shown, cyan) {
		t.Errorf("colour though NO_COLOR is set:\n%q", shown)
	}
}

func TestNoProgressElsewhere(t *testing.T) {
	o := fairlead(t, t.Context(), "run", file(t, "w.yaml", slow), "--dir", filepath.Join(t.TempDir(), "run"))
	if o.code != exitOK || strings.Contains(o.stderr, "all jobs") || strings.Contains(o.stdout+o.stderr, "\x1b") {
		t.Errorf("exit code %d\n%q\n%q", o.code, o.stdout, o.stderr)
	}
}

// A command that is done at once does not flicker.
func TestQuickCommandShowsNothing(t *testing.T) {
	shown, _ := onTerminal(t, nil, "simulate", file(t, "w.yaml", typical))
	if shown != "" {
		t.Errorf("%q", shown)
	}
}

// Names and bars, with what stands beside them, fit every terminal of 40 columns.
func TestBarWidths(t *testing.T) {
	for _, rest := range []int{24, barRest} {
		for columns := 40; columns < 300; columns++ {
			message, length := barWidths(columns, rest)
			if message < 6 || length < 5 || message+length+rest > max(columns, 40) {
				t.Errorf("%d columns: %d for the name, %d for the bar", columns, message, length)
			}
		}
	}
	if message, length := barWidths(80, 28); message != 28 || length != 24 {
		t.Errorf("80 columns: %d for the name, %d for the bar", message, length)
	}
}
