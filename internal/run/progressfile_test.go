package run

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestReadProgress(t *testing.T) {
	path := filepath.Join(t.TempDir(), "progress")
	for text, want := range map[string]float64{
		"0.5": 0.5, "0.5\n": 0.5, " 0.25 \n": 0.25, "1": 1, "0": 0, "1e-1": 0.1, ".5": 0.5, "0.1\n0.2\n0.3\n": 0.3,
		strings.Repeat("0.1\n", 1e6) + "0.75\n": 0.75,
		"":                                      -1, "\n": -1, "half": -1, "50%": -1, "-0.1": -1, "1.1": -1, "NaN": -1, "Inf": -1, "\x00\x01": -1, strings.Repeat("9", 500): -1,
	} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		got, ok := readProgress(path)
		if !ok {
			got = -1
		}
		if got != want || math.IsNaN(got) {
			t.Errorf("%.20q: got %v, want %v", text, got, want)
		}
	}
	none := func(what string) {
		t.Helper()
		if v, ok := readProgress(path); ok {
			t.Errorf("%s: got %v", what, v)
		}
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Fatal(err)
	}
	none("a huge file of nothing")
	if err := unix.Mkfifo(path, 0o666); err != nil {
		t.Fatal(err)
	}
	none("a pipe nobody writes to")
	if err := os.Mkdir(path, 0o777); err != nil {
		t.Fatal(err)
	}
	none("a directory")
	if err := os.Symlink("/dev/zero", path); err != nil {
		t.Fatal(err)
	}
	none("a device")
	if v, ok := readProgress(path); ok {
		t.Errorf("no file: got %v", v)
	}
}

// What a task reports of its progress is shown, logged and recorded, if it grows.
func TestProgressOfTask(t *testing.T) {
	r := newTrial(t, "{name: m}", `
- {name: a, stages: [{name: s, run: 'for p in 0.25 0.2 0.255 0.5; do echo $p >$FAIRLEAD_PROGRESS; touch wrote.$p; until test -e go.$p; do sleep 0.01; done; done'}]}
`)
	steps := []string{"0.25", "0.2", "0.255", "0.5"}
	var shown []float64
	go func() { // each stays there for more than one look
		for _, p := range steps {
			r.when("wrote."+p, func() { time.Sleep(1300 * time.Millisecond) })
			r.write("go."+p, "", 0o666)
		}
	}()
	r.cfg.Progress = func(p Progress) {
		if len(p.Running) == 0 {
			return
		}
		equal(t, "of the job", p.Jobs[0].Partial, p.Running[0].Progress)
		if v := p.Running[0].Progress; len(shown) == 0 || v != shown[len(shown)-1] {
			shown = append(shown, v)
		}
	}
	r.run(t.Context())
	equal(t, "shown", fmt.Sprint(shown), "[0 0.25 0.5]")
	equal(t, "events", strings.Count(r.read("run/events.jsonl"), `"event":"taskProgress"`), 2)
	a := must[[]Attempt](t)(ReadAttempts(r.cfg.Dir))[0]
	equal(t, "first", a.FirstProgress.Value, 0.25)
	if at := a.FirstProgress.At - a.Start; at < 0 || at > 3e9 {
		t.Errorf("first progress at %v", at)
	}
}
