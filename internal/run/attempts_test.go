package run

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-project/fairlead/internal/supervise"
	"github.com/fairlead-project/fairlead/sched"
)

// short is an attempt in one line.
func (a *Attempt) short() string {
	return fmt.Sprintf("%s/%s/%d.%d on %d.%d %s %d %q %q", a.Job, a.Stage, a.Index, a.Attempt, a.Machine, a.Slot, a.State, a.ExitCode, a.Signal, a.Err)
}

// While a run goes on, when it has been interrupted, and at its end, its directory
// says the same as Record was told.
func TestReadAttempts(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 2}", `
- {name: a, stages: [{name: s, count: 2, retries: 1, run: [sh, -c, 'echo "it''s $0"; test $FAIRLEAD_TASK$FAIRLEAD_ATTEMPT != 11 || kill -9 $$', '{{.Task}} of {{.Job}} on {{.Machine}}']}]}
- {name: b, after: [a], stages: [{name: s, run: 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; if [ $FAIRLEAD_ATTEMPT = 1 ]; then touch up; sleep 60; fi'}]}
`)
	var recorded []Attempt
	r.cfg.Record = func(a []Attempt) { recorded = append(recorded, a...) }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	read := func() (short []string, all []Attempt) {
		all = must[[]Attempt](t)(ReadAttempts(r.cfg.Dir))
		for i := range all {
			short = append(short, all[i].short())
		}
		return short, all
	}
	var during []string
	go r.when("up", func() { // under way: what the log on the disk has
		r.eventually("all is seen", func() bool { during, _ = read(); return len(during) == 4 })
		cancel()
	})
	r.run(ctx)
	want := []string{
		`a/s/0.1 on 0.0 done 0 "" ""`, `a/s/1.1 on 0.1 failed 137 "SIGKILL" "ended by SIGKILL"`,
		`a/s/1.2 on 0.N done 0 "" ""`, `b/s/0.1 on 0.0 running 0 "" ""`,
	}
	check := func(when string, got []string) {
		t.Helper()
		for i := range got {
			got[i] = strings.NewReplacer("a/s/1.2 on 0.0", "a/s/1.2 on 0.N", "a/s/1.2 on 0.1", "a/s/1.2 on 0.N").Replace(got[i])
		}
		equal(t, when, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	check("during", during)
	want[3] = `b/s/0.1 on 0.0 stopped 143 "SIGTERM" "ended by SIGTERM"`
	interrupted, _ := read()
	check("interrupted", interrupted)
	res := r.resume(t.Context())
	want = append(want, `b/s/0.2 on 0.0 done 0 "" ""`)
	after, all := read()
	check("after", after)

	byTask := map[string]Attempt{}
	for _, a := range recorded {
		byTask[fmt.Sprint(a.Task, a.Attempt)] = a
	}
	equal(t, "recorded", len(byTask), len(all))
	cpu := time.Duration(0)
	for _, a := range all {
		equal(t, "recorded", fmt.Sprintf("%+v", byTask[fmt.Sprint(a.Task, a.Attempt)]), fmt.Sprintf("%+v", a))
		cpu += a.CPU
		if a.MaxRSS < 100<<10 || a.MaxRSS > 1<<30 || a.Finish <= a.Start {
			t.Errorf("%s: %d bytes at most, from %v to %v", a.short(), a.MaxRSS, a.Start, a.Finish)
		}
	}
	equal(t, "CPU", res.TaskCPU, cpu)
	if cpu := all[4].CPU; cpu < 5*time.Millisecond || cpu > 5*time.Second {
		t.Errorf("counting took %v of CPU time", cpu)
	}
	equal(t, "output", strings.TrimSpace(string(must[[]byte](t)(os.ReadFile(all[0].Stdout)))), "it's 0 of a on m")
	again := must[[]byte](t)(exec.Command("sh", "-c", "FAIRLEAD_TASK=0 "+all[0].Command).Output())
	equal(t, "output of the command", string(again), "it's 0 of a on m\n")
}

// A torn log, or none, is read as far as it goes, with what the journal knows.
func TestReadAttemptsOfTornRun(t *testing.T) {
	r := newTrial(t, "{name: m}", "- {name: a, stages: [{name: s, count: 3, run: 'true'}]}\n")
	r.run(t.Context())
	log := r.read("run/events.jsonl")
	whole := must[[]Attempt](t)(ReadAttempts(r.cfg.Dir))
	for cut := range len(log) {
		if cut%37 != 0 && cut != len(log)-1 {
			continue
		}
		r.write("run/events.jsonl", log[:cut]+"\x00", 0o666)
		got := must[[]Attempt](t)(ReadAttempts(r.cfg.Dir))
		equal(t, "attempts", len(got), 3)
		for i := range got {
			a, b := &got[i], &whole[i]
			equal(t, "task", a.Task, b.Task)
			equal(t, "state", a.State, AttemptDone)
			equal(t, "start", a.Start, b.Start)
			if known := strings.Contains(log[:cut], fmt.Sprintf(`"do":"startTask","id":%d,`, a.Task)); !known && a.Machine != sched.None {
				t.Errorf("cut at %d, task %d has run on machine %d", cut, a.Task, a.Machine)
			}
		}
	}
	if err := os.Remove(filepath.Join(r.cfg.Dir, "journal.jsonl")); err != nil {
		t.Fatal(err)
	}
	r.write("run/events.jsonl", log, 0o666)
	for _, a := range must[[]Attempt](t)(ReadAttempts(r.cfg.Dir)) {
		equal(t, "without a journal", a.State, AttemptDone)
	}
}

// What makes no sense in a log ends the reading of it and nothing else.
func TestScanLog(t *testing.T) {
	const header = "{}\n"
	scan := func(lines ...string) *scan {
		return must[*scan](t)(scanLog(strings.NewReader(header+strings.Join(lines, "\n")+"\n"), 2, 1))
	}
	start := func(task, attempt int) string {
		return fmt.Sprintf(`{"t":%d,"event":"wake","actions":[{"do":"wakeAt","at":3},{"do":"startTask","id":%d,"attempt":%d,"machine":0,"slot":4}]}`, 10*attempt, task, attempt)
	}
	s := scan(start(1, 1), `{"t":15,"event":"taskProgress","id":1,"attempt":1,"value":0.25}`, `{"t":16,"event":"taskProgress","id":1,"attempt":1,"value":0.5}`,
		`{"t":17,"event":"taskFailed","id":1,"attempt":7}`, `{"t":18,"event":"taskFailed","id":1,"attempt":1}`, `{"t":19,"event":"taskFinished","id":1,"attempt":1}`, start(1, 2),
		`{"t":30,"event":"solved","solution":{"id":5,"order":[1]}}`)
	equal(t, "starts", fmt.Sprint(s.starts), "[{1 1 0 4 10 18 failed {15 0.25}} {1 2 0 4 20 0 running {0 0}}]")
	equal(t, "solution", s.solution.ID, 5)
	equal(t, "latest", fmt.Sprint(s.latest), "[-1 1]")
	x := sched.NewIndex(newTrial(t, "{name: m}", "- {name: a, stages: [{name: s, count: 2, run: 'true'}]}\n").cfg.Instance)
	key := func(task, attempt, at int) supervise.Key {
		return keyOf(sched.TaskID(task), int32(attempt), sched.Time(at))
	}
	var short []string
	for _, a := range s.attempts(&describer{x: x}, []supervise.Exit{
		{Key: key(1, 1, 10), At: 117, Code: 1, Err: "exit status 1"}, {Key: key(1, 2, 20), At: 125}, // those of the log
		{Key: key(0, 1, 12), At: 113, Code: 1, Err: "void"}, {Key: key(0, 2, 14), At: 115}, {Key: key(0, 3, 16), At: 117}, // unknown to it
		{Key: key(1, 3, 30), At: 131}, {Key: key(9, 1, 1), At: 131},
	}, clock{100}) {
		short = append(short, a.short()+fmt.Sprintf(" %d-%d", a.Start, a.Finish))
	}
	equal(t, "attempts", strings.Join(short, "; "), `a/s/1.1 on 0.4 failed 1 "" "exit status 1" 10-18; `+
		`a/s/0.2 on -1.-1 done 0 "" "" 14-15; a/s/1.2 on 0.4 done 0 "" "" 20-25`)
	for _, bad := range []string{start(2, 1), start(-1, 1), strings.Replace(start(0, 1), `"machine":0`, `"machine":1`, 1), `{"t":1,"event":"taskFinished","id":2}`, `{`, `{"event":"solved","solution":7}`} {
		equal(t, bad, len(scan(start(0, 1), bad, start(1, 1)).starts), 1)
	}
}

func TestShellQuote(t *testing.T) {
	argv := []string{"printf", "%s|", "", "a b", "it's", "$HOME", "`x`", "a=b", "=", "~", "-n", "*", "\\", "\"", "new\nline", "ümläut", "#", "a;b", "{a,b}", "!"}
	quoted := shellQuote(argv)
	out := must[[]byte](t)(exec.Command("sh", "-c", quoted).Output())
	equal(t, quoted, string(out), strings.Join(argv[2:], "|")+"|")
	equal(t, "plain words", shellQuote([]string{"cc", "-O2", "-DX=1", "./a.c", "user@host:/x"}), "cc -O2 -DX=1 ./a.c user@host:/x")
	equal(t, "an assignment is none", shellQuote([]string{"A=b"}), "'A=b'")
}

// Record gets attempts in batches, all of them, once.
func TestRecordBatches(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 2}", `
- {name: many, stages: [{name: s, count: 40, run: 'sleep 0.05'}]}
- {name: long, after: [many], stages: [{name: s, run: 'sleep 1.5'}]}
`)
	var sizes []int
	seen := map[sched.TaskID]bool{}
	r.cfg.Record = func(list []Attempt) {
		sizes = append(sizes, len(list))
		for _, a := range list {
			if seen[a.Task] {
				t.Errorf("task %d a second time", a.Task)
			}
			seen[a.Task] = true
		}
	}
	res := r.run(t.Context())
	equal(t, "attempts", len(seen), 41)
	if most := 2 + int(res.Wall/time.Second); len(sizes) > most || len(sizes) < 2 || slices.Max(sizes) < 10 {
		t.Errorf("batches %v in %v", sizes, res.Wall)
	}
}

// Limits of memory are for the stages that have one, and the budget for all.
func TestMemoryLimits(t *testing.T) {
	r := newTrial(t, "{name: m}", "- {name: a, stages: [{name: s, run: 'true'}, {name: u, after: [s], run: 'true'}]}\n")
	r.cfg.MemoryLimits, r.cfg.MemoryBudget = []int64{0, 64 << 20}, 1<<30
	var got []int64
	f := newFake()
	f.onStart = func(s supervise.Start) {
		got = append(got, s.Memory)
		f.exit(s.Key, "")
	}
	d := r.begun(f)
	open := d.open
	d.open = func(ctx context.Context, cfg supervise.Config) (supervisor, supervise.Found, error) {
		equal(t, "budget", cfg.Memory, 1<<30)
		return open(ctx, cfg)
	}
	must[*Result](t)(d.run(t.Context()))
	equal(t, "limits", fmt.Sprint(got), fmt.Sprint(r.cfg.MemoryLimits))
	r.recorded()
	equal(t, "remembered", fmt.Sprint(r.cfg.MemoryLimits, r.cfg.MemoryBudget), fmt.Sprint([]int64{0, 64 << 20}, 1<<30))
}

// Failed tasks wait before they are repeated, and the log remembers how long.
func TestBackoff(t *testing.T) {
	r := newTrial(t, "{name: m}", "- {name: a, stages: [{name: s, retries: 2, run: 'test $FAIRLEAD_ATTEMPT = 3'}]}\n")
	r.cfg.Backoff.Base = 200e6
	r.run(t.Context())
	a := must[[]Attempt](t)(ReadAttempts(r.cfg.Dir))
	equal(t, "attempts", len(a), 3)
	for k, least := range []sched.Time{100e6, 200e6} { // half of it, for the jitter
		if wait := a[k+1].Start - a[k].Finish; wait < least || wait > 4*least+3*sched.Second {
			t.Errorf("waited %v before attempt %d", wait, k+2)
		}
	}
	r.resume(t.Context()) // which replays the log
	equal(t, "remembered", r.cfg.Backoff.Base, 200e6)
}
