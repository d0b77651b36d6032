package report

import (
	"slices"
	"testing"

	"github.com/fairlead-project/fairlead/sched"
)

// Every attempt is under a bar of its lane that has its job and state, or stands for
// several; bars count the attempts; those of a lane share neither time nor height.
func TestBarsCoverAttempts(t *testing.T) {
	for seed := range uint64(12) {
		tl := random(seed, 1+int(seed)%13, 1+int(seed)%3, 1+int(seed)%4, 1500)
		for _, cells := range []int{pageCells, svgCells, coarsest, 1} {
			bars := tl.bars(cells)
			if seed%10 == 0 && cells == 1 && len(bars) > 3*4*maxShares {
				t.Errorf("%d bars in cells as wide as the picture", len(bars))
			}
			checkBars(t, tl, bars, max(1, tl.span()/sched.Time(cells)))
		}
	}
}

func checkBars(t *testing.T, tl *Timeline, bars []bar, cell sched.Time) {
	t.Helper()
	n, byLane := 0, map[[2]int][]bar{}
	for _, b := range bars {
		n += b.n
		if !(b.from < b.to) || b.from < 0 || b.to > 1 || b.start > b.finish {
			t.Fatalf("bar %+v", b)
		}
		key := [2]int{b.machine, b.slot}
		for _, o := range byLane[key] {
			if max(o.start, b.start) < min(o.finish, b.finish) && max(o.from, b.from) < min(o.to, b.to) {
				t.Fatalf("bars overlap: %+v and %+v", o, b)
			}
		}
		if lane := byLane[key]; len(lane) > 8 { // the rest has ended long before
			byLane[key] = lane[len(lane)-8:]
		}
		byLane[key] = append(byLane[key], b)
	}
	if n != len(tl.Attempts) {
		t.Fatalf("bars count %d of %d attempts", n, len(tl.Attempts))
	}
	lanes := map[[2]int][]bar{}
	for _, b := range bars {
		lanes[[2]int{b.machine, b.slot}] = append(lanes[[2]int{b.machine, b.slot}], b)
	}
	for i := range tl.Attempts {
		a := &tl.Attempts[i]
		found := false
		for _, b := range lanes[[2]int{a.Machine, a.Slot}] {
			found = found || (b.job == several || b.job == a.Job && b.state == a.State) && b.start <= a.Start && tl.end(a) <= b.finish
		}
		if !found {
			t.Fatalf("no bar shows %+v", a)
		}
		alone := func(b bar) bool {
			return b.attempt == i && b.n == 1 && b.start == a.Start && b.finish == tl.end(a) && b.from == 0 && b.to == 1
		}
		if tl.end(a)-a.Start >= cell && !slices.ContainsFunc(lanes[[2]int{a.Machine, a.Slot}], alone) {
			t.Fatalf("longer than %v, but not alone: %+v", cell, a)
		}
	}
}

// Long attempts are drawn as they are.
func TestLongAttemptsStandAlone(t *testing.T) {
	tl := night()
	bars := tl.bars(svgCells)
	if len(bars) != len(tl.Attempts) {
		t.Fatalf("%d bars of %d attempts", len(bars), len(tl.Attempts))
	}
	for _, b := range bars {
		a := &tl.Attempts[b.attempt]
		if b.n != 1 || b.start != a.Start || b.finish != a.Finish || b.from != 0 || b.to != 1 {
			t.Errorf("%+v for %+v", b, a)
		}
	}
}

// A lane of a hundred thousand short tasks of two jobs, one after the other, is two
// bars; where they alternate, each has the share of the height that it has of time.
func TestShortAttemptsAreDrawnTogether(t *testing.T) {
	tl := &Timeline{Machines: []TimelineMachine{{"m", 1, 1}}, Run: Run{Jobs: make([]Job, 2)}}
	const n, length = 100_000, sched.Time(1000)
	for i := range n {
		job := i * 2 / n
		tl.Attempts = append(tl.Attempts, Attempt{ID: sched.TaskID(i), Job: job, Start: sched.Time(i) * length, Finish: sched.Time(i+1) * length})
	}
	bars := tl.bars(svgCells)
	if len(bars) != 2 && len(bars) != 4 { // a cell may see the change
		t.Errorf("%d bars", len(bars))
	}
	for i := range tl.Attempts {
		a := &tl.Attempts[i]
		if a.Job = i % 2; a.Job == 0 { // three times as long
			a.Finish += length / 2
		} else {
			a.Start += length / 2
		}
	}
	for _, b := range tl.bars(svgCells) {
		if share := b.to - b.from; b.job == 0 && (share < 0.7 || share > 0.8) || b.job == 1 && (share < 0.2 || share > 0.3) {
			t.Errorf("job %d has %v of the height", b.job, share)
		}
	}
}

// What is drawn together does not hide that a slot was idle, or that anything failed.
func TestShortAttemptsWithGapsAndFailures(t *testing.T) {
	tl := &Timeline{Machines: []TimelineMachine{{"m", 1, 1}}, Run: Run{Jobs: make([]Job, 20)}}
	for i := range 2000 {
		start := sched.Time(i) * 1000
		if i >= 1000 {
			start += 1_000_000
		}
		tl.Attempts = append(tl.Attempts, Attempt{ID: sched.TaskID(i), Start: start, Finish: start + 1000})
	}
	if bars := tl.bars(100); len(bars) != 2 || bars[0].finish != 1_000_000 || bars[1].start != 2_000_000 {
		t.Errorf("bars %+v", bars)
	}
	for i := range tl.Attempts {
		tl.Attempts[i].Job = i % 20
	}
	tl.Attempts[19].State = Failed
	rest := 0
	for _, b := range tl.bars(100) {
		if b.job == several {
			rest++
			if failed := b.start == 0; failed != (b.state == Failed) {
				t.Errorf("from %v on several are %v", b.start, b.state)
			}
		}
	}
	if rest == 0 {
		t.Error("twenty jobs in a cell, none of several jobs")
	}
}

// Many jobs, many slots: the bound holds, and every job can still be found.
func TestBarsAreBounded(t *testing.T) {
	for _, c := range []struct{ jobs, machines, slots, n int }{{2000, 2, 2, 50_000}, {10, 100, 1, 50_000}} {
		tl := random(5, c.jobs, c.machines, c.slots, c.n)
		if bars := tl.bars(pageCells); len(bars) > maxBars || len(bars) < maxBars/5 { // nor too coarse
			t.Errorf("%+v: %d bars", c, len(bars))
		}
	}
}

func TestTicks(t *testing.T) {
	for end := sched.Time(1); end < sched.MaxTime/2; end = end*3/2 + 1 {
		for _, n := range []int{10, 80} {
			marks := ticks(end, n)
			if len(marks) > n+1 || end >= sched.Time(n) && len(marks) < n/4 {
				t.Errorf("%v has %d marks of at most %d", end, len(marks), n)
			}
			seen := map[string]bool{}
			for _, k := range marks {
				if seen[k.label] || k.at > end {
					t.Errorf("%v: mark %+v", end, k)
				}
				seen[k.label] = true
			}
		}
	}
	for at, want := range map[sched.Time]string{
		0: "0", 50: "50 ns", 2500: "2.5 µs", 20e6: "20 ms", 1500e6: "1.5 s", 30 * sec: "30 s", 120 * sec: "2 min", 150 * sec: "2:30 min",
		3600 * sec: "1 h", 5400 * sec: "1:30 h", 3601 * sec: "1:00:01 h", 86400 * sec: "1 d", 129600 * sec: "1 d 12 h", 172860 * sec: "2 d 1 min",
	} {
		if got := tickLabel(at); got != want {
			t.Errorf("%d ns is labelled %q, want %q", at, got, want)
		}
	}
	for least, want := range map[sched.Time]sched.Time{0: 1, 1: 2, 4: 5, 5: 10, 7 * sec: 10 * sec, 10 * sec: 15 * sec, 31 * sec: 60 * sec, 5 * 3600 * sec: 6 * 3600 * sec, 6 * 3600 * sec: 12 * 3600 * sec, 20 * 3600 * sec: 86400 * sec} {
		if got := stepOf(least); got != want {
			t.Errorf("step after %v: %v, want %v", least, got, want)
		}
	}
}
