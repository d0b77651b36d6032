package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-project/fairlead/internal/supervise"
	"github.com/fairlead-project/fairlead/sched"
)

// crash drives a run under a fake supervisor until it has got n starts, and no
// further: as if the driver had died.
func (r *trial) crash(n int) (keys []supervise.Key) {
	r.t.Helper()
	f := newFake()
	d := r.begun(f)
	ctx, cancel := context.WithCancel(r.t.Context())
	f.onStart = func(s supervise.Start) {
		if keys = append(keys, s.Key); len(keys) == n {
			cancel()
		}
	}
	d.timer = time.NewTimer(time.Hour)
	if err := d.supervised(); err != nil {
		r.t.Fatal(err)
	}
	d.loop(ctx)
	if err := errors.Join(d.err, d.log.file.Close(), d.lock.Close()); err != nil || len(keys) != n {
		r.t.Fatalf("%d starts, %v", len(keys), err)
	}
	return keys
}

// goOn resumes under a fake supervisor that has found this and carries out every
// start and stop at once; it returns what was started and stopped.
func (r *trial) goOn(found supervise.Found) (res *Result, actions string) {
	r.t.Helper()
	f := newFake()
	f.found = found
	var done []string
	act := func(what string, k supervise.Key, err string) {
		done = append(done, fmt.Sprintf("%s %d.%d", what, k.Task, k.Attempt))
		f.exit(k, err)
	}
	f.onStart = func(s supervise.Start) { act("start", s.Key, "") }
	f.onStop = func(k supervise.Key) { act("stop", k, "ended by SIGTERM") }
	r.recorded()
	d := r.fakes(f)
	if err := d.restore(); err != nil {
		r.t.Fatal(err)
	}
	res, err := d.run(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	r.replay(res)
	slices.Sort(done)
	return res, strings.Join(done, ", ")
}

const five = `
- {name: a, stages: [{name: s, count: 5, retries: 1, run: 'true'}]}
- {name: b, after: [a], stages: [{name: s, run: 'true'}]}
`

func ok(k supervise.Key, at int64) supervise.Exit { return supervise.Exit{Key: k, At: at} }

// After a restart of the computer a start that the journal does not have may have been
// carried out all the same: it is lost, and its task gets another attempt, which uses up
// no retry. Without a restart it was never carried out, and is now.
func TestStartsBeforeARestart(t *testing.T) {
	for name, want := range map[string]string{
		"restarted": "start 0.2, start 1.2, start 2.2, start 3.2, start 4.2, start 5.1",
		"not":       "start 0.1, start 1.1, start 2.1, start 3.1, start 4.1, start 5.1",
	} {
		r := newTrial(t, "{name: m, slots: 5}", five)
		r.crash(5)
		if name == "restarted" {
			var m Manifest
			if err := json.Unmarshal([]byte(r.read("run/run.json")), &m); err != nil {
				t.Fatal(err)
			}
			m.Began.Boot = "another"
			r.write("run/run.json", string(must[[]byte](t)(json.Marshal(&m))), 0o666)
		}
		if _, actions := r.goOn(supervise.Found{}); actions != want {
			t.Errorf("%s: %s; want %s", name, actions, want)
		}
	}
}

// Every way in which a start can have fared while there was no driver.
func TestReconcile(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 5}", five)
	keys := r.crash(5)
	time.Sleep(5 * time.Millisecond) // the exits are later than all that the log has
	now := supervise.Now()
	stray := supervise.Key{Task: 3, Attempt: 1, Nonce: 999}
	found := supervise.Found{Attached: true, Running: []supervise.Key{keys[3], stray}, Exits: []supervise.Exit{
		ok(keys[0], now-2e6),
		{Key: keys[1], At: now - 1e6, Code: 1, Err: "exit status 1"},
		{Key: keys[2], At: now, Lost: true, Err: "its supervisor died"},
	}}
	f := newFake()
	f.found = found
	var started []string
	f.onStart = func(s supervise.Start) {
		started = append(started, fmt.Sprintf("%d.%d", s.Task, s.Attempt))
		if s.Task == 4 {
			equal(t, "key of what was never started", s.Key, keys[4])
			f.exit(keys[3], "")
		}
		f.exit(s.Key, "")
	}
	f.onStop = func(k supervise.Key) {
		equal(t, "stopped", k, stray)
		equal(t, "started before strays have ended", len(started), 0)
		f.exit(k, "ended by SIGTERM")
	}
	r.recorded()
	d := r.fakes(f)
	if err := d.restore(); err != nil {
		t.Fatal(err)
	}
	res, err := d.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.replay(res)
	slices.Sort(started)
	equal(t, "started", strings.Join(started, " "), "1.2 2.2 4.1 5.1")
	equal(t, "states", r.states(res), "a:done b:done")
	equal(t, "failures", len(res.Failures), 1)
	for _, p := range res.Schedule.Tasks {
		if p.Task == 0 && p.Finish != d.clock.at(now-2e6) {
			t.Errorf("task 0 finished at %v, want %v", p.Finish, d.clock.at(now-2e6))
		}
	}
}

// The log has lost its tail, and the journal knows what was done.
func TestRecovered(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 5}", five)
	keys := r.crash(5)
	log := r.read("run/events.jsonl")
	at := strings.Index(log, `{"t":`) // after the header
	r.write("run/events.jsonl", log[:at]+"garbage\n"+log[at:], 0o666)
	var recorded []Attempt
	r.cfg.Record = func(a []Attempt) { recorded = append(recorded, a...) }
	var told []string
	r.cfg.Notify = func(s string) { told = append(told, s) }
	now := supervise.Now()
	res, actions := r.goOn(supervise.Found{Running: []supervise.Key{keys[3]}, Exits: []supervise.Exit{
		ok(keys[0], now), {Key: keys[1], At: now, Code: 1, Err: "exit status 1"}, ok(keys[2], now), ok(supervise.Key{Task: 99}, now),
	}})
	equal(t, "actions", actions, "start 1.1, start 3.1, start 4.1, start 5.1, stop 3.1")
	equal(t, "states", r.states(res), "a:done b:done")
	equal(t, "told", fmt.Sprint(told), "[the event log was damaged: line 2 is damaged or lacks its end; the rest was moved to events.jsonl.torn-1, and what it had finished is known from the supervisor's journal]")
	equal(t, "put aside", r.read("run/events.jsonl.torn-1"), "garbage\n"+log[at:])
	var tasks []sched.TaskID
	for i := range recorded {
		a := &recorded[i]
		tasks = append(tasks, a.Task)
		equal(t, "state", a.State, AttemptDone)
		equal(t, "machine is known", a.Machine == sched.None, a.Task == 0 || a.Task == 2)
	}
	slices.Sort(tasks)
	equal(t, "recorded", fmt.Sprint(tasks), "[0 1 2 3 4 5]")
	for j, n := range d(res) {
		equal(t, "tasks of job in the schedule", n, [...]int{3, 1}[j])
	}
	// Once more: recovered is recovered, though no log has its start.
	recorded = nil
	again, actions := r.goOn(supervise.Found{})
	equal(t, "actions", actions, "")
	equal(t, "digest", again.Digest, res.Digest)
}

// d counts the tasks of the schedule per job of five.
func d(res *Result) (n [2]int) {
	for _, p := range res.Schedule.Tasks {
		n[p.Task/5]++
	}
	return n
}

// A stray that has succeeded before it could be stopped is done; and of a task that
// is done, an attempt that still runs, or was never started, is not wanted.
func TestRecoveredWhileOpen(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 5}", five)
	keys := r.crash(5)
	next := func(k supervise.Key) supervise.Key { k.Attempt++; k.Nonce += 1e6; return k }
	now := supervise.Now()
	f := newFake()
	f.found = supervise.Found{Running: []supervise.Key{keys[0], next(keys[2])}, Exits: []supervise.Exit{
		ok(next(keys[0]), now), ok(next(keys[1]), now), ok(keys[3], now), ok(keys[4], now), {Key: keys[2], At: now, Lost: true},
	}}
	var stopped []int32
	f.onStop = func(k supervise.Key) {
		stopped = append(stopped, k.Task)
		f.exit(k, "")
	}
	f.onStart = func(s supervise.Start) {
		equal(t, "started", s.Task, 5)
		f.exit(s.Key, "")
	}
	r.recorded()
	d := r.fakes(f)
	if err := d.restore(); err != nil {
		t.Fatal(err)
	}
	res, err := d.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.replay(res)
	slices.Sort(stopped)
	equal(t, "stopped", fmt.Sprint(stopped), "[0 2]")
	equal(t, "states", r.states(res), "a:done b:done")
}

// The log ends where a decision was due.
func TestDecisionWasDue(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 5}", five)
	r.crash(5)
	log := r.read("run/events.jsonl")
	r.write("run/events.jsonl", log[:strings.Index(log, `"event":"wake"`)], 0o666)
	res, actions := r.goOn(supervise.Found{})
	equal(t, "actions", actions, "start 0.1, start 1.1, start 2.1, start 3.1, start 4.1, start 5.1")
	equal(t, "states", r.states(res), "a:done b:done")
}

// When a run was interrupted, what ended well before it was told to end has succeeded,
// even if the log had it for lost by then; what was told to has not.
func TestSuccessBeforeInterrupt(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 3}", "- {name: a, stages: [{name: s, count: 3, run: 'true'}]}\n")
	f := newFake()
	d := r.begun(f)
	ctx, cancel := context.WithCancel(t.Context())
	var keys []supervise.Key
	f.onStart = func(s supervise.Start) {
		if keys = append(keys, s.Key); len(keys) == 3 {
			cancel()
		}
	}
	res := must[*Result](t)(d.run(ctx))
	equal(t, "interrupted", res.Interrupted, true)
	var told []int64 // when each was lost, on the supervisor's clock
	for i, a := range must[[]Attempt](t)(ReadAttempts(r.cfg.Dir)) {
		equal(t, "attempt", keyOf(a.Task, a.Attempt, a.Start), keys[i])
		told = append(told, d.clock.origin+int64(a.Finish))
	}
	var recorded []Attempt
	r.cfg.Record = func(a []Attempt) { recorded = append(recorded, a...) }
	res, actions := r.goOn(supervise.Found{Exits: []supervise.Exit{
		ok(keys[0], told[0]-1), ok(keys[1], told[1]+1e6),
		{Key: keys[2], At: told[2], Err: "stopped", Stopped: true},
	}})
	equal(t, "actions", actions, fmt.Sprintf("start %d.2", keys[2].Task))
	equal(t, "states", r.states(res), "a:done")
	equal(t, "recorded", len(recorded), 6) // all as lost, then as they are
}

// A damaged log whose header is gone, or that is not there at all, is begun anew.
func TestNoLog(t *testing.T) {
	for name, change := range map[string]func(*trial){
		"no file":        func(r *trial) { _ = os.Remove(r.cfg.Dir + "/events.jsonl") },
		"empty":          func(r *trial) { r.write("run/events.jsonl", "", 0o666) },
		"half a header":  func(r *trial) { r.write("run/events.jsonl", r.read("run/events.jsonl")[:30], 0o666) },
		"another header": func(r *trial) { r.write("run/events.jsonl", "\x00\x00\n", 0o666) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newTrial(t, "{name: m, slots: 5}", five)
			keys := r.crash(5)
			change(r)
			res, actions := r.goOn(supervise.Found{Exits: []supervise.Exit{ok(keys[0], supervise.Now()), ok(keys[4], supervise.Now())}})
			equal(t, "actions", actions, "start 1.1, start 2.1, start 3.1, start 5.1")
			equal(t, "states", r.states(res), "a:done b:done")
		})
	}
}

// A supervisor that dies is replaced. What it had started is lost, and started again
// without using up a retry; what never reached it is sent again as it was.
func TestSupervisorDies(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 2}", "- {name: a, stages: [{name: s, count: 2, run: 'true'}]}\n")
	first, second := newFake(), newFake()
	d := r.begun(first, second)
	first.onStart = func(s supervise.Start) {
		if s.Task == 0 {
			second.found.Exits = []supervise.Exit{{Key: s.Key, At: supervise.Now(), Lost: true}}
			return
		}
		first.events <- supervise.Event{Gone: errors.New("killed")}
		close(first.events)
	}
	var started []string
	second.onStart = func(s supervise.Start) {
		started = append(started, fmt.Sprintf("%d.%d", s.Task, s.Attempt))
		second.exit(s.Key, "")
	}
	res, err := d.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.replay(res)
	slices.Sort(started)
	equal(t, "started again", strings.Join(started, " "), "0.2 1.1")
	equal(t, "states", r.states(res), "a:done")
	equal(t, "notes", strings.Join(res.Notes, ";"), "the supervisor of the tasks has died (killed): what it had started is started again")
	equal(t, "closed", second.closed, true)
}

// Supervisors that all die at once end the run.
func TestSupervisorsDie(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 2}", "- {name: a, stages: [{name: s, count: 9, run: 'true'}]}\n")
	var list []*fake
	starts, last := 0, 0
	for n := range 6 {
		f := newFake()
		f.onStart = func(s supervise.Start) {
			starts++
			last = n
			if n == 1 && starts == 3 { // a sign of life: then they count anew
				f.exit(s.Key, "")
			}
			if n != 5 && len(f.events) < 2 {
				f.events <- supervise.Event{Gone: errors.New("killed")}
			}
		}
		list = append(list, f)
	}
	d := r.begun(list...)
	_, err := d.run(t.Context())
	if err == nil || err.Error() != "run: the supervisor has died 3 times without a task having ended: killed; see "+r.cfg.Dir+"/supervisor.log" {
		t.Errorf("got %v", err)
	}
	equal(t, "the last one", last, 3)
}
