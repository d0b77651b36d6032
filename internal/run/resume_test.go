package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-project/fairlead/internal/supervise"
	"github.com/fairlead-project/fairlead/sched"
)

// A run that has ended resumes to what it was, without a supervisor.
func TestResumeOfFinishedRun(t *testing.T) {
	r := newTrial(t, "{name: fast, speed: 2}, {name: slow}", `
- {name: a, weight: 3, stages: [{name: s, count: 3, retries: 1, run: 'test $FAIRLEAD_TASK$FAIRLEAD_ATTEMPT != 11'}]}
- {name: b, release: 50ms, stages: [{name: s, run: 'exit 3'}, {name: never, after: [s], run: 'true'}]}
- {name: c, after: [b], stages: [{name: s, run: 'true'}]}
`)
	before := r.run(t.Context())
	equal(t, "states", r.states(before), "a:done b:failed c:not-run")
	log := r.read("run/events.jsonl")
	var recorded []Attempt
	r.cfg.Record = func(a []Attempt) { recorded = append(recorded, a...) }
	r.recorded()
	d := r.fakes()
	if err := d.restore(); err != nil {
		t.Fatal(err)
	}
	after := r.checked(d.run(t.Context()))
	for name, x := range map[string][2]any{
		"schedule": {before.Schedule, after.Schedule}, "states": {before.States, after.States}, "failures": {before.Failures, after.Failures},
		"digest": {before.Digest, after.Digest}, "explain": {before.Explain, after.Explain}, "stats": {before.Stats, after.Stats},
		"CPU": {before.TaskCPU, after.TaskCPU}, "out of reach": {before.OutOfReach, after.OutOfReach},
	} {
		equal(t, name, fmt.Sprint(x[1]), fmt.Sprint(x[0]))
	}
	if after.Wall > before.Wall {
		t.Errorf("took %v, was %v", after.Wall, before.Wall)
	}
	equal(t, "the log is as it was", r.read("run/events.jsonl"), log)
	equal(t, "recorded", len(recorded), 5)
}

// What an interrupt has stopped has not failed: it uses up no retry and is done when
// the run is resumed; what had finished is not done again.
func TestResumeAfterInterrupt(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 3}", `
- {name: quick, stages: [{name: s, run: 'until test -s up && test -s ready; do sleep 0.01; done; echo quick >>effects'}]}
- {name: long, stages: [{name: s, run: 'if [ $FAIRLEAD_ATTEMPT = 1 ]; then echo x >up; exec sleep 60; fi; echo long >>effects'}]}
- {name: graceful, stages: [{name: s, run: 'if [ $FAIRLEAD_ATTEMPT = 1 ]; then trap "exit 0" TERM; echo x >ready; while :; do sleep 0.01; done; fi; echo graceful >>effects'}]}
- {name: next, after: [long, graceful], stages: [{name: s, run: 'echo next >>effects'}]}
`)
	var recorded []Attempt
	r.cfg.Record = func(a []Attempt) { recorded = append(recorded, a...) }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.cfg.Progress = func(p Progress) {
		if p.Jobs[0].Done == 1 && r.read("up") != "" && r.read("ready") != "" {
			cancel()
		}
	}
	res := r.run(ctx)
	equal(t, "interrupted", res.Interrupted, true)
	equal(t, "states", r.states(res), "quick:done long:active graceful:active next:waiting")
	equal(t, "failures", len(res.Failures), 0)

	states := func() string {
		var s []string
		for _, a := range recorded {
			s = append(s, fmt.Sprintf("%s.%d:%s", a.Job, a.Attempt, a.State))
		}
		slices.Sort(s)
		return strings.Join(s, " ")
	}
	equal(t, "recorded", states(), "graceful.1:stopped long.1:stopped quick.1:done")
	recorded = nil
	res = r.resume(t.Context())
	equal(t, "interrupted", res.Interrupted, false)
	equal(t, "states", r.states(res), "quick:done long:done graceful:done next:done")
	got := strings.Fields(r.read("effects"))
	slices.Sort(got)
	equal(t, "effects", strings.Join(got, " "), "graceful long next quick")
	equal(t, "recorded", states(), "graceful.1:stopped graceful.2:done long.1:stopped long.2:done next.1:done quick.1:done")
	equal(t, "failures", len(res.Failures), 0)
	equal(t, "schedule", len(res.Schedule.Tasks), 4)
}

// Tasks run on when their driver dies, and are neither repeated nor lost.
func TestResumeAttaches(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 2}", `
- {name: a, stages: [{name: s, count: 2, run: 'echo start >>effects; until test -e go.$FAIRLEAD_TASK; do sleep 0.01; done; echo end >>effects; touch done.$FAIRLEAD_TASK'}]}
- {name: b, after: [a], stages: [{name: s, run: 'echo b >>effects'}]}
`)
	d, err := newDriver(r.cfg)
	if err == nil {
		err = d.begin()
	}
	if err != nil {
		t.Fatal(err)
	}
	d.timer = time.NewTimer(time.Hour)
	d.timer.Stop()
	if err := d.supervised(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for strings.Count(r.read("effects"), "\n") < 2 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	d.loop(ctx)
	d.sup.Abandon() // as if it had died
	d.lock.Close()
	r.write("go.0", "", 0o666)
	r.eventually("task 0 has ended", func() bool {
		exits, _, err := supervise.ReadJournal(r.cfg.Dir)
		return err == nil && len(exits) == 1
	})
	time.AfterFunc(300*time.Millisecond, func() { r.write("go.1", "", 0o666) })
	res := r.resume(t.Context())
	equal(t, "states", r.states(res), "a:done b:done")
	equal(t, "effects", strings.Join(strings.Fields(r.read("effects")), " "), "start start end end b")
	p := res.Schedule.Tasks
	if early := p[1].Finish - p[0].Finish; early < 200e6 {
		t.Errorf("task 0 ended at %v, task 1 at %v: the first has not its true time", p[0].Finish, p[1].Finish)
	}
}

// Two drivers on one run: the second is refused.
func TestTwoDrivers(t *testing.T) {
	r := newTrial(t, "{name: m}", "- {name: a, stages: [{name: s, run: 'touch up; until test -e go; do sleep 0.01; done; echo x >>effects'}]}\n")
	second := make(chan error, 1)
	go r.when("up", func() {
		cfg := r.cfg
		_, err := Resume(t.Context(), cfg)
		second <- err
		r.write("go", "", 0o666)
	})
	r.run(t.Context())
	err := <-second
	if !errors.Is(err, ErrBusy) || !strings.HasSuffix(err.Error(), "is driven by another process: wait until that one has ended") {
		t.Errorf("got %v", err)
	}
	equal(t, "effects", r.read("effects"), "x\n")
}

// Clocks that were set back, and a computer that was restarted, do not keep a run
// from going on, and its own time never goes back.
func TestResumeAfterClockChange(t *testing.T) {
	for name, change := range map[string]func(*Began){
		"restarted, clock ahead":     func(b *Began) { b.Boot, b.Wall = "another", b.Wall.Add(100*time.Hour) },
		"restarted, clock behind":    func(b *Began) { b.Boot, b.Wall = "another", b.Wall.Add(-100*time.Hour) },
		"restarted, far in the past": func(b *Began) { b.Boot, b.Wall = "another", time.Time{} },
		"not restarted, clock ahead": func(b *Began) { b.Wall = b.Wall.Add(100 * time.Hour) },
		"began later than now":       func(b *Began) { b.At += 1e15 },
		"no name of the boot":        func(b *Began) { b.Boot = "" },
	} {
		t.Run(name, func(t *testing.T) {
			r := newTrial(t, "{name: m}", "- {name: a, stages: [{name: s, count: 2, run: 'if test $FAIRLEAD_ATTEMPT.$FAIRLEAD_TASK = 1.1; then touch up; exec sleep 60; fi'}]}\n")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go r.when("up", cancel)
			r.run(ctx)
			var m Manifest
			if err := json.Unmarshal([]byte(r.read("run/run.json")), &m); err != nil {
				t.Fatal(err)
			}
			change(&m.Began)
			r.write("run/run.json", string(must[[]byte](t)(json.Marshal(&m))), 0o666)
			res := r.resume(t.Context()) // which checks the schedule
			equal(t, "states", r.states(res), "a:done")
			last := res.Schedule.Tasks[1]
			if ahead := last.Start > 90*3600*sched.Second; ahead != (name == "restarted, clock behind" || name == "restarted, far in the past") {
				t.Errorf("resumed at %v", last.Start)
			}
			if took := last.Finish - last.Start; took < 0 || took > 10*sched.Second {
				t.Errorf("a short task took %v", took)
			}
		})
	}
}

func TestOpenErrors(t *testing.T) {
	r := newTrial(t, "{name: m}", "- {name: a, stages: [{name: s, run: 'true'}]}\n")
	if err := os.Mkdir(r.cfg.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	fails := func(want string) {
		t.Helper()
		for name, f := range map[string]func() error{
			"Open":         func() error { _, err := Open(r.cfg.Dir); return err },
			"ReadAttempts": func() error { _, err := ReadAttempts(r.cfg.Dir); return err },
			"Resume":       func() error { _, err := Resume(t.Context(), r.cfg); return err },
		} {
			if err := f(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", name, err, want)
			}
		}
	}
	fails("is not the directory of a run: it has no run.json")
	r.write("run/run.json", "{", 0o666)
	fails("run.json is damaged: ")
	r.write("run/run.json", `{"apiVersion":"x","kind":"Run"}`, 0o666)
	fails(`found kind "Run", apiVersion "x", expected Run of fairlead.dev/v1alpha1`)
	r.write("run/run.json", `{"apiVersion":"fairlead.dev/v1alpha1","kind":"Run"}`, 0o666)
	fails("had not begun")
	r.write("run/workload.json", "{}", 0o666)
	fails("workload.json:1:1: ")
	if got := must[[]os.DirEntry](t)(os.ReadDir(r.cfg.Dir)); len(got) != 2 {
		t.Errorf("files were made: %v", got)
	}
}

// A run that could not begin leaves nothing behind that is in the way of another.
func TestNotBegun(t *testing.T) {
	r := newTrial(t, "{name: m}", "- {name: a, stages: [{name: s, run: 'true'}]}\n")
	r.cfg.Supervisor = []string{filepath.Join(r.dir, "none")}
	if res, err := Run(t.Context(), r.cfg); err == nil || res != nil || !strings.Contains(err.Error(), "cannot start the supervisor") {
		t.Fatalf("got %v, %v", res, err)
	}
	r.cfg.Supervisor = nil
	equal(t, "states", r.states(r.run(t.Context())), "a:done")
}

// A supervisor that somebody ends with SIGTERM ends its tasks. That is no failure of
// theirs: another one starts them again, and no retry is used up.
func TestSupervisorIsToldToEnd(t *testing.T) {
	r := newTrial(t, "{name: m}", "- {name: a, stages: [{name: s, run: 'echo x >>ran; [ -e second ] || exec sleep 60'}]}\n")
	go r.when("ran", func() {
		r.write("second", "", 0o666)
		text, err := os.ReadFile(filepath.Join(r.cfg.Dir, "journal.jsonl"))
		_, rest, found := strings.Cut(string(text), `"opened","run":`)
		_, rest, _ = strings.Cut(rest, `"pid":`)
		var pid int
		if n, _ := fmt.Sscanf(rest, "%d", &pid); err != nil || !found || n != 1 {
			t.Errorf("no supervisor in %q: %v", text, err)
			return
		}
		if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
			t.Error(err)
		}
	})
	res := r.run(t.Context())
	equal(t, "states", r.states(res), "a:done")
	equal(t, "failures", len(res.Failures), 0)
	equal(t, "times run", r.read("ran"), "x\nx\n")
}

// What somebody has edited in a run's manifest is refused, not tripped over.
func TestOptionsAreChecked(t *testing.T) {
	r := newTrial(t, "{name: m}", "- {name: a, stages: [{name: s, run: 'true'}]}\n")
	r.run(t.Context())
	rec := must[*Recorded](t)(Open(r.cfg.Dir))
	for want, edit := range map[string]func(*Options){
		"2 memory limits": func(o *Options) { o.MemoryLimits = []int64{1, 2} },
		"a grace of":      func(o *Options) { o.Grace = 1 << 62 },
	} {
		edited := *rec
		edit(&edited.Manifest.Options)
		if _, err := edited.Config(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	rec.Manifest.Options.MemoryLimits = []int64{}
	cfg := must[Config](t)(rec.Config())
	if cfg.MemoryLimits != nil {
		t.Error("no limits are some")
	}
}
