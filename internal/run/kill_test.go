package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-project/fairlead/internal/supervise"
	"github.com/fairlead-project/fairlead/sched"
)

// dagText is a small DAG of tasks that take a moment and leave a trace when they have
// done their work. Some fail the first time.
const dagText = `
- name: a
  stages:
  - {name: s, count: 4, run: 'sleep 0.0$FAIRLEAD_TASK; echo a/s/$FAIRLEAD_TASK $FAIRLEAD_ATTEMPT >>effects'}
  - {name: t, after: [s], count: 3, retries: 1000, run: 'sleep 0.03; test $((FAIRLEAD_ATTEMPT % 3)) != 1 || exit 7; echo a/t/$FAIRLEAD_TASK $FAIRLEAD_ATTEMPT >>effects'}
  - {name: u, after: [t], run: 'setsid sleep 0.05; echo a/u/$FAIRLEAD_TASK $FAIRLEAD_ATTEMPT >>effects'}
- {name: b, after: [a], stages: [{name: s, count: 6, run: 'sleep 0.02; echo b/s/$FAIRLEAD_TASK $FAIRLEAD_ATTEMPT >>effects'}]}
- {name: c, release: 100ms, stages: [{name: s, count: 6, run: 'sleep 0.04; echo c/s/$FAIRLEAD_TASK $FAIRLEAD_ATTEMPT >>effects'}]}
`

// driven is newTrial for runs of another process.
func driven(t *testing.T) *trial {
	t.Helper()
	const machines = "{name: m, slots: 2}, {name: n, speed: 2}"
	r := newTrial(t, machines, dagText)
	r.write("workload.yaml", workloadText(machines, dagText), 0o666)
	return r
}

// drive starts the driver.
func (r *trial) drive() (cmd *exec.Cmd, said *bytes.Buffer) {
	r.t.Helper()
	cmd, said = exec.Command(os.Args[0], "drive", r.dir), &bytes.Buffer{}
	cmd.Stderr = said
	cmd.WaitDelay = time.Second // what it has started may hold its output
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	return cmd, said
}

// Drivers and supervisors are killed at random moments, again and again, until the
// run is done all the same. Then every task whose success was journalled has had its
// effect in that attempt once, and in none after it.
func TestKilled(t *testing.T) {
	budget, seed := 12*time.Second, uint64(1)
	if os.Getenv("FAIRLEAD_LONG") != "" {
		budget, seed = 5*time.Minute, uint64(time.Now().UnixNano())
	}
	t.Log("seed ", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	kills, both, runs := 0, 0, 0
	var usual time.Duration // that a run takes: the first is not killed
	for began := time.Now(); time.Since(began) < budget || runs == 0; runs++ {
		r := driven(t)
		for done := false; !done; {
			alive := 2 * usual // long enough, once the time is over
			if usual == 0 {
				alive = time.Minute
			} else if time.Since(began) < budget {
				alive = time.Duration(rng.Float64() * float64(usual/2))
			}
			start := time.Now()
			cmd, said := r.drive()
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			select {
			case err := <-ended:
				if done = true; err != nil {
					t.Fatalf("%v: %s", err, said)
				}
				if usual == 0 {
					usual = time.Since(start)
				}
			case <-time.After(alive):
				kills++
				if pid := r.supervisor(); pid != 0 && rng.IntN(2) == 0 {
					both++
					_ = unix.Kill(pid, unix.SIGKILL)
				}
				_ = cmd.Process.Kill()
				<-ended
			}
		}
		r.done()
		if t.Failed() {
			return
		}
	}
	t.Logf("%d runs, %d kills, %d of them with the supervisor", runs, kills, both)
	if kills < 5 || both == 0 {
		t.Errorf("only %d kills, %d with the supervisor", kills, both)
	}
}

// supervisor returns the process number of the run's supervisor, 0 if there is none.
func (r *trial) supervisor() int {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if b, _ := os.ReadFile(f); strings.HasSuffix(string(b), "\x00supervise\x00"+r.cfg.Dir+"\x00") {
			var pid int
			if _, err := fmt.Sscanf(f, "/proc/%d/", &pid); err == nil {
				return pid
			}
		}
	}
	return 0
}

func (r *trial) nameOf(x *sched.Index, t int32) string {
	s := x.TaskStage(sched.TaskID(t))
	first, _ := x.StageTasks(s)
	return fmt.Sprintf("%s/%d", x.StageName(s), t-int32(first))
}

// done checks a run that has been driven to its end.
func (r *trial) done() {
	r.t.Helper()
	r.recorded()
	res := must[*Result](r.t)(Resume(r.t.Context(), r.cfg))
	equal(r.t, "states", r.states(res), "a:done b:done c:done")
	r.replay(res)
	x := sched.NewIndex(r.cfg.Instance)

	type effect struct {
		task    string
		attempt int32
	}
	effects := map[effect]int{}
	for _, l := range strings.Split(strings.TrimSpace(r.read("effects")), "\n") {
		var e effect
		if _, err := fmt.Sscan(l, &e.task, &e.attempt); err != nil {
			r.t.Fatal(err)
		}
		effects[e]++
	}
	name := func(t int32) string { return r.nameOf(x, t) }
	exits, _, err := supervise.ReadJournal(r.cfg.Dir)
	if err != nil {
		r.t.Fatal(err)
	}
	succeededIn := map[int32]int32{} // task to attempt
	for i := range exits {
		if e := &exits[i]; succeeded(e) {
			if other, twice := succeededIn[e.Task]; twice {
				r.t.Errorf("task %d has succeeded in attempts %d and %d", e.Task, other, e.Attempt)
			}
			succeededIn[e.Task] = e.Attempt
			if n := effects[effect{name(e.Task), e.Attempt}]; n != 1 {
				r.t.Errorf("%s, whose success in attempt %d was journalled, had its effect %d times", name(e.Task), e.Attempt, n)
			}
		}
	}
	equal(r.t, "journalled successes", len(succeededIn), x.Tasks())
	for t, attempt := range succeededIn {
		for e := range effects {
			if e.task == name(t) && e.attempt > attempt {
				r.t.Errorf("%v had an effect after attempt %d had succeeded", e, attempt)
			}
		}
	}
	r.sameRecords(succeededIn)
}

// sameRecords checks that whatever was told of an attempt, each time a driver
// resumed, is the same, and that it has all successes.
func (r *trial) sameRecords(succeededIn map[int32]int32) {
	r.t.Helper()
	type key struct{ task, attempt int32 }
	seen := map[key]Attempt{}
	for _, l := range strings.Split(strings.TrimSpace(r.read("records")), "\n") {
		var a Attempt
		if json.Unmarshal([]byte(l), &a) != nil {
			continue // the driver was killed while it wrote this
		}
		k := key{int32(a.Task), a.Attempt}
		if old, ok := seen[k]; ok && (old.State != a.State || old.Start != a.Start || old.ExitCode != a.ExitCode || old.CPU != a.CPU) {
			r.t.Errorf("attempt recorded as %+v, then as %+v", old, a)
		}
		seen[k] = a
		if a.State == AttemptRunning || a.Finish < a.Start {
			r.t.Errorf("recorded %+v", a)
		}
	}
	for t, attempt := range succeededIn {
		if seen[key{t, attempt}].State != AttemptDone {
			r.t.Errorf("task %d, attempt %d has succeeded, but recorded is %+v", t, attempt, seen[key{t, attempt}])
		}
	}
	last := must[[]Attempt](r.t)(ReadAttempts(r.cfg.Dir))
	for i := range last {
		a := &last[i]
		if got := seen[key{int32(a.Task), a.Attempt}]; got.State != a.State || got.Start != a.Start || got.Command != a.Command {
			r.t.Errorf("the directory says %+v, recorded was %+v", *a, got)
		}
	}
	equal(r.t, "attempts recorded", len(seen), len(last))
}
