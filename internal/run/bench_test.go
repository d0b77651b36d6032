package run

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-project/fairlead/policy/dag"
	"github.com/fairlead-project/fairlead/sched"
)

// many is n tasks of a command that does nothing, on two slots.
func many(n int) *sched.Instance {
	return &sched.Instance{
		Machines: []sched.Machine{{Name: "m", Speed: 1, Slots: 2, Port: 1}},
		Jobs: []sched.Job{{Name: "j", Weight: 1, Stages: []sched.Stage{
			{Name: "s", Count: n, Run: &sched.Command{Argv: []string{"true"}}},
		}}},
	}
}

func TestManyTasks(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 2}", "- {name: a, stages: [{name: s, count: 500, run: ['true']}]}\n")
	res := r.run(t.Context())
	equal(t, "states", r.states(res), "a:done")
	equal(t, "tasks", len(res.Schedule.Tasks), 500)
	if res.Wall > 20*time.Second {
		t.Errorf("500 tasks took %v", res.Wall)
	}
}

// BenchmarkRun reports the time per task of a run of 1,000 tasks that do nothing.
func BenchmarkRun(b *testing.B) {
	const n = 1000
	for i := range b.N {
		res, err := Run(b.Context(), Config{
			Instance: many(n), Policy: dag.NewFIFO(), Dir: filepath.Join(b.TempDir(), fmt.Sprint(i)),
		})
		if err != nil || len(res.Schedule.Tasks) != n {
			b.Fatalf("%d tasks, %v", len(res.Schedule.Tasks), err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "us/task")
}

// BenchmarkForkExec is what the system alone takes for BenchmarkRun's processes
// and their files, two at a time.
func BenchmarkForkExec(b *testing.B) {
	const n = 1000
	logs := b.TempDir()
	path, err := exec.LookPath("true")
	if err != nil {
		b.Fatal(err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	start := func(i, k int) int {
		name := filepath.Join(logs, outputOf(k, int32(i)))
		stdout, err := os.Create(name + ".out")
		if err != nil {
			b.Fatal(err)
		}
		defer stdout.Close()
		stderr, err := os.Create(name + ".err")
		if err != nil {
			b.Fatal(err)
		}
		defer stderr.Close()
		pid, err := syscall.ForkExec(path, []string{"true"}, &syscall.ProcAttr{
			Env:   os.Environ(),
			Files: []uintptr{null.Fd(), stdout.Fd(), stderr.Fd()},
			Sys:   &syscall.SysProcAttr{Setpgid: true},
		})
		if err != nil {
			b.Fatal(err)
		}
		return pid
	}
	wait := func(pid int) {
		if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
			b.Fatal(err)
		}
	}
	for i := range b.N {
		before := start(i, 0)
		for k := 1; k < n; k++ {
			pid := start(i, k)
			wait(before)
			before = pid
		}
		wait(before)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "us/task")
}
