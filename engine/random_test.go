package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// randomInstance has everything the engine knows: precedence of stages and jobs,
// needs, pins, ports, input, flows, empty transfers, retries.
func randomInstance(r *rand.Rand) *sched.Instance {
	in := &sched.Instance{Resources: []string{"cpu", "memory"}}
	for m := range 1 + r.IntN(4) {
		in.Machines = append(in.Machines, sched.Machine{
			Name: fmt.Sprint("m", m), Speed: []float64{1, 2, 2.5}[r.IntN(3)], Slots: 1 + r.IntN(3),
			Capacity: []int64{4000, int64(1000 * (2 + r.IntN(3)))},
			Port:     []float64{1, 3, math.Inf(1)}[r.IntN(3)],
		})
	}
	for j := range 1 + r.IntN(5) {
		in.Jobs = append(in.Jobs, randomJob(r, in, j))
	}
	return in
}

func randomJob(r *rand.Rand, in *sched.Instance, j int) sched.Job {
	job := sched.Job{Name: fmt.Sprint("j", j), Weight: float64(r.IntN(4)), Release: sched.Time(r.IntN(3)) * sched.Second}
	for a := range j {
		if r.IntN(4) == 0 {
			job.After = append(job.After, sched.JobID(a))
		}
	}
	for s := range 1 + r.IntN(4) {
		st := sched.Stage{Name: fmt.Sprint("s", s), Retries: r.IntN(3)}
		for a := range s {
			if r.IntN(2) == 0 {
				st.After = append(st.After, a)
			}
		}
		if r.IntN(4) == 0 {
			st.Flows = []sched.Flow{}
			for range r.IntN(4) {
				st.Flows = append(st.Flows, sched.Flow{
					From: sched.MachineID(r.IntN(len(in.Machines))), To: sched.MachineID(r.IntN(len(in.Machines))), Size: size.Exact(r.IntN(5)),
				})
			}
		} else {
			st.Count = 1 + r.IntN(4)
			st.Sizes = make([]size.Dist, st.Count)
			for k := range st.Sizes {
				st.Sizes[k] = size.Exact(r.Float64() * 3)
			}
			if r.IntN(2) == 0 {
				st.Needs = []int64{int64(r.IntN(3000)), int64(r.IntN(2000))}
			}
			if r.IntN(4) == 0 {
				st.Machines = []sched.MachineID{sched.MachineID(r.IntN(len(in.Machines)))}
			}
			for _, a := range st.After {
				if r.IntN(2) == 0 {
					st.Input = append(st.Input, sched.Input{From: a, Bytes: float64(r.IntN(30))})
				}
			}
		}
		job.Stages = append(job.Stages, st)
	}
	return job
}

func config(in *sched.Instance, p policy.Policy, k policy.Knowledge, seed uint64) Config {
	cfg := Config{Instance: in, Policy: p, Knowledge: k, Seed: seed, KeepGoing: seed%2 == 0}
	if seed%3 > 0 {
		cfg.Backoff = Backoff{Base: sched.Second, Max: 3 * sched.Second}
	}
	if k.Sizes != policy.SizesUnknown {
		cfg.Estimates = meanSizes(sched.NewIndex(in))
	}
	return cfg
}

func newEngine(t testing.TB, cfg Config) *Engine {
	t.Helper()
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// chaos starts legal things at random: tasks in slots, flows on ports, and both in
// groups that they also move between.
type chaos struct{ running []policy.Activity }

func (c *chaos) Decide(now sched.Time, v policy.View, r *rand.Rand) (d policy.Decision, err error) {
	x := v.Index()
	in := x.Instance
	slots := make([]int, len(in.Machines))
	free := make([][]int64, len(in.Machines))
	source, sink := make([]bool, len(in.Machines)), make([]bool, len(in.Machines))
	for m := range in.Machines {
		slots[m] = v.Machine(sched.MachineID(m)).FreeSlots
		for k := range in.Resources {
			free[m] = append(free[m], v.Free(sched.MachineID(m), k))
		}
	}
	place := func(s sched.StageID, t sched.TaskID) {
		for _, i := range r.Perm(len(in.Machines)) {
			m := sched.MachineID(i)
			needs := x.Stage(s).Needs
			short := slices.ContainsFunc([]int{0, 1}, func(k int) bool { return needs != nil && needs[k] > free[m][k] })
			if !v.Fits(s, m) || slots[m] == 0 || short {
				continue
			}
			slots[m]--
			for k := range needs {
				free[m][k] -= needs[k]
			}
			d.Start = append(d.Start, policy.Start{Task: t, Machine: m, Slot: sched.None})
			return
		}
	}
	join := func(a policy.Activity) {
		d.Join = append(d.Join, policy.Join{Activity: a, Group: policy.GroupID(r.IntN(4)), Share: 0.5 + r.Float64()})
	}
	for s := range sched.StageID(x.Stages()) {
		for t, end := x.StageTasks(s); t < end; t++ {
			act := policy.Activity{Task: t, Flow: sched.None}
			switch got := v.Task(t); {
			case got == policy.TaskRunning && slices.Contains(c.running, act) && r.IntN(4) == 0:
				join(act)
			case got == policy.TaskPending && r.IntN(8) == 0:
				join(act)
				c.running = append(c.running, act)
			case got == policy.TaskPending && r.IntN(3) > 0:
				c.running = slices.DeleteFunc(c.running, func(b policy.Activity) bool { return act == b })
				place(s, t)
			}
		}
		first, end := x.StageFlows(s)
		for f := first; f < end; f++ {
			act := policy.Activity{Task: sched.None, Flow: f}
			fl := x.Stage(s).Flows[f-first]
			switch got := v.Flow(f); {
			case got == policy.TaskRunning && slices.Contains(c.running, act) && r.IntN(4) == 0:
				join(act)
			case got == policy.TaskPending && r.IntN(5) == 0:
				join(act)
				c.running = append(c.running, act)
			case got == policy.TaskPending && v.PortsFree(f) && !source[fl.From] && !sink[fl.To]:
				source[fl.From], sink[fl.To] = true, true
				d.Flows = append(d.Flows, f)
			}
		}
	}
	if len(d.Join) > 0 && r.IntN(2) == 0 {
		d.Rates = append(d.Rates, policy.GroupRate{Group: d.Join[0].Group, Rate: float64(r.IntN(4))})
	}
	if r.IntN(4) == 0 {
		d.Wake = now + sched.Time(r.IntN(5))*sched.Second/4
	}
	if r.IntN(9) == 0 {
		d.Solve = &policy.Request{ID: int32(r.IntN(9))}
	}
	if known := v.Known(); len(known) > 0 {
		d.Reasons = append(d.Reasons, policy.Reason{
			Job: known[r.IntN(len(known))], Code: policy.Queued + policy.ReasonCode(r.IntN(4)),
			Behind: known[r.IntN(len(known))], Machine: sched.MachineID(r.IntN(len(in.Machines))),
		})
	}
	return d, nil
}

// instant is what happens at one time, without the Wake that ends it.
type instant struct {
	now    sched.Time
	events []Event
}

// driver makes up a history: it ends what runs in random order, often several
// at one instant, fails attempts, loses machines and brings them back. Events of
// an instant never contradict each other.
type driver struct {
	t       testing.TB
	e       *Engine
	r       *rand.Rand
	waiting []sched.JobID // to arrive; none of never
	running []Event
	down    map[sched.MachineID]bool
	history []instant
	each    func(*Engine) // after every step
}

func newDriver(t testing.TB, e *Engine, r *rand.Rand, never map[sched.JobID]bool) *driver {
	d := &driver{t: t, e: e, r: r, down: map[sched.MachineID]bool{}, each: func(*Engine) {}}
	for j := range e.st.in.Jobs {
		if !never[sched.JobID(j)] {
			d.waiting = append(d.waiting, sched.JobID(j))
		}
	}
	return d
}

// maxInstants is far more than any of the instances can need.
const maxInstants = 5000

func (d *driver) run() {
	for now := sched.Time(0); !d.e.Done() && (len(d.waiting) > 0 || d.progress()); now += sched.Time(1+d.r.IntN(3)) * sched.Second / 2 {
		if len(d.history) > maxInstants {
			d.t.Fatalf("not done after %d instants:\n%v", maxInstants, d.e.Blocked())
		}
		d.instant(now)
	}
}

// progress reports whether some known job is unfinished.
func (d *driver) progress() bool {
	for j := range d.e.st.jobs {
		if job := &d.e.st.jobs[j]; job.arrived && job.state == policy.JobActive {
			return true
		}
	}
	return d.e.Running() > 0
}

func (d *driver) instant(now sched.Time) {
	var events []Event
	touched := map[sched.MachineID]bool{}
	for len(d.waiting) > 0 && d.r.IntN(3) == 0 {
		i := d.r.IntN(len(d.waiting))
		events = append(events, Arrived(d.waiting[i]))
		d.waiting = slices.Delete(d.waiting, i, i+1)
	}
	var still []Event
	for _, ev := range d.running {
		if d.r.IntN(3) > 0 {
			still = append(still, ev)
			if ev.Kind == TaskFinished && d.r.IntN(3) == 0 {
				events = append(events, Progress(ev.Task, ev.Attempt, 1.2*d.r.Float64()-0.1))
			}
			continue
		}
		if ev.Kind == TaskFinished {
			touched[ev.Machine] = true
			switch d.r.IntN(10) {
			case 0, 1:
				ev.Kind = TaskFailed
			case 2:
				ev.Kind = TaskLost
			}
			ev.Machine = 0
		}
		events = append(events, ev)
	}
	d.running = still
	if n := len(d.e.st.taskState); n > 0 && d.r.IntN(8) == 0 {
		t := sched.TaskID(d.r.IntN(n))
		if s := d.e.st.taskState[t]; s == policy.TaskBlocked || s == policy.TaskDelayed || s == policy.TaskDone {
			events = append(events, Recovered(t))
		}
	}
	for m := range d.e.st.in.Machines {
		id := sched.MachineID(m)
		if touched[id] || d.r.IntN(4) > 0 {
			continue
		}
		switch {
		case d.down[id]:
			delete(d.down, id)
			events = append(events, Event{Kind: MachineJoined, Machine: id})
		case d.r.IntN(4) == 0:
			d.down[id] = true
			events = append(events, Event{Kind: MachineLost, Machine: id})
		}
	}
	if d.r.IntN(9) == 0 {
		events = append(events, Event{Kind: Solved, Solution: &policy.Solution{ID: 7, Fallback: d.r.IntN(2) == 0}})
	}
	d.r.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	d.history = append(d.history, instant{now, events})
	for _, ev := range events {
		d.step(now, ev)
	}
	d.step(now, Event{Kind: Wake})
}

func (d *driver) step(now sched.Time, ev Event) {
	d.t.Helper()
	actions, err := d.e.Step(now, ev)
	if err != nil {
		d.t.Fatalf("%+v at %v: %v", ev, now, err)
	}
	for _, a := range actions {
		switch {
		case a.Kind == StartTask:
			ev := Finished(a.Task, a.Attempt)
			ev.Machine = a.Machine
			d.running = append(d.running, ev)
		case a.Kind == StartFlow:
			d.running = append(d.running, Event{Kind: FlowFinished, Flow: a.Flow})
		case a.Kind == JoinGroup:
			ev := Event{Kind: FlowFinished, Flow: a.Flow}
			if a.Task != sched.None {
				ev = Finished(a.Task, a.Attempt)
				ev.Machine = sched.None
			}
			if !slices.Contains(d.running, ev) {
				d.running = append(d.running, ev)
			}
		}
	}
	d.each(d.e)
}

// replay runs a history on another engine, each instant's events in the order
// that permute gives, and calls each after every wake with its actions.
func replay(t testing.TB, e *Engine, history []instant, permute func([]Event), each func(i int, actions []Action)) {
	t.Helper()
	for i, at := range history {
		events := slices.Clone(at.events)
		permute(events)
		for _, ev := range append(events, Event{Kind: Wake}) {
			actions, err := e.Step(at.now, ev)
			if err != nil {
				t.Fatalf("instant %d: %v", i, err)
			}
			if ev.Kind == Wake {
				each(i, actions)
			}
		}
	}
}

func keep([]Event) {}

// differ returns the first line in which two texts differ.
func differ(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			return fmt.Sprintf("line %d\n%s\nnot\n%s", i, g[i], w[min(i, len(w)-1)])
		}
	}
	return fmt.Sprintf("only %d lines, not %d", len(g), len(w))
}

// dump is the whole state that can matter, as text.
func dump(e *Engine) string {
	st := e.st
	return fmt.Sprintf("%+v\n%+v\n%v %v\n%v %v %v %v %v %v %v %v\n%+v %v %v %v %v %v\n%v %v\n%+v %+v\n%v %v %v\n%v %v %v %+v",
		st.jobs, st.stages, st.known, st.reasons,
		st.taskState, st.taskAttempt, st.taskLost, st.flowState, st.taskRan, st.delayed, st.early, st.progress,
		st.machines, st.slotTask, st.slotSince, st.slotFree, st.free, st.idle,
		st.sourceBusy, st.sinkBusy,
		st.groups, st.shown,
		st.inputs.lastOn, st.inputs.arrival, st.inputs.due,
		st.running, st.unresolved, e.nextWake, st.visible.Instance)
}
