package run

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-project/fairlead/check"
	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/policy/dag"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
	"github.com/fairlead-project/fairlead/size"
	"github.com/fairlead-project/fairlead/workload"
)

// trial is one run of a workload in a directory of its own, in which the tasks
// work too.
type trial struct {
	t   *testing.T
	dir string // working directory of the tasks
	cfg Config
}

// newTrial reads a workload: machines (of a flow-style list) and jobs.
func newTrial(t *testing.T, machines, jobs string) *trial {
	t.Helper()
	text := workloadText(machines, jobs)
	f, err := workload.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	in, err := f.Instance(nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return &trial{t, dir, Config{
		Instance: in, Policy: dag.NewFIFO(), NewPolicy: newFIFO, BaseDir: dir, Dir: filepath.Join(dir, "run"),
		Grace: 200 * time.Millisecond, Header: engine.LogHeader{Policy: "dag/fifo"},
	}}
}

func workloadText(machines, jobs string) string {
	return "apiVersion: fairlead.dev/v1alpha1\nkind: Workload\ncluster: {machines: [" + machines + "]}\njobs:\n" + jobs
}

// run runs to the end and checks what must hold of every run: the schedule is
// feasible, the log replays to the same digest, no child is left.
func (r *trial) run(ctx context.Context) *Result {
	r.t.Helper()
	return r.checked(Run(ctx, r.cfg))
}

func (r *trial) checked(res *Result, err error) *Result {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
	unseen := strings.Contains(r.read("run/events.jsonl"), "taskRecovered") // and so not in the schedule
	if _, err := check.Schedule(r.cfg.Instance, nil, &res.Schedule, check.Options{Observed: true}); err != nil && !unseen {
		r.t.Errorf("the observed schedule is not feasible: %v", err)
	}
	r.replay(res)
	r.eventually("no child is left", func() bool {
		_, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		return err == unix.ECHILD
	})
	return res
}

// replay checks that the log leads a new engine to where the run ended.
func (r *trial) replay(res *Result) {
	r.t.Helper()
	f, err := os.Open(res.Log)
	if err != nil {
		r.t.Fatal(err)
	}
	defer f.Close()
	e, again, err := engine.Resume(engine.Config{
		Instance: r.cfg.Instance, Knowledge: r.cfg.Knowledge, Estimates: r.cfg.Estimates,
		Seed: r.cfg.Seed, KeepGoing: r.cfg.KeepGoing, Backoff: r.cfg.Backoff,
	}, newFIFO, f)
	if err != nil {
		r.t.Fatal(err)
	}
	if again.Torn != "" || again.Ended != e.Done() || len(again.Open) > 0 {
		r.t.Errorf("the log: torn %q, ended %v, done %v, open %v", again.Torn, again.Ended, e.Done(), again.Open)
	}
	if e.Digest() != res.Digest {
		r.t.Errorf("replaying the log gives digest %x, the run had %x", e.Digest(), res.Digest)
	}
}

func newFIFO() (policy.Policy, error) { return dag.NewFIFO(), nil }

// resume goes on with the run, with what its directory says of it.
func (r *trial) resume(ctx context.Context) *Result {
	r.t.Helper()
	r.recorded()
	return r.checked(Resume(ctx, r.cfg))
}

// recorded takes the configuration from the run's directory.
func (r *trial) recorded() {
	r.t.Helper()
	cfg := must[Config](r.t)(must[*Recorded](r.t)(Open(r.cfg.Dir)).Config())
	cfg.NewPolicy, cfg.Env, cfg.Record, cfg.Notify, cfg.Progress = newFIFO, r.cfg.Env, r.cfg.Record, r.cfg.Notify, r.cfg.Progress
	r.cfg = cfg
}

func (r *trial) states(res *Result) string {
	var out []string
	for j, s := range res.States {
		out = append(out, r.cfg.Instance.Jobs[j].Name+":"+s.String())
	}
	return strings.Join(out, " ")
}

// read returns a file of the tasks' directory, "" if there is none.
func (r *trial) read(name string) string {
	b, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	return string(b)
}

func (r *trial) write(name, text string, mode os.FileMode) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), mode); err != nil {
		r.t.Fatal(err)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestPrecedence(t *testing.T) {
	// Each task appends its name when it starts and when it ends.
	r := newTrial(t, "{name: m, slots: 3}", `
- name: b
  after: [a]
  stages: [{name: only, run: 'echo b+ >>order; echo b- >>order'}]
- name: a
  stages:
  - {name: first, count: 3, run: 'echo f+ >>order; sleep 0.05; echo f- >>order'}
  - {name: second, after: [first], run: 'echo s+ >>order; sleep 0.05; echo s- >>order'}
`)
	res := r.run(t.Context())
	equal(t, "states", r.states(res), "b:done a:done")
	got := strings.Fields(r.read("order"))
	slices.Sort(got[:3])
	slices.Sort(got[3:6])
	equal(t, "order", strings.Join(got, " "), "f+ f+ f+ f- f- f- s+ s- b+ b-")
	equal(t, "tasks in the schedule", len(res.Schedule.Tasks), 5)
	if c := res.Schedule.Completion; !(c[1] > 100*1e6 && c[0] > c[1] && sched.Time(res.Wall) > c[0]) {
		t.Errorf("completions %v, wall %v", c, res.Wall)
	}
}

func TestRelease(t *testing.T) {
	r := newTrial(t, "{name: m}", `
- {name: late, release: 250ms, stages: [{name: s, run: 'true'}]}
- {name: early, stages: [{name: s, run: 'true'}]}
`)
	res := r.run(t.Context())
	equal(t, "states", r.states(res), "late:done early:done")
	p := res.Schedule.Tasks
	if p[0].Start > 200*1e6 || p[1].Start < 250*1e6 || p[1].Start > 2e9 {
		t.Errorf("starts %v and %v, want soon and 250ms", p[0].Start, p[1].Start)
	}
}

func TestEnvironment(t *testing.T) {
	r := newTrial(t, "{name: fast, speed: 2.5}", `
- name: j
  stages:
  - {name: pwd, workdir: sub, run: [printenv, PWD], env: {PATH: "/usr/bin:/bin"}} # a shell would correct it
  - {name: here, run: [printenv, PWD], env: {PATH: "/usr/bin:/bin"}}
  - name: env
    count: 2
    env: {MINE: "a b", PATH: "bin:/usr/bin:/bin", TWICE: once}
    workdir: sub
    retries: 1
    run: 'env >env.$FAIRLEAD_TASK; pwd >pwd; cat >stdin;  test $FAIRLEAD_ATTEMPT = 2 || test $FAIRLEAD_TASK = 0'
  - name: argv
    count: 2
    after: [env]
    run: [show, "{{.Job}}/{{.Stage}}/{{.Task}}", "{{.Machine}}.{{.Attempt}}", "$HOME", "", "a b"]
    env: {PATH: "bin:/usr/bin:/bin"}
`)
	for _, dir := range []string{"sub", "bin"} {
		if err := os.Mkdir(filepath.Join(r.dir, dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	r.write("bin/show", "#!/bin/sh\nprintf '%s|' \"$@\" >argv.$FAIRLEAD_TASK\n", 0o777)
	r.cfg.Env = []string{"HOME=/home/x", "PATH=/nowhere", "TWICE=a", "TWICE=b", "FAIRLEAD_TASK=outer", "FAIRLEAD_JOB=outer", "FAIRLEAD_RUN=outer", "PWD=/else"}
	res := r.run(t.Context())
	equal(t, "states", r.states(res), "j:done")

	mark := ""
	env := func(name string) []string {
		var vars []string
		for _, kv := range strings.Split(strings.TrimSpace(r.read(name)), "\n") {
			name, value, _ := strings.Cut(kv, "=")
			if name == "FAIRLEAD_RUN" {
				mark = value
			}
			if !slices.Contains([]string{"_", "SHLVL", "OLDPWD", "FAIRLEAD_RUN"}, name) {
				vars = append(vars, kv)
			}
		}
		slices.Sort(vars)
		return vars
	}
	want := []string{
		"FAIRLEAD_ATTEMPT=2", "FAIRLEAD_JOB=j", "FAIRLEAD_MACHINE=fast",
		"FAIRLEAD_PROGRESS=" + filepath.Join(r.cfg.Dir, "logs/j/env/1.2.progress"), "FAIRLEAD_SPEED=2.5", "FAIRLEAD_STAGE=env",
		"FAIRLEAD_TASK=1", "HOME=/home/x", "MINE=a b", "PATH=bin:/usr/bin:/bin", "PWD=" + filepath.Join(r.dir, "sub"), "TWICE=once",
	}
	if got := env("sub/env.1"); !slices.Equal(got, want) {
		t.Errorf("environment %q, want %q", got, want)
	}
	if !strings.HasPrefix(mark, "outer ") || !strings.Contains(mark, ".3.2.") {
		t.Errorf("FAIRLEAD_RUN is %q", mark)
	}
	equal(t, "attempt of task 0", env("sub/env.0")[0], "FAIRLEAD_ATTEMPT=1")
	equal(t, "working directory", r.read("sub/pwd"), filepath.Join(r.dir, "sub")+"\n")
	equal(t, "PWD with a workdir", r.read("run/logs/j/pwd/0.1.out"), filepath.Join(r.dir, "sub")+"\n")
	equal(t, "PWD without", r.read("run/logs/j/here/0.1.out"), r.dir+"\n")
	equal(t, "standard input", r.read("sub/stdin"), "")
	equal(t, "arguments", r.read("argv.1"), "j/argv/1|fast.1|$HOME||a b|")
	equal(t, "failures", len(res.Failures), 1)
}

func TestInheritedEnvironment(t *testing.T) {
	t.Setenv("FAIRLEAD_TEST_INHERITED", "yes")
	r := newTrial(t, "{name: m}", `
- {name: j, stages: [{name: s, run: 'test "$FAIRLEAD_TEST_INHERITED" = yes'}]}
`)
	equal(t, "states", r.states(r.run(t.Context())), "j:done")
}

func TestLogs(t *testing.T) {
	r := newTrial(t, "{name: m}", `
- name: j
  stages: [{name: s, count: 2, retries: 1, run: 'echo out $FAIRLEAD_TASK; echo err $FAIRLEAD_ATTEMPT >&2; test $FAIRLEAD_ATTEMPT = 2'}]
`)
	res := r.run(t.Context())
	equal(t, "states", r.states(res), "j:done")
	for name, want := range map[string]string{
		"0.1.out": "out 0\n", "0.1.err": "err 1\n", "0.2.err": "err 2\n", "1.2.out": "out 1\n", "1.2.err": "err 2\n", "1.3.out": "",
	} {
		equal(t, name, r.read("run/logs/j/s/"+name), want)
	}
	f := res.Failures[0]
	equal(t, "path", f.Stdout, filepath.Join(r.cfg.Dir, "logs/j/s/0.1.out"))
	equal(t, "tail", fmt.Sprintf("%q", f.Tail), `["err 1"]`)
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "err")
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "line %d \x1b[31mred\r\n", i)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	got := tail(path)
	equal(t, "lines", len(got), tailLines)
	equal(t, "first", got[0], "line 990 [31mred")
	equal(t, "last", got[9], "line 999 [31mred")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	equal(t, "lines of nothing", len(tail(path)), 0)
	equal(t, "lines of no file", len(tail(path+"x")), 0)
}

// Tasks hold memory; each notes how many run at the same time.
func TestNeeds(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 4, resources: {memory: 5}}", `
- {name: a, stages: [{name: s, count: 6, needs: {memory: 2}, run: 'mkdir r.$FAIRLEAD_TASK; ls -d r.* | wc -l >n.$FAIRLEAD_TASK; sleep 0.03; rmdir r.$FAIRLEAD_TASK'}]}
`)
	res := r.run(t.Context())
	equal(t, "states", r.states(res), "a:done")
	most := 0
	for k := range 6 {
		n, err := strconv.Atoi(strings.TrimSpace(r.read(fmt.Sprintf("n.%d", k))))
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, n)
	}
	equal(t, "tasks at a time", most, 2)
}

func TestMachinesOfStages(t *testing.T) {
	r := newTrial(t, "{name: a, speed: 2}, {name: b}", `
- {name: j, stages: [{name: s, count: 4, machines: [b], run: 'echo $FAIRLEAD_MACHINE >>ran'}]}
`)
	r.run(t.Context())
	equal(t, "machines", r.read("ran"), "b\nb\nb\nb\n")
}

// What was observed, put into the simulator, costs the same but for what lies
// between the end of one task and the start of the next.
func TestObservedSizes(t *testing.T) {
	r := newTrial(t, "{name: fast, speed: 3}, {name: slow, slots: 2}", `
- {name: a, weight: 3, stages: [{name: s, count: 5, run: 'sleep 0.05'}, {name: t, after: [s], count: 2, run: 'sleep 0.1'}]}
- {name: b, release: 100ms, stages: [{name: s, count: 4, run: 'sleep 0.08'}]}
`)
	res := r.run(t.Context())
	for _, p := range res.Schedule.Tasks {
		z := res.Sizes.Of(r.stageOf(p.Task), p.Task)
		if got := sched.Duration(z, r.cfg.Instance.Machines[p.Machine].Speed); got != p.Finish-p.Start {
			t.Errorf("task %d: observed size takes %v, observed %v", p.Task, got, p.Finish-p.Start)
		}
	}
	// A task's size is what it took where it ran; elsewhere it would take another
	// time than a sleep does, so the simulation must follow the same machines.
	again, err := sim.Run(sim.Config{Instance: r.cfg.Instance, Policy: follow(res.Schedule.Tasks), Sizes: res.Sizes})
	if err != nil {
		t.Fatal(err)
	}
	for j, c := range res.Schedule.Completion {
		if s := again.Schedule.Completion[j]; s > c || float64(c) > 1.15*float64(s)+500e6 {
			t.Errorf("job %d completed at %v, simulated at %v", j, c, s)
		}
	}
}

func (r *trial) stageOf(t sched.TaskID) sched.StageID {
	return sched.NewIndex(r.cfg.Instance).TaskStage(t)
}

func TestObservedSizeIsExact(t *testing.T) {
	for _, speed := range []float64{1, 3, 0.1, 0.3, 7.77, 1e-3, 1e6} {
		for ns := sched.Time(1); ns < 1e17; ns = ns*3 + 7 {
			p := observedSize(ns, speed)
			if got := sched.Duration(p, speed); got > ns || ns < 1<<50 && got != ns {
				t.Fatalf("size %v at speed %v takes %d ns, want %d", p, speed, got, ns)
			}
			if math.Abs(p-ns.Seconds()*speed) > 1e-12*p {
				t.Fatalf("size %v is far from %v", p, ns.Seconds()*speed)
			}
		}
	}
}

// Jobs end where they do in a simulation in which the same tasks fail.
func TestRandomWorkloads(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 0))
		r := newTrial(t, "{name: a, speed: 3, resources: {memory: 4}}, {name: b, slots: 2, resources: {memory: 2}}", "- {name: x, stages: [{name: s, run: 'true'}]}\n")
		r.cfg.KeepGoing = seed%2 == 0
		r.cfg.Instance.Jobs = randomJobs(rng)
		failed := func(t sched.TaskID, attempt int32) bool { return fails(t, attempt, seed) }
		x := sched.NewIndex(r.cfg.Instance)
		for s := range sched.StageID(x.Stages()) {
			// The command of each task knows its number in the whole instance.
			first, end := x.StageTasks(s)
			script := ""
			for k := first; k < end; k++ {
				for a := int32(1); a <= 3; a++ {
					if failed(k, a) {
						script += fmt.Sprintf("test $FAIRLEAD_TASK.$FAIRLEAD_ATTEMPT = %d.%d && exit 1\n", k-first, a)
					}
				}
			}
			x.Stage(s).Run = &sched.Command{Shell: script + "true"}
		}
		res := r.run(t.Context())
		want, err := sim.Run(sim.Config{Instance: r.cfg.Instance, Policy: dag.NewFIFO(), Fails: failed, KeepGoing: r.cfg.KeepGoing})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, fmt.Sprintf("seed %d: states", seed), r.states(res), r.states(&Result{States: want.States}))
	}
}

// fails says, by a hash, which attempts fail: one in eight.
func fails(t sched.TaskID, attempt int32, seed uint64) bool {
	return rand.New(rand.NewPCG(uint64(t)<<8|uint64(attempt), seed)).IntN(8) == 0
}

func randomJobs(rng *rand.Rand) []sched.Job {
	jobs := make([]sched.Job, 3+rng.IntN(4))
	for j := range jobs {
		jobs[j] = sched.Job{Name: fmt.Sprint("j", j), Weight: 1, Release: sched.Time(rng.IntN(3)) * 20e6}
		for k := range j {
			if rng.IntN(3) == 0 {
				jobs[j].After = append(jobs[j].After, sched.JobID(k))
			}
		}
		for s := range 1 + rng.IntN(3) {
			st := sched.Stage{
				Name: fmt.Sprint("s", s), Count: 1 + rng.IntN(3), Retries: rng.IntN(3),
				Sizes: []size.Dist{size.Exact(0.01)}, Needs: []int64{int64(rng.IntN(3)) * 1000},
			}
			for k := range s {
				if rng.IntN(2) == 0 {
					st.After = append(st.After, k)
				}
			}
			jobs[j].Stages = append(jobs[j].Stages, st)
		}
	}
	return jobs
}

// A policy that solves forever does not keep others from being served.
func TestSlowSolve(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 2}", `
- {name: a, stages: [{name: s, count: 10, run: 'true'}]}
`)
	p := &slowSolver{Policy: dag.NewFIFO(), stopped: make(chan bool, 1)}
	r.cfg.Policy = p
	began := time.Now()
	res, err := Run(t.Context(), r.cfg)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "states", r.states(res), "a:done")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	select {
	case <-p.stopped:
	case <-time.After(5 * time.Second):
		t.Error("the solver was not stopped when the run was over")
	}
	equal(t, "solves", res.Stats.Solves, 1)
}

// A solution comes back as an event and the policy sees it.
func TestSolved(t *testing.T) {
	r := newTrial(t, "{name: m}", `
- {name: a, stages: [{name: s, run: 'echo ran >>ran'}]}
`)
	r.cfg.Policy = &waitForPlan{}
	res, err := Run(t.Context(), r.cfg)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "states", r.states(res), "a:done")
	equal(t, "solution", fmt.Sprint(res.Solution.Order), "[0]")
	if log := r.read("run/events.jsonl"); !strings.Contains(log, `"event":"solved"`) {
		t.Errorf("the log lacks the solution:\n%s", log)
	}
}

func TestRefused(t *testing.T) {
	good := func() *trial {
		return newTrial(t, "{name: m}", "- {name: a, stages: [{name: s, run: 'true'}]}\n")
	}
	for _, c := range []struct {
		name   string
		change func(r *trial, st *sched.Stage)
		want   string
	}{
		{"no directory", func(r *trial, _ *sched.Stage) { r.cfg.Dir = "" }, "run: need an instance, a policy and a directory"},
		{"no command", func(_ *trial, st *sched.Stage) { st.Run = nil }, "run: stage a/s has no command: say with `run` what its tasks do"},
		{"flows", func(_ *trial, st *sched.Stage) { st.Count, st.Flows = 0, []sched.Flow{{}} }, "run: stage a/s is a transfer, which cannot be run for real"},
		{"shares", func(_ *trial, st *sched.Stage) { st.Fluid = &sched.Fluid{Page: "x"} }, "run: stage a/s shares rates, which cannot be run for real"},
		{"template", func(_ *trial, st *sched.Stage) { st.Run = &sched.Command{Argv: []string{"x", "{{.Nope}}"}} }, "run: stage a/s: workload: argument 1: "},
		{"job ..", func(r *trial, _ *sched.Stage) { r.cfg.Instance.Jobs[0].Name = ".." }, `run: job name ".." cannot be the name of a directory for logs`},
		{"stage ../x", func(_ *trial, st *sched.Stage) { st.Name = "../x" }, `run: job a: stage name "../x" cannot be the name of a directory for logs`},
		{"no machines", func(r *trial, _ *sched.Stage) { r.cfg.Instance.Machines = nil }, "run: there are no machines to run on"},
		{"earlier run", func(r *trial, _ *sched.Stage) {
			if err := os.Mkdir(r.cfg.Dir, 0o777); err != nil {
				t.Fatal(err)
			}
			r.write("run/events.jsonl", "precious", 0o666)
		}, "events.jsonl is of an earlier run: use another directory, or resume that run"},
		{"directory is a file", func(r *trial, _ *sched.Stage) { r.write("run", "", 0o666) }, "run: cannot make the run's directory: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := good()
			c.change(r, &r.cfg.Instance.Jobs[0].Stages[0])
			res, err := Run(t.Context(), r.cfg)
			if err == nil || !strings.Contains(err.Error(), c.want) || res != nil {
				t.Fatalf("got %v, %v, want %q", res, err, c.want)
			}
		})
	}
}

// A policy that breaks the rules ends the run, with what has happened so far.
func TestPolicyErrors(t *testing.T) {
	for name, c := range map[string]struct {
		policy policy.Policy
		want   string
	}{
		"fails":        {&toy{fail: io.ErrNoProgress}, "run: engine: policy at time "},
		"never starts": {&toy{}, "run: nothing more can happen, but jobs are left:\n  a is ready to start"},
		"shares rates": {&toy{decision: policy.Decision{Join: []policy.Join{{Activity: policy.Activity{Task: 0, Flow: sched.None}, Share: 1}}}}, "run: the policy shares rates or moves data, which cannot be done for real"},
		"no solver":    {&toy{decision: policy.Decision{Solve: &policy.Request{}}}, "run: the policy asks to solve but is no Solver"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTrial(t, "{name: m}", "- {name: a, stages: [{name: s, run: 'true'}]}\n")
			r.cfg.Policy = c.policy
			res, err := Run(t.Context(), r.cfg)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			equal(t, "explained", strings.Join(res.Explain, ";"), "a was not started")
		})
	}
}
