package cli

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/fairlead-project/fairlead/internal/run"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/policy/all"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
	"github.com/fairlead-project/fairlead/size"
)

// mixture is jobs of a wide and a narrow stage on unlike machines.
func mixture(jobs int) *sched.Instance {
	in := &sched.Instance{Machines: []sched.Machine{
		{Name: "a", Speed: 2, Slots: 2, Port: math.Inf(1)}, {Name: "b", Speed: 1, Slots: 3, Port: math.Inf(1)},
	}}
	g := rand.New(rand.NewPCG(3, 3))
	for j := range jobs {
		in.Jobs = append(in.Jobs, sched.Job{
			Name: string(rune('a' + j)), Weight: 1, Release: sched.Time(j) * 3 * sched.Second,
			Stages: []sched.Stage{
				{Name: "map", Count: 12, Sizes: []size.Dist{size.Exact(1 + 9*g.Float64())}},
				{Name: "reduce", Count: 2, Sizes: []size.Dist{size.Exact(5 + 10*g.Float64())}, After: []int{0}},
			},
		})
	}
	return in
}

// happened is what a run that follows a schedule reports at an instant.
func happened(x *sched.Index, s *sched.Schedule, now sched.Time) run.Progress {
	p := run.Progress{Now: now, Jobs: make([]run.JobProgress, len(x.Instance.Jobs))}
	for j := range p.Jobs {
		if s.Completion[j] <= now {
			p.Jobs[j].State = policy.JobDone
		} else if x.Instance.Jobs[j].Release <= now {
			p.Jobs[j].State = policy.JobActive
		}
	}
	for _, t := range s.Tasks {
		job := &p.Jobs[x.StageJob(x.TaskStage(t.Task))]
		job.Total++
		switch {
		case t.Finish <= now:
			job.Done++
		case t.Start <= now:
			job.Running++
			p.Running = append(p.Running, run.Running{Task: t.Task, Attempt: 1, Machine: t.Machine, Slot: t.Slot, Since: t.Start})
		}
	}
	return p
}

// The run as it will be, known from a simulation with other durations, against what
// is expected of it on the way.
func TestForecast(t *testing.T) {
	in := mixture(6)
	x := sched.NewIndex(in)
	e := &env{ctx: t.Context(), policies: all.Registry()}
	for name, c := range map[string]struct {
		slower, noise float64
		within        float64 // of the time that is left, and a twentieth of the whole
	}{
		"as planned":       {1, 0, 0.02},
		"slower":           {1.6, 0, 0.2},
		"faster":           {0.6, 0, 0.3},
		"slower and noisy": {1.6, 0.3, 0.3},
	} {
		means, err := sim.Means(x)
		if err != nil {
			t.Fatal(err)
		}
		truth, g := sched.NewSizes(x), rand.New(rand.NewPCG(9, 9))
		for s := range sched.StageID(x.Stages()) {
			first, end := x.StageTasks(s)
			var p []float64
			for k := first; k < end; k++ {
				p = append(p, means.Of(s, k)*c.slower*(1+c.noise*(2*g.Float64()-1)))
			}
			truth.SetEach(s, p)
		}
		real, err := e.simulate(simulation{spec: "wspt", in: in, x: x, sizes: truth, estimates: means})
		if err != nil {
			t.Fatal(err)
		}
		f := e.newForecast(x, runOptions{policy: "wspt"})
		end := sched.Time(0)
		for _, at := range real.Schedule.Completion {
			end = max(end, at)
		}
		for share := 0.0; share < 1; share += 0.05 {
			now := sched.Time(share * float64(end))
			p := happened(x, &real.Schedule, now)
			jobs, last := f.ends(&p)
			if share < 0.3 && c.slower != 1 { // nothing can be known yet
				continue
			}
			allowed := c.within * (float64(end-now) + 0.05*float64(end))
			if miss := math.Abs(float64(last - end)); miss > allowed {
				t.Errorf("%s: at %v the end is expected at %v, it comes at %v", name, now, last, end)
			}
			for j, at := range jobs {
				switch done := real.Schedule.Completion[j] <= now; {
				case done != (at == sched.Never):
					t.Errorf("%s: at %v job %d, done at %v, is expected at %v", name, now, j, real.Schedule.Completion[j], at)
				case !done && at < now:
					t.Errorf("%s: at %v job %d is expected at %v", name, now, j, at)
				}
			}
		}
	}
}

// A run that is resumed is not slow because nobody worked on it: its pace counts from
// then on.
func TestForecastOfAResumedRun(t *testing.T) {
	in := mixture(4)
	x := sched.NewIndex(in)
	e := &env{ctx: t.Context(), policies: all.Registry()}
	f := e.newForecast(x, runOptions{policy: "wspt"})
	means, _ := sim.Means(x)
	plan, err := e.simulate(simulation{spec: "wspt", in: in, x: x, sizes: means})
	if err != nil {
		t.Fatal(err)
	}
	const pause = 3600 * sched.Second
	for _, share := range []float64{0.5, 0.6, 0.7} {
		now := sched.Time(share * float64(f.end))
		p := happened(x, &plan.Schedule, now)
		p.Now += pause
		for i := range p.Running {
			p.Running[i].Since += pause
		}
		if _, last := f.ends(&p); math.Abs((last - pause - f.end).Seconds()) > 0.02*f.end.Seconds() {
			t.Errorf("at %v the end is expected at %v, the plan says %v", now, last-pause, f.end)
		}
	}
}

// What a task says of itself counts more than its age; without sizes there is nothing
// to expect.
func TestForecastParts(t *testing.T) {
	in := mixture(1)
	x := sched.NewIndex(in)
	z := sched.NewSizes(x)
	z.SetAll(0, 10)
	z.SetAll(1, 10)
	f := forecastOf(x, z, &sched.Schedule{Tasks: []sched.Placement{
		{Task: 0, Machine: 1, Start: 0, Finish: 10 * sched.Second},
		{Task: 1, Machine: 1, Slot: 1, Start: 5 * sched.Second, Finish: 15 * sched.Second},
		{Task: 2, Machine: 1, Start: 40 * sched.Second, Finish: 50 * sched.Second},
	}})
	for _, c := range []struct {
		machine sched.MachineID
		age     sched.Time
		says    float64
		want    float64
	}{{1, 4 * sched.Second, 0, 0.4}, {0, 4 * sched.Second, 0, 0.8}, {1, 100 * sched.Second, 0, almost}, {1, 4 * sched.Second, 0.9, 0.9}} {
		r := run.Running{Machine: c.machine, Since: sched.Second, Progress: c.says}
		if got := f.fraction(&r, c.age+sched.Second); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %v done", c, got)
		}
	}
	for work, want := range map[float64]sched.Time{0: 0, 5: 5 * sched.Second, 7: 6 * sched.Second, 15: 10 * sched.Second, 25: 45 * sched.Second, 30: 50 * sched.Second, 99: 50 * sched.Second} {
		if got := f.all.position(work, 0); got != want {
			t.Errorf("%v s of work are done at %v, want %v", work, got, want)
		}
	}
	// Idle from 15 s to 40 s, by the clock.
	for now, want := range map[sched.Time]sched.Time{3: 15 * sched.Second, 20 * sched.Second: 20 * sched.Second, 60 * sched.Second: 40 * sched.Second} {
		if got := f.all.position(20, now); got != want {
			t.Errorf("with all done that there is, at %v it is %v in the plan, want %v", now, got, want)
		}
	}
	in.Jobs[0].Stages[0].Sizes = nil
	e := &env{ctx: t.Context(), policies: all.Registry()}
	if e.newForecast(x, runOptions{policy: "fifo"}) != nil {
		t.Error("a forecast without sizes")
	}
}

// A job that is behind the others ends when its own work is done; of one that failed
// nothing is to come.
func TestForecastOfUnevenJobs(t *testing.T) {
	in := mixture(2)
	for j := range in.Jobs {
		in.Jobs[j].Release, in.Jobs[j].Stages = 0, []sched.Stage{{Name: "s", Count: 1, Sizes: []size.Dist{size.Exact(10)}}}
	}
	x := sched.NewIndex(in)
	z, err := sim.Means(x)
	if err != nil {
		t.Fatal(err)
	}
	const sec = sched.Second
	plan := &sched.Schedule{Tasks: []sched.Placement{{Task: 0, Machine: 1, Start: 0, Finish: 10 * sec}, {Task: 1, Machine: 1, Start: 10 * sec, Finish: 20 * sec}}}
	now := run.Progress{Now: 10 * sec, Jobs: []run.JobProgress{{State: policy.JobActive, Total: 1}, {State: policy.JobDone, Total: 1, Done: 1}}}
	jobs, last := forecastOf(x, z, plan).ends(&now)
	if jobs[0] != 20*sec || jobs[1] != sched.Never || last != 20*sec {
		t.Errorf("the second went first: %v, all %v", jobs, last)
	}
	now.Jobs[0].State, now.Jobs[1] = policy.JobFailed, run.JobProgress{State: policy.JobActive, Total: 1}
	if _, last := forecastOf(x, z, plan).ends(&now); last != 20*sec {
		t.Errorf("the first failed: %v", last)
	}
}
