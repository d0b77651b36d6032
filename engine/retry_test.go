package engine

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// The wait doubles up to its bound, times a factor that is spread evenly over
// [0.5, 1.5), different for each task, attempt and seed, and always the same for
// the same.
func TestBackoff(t *testing.T) {
	b := Backoff{Base: 1e6, Max: 10e6}
	for k, want := range []float64{1e6, 2e6, 4e6, 8e6, 10e6, 10e6, 10e6} {
		var sum, low, high float64 = 0, math.Inf(1), 0
		seen := map[sched.Time]bool{}
		const n = 4000
		for i := range n {
			seed, task, attempt := uint64(i/400), sched.TaskID(i/4%100), int32(k+1+i%4)
			got := b.after(int32(k+1), seed, task, attempt)
			if got != b.after(int32(k+1), seed, task, attempt) {
				t.Fatal("the same failure waits differently")
			}
			f := float64(got) / want
			sum, low, high = sum+f, min(low, f), max(high, f)
			seen[got] = true
		}
		// The mean of n draws has a standard deviation of 1/sqrt(12 n) = 0.0046.
		if mean := sum / n; math.Abs(mean-1) > 0.02 || low < 0.5 || low > 0.51 || high >= 1.5 || high < 1.49 {
			t.Errorf("failure %d: factors from %v to %v, mean %v", k+1, low, high, mean)
		}
		if len(seen) < n*9/10 {
			t.Errorf("failure %d: only %d different waits", k+1, len(seen))
		}
	}
	if (Backoff{}).after(3, 1, 2, 3) != 0 {
		t.Error("without a base something waits")
	}
	forever := Backoff{Base: longestBackoff}
	for k := range int32(100) {
		if got := forever.after(k, 1, 1, k); got < longestBackoff/2 || got > 2*longestBackoff {
			t.Errorf("failure %d: waits %v", k, got)
		}
	}
}

// A history with every kind of event is logged, and its log replays to the same.
func TestLogOfEveryEvent(t *testing.T) {
	kinds := map[EventKind]int{}
	for seed := range uint64(60) {
		r := rng(seed)
		in := randomInstance(r)
		cfg := config(in, &chaos{}, knowledge(seed), seed)
		d := newDriver(t, newEngine(t, cfg), r, nil)
		d.run()
		cfg.Policy = &chaos{}
		e := newEngine(t, cfg)
		var log bytes.Buffer
		w, err := NewLogWriter(&log, e.Index(), LogHeader{Backoff: cfg.Backoff})
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range d.history {
			for _, ev := range append(at.events, Event{Kind: Wake}) {
				kinds[ev.Kind]++
				actions, err := e.Step(at.now, ev)
				if err != nil {
					t.Fatal(err)
				}
				if err := w.Event(at.now, ev, actions); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Close(e.Digest()); err != nil {
			t.Fatal(err)
		}
		l, err := NewLogReader(&log)
		if err != nil {
			t.Fatal(err)
		}
		if l.Header.Backoff != cfg.Backoff {
			t.Errorf("seed %d: back-off %+v is read as %+v", seed, cfg.Backoff, l.Header.Backoff)
		}
		cfg.Policy = &chaos{}
		again, err := Replay(cfg, l)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if got, want := dump(again), dump(e); got != want {
			t.Fatalf("seed %d: replayed to another state: %s", seed, differ(got, want))
		}
	}
	for k := JobArrived; k <= TaskProgress; k++ {
		if kinds[k] == 0 {
			t.Errorf("no event of kind %d (%s) in any history", k, eventNames[k])
		}
	}
}

// What a policy sees of a finished task's size is what its duration says.
func TestObserved(t *testing.T) {
	observed := 0
	for seed := range uint64(40) {
		r := rng(seed)
		e := newEngine(t, config(randomInstance(r), &chaos{}, knowledge(seed), seed))
		d := newDriver(t, e, r, nil)
		since := map[sched.TaskID]sched.Time{}
		speed := map[sched.TaskID]float64{}
		d.each = func(e *Engine) {
			for g, task := range e.st.slotTask {
				if task != sched.None {
					since[task] = e.st.slotSince[g]
					speed[task] = e.st.in.Machines[e.st.slotMachine(int32(g))].Speed
				}
			}
			for task := range sched.TaskID(e.st.x.Tasks()) {
				size, ok := (*view)(e.st).Observed(task)
				if ok && e.Task(task) != policy.TaskDone {
					t.Fatalf("seed %d: task %d has an observed size, but is %v", seed, task, e.Task(task))
				}
				if ok && since[task] != sched.None {
					if want := (e.now - since[task]).Seconds() * speed[task]; size != want {
						t.Fatalf("seed %d: task %d has the observed size %v, not %v", seed, task, size, want)
					}
					since[task] = sched.None // seen once, at its end
					observed++
				}
			}
		}
		d.run()
	}
	if observed < 100 {
		t.Errorf("only %d sizes observed: the test tests little", observed)
	}
}

// Solutions answer the requests of their numbers, in whatever order they come.
func TestUnansweredRequests(t *testing.T) {
	var res Resumed
	for id := range int32(4) {
		res.follow(Event{Kind: Wake}, []Action{{Kind: WakeAt}, {Kind: Solve, Request: &policy.Request{ID: id}}})
	}
	for _, c := range []struct {
		id   int32
		left []int32
	}{{2, []int32{0, 1, 3}}, {7, []int32{0, 1, 3}}, {0, []int32{1, 3}}, {3, []int32{1}}, {1, nil}} {
		res.follow(Event{Kind: Solved, Solution: &policy.Solution{ID: c.id}}, nil)
		var left []int32
		for _, r := range res.Requests {
			left = append(left, r.ID)
		}
		if !slices.Equal(left, c.left) {
			t.Errorf("after the solution of %d: %v are left, want %v", c.id, left, c.left)
		}
	}
}
