package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fairlead-project/fairlead/sched"
)

func written(t rapid.TB, write func(io.Writer, *Timeline) error, tl *Timeline) string {
	t.Helper()
	var b, again bytes.Buffer
	if err := write(&b, tl); err != nil {
		t.Fatal(err)
	}
	if err := write(&again, tl); err != nil || again.String() != b.String() {
		t.Fatalf("written twice, it differs (%v)", err)
	}
	return b.String()
}

// What tools get is what happened, in full.
func TestCSV(t *testing.T) {
	tl := night()
	for name, c := range map[string]struct {
		write func(io.Writer, *Timeline) error
		rows  int
		want  map[int]string
	}{
		"jobs": {WriteJobs, 5, map[int]string{
			0: "job|weight|release|completion|flow_time|state|tasks_done|attempts|attempts_failed|cpu_seconds",
			1: "import|1|0|20|20|done|2|2|0|28.8",
			2: `<script>alert("x")</script> & 'co'|3|5|45|40|done|3|3|0|46.35`,
			4: "broken|1|0|||failed|0|2|1|18",
		}},
		"tasks": {WriteTasks, 11, map[int]string{
			0: "job|stage|task|attempt|machine|slot|start|finish|duration|state|exit_code|signal|cpu_seconds|peak_memory_bytes|started_at|command|stdout|stderr",
			1: "import|fetch|0|1|fast|0|0|12|12|done|0||10.8|50331648|2026-03-01T22:00:00Z|fetch 0||",
			9: "broken|s|0|1|slow|0|35|50|15|failed|137|SIGKILL|13.5|50331648|2026-03-01T22:00:35Z|s 0||",
		}},
	} {
		rows, err := csv.NewReader(strings.NewReader(written(t, c.write, tl))).ReadAll()
		if err != nil || len(rows) != c.rows {
			t.Fatalf("%s: %d rows, %v", name, len(rows), err)
		}
		for i, want := range c.want {
			if got := strings.Join(rows[i], "|"); got != want {
				t.Errorf("%s, row %d:\n%s\nwant\n%s", name, i, got, want)
			}
		}
	}
}

// What still runs has no end, and no exit code.
func TestCSVOfARunUnderWay(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(written(t, WriteTasks, unfinished()))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(rows[3][:12], "|"); got != `<script>alert("x")</script> & 'co'|map|0|1|slow|0|5||22|running||` {
		t.Errorf("row %s", got)
	}
	rows, err = csv.NewReader(strings.NewReader(written(t, WriteJobs, unfinished()))).ReadAll()
	if got := strings.Join(rows[2][3:7], "|"); err != nil || got != "||active|1" {
		t.Errorf("row %s (%v)", got, err)
	}
}

// As parallel 20221122 wrote it for the same outcomes.
func TestJoblog(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(written(t, WriteJoblog, night()), "\n"), "\n")
	want := []string{
		"Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand",
		"1\tfast\t1772402400.000\t    12.000\t0\t0\t0\t0\tfetch 0",
		"2\tfast\t1772402400.000\t    20.000\t0\t0\t0\t0\tfetch 1",
		"12\tfast\t1772402412.000\t    12.500\t0\t0\t0\t0\tmap 1",
		"11\tslow\t1772402405.000\t    24.000\t0\t0\t0\t0\tmap 0",
		"13\tfast\t1772402430.000\t    15.000\t0\t0\t0\t0\teval $'sh -c \\'printf \"a\\tb\\n\"\\''",
		"31\tslow\t1772402435.000\t    15.000\t0\t0\t0\t9\ts 0",
		"21\tfast\t1772402430.000\t    30.000\t0\t0\t0\t0\ta/<b> 0",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("joblog\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

// A quoted command is one field, and bash takes it for the command.
func TestJoblogCommands(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	for _, command := range []string{
		"printf '%s' 'a\tb'", "printf '%s' \"a\nb'c\\\\\"", "printf %s 'a\r\x01\u00e4'\n", "printf %s plain",
	} {
		quoted := oneCommand(command)
		if strings.ContainsAny(quoted, "\t\n\r") {
			t.Errorf("%q holds what it must not", quoted)
		}
		want, err := exec.Command(bash, "-c", command).Output()
		got, err2 := exec.Command(bash, "-c", quoted).Output()
		if err != nil || err2 != nil || !bytes.Equal(got, want) || len(want) == 0 {
			t.Errorf("%q prints %q (%v), quoted as %q it prints %q (%v)", command, want, err, quoted, got, err2)
		}
	}
}

type sliceJSON struct {
	Name, Ph, Cat string
	Pid, Tid      int
	Ts, Dur       json.Number
	Args          map[string]any
}

func traceOf(t rapid.TB, tl *Timeline) (slices, names []sliceJSON) {
	t.Helper()
	var f struct{ TraceEvents []sliceJSON }
	if err := json.Unmarshal([]byte(written(t, WriteTrace, tl)), &f); err != nil {
		t.Fatal(err)
	}
	for _, ev := range f.TraceEvents {
		if ev.Ph == "X" {
			slices = append(slices, ev)
		} else {
			names = append(names, ev)
		}
	}
	return slices, names
}

func TestTrace(t *testing.T) {
	tl := night()
	events, names := traceOf(t, tl)
	if len(events) != len(tl.Attempts) || len(names) != 2*2+3 {
		t.Fatalf("%d events, %d names", len(events), len(names))
	}
	if n := names[0]; n.Name != "process_name" || n.Pid != 1 || n.Args["name"] != "fast" {
		t.Errorf("first name %+v", n)
	}
	e := events[1]
	if e.Name != `<script>alert("x")</script> & 'co'/map[1]` || e.Pid != 1 || e.Tid != 1 || e.Ts != "12000000.000" || e.Dur != "12500000.000" || e.Cat != "done" {
		t.Errorf("second event %+v", e)
	}
	e = events[len(events)-2]
	if e.Cat != "failed" || e.Args["exitCode"] != 137.0 || e.Args["signal"] != "SIGKILL" || e.Args["error"] != "killed by SIGKILL" {
		t.Errorf("killed event %+v", e)
	}
}

// Whatever happens, at whatever nanosecond, also hours after the beginning: no two
// slices of a track overlap for any way to read the numbers, and none loses more
// than a few nanoseconds, unless attempts did overlap.
func TestTraceSlicesAreApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tl := &Timeline{Machines: []TimelineMachine{{"a", 1, 2}, {"b", 1, 1}}, Run: Run{Jobs: make([]Job, 1)}}
		overlapping := rapid.Bool().Draw(t, "overlapping")
		for m := range tl.Machines {
			for s := range tl.Machines[m].Slots {
				at := sched.Time(rapid.Int64Range(0, 1e15).Draw(t, "from"))
				for range rapid.IntRange(0, 20).Draw(t, "n") {
					length := sched.Time(rapid.Int64Range(0, 3e9).Draw(t, "length") >> rapid.IntRange(0, 31).Draw(t, "shift"))
					tl.Attempts = append(tl.Attempts, Attempt{Machine: m, Slot: s, ID: sched.TaskID(len(tl.Attempts)), Start: at, Finish: at + length})
					if overlapping {
						length /= 2
					}
					at += length + sched.Time(rapid.Int64Range(0, 2).Draw(t, "gap"))
				}
			}
		}
		events, _ := traceOf(t, tl)
		if len(events) != len(tl.Attempts) {
			t.Fatalf("%d events of %d attempts", len(events), len(tl.Attempts))
		}
		parse := func(n json.Number) (us float64, ns int64) {
			us, err := n.Float64()
			whole, frac, _ := strings.Cut(n.String(), ".")
			ns, err2 := strconv.ParseInt(whole+frac, 10, 64)
			if err != nil || err2 != nil || len(frac) != 3 {
				t.Fatalf("time %s", n)
			}
			return us, ns
		}
		last := [2]int{}
		for i, e := range events {
			track := [2]int{e.Pid, e.Tid}
			ts, exact := parse(e.Ts)
			_, length := parse(e.Dur)
			if i > 0 && track == last {
				before, _ := parse(events[i-1].Ts)
				spent, _ := parse(events[i-1].Dur)
				for how, end := range map[string][2]float64{
					"floats":      {before + spent, ts},
					"nanoseconds": {math.Trunc(before*1000) + math.Trunc(spent*1000), math.Trunc(ts * 1000)},
					"rounded":     {math.Round(before*1000) + math.Round(spent*1000), math.Round(ts * 1000)},
				} {
					if end[0] > end[1] {
						t.Fatalf("in %s, slice %d ends at %v after the next begins at %v", how, i-1, end[0], end[1])
					}
				}
			}
			a := &tl.Attempts[i] // made in order of lanes
			if !overlapping && (exact != int64(a.Start) || length > int64(a.Finish-a.Start) || length < int64(a.Finish-a.Start)-8) {
				t.Fatalf("%+v became %s, %s", a, e.Ts, e.Dur)
			}
			last = track
		}
	})
}
