package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-project/fairlead/internal/browser"
	"github.com/fairlead-project/fairlead/internal/run"
	"github.com/fairlead-project/fairlead/policy/all"
	"github.com/fairlead-project/fairlead/report"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
)

const eventful = preamble + `
metadata: {name: eventful}
cluster: {machines: [{name: m, slots: 2}, {name: n, speed: 2}]}
jobs:
- {name: mail, weight: 2, stages: [{name: send, size: 0.1, run: [sleep, "0.05"]}]}
- name: etl
  stages:
  - {name: map, count: 3, size: 0.1, retries: 1, run: '[ $FAIRLEAD_TASK != 1 ] || [ $FAIRLEAD_ATTEMPT = 2 ]'}
  - {name: reduce, after: [map], size: 0.1, run: "sleep 0.05"}
%s`

const failing = `
- {name: bad, stages: [{name: s, size: 1, run: 'kill -9 $$'}]}
- {name: after, after: [bad], stages: [{name: s, size: 1, run: 'true'}]}
- {name: last, after: [after], stages: [{name: s, size: 1, run: 'true'}]}
`

// What a run's directory tells is what the run said at its end.
func TestReportAgreesWithTheRun(t *testing.T) {
	for name, more := range map[string]string{"complete": "", "failing": failing} {
		dir := filepath.Join(t.TempDir(), "run")
		path := file(t, "w.yaml", fmt.Sprintf(eventful, more))
		o := fairlead(t, t.Context(), "run", path, "--policy", "spc", "--dir", dir, "-o", "json")
		ran := decode[runResult](t, o.stdout)
		told := decode[reportResult](t, succeed(t, "report", dir, "-o", "json"))
		a, b := &ran.Runs[0], &told.Runs[0]
		if name == "complete" {
			if a.LowerBound == nil || b.LowerBound == nil || math.Abs(*a.LowerBound-*b.LowerBound) > 1e-9**a.LowerBound {
				t.Errorf("%s: bound %v, in the report %v", name, a.LowerBound, b.LowerBound)
			}
		}
		for _, r := range []*report.Run{a, b} {
			r.LowerBound, r.Ratio, r.FlowRatio = nil, nil, nil // equal but for their last digits
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: the run says\n%+v\nthe report\n%+v", name, a, b)
		}
		if !told.Ended || told.Workload != "eventful" || told.Dir != dir {
			t.Errorf("%s: %+v", name, told)
		}
		if n := len(ran.Failures); len(told.Failures) != n || n == 0 {
			t.Fatalf("%s: %d failures, in the report %d", name, n, len(told.Failures))
		}
		for i, f := range ran.Failures {
			same := func(g attemptResult) bool {
				return f.Job == g.Job && f.Stage == g.Stage && f.Task == g.Task && f.Attempt == g.Attempt && f.Machine == g.Machine &&
					f.ExitCode == g.ExitCode && f.Signal == g.Signal && f.Error == g.Error && f.Stderr == g.Stderr
			}
			if !slices.ContainsFunc(told.Failures, same) {
				t.Errorf("%s: failure %d is not in the report: %+v, %+v", name, i, f, told.Failures)
			}
		}
		busy := 0.0
		for _, m := range told.Machines {
			busy += m.BusySeconds
			if m.Utilisation <= 0 || m.Utilisation > 1 {
				t.Errorf("%s: machine %+v", name, m)
			}
		}
		if busy < 0.1 || busy > 3*ran.WallSeconds {
			t.Errorf("%s: busy for %v s of %v", name, busy, ran.WallSeconds)
		}
		table := succeed(t, "report", dir)
		for _, want := range []string{"eventful, began ", "Slowest tasks", "Failed and lost attempts", "etl/map 1 ", "exit status 1", filepath.Join(dir, "logs")} {
			if !strings.Contains(table, want) {
				t.Errorf("%s: no %q in\n%s", name, want, table)
			}
		}
		exported(t, dir, told)
	}
}

// Of a log that is torn off the report tells what the journal knows: not where tasks ran,
// so nothing of their sizes, and no bound.
func TestReportOfATornLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	succeed(t, "run", file(t, "w.yaml", typical), "--dir", dir)
	log := filepath.Join(dir, "events.jsonl")
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	header, _, _ := bytes.Cut(text, []byte("\n"))
	if err := os.WriteFile(log, append(header, '\n'), 0o666); err != nil {
		t.Fatal(err)
	}
	o := fairlead(t, t.Context(), "report", dir, "-o", "json")
	if o.code != exitOK || o.stderr != "" {
		t.Fatalf("%+v", o)
	}
	r := decode[reportResult](t, o.stdout)
	if r.Ended || r.Attempts["done"] != 12 || !r.Runs[0].Complete() || r.Runs[0].LowerBound != nil {
		t.Errorf("%+v", r)
	}
}

// exported checks that every format holds all attempts.
func exported(t *testing.T, dir string, told reportResult) {
	t.Helper()
	n, out := 0, t.TempDir()
	for _, k := range told.Attempts {
		n += k
	}
	at := func(name string) string { return filepath.Join(out, name) }
	if o := succeed(t, "report", dir, "--html", at("run.html"), "--svg", at("run.svg"), "--trace", at("run.json"), "--csv", at("csv"), "--joblog", at("joblog")); o != "" {
		t.Errorf("with files it prints\n%s", o)
	}
	read := func(name string) string {
		b, err := os.ReadFile(at(name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	tasks, err := csv.NewReader(strings.NewReader(read("csv/tasks.csv"))).ReadAll()
	if err != nil || len(tasks) != n+1 {
		t.Errorf("tasks.csv has %d lines of %d attempts (%v)", len(tasks), n, err)
	}
	jobs, err := csv.NewReader(strings.NewReader(read("csv/jobs.csv"))).ReadAll()
	if err != nil || len(jobs) != len(told.Runs[0].Jobs)+1 {
		t.Errorf("jobs.csv has %d lines (%v)", len(jobs), err)
	}
	var trace struct{ TraceEvents []struct{ Ph string } }
	if err := json.Unmarshal([]byte(read("run.json")), &trace); err != nil {
		t.Error(err)
	}
	slices := 0
	for _, ev := range trace.TraceEvents {
		if ev.Ph == "X" {
			slices++
		}
	}
	if slices != n {
		t.Errorf("%d slices of %d attempts", slices, n)
	}
	if log := read("joblog"); strings.Count(log, "\n") < 4 || !strings.Contains(log, "\tsh -c '[ $FAIRLEAD_TASK != 1 ]") {
		t.Errorf("joblog\n%s", log)
	}
	if log := succeed(t, "report", dir, "--joblog", "-"); log != read("joblog") {
		t.Errorf("to standard output it writes\n%s", log)
	}
	if !strings.HasPrefix(read("run.svg"), "<svg ") || !strings.HasPrefix(read("run.html"), "<!doctype html>") {
		t.Error("pictures that are none")
	}
}

// A run that was cut short is shown as far as it has come, wherever its log ends.
func TestReportOfWhatIsCutShort(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	path := file(t, "w.yaml", fmt.Sprintf(eventful, ""))
	succeed(t, "run", path, "--dir", dir)
	log, err := os.ReadFile(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "journal.jsonl")); err != nil { // it knows more
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(log), "\n")
	states := map[string]int{}
	for n := range len(lines) - 1 {
		if err := os.WriteFile(filepath.Join(dir, "events.jsonl"), []byte(strings.Join(lines[:n], "")+`{"t":12`), 0o666); err != nil {
			t.Fatal(err)
		}
		o := decode[reportResult](t, succeed(t, "report", dir, "-o", "json"))
		if o.Ended && n < len(lines)-2 {
			t.Errorf("after %d of %d lines it has ended", n, len(lines))
		}
		for s, k := range o.Attempts {
			states[s] = max(states[s], k)
		}
		if table := succeed(t, "report", dir); n < len(lines)-2 && !strings.Contains(table, "--resume --dir "+dir) {
			t.Errorf("after %d lines\n%s", n, table)
		}
		exportAll(t, dir)
	}
	if states["running"] == 0 || states["done"] != 5 || states["failed"] != 1 {
		t.Errorf("at most so many attempts at a time: %v", states)
	}
}

func exportAll(t *testing.T, dir string) {
	t.Helper()
	for _, f := range []string{"--html", "--svg", "--trace", "--joblog"} {
		if succeed(t, "report", dir, f, "-") == "" {
			t.Errorf("%s writes nothing", f)
		}
	}
}

// The example as it would run, looked at in a browser.
func TestExampleInABrowser(t *testing.T) {
	b := browser.Open(t)
	e := &env{ctx: t.Context(), stderr: io.Discard, getenv: func(string) string { return "" }, policies: all.Registry()}
	x, z, _, err := e.loadSized("../../examples/mapreduce.yaml", given{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.simulate(simulation{spec: "spc", in: x.Instance, x: x, sizes: z, estimates: sim.MeansWhereKnown(x), lower: e.hindsight(x, z)})
	if err != nil {
		t.Fatal(err)
	}
	tl := report.FromSchedule("plan", x, &r.Schedule, r.Run)
	page := filepath.Join(t.TempDir(), "example.html")
	if err := e.export(&exports{html: page}, tl); err != nil {
		t.Fatal(err)
	}
	for name, width := range map[string]int{"example-wide": 1280, "example-narrow": 400} {
		b.Load(page, width, 800, false)
		var seen struct {
			Rows, Bars []string
			Wide       bool
		}
		b.Eval(`(() => {
			const shown = e => { const r = e.getBoundingClientRect(); return r.width > 0 && r.height > 0 && r.top + scrollY + r.height <= document.documentElement.scrollHeight };
			const names = s => [...document.querySelectorAll(s)].filter(shown);
			return {
				rows: names('tr[data-row]').map(e => e.querySelector('button').textContent),
				bars: [...new Set(names('.plot .b').map(e => document.querySelector('button[data-job="' + e.dataset.j + '"]').textContent))],
				wide: document.documentElement.scrollWidth > innerWidth,
			};
		})()`, &seen)
		for j := range x.Instance.Jobs {
			if job := x.Instance.Jobs[j].Name; !slices.Contains(seen.Rows, job) || !slices.Contains(seen.Bars, job) {
				t.Errorf("%s: %s is not to be seen: rows %q, bars %q", name, job, seen.Rows, seen.Bars)
			}
		}
		if seen.Wide || len(b.Messages()) > 0 || len(b.Requests()) != 1 {
			t.Errorf("%s: too wide: %v; messages %q; requests %q", name, seen.Wide, b.Messages(), b.Requests())
		}
		b.Screenshot(name)
	}
}

// What became of jobs: who failed, who was not run for it, however far behind, who is
// done, and when, whatever task was the last.
func TestStatesFromAttempts(t *testing.T) {
	in := &sched.Instance{Machines: []sched.Machine{{Name: "m", Speed: 2, Slots: 1}}}
	for j, after := range [][]sched.JobID{{1}, {2}, nil, nil, nil, nil} {
		in.Jobs = append(in.Jobs, sched.Job{Name: fmt.Sprint(j), After: after, Stages: []sched.Stage{{Name: "s", Count: 2, Retries: 1}}})
	}
	const sec = sched.Second
	r := &recorded{Recorded: &run.Recorded{Instance: in}, x: sched.NewIndex(in), attempts: []run.Attempt{
		{Task: 4, State: run.AttemptFailed},
		{Task: 4, Attempt: 2, State: run.AttemptFailed},
		{Task: 6, State: run.AttemptFailed},
		{Task: 7, State: run.AttemptLost}, // may be tried again
		{Task: 10, Start: sec, Finish: 9 * sec, State: run.AttemptDone},
		{Task: 11, Start: 2 * sec, Finish: 3 * sec, State: run.AttemptDone},
	}}
	r.derive()
	got := ""
	for _, s := range r.states {
		got += s.String() + " "
	}
	if got != "not-run not-run failed active waiting done " {
		t.Errorf("states %s", got)
	}
	if at := r.schedule.Completion[5]; at != 9*sec || r.schedule.Completion[2] != sched.Never {
		t.Errorf("done at %v", at)
	}
	if p, q := r.sizes.Of(5, 10), r.sizes.Of(5, 11); math.Abs(p-16) > 1e-9 || math.Abs(q-2) > 1e-9 || sched.Duration(p, 2) > 8*sec || r.sizes.Known(2) {
		t.Errorf("sizes %v, %v", p, q)
	}
}

// Programs rely on these keys, as on those of TestContract.
func TestReportContract(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	fairlead(t, t.Context(), "run", file(t, "w.yaml", fmt.Sprintf(eventful, failing)), "--dir", dir)
	attempt := object{
		"job": aText, "stage": aText, "task": aNumber, "attempt": aNumber, "machine": aText, "slot": aNumber,
		"start": aNumber, "seconds": aNumber, "state": aText, "exitCode": aNumber, "signal": aText, "error": aText,
		"cpuSeconds": aNumber, "peakMemoryBytes": aNumber, "command": aText, "stdout": aText, "stderr": aText,
	}
	shape := result("RunReport", object{
		"dir": aText, "id": aText, "workload": aText, "began": aText, "ended": aBool, "logs": aText, "runs": list{runShape},
		"machines": list{object{
			"name": aText, "speed": aNumber, "slots": aNumber, "attempts": aNumber, "failed": aNumber,
			"busySeconds": aNumber, "utilisation": aNumber, "cpuSeconds": aNumber, "peakMemoryBytes": aNumber,
		}},
		"attempts": object{"done": aNumber, "failed": aNumber, "lost": aNumber, "stopped": aNumber, "running": aNumber},
		"slowest":  list{attempt}, "failures": list{attempt},
	})
	text := succeed(t, "report", dir, "-o", "json")
	if err := shape.check("result", decode[any](t, text)); err != nil {
		t.Errorf("%v in\n%s", err, text)
	}
}
