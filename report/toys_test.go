package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-project/fairlead/sched"
)

const sec = sched.Second

// night is a run of a few jobs by hand: two machines, a failure with a retry, an
// attempt whose supervisor was lost, one that was stopped, and names that nobody
// should choose.
func night() *Timeline {
	t := &Timeline{
		Name: "nightly", Kind: "run", Began: time.Date(2026, 3, 1, 22, 0, 0, 0, time.UTC), Now: 60 * sec,
		Machines: []TimelineMachine{{"fast", 2, 2}, {"slow", 1, 1}},
		Run: Run{
			Policy: "spc", WeightedCompletion: 245, Makespan: 60,
			Jobs: []Job{
				{Name: "import", Weight: 1, Completion: at(20), State: "done"},
				{Name: `<script>alert("x")</script> & 'co'`, Weight: 3, Release: 5, Completion: at(45), State: "done"},
				{Name: "bad \xff\x00\x1b[31m utf-8", Weight: 1.5, Completion: at(60), State: "done"},
				{Name: "broken", Weight: 1, State: "failed"},
			},
		},
	}
	add := func(job int, stage string, task, attempt, machine, slot int, start, finish float64, state AttemptState) *Attempt {
		t.Attempts = append(t.Attempts, Attempt{
			ID: sched.TaskID(job*10 + task), Job: job, Stage: stage, Task: task, Attempt: attempt, Machine: machine, Slot: slot,
			Start: sched.FromSeconds(start), Finish: sched.FromSeconds(finish), State: state,
			CPU: time.Duration((finish - start) * 0.9e9), PeakMemory: 48 << 20, Command: fmt.Sprintf("%s %d", stage, task),
		})
		return &t.Attempts[len(t.Attempts)-1]
	}
	add(0, "fetch", 0, 1, 0, 0, 0, 12, Done)
	add(0, "fetch", 1, 1, 0, 1, 0, 20, Done)
	add(1, "map", 0, 1, 1, 0, 5, 29, Done)
	add(1, "map", 1, 1, 0, 0, 12, 24.5, Done)
	add(1, "reduce", 2, 1, 0, 0, 30, 45, Done).Command = "sh -c 'printf \"a\tb\n\"'"
	f := add(2, "a/<b>", 0, 1, 0, 1, 20, 26, Failed)
	f.ExitCode, f.Error, f.Stderr = 3, "exit status 3 \xfe", "logs/bad/0.1.err"
	add(2, "a/<b>", 0, 2, 0, 1, 30, 60, Done)
	add(2, "late", 1, 1, 1, 0, 29, 35, Lost)
	k := add(3, "s", 0, 1, 1, 0, 35, 50, Failed)
	k.ExitCode, k.Signal, k.Error = 137, "SIGKILL", "killed by SIGKILL"
	add(3, "s", 1, 1, 1, 0, 50, 55, Stopped)
	return t
}

func at(x float64) *float64 { return &x }

// random makes a timeline of n tasks that are short or long, on slots that are busy
// most of the time.
func random(seed uint64, jobs, machines, slots, n int) *Timeline {
	g := rand.New(rand.NewPCG(seed, 7))
	t := &Timeline{Name: "random", Kind: "simulation", Run: Run{Policy: "fifo"}}
	for j := range jobs {
		t.Run.Jobs = append(t.Run.Jobs, Job{Name: fmt.Sprintf("job-%d", j), Weight: 1, State: "done"})
	}
	free := make([][]sched.Time, machines)
	for m := range machines {
		t.Machines = append(t.Machines, TimelineMachine{fmt.Sprintf("m-%d", m), 1, slots})
		free[m] = make([]sched.Time, slots)
	}
	for i := range n {
		m, s, j := g.IntN(machines), g.IntN(slots), min(jobs-1, i*jobs/n+g.IntN(2))
		start := free[m][s]
		if g.IntN(3) == 0 {
			start += sched.Time(g.ExpFloat64() * 1e8)
		}
		length := sched.Time(g.ExpFloat64() * 1e9)
		if g.IntN(4) == 0 {
			length = sched.Time(g.IntN(3))
		}
		state := Done
		if g.IntN(50) == 0 {
			state = Failed
		}
		free[m][s] = start + length
		t.Attempts = append(t.Attempts, Attempt{
			ID: sched.TaskID(i), Job: j, Stage: "s", Task: i, Attempt: 1, Machine: m, Slot: s, Start: start, Finish: free[m][s], State: state,
			Command: fmt.Sprintf("process --part %d", i),
		})
		job := &t.Run.Jobs[j]
		end := free[m][s].Seconds()
		if job.Completion != nil {
			end = math.Max(end, *job.Completion)
		}
		job.Completion = &end
		t.Now = max(t.Now, free[m][s])
	}
	return t
}

// stream makes a timeline as a cluster has it: jobs arrive, run in stages of equal
// tasks, and overlap.
func stream(seed uint64, jobs int) *Timeline {
	g := rand.New(rand.NewPCG(seed, 8))
	t := &Timeline{Name: "stream of jobs", Kind: "simulation", Run: Run{Policy: "spc", LowerBound: at(4000), Ratio: at(1.08)}}
	t.Machines = []TimelineMachine{{"big-0", 3, 4}, {"big-1", 3, 4}, {"small-0", 1, 1}, {"small-1", 1, 1}, {"small-2", 1, 1}}
	type slot struct {
		m, s int
		free float64
	}
	var slots []slot
	for m := range t.Machines {
		for s := range t.Machines[m].Slots {
			slots = append(slots, slot{m, s, 0})
		}
	}
	id := 0
	for j := range jobs {
		ready := float64(j) * 20
		job := Job{Name: fmt.Sprintf("report-%02d", j), Weight: float64(1 + g.IntN(5)), Release: ready, State: "done"}
		for _, stage := range []string{"extract", "transform", "load"} {
			size, next := 20+g.ExpFloat64()*150, ready
			for k := range 1 + g.IntN(8) {
				best := slices.MinFunc(slots, func(a, b slot) int {
					fa, fb := max(a.free, ready)+size/t.Machines[a.m].Speed, max(b.free, ready)+size/t.Machines[b.m].Speed
					return int(math.Round(1000 * (fa - fb)))
				})
				i := slices.Index(slots, best)
				start := max(best.free, ready)
				end := start + size/t.Machines[best.m].Speed*(0.8+0.4*g.Float64())
				slots[i].free = end
				next = max(next, end)
				t.Attempts = append(t.Attempts, Attempt{
					ID: sched.TaskID(id), Job: j, Stage: stage, Task: k, Attempt: 1, Machine: best.m, Slot: best.s,
					Start: sched.FromSeconds(start), Finish: sched.FromSeconds(end),
				})
				id++
			}
			ready = next
		}
		job.Completion = &ready
		t.Run.WeightedCompletion += job.Weight * ready
		t.Run.Jobs = append(t.Run.Jobs, job)
		t.Now = max(t.Now, sched.FromSeconds(ready))
	}
	return t
}

// crowd is a hundred thousand tasks.
var crowd = sync.OnceValue(func() *Timeline { return random(1, 40, 8, 8, 100_000) })
