package cli

import (
	"database/sql"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-project/fairlead/internal/history"
	"github.com/fairlead-project/fairlead/sched"
)

var historyShape = result("History", object{
	"path": aText, "unknown": list{aText},
	"stages": list{object{
		"job": aText, "stage": aText, "runs": aNumber, "attempts": aNumber, "done": aNumber,
		"mean": null{aNumber}, "median": null{aNumber}, "p90": null{aNumber}, "cv": null{aNumber},
		"perTask": aBool, "launch": aNumber, "memory": aNumber, "lastSeen": aText,
	}},
	"machines": list{object{"machine": aText, "speed": aNumber, "source": aText, "attempts": aNumber}},
	"expected": null{object{
		"policy": aText, "makespan": aNumber, "low": aNumber, "high": aNumber,
		"jobs": list{object{"name": aText, "work": aNumber, "completion": aNumber}},
	}},
})

// remembered makes a data home with three runs of tasks of size 6 on machine a and on
// b, which is twice as fast, and one failure.
func remembered(t *testing.T) (data string) {
	t.Helper()
	data = t.TempDir()
	db, err := history.Open(filepath.Join(data, historyFile))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var attempts []history.Attempt
	for i := range 24 {
		a := history.Attempt{
			Run: fmt.Sprint("run", i/8), Job: "etl", Stage: "map", Task: i % 4, Attempt: 1, Tasks: 4,
			Machine: string(rune('a' + i%2)), Speed: 1, SpeedAssumed: true, Launched: time.Unix(int64(1e9+i), 0),
			Start: sched.Second, End: sched.Second + 6*sched.Second/sched.Time(1+i%2), State: history.Done, Memory: 100 << 20,
		}
		if i%8 >= 4 {
			a.Job, a.Stage = "mail", "send"
		}
		attempts = append(attempts, a)
	}
	failed := attempts[0]
	failed.Job, failed.State, failed.ExitCode = "broken", history.Failed, 1
	if err := db.Record(t.Context(), append(attempts, failed)); err != nil {
		t.Fatal(err)
	}
	return data
}

func TestHistory(t *testing.T) {
	data := remembered(t)
	r := decode[historyResult](t, succeed(t, "history", "--data", data, "-o", "json"))
	if len(r.Stages) != 3 || len(r.Machines) != 2 || r.Expected != nil {
		t.Fatalf("history: %+v", r)
	}
	if s := r.Stages[0]; s.Job != "broken" || s.Attempts != 1 || s.Done != 0 || s.Mean != nil || s.CV != nil {
		t.Errorf("of what failed: %+v", s)
	}
	s := r.Stages[1]
	if s.Job != "etl" || s.Stage != "map" || s.Runs != 3 || s.Attempts != 12 || s.Done != 12 || s.PerTask || s.Memory != 115<<20 ||
		!s.LastSeen.Equal(time.Unix(1e9+19, 0)) {
		t.Errorf("of etl/map: %+v", s)
	}
	for what, x := range map[string]*float64{"mean": s.Mean, "median": s.Median, "p90": s.P90} {
		if math.Abs(*x-6) > 1e-6 {
			t.Errorf("%s is %v, want 6", what, *x)
		}
	}
	if b := r.Machines[1]; b.Machine != "b" || math.Abs(b.Speed-2) > 1e-6 || b.Source != history.Learnt || b.Attempts != 12 {
		t.Errorf("of machine b: %+v", b)
	}
	if r = decode[historyResult](t, succeed(t, "history", "mail", "--data", data, "-o", "json")); len(r.Stages) != 1 || r.Stages[0].Job != "mail" {
		t.Errorf("of one job: %+v", r.Stages)
	}
	table := succeed(t, "history", "--data", data)
	for _, want := range []string{"etl   map     3        12  6.00 s  6.00 s  6.00 s", "b        2.000  learnt        12", "115 MiB"} {
		if !strings.Contains(strings.Join(strings.Fields(table), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
}

// A stage of four tasks of size 6 on machines of speed 1 and 2: the fast one takes three
// of them, in 9 seconds.
func TestExpectedRun(t *testing.T) {
	data := remembered(t)
	path := file(t, "w.yaml", preamble+`
cluster: {machines: [{name: a}, {name: b}, {name: new}]}
jobs:
- {name: etl, stages: [{name: map, count: 4, machines: [a, b], run: "true"}]}
`)
	out := succeed(t, "history", "--for", path, "--data", data, "-o", "json")
	if err := historyShape.check("result", decode[any](t, out)); err != nil {
		t.Error(err)
	}
	r := decode[historyResult](t, out)
	if len(r.Stages) != 1 || len(r.Machines) != 2 || r.Expected == nil || len(r.Unknown) != 0 {
		t.Fatalf("expected: %+v", r)
	}
	x := r.Expected
	for what, got := range map[string][2]float64{
		"makespan": {x.Makespan, 9}, "low": {x.Low, 9}, "high": {x.High, 9}, "completion": {x.Jobs[0].Completion, 9}, "work": {x.Jobs[0].Work, 24},
	} {
		if math.Abs(got[0]-got[1]) > 1e-5 {
			t.Errorf("%s is %v, want %v", what, got[0], got[1])
		}
	}
	if x.Policy != sizedPolicy {
		t.Errorf("under %s", x.Policy)
	}
	if table := succeed(t, "history", "--for", path, "--data", data); !strings.Contains(table, "is expected to take 9.00 s.") {
		t.Errorf("no prediction in\n%s", table)
	}

	path = file(t, "more.yaml", preamble+`
cluster: {machines: [{name: a}]}
jobs:
- {name: etl, stages: [{name: map, count: 4}, {name: more}]}
`)
	r = decode[historyResult](t, succeed(t, "history", "--for", path, "--data", data, "-o", "json"))
	if r.Expected != nil || len(r.Unknown) != 1 || r.Unknown[0] != "etl/more" {
		t.Errorf("with a stage never seen: %+v", r)
	}
	r = decode[historyResult](t, succeed(t, "history", "--for", path, "--data", data, "--assume", "5s", "-o", "json"))
	if r.Expected == nil || math.Abs(r.Expected.Makespan-29) > 1e-5 { // four of 6 and one of 5 on one slot
		t.Errorf("with a size assumed: %+v", r.Expected)
	}
}

func TestHistoryThatIsNone(t *testing.T) {
	data := t.TempDir()
	r := decode[historyResult](t, succeed(t, "history", "--data", data, "-o", "json"))
	if len(r.Stages) != 0 || r.Path != filepath.Join(data, historyFile) {
		t.Errorf("nothing: %+v", r)
	}
	if entries, err := os.ReadDir(data); err != nil || len(entries) != 0 {
		t.Errorf("looking has made %v, %v", entries, err)
	}
	junk := filepath.Join(data, historyFile)
	if err := os.WriteFile(junk, []byte(strings.Repeat("no database ", 1000)), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"history"}, {"history", "--forget", "etl"}} {
		o := fairlead(t, t.Context(), append(args, "--data", data)...)
		if o.code != exitUsage || !strings.Contains(o.stderr, junk+" is damaged or no history: move it away") || o.stdout != "" {
			t.Errorf("%v: %+v", args, o)
		}
	}
}

// A dry run shows what the run would do, with what earlier ones tell.
func TestDryRunUsesTheHistory(t *testing.T) {
	data := remembered(t)
	path := file(t, "w.yaml", preamble+`
cluster: {machines: [{name: a}, {name: b}]}
jobs:
- {name: etl, stages: [{name: map, count: 4, run: "true"}]}
`)
	r := decode[planResult](t, succeed(t, "run", "--dry-run", path, "--data", data, "-o", "json"))
	if got := r.Runs[0].Makespan; math.Abs(got-9) > 1e-5 {
		t.Errorf("it is planned to take %v, want 9", got)
	}
	if o := fairlead(t, t.Context(), "run", "--dry-run", "--no-history", path, "--data", data); o.code != exitUsage || !strings.Contains(o.stderr, "no size for etl/map") {
		t.Errorf("without the history: %+v", o)
	}
}

// A history that opens, but cannot be read, costs what it would have told, not the run.
func TestDamageDoesNotStopARun(t *testing.T) {
	data := remembered(t)
	db, err := sql.Open("sqlite", filepath.Join(data, historyFile))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("UPDATE attempts SET speed = -1"); err != nil {
		t.Fatal(err)
	}
	path := file(t, "w.yaml", preamble+`
cluster: {machines: [{name: a}]}
jobs:
- {name: etl, stages: [{name: map, count: 2, run: "true"}]}
`)
	const why = "is damaged or no history: move it away to begin a new one: attempt 1 of etl/map task 0"
	if o := fairlead(t, t.Context(), "plan", "--history", path, "--data", data); o.code != exitUsage || !strings.Contains(o.stderr, why) {
		t.Errorf("plan: %+v", o)
	}
	o := fairlead(t, t.Context(), "run", path, "--data", data, "--dir", filepath.Join(t.TempDir(), "run"))
	if o.code != exitOK || !strings.Contains(o.stderr, why) || !strings.Contains(o.stderr, "running blind") {
		t.Errorf("run: %+v", o)
	}
}
