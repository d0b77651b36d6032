package report

import (
	"io"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-project/fairlead/sched"
)

func TestUsage(t *testing.T) {
	tl := night()
	machines, jobs := tl.Usage()
	// fast: 12 + 20 + 12.5 + 15 + 6 + 30 seconds of its two slots' 120.
	if u := machines[0]; u.Busy != 95500*time.Millisecond || u.Total() != 6 || u.Attempts[Failed] != 1 || u.PeakMemory != 48<<20 {
		t.Errorf("fast: %+v", u)
	}
	if u := tl.Utilisation(&machines[0], 2); u != 95.5/120 {
		t.Errorf("fast is busy %v", u)
	}
	if u := jobs[3]; u.Attempts != [states]int{Failed: 1, Stopped: 1} || u.CPU != 18*time.Second {
		t.Errorf("broken: %+v", u)
	}
	if u := tl.Utilisation(&machines[0], 0); u != 0 {
		t.Errorf("a machine without slots is busy %v", u)
	}
	machines, _ = unfinished().Usage()
	if u := machines[1]; u.Attempts[Running] != 1 || u.Busy != 22*time.Second { // map 0, from 5 to now
		t.Errorf("slow, at 27 s: %+v", u)
	}
}

// An attempt whose machine is not known counts for its job, and is in no lane.
func TestAttemptWithoutAMachine(t *testing.T) {
	tl := night()
	tl.Attempts[0].Machine, tl.Attempts[0].Slot = sched.None, sched.None
	machines, jobs := tl.Usage()
	if machines[0].Total() != 5 || jobs[0].Total() != 2 {
		t.Errorf("%+v, %+v", machines[0], jobs[0])
	}
	if n := len(tl.bars(svgCells)); n != len(tl.Attempts)-1 {
		t.Errorf("%d bars", n)
	}
	for _, write := range []string{written(t, WriteTasks, tl), written(t, WriteJoblog, tl), written(t, WriteTrace, tl), written(t, WriteHTML, tl)} {
		if write == "" {
			t.Error("nothing written")
		}
	}
}

// The order in which attempts are listed does not matter.
func TestAnyOrder(t *testing.T) {
	tl, turned := night(), night()
	slices.Reverse(turned.Attempts)
	for _, write := range []func(io.Writer, *Timeline) error{WriteHTML, WriteSVG, WriteTrace, WriteJobs, WriteTasks, WriteJoblog} {
		if a, b := written(t, write, tl), written(t, write, turned); a != b {
			t.Errorf("in another order\n%s\nbecomes\n%s", a, b)
		}
	}
	rows, _ := turned.jobRows()
	if r := rows[1]; r.Start != "5.00 s" || r.Tasks != 3 {
		t.Errorf("row %+v", r)
	}
	failed := ""
	for _, i := range tl.Failures() {
		failed += tl.Attempts[i].State.String() + tl.Attempts[i].Stage + " "
	}
	if failed != "faileda/<b> lostlate faileds " {
		t.Errorf("failures %s", failed)
	}
}

func TestFromSchedule(t *testing.T) {
	in := two()
	in.Name = "w"
	in.Machines = []sched.Machine{{Name: "m", Speed: 2, Slots: 3}}
	in.Jobs[0].Stages = []sched.Stage{{Name: "s", Count: 2}}
	in.Jobs[1].Stages = []sched.Stage{{Name: "t", Count: 1}, {Name: "u", Count: 2}}
	s := &sched.Schedule{Tasks: []sched.Placement{{Task: 4, Slot: 2, Start: 3, Finish: 9}, {Task: 1, Slot: 0, Start: 4, Finish: 5}}}
	tl := FromSchedule("plan", sched.NewIndex(in), s, Run{Policy: "p"})
	want := []Attempt{
		{ID: 4, Job: 1, Stage: "u", Task: 1, Attempt: 1, Slot: 2, Start: 3, Finish: 9},
		{ID: 1, Job: 0, Stage: "s", Task: 1, Attempt: 1, Start: 4, Finish: 5},
	}
	if len(tl.Attempts) != 2 || tl.Attempts[0] != want[0] || tl.Attempts[1] != want[1] {
		t.Errorf("attempts %+v", tl.Attempts)
	}
	if tl.Name != "w" || tl.Kind != "plan" || tl.Run.Policy != "p" || tl.Now != 9 || len(tl.Machines) != 1 || tl.Machines[0] != (TimelineMachine{"m", 2, 3}) {
		t.Errorf("%+v", tl)
	}
}

func TestTexts(t *testing.T) {
	for got, want := range map[string]string{
		decimal(0): "0", decimal(1): "0.000000001", decimal(-1500 * sec / 1000): "-1.5", decimal(20 * sec): "20", decimal(sched.MaxTime): "4611686018.427387903",
		long(0): "0 s", long(5): "5.00 ns", long(1234): "1.23 µs", long(56 * sec / 1000): "56.0 ms", long(999 * sec / 1000): "999 ms", long(12345 * sec / 1000): "12.3 s",
		long(59999 * sec / 1000): "60.0 s", long(90 * sec): "1:30 min", long(3599600 * sec / 1000): "1 h",
		Bytes(0): "0 B", Bytes(1023): "1023 B", Bytes(1536): "1.5 KiB", Bytes(3 << 30): "3 GiB",
		quantity(0): "0", quantity(1234.5): "1234", quantity(12.3456): "12.35", shorten("añb", 3): "añb", shorten("abcdé", 4): "abc…",
		clean("a\xffb\x1b\n"): "a\ufffdb\ufffd\n", escape("<\x00\">"): "&lt;\ufffd&#34;&gt;",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
