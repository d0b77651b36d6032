package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-project/fairlead/sched"
)

// What some machines have must not limit the tasks of one that does not say.
func TestMemoryBudget(t *testing.T) {
	in := &sched.Instance{Resources: []string{"cpu", "memory"}, Machines: []sched.Machine{
		{Name: "a", Capacity: []int64{1000, 3 << 30 * 1000}},
		{Name: "b", Capacity: []int64{0, 1 << 30 * 1000}},
	}}
	if got := memoryBudget(in, false); got != 4<<30 {
		t.Errorf("both say: %d, want %d", got, int64(4<<30))
	}
	in.Machines[1].Capacity = []int64{1000, 0}
	if got := memoryBudget(in, false); got != 0 {
		t.Errorf("one does not say: %d, want no limit", got)
	}
	if got := memoryBudget(in, true); got != 3<<30 {
		t.Errorf("one has no share of what has been shared out: %d, want %d", got, int64(3<<30))
	}
	in.Resources = []string{"cpu", "disk"}
	if got := memoryBudget(in, false); got != 0 {
		t.Errorf("memory is no resource: %d, want no limit", got)
	}
}

// A wrong size is explained once, in the words of the flag.
func TestMemoryFlag(t *testing.T) {
	for _, text := range []string{"0", "-1", "much"} {
		o := fairlead(t, t.Context(), "plan", "w.yaml", "--memory="+text)
		want := "fairlead: --memory: found \"" + text + "\", expected a positive number of bytes such as 500MB or 2GiB\nSee fairlead plan --help\n"
		if o.code != exitUsage || o.stderr != want {
			t.Errorf("--memory=%s: %+v", text, o)
		}
	}
}

// A run whose directory no longer tells what was learnt goes on, but nothing of it is
// kept: what was learnt must not be learnt again as if the workload had stated it.
func TestResumeWithoutOpen(t *testing.T) {
	data, dir := t.TempDir(), filepath.Join(t.TempDir(), "run")
	path := file(t, "w.yaml", preamble+`
jobs:
- {name: a, stages: [{name: s, run: "true"}]}
`)
	succeed(t, "run", path, "--dir", dir, "--data", data)
	for _, text := range []string{"{", `{"machines":[-1]}`, `{"machines":[1]}`, `{"stages":[9]}`} {
		if err := os.WriteFile(filepath.Join(dir, openFile), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		o := fairlead(t, t.Context(), "run", "--resume", "--dir", dir, "--data", data)
		if o.code != exitOK || !strings.Contains(o.stderr, "the history is not kept from here on: it is not known what was learnt for this run: ") {
			t.Errorf("%s: %+v", text, o)
		}
	}
}

func TestNoHome(t *testing.T) {
	t.Setenv("HOME", "")
	e := &env{getenv: func(string) string { return "" }}
	if _, err := e.dataHome(); err == nil || !strings.HasSuffix(err.Error(), "name one with --data") {
		t.Errorf("data home: error %v", err)
	}
	if _, err := e.runsHome(); err == nil || !strings.HasSuffix(err.Error(), "name one with --dir") {
		t.Errorf("runs: error %v", err)
	}
}

// A run whose driver was killed still has tasks on this computer; the next run says so.
func TestHintOfWhatStillRuns(t *testing.T) {
	path := file(t, "w.yaml", preamble+`
jobs:
- {name: a, stages: [{name: s, run: "true"}]}
`)
	home := filepath.Join(testEnv(t)("XDG_STATE_HOME"), "fairlead", "runs")
	for _, name := range []string{"left", "ended", "dead"} {
		dir := filepath.Join(home, name)
		succeed(t, "run", path, "--dir", dir)
		if name != "ended" { // without its last line
			log := filepath.Join(dir, "events.jsonl")
			text, err := os.ReadFile(log)
			if err == nil {
				err = os.WriteFile(log, text[:strings.LastIndex(string(text), `{"event":"end"`)], 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if name != "dead" { // as its supervisor does
			journal, err := os.Open(filepath.Join(dir, "journal.jsonl"))
			if err == nil {
				defer journal.Close()
				err = unix.Flock(int(journal.Fd()), unix.LOCK_EX)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	o := fairlead(t, t.Context(), "run", path)
	want := "tasks of the run in " + filepath.Join(home, "left") + " are still running: if nobody watches them, fairlead run --resume --dir "
	if o.code != exitOK || !strings.Contains(o.stderr, want) || strings.Count(o.stderr, "are still running") != 1 {
		t.Errorf("%+v", o)
	}
}
