package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/policy/dag"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

func rng(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 99)) }

func knowledge(seed uint64) policy.Knowledge {
	return policy.Knowledge{Sizes: policy.SizeKnowledge(seed % 3), Arrivals: policy.Arrivals(seed / 3 % 2)}
}

// After every event, whatever happened, the counters must agree with what follows
// from the states of the tasks alone; and in the end everything is done.
func TestConservation(t *testing.T) {
	failed, notRun := 0, 0
	for seed := range uint64(400) {
		r := rng(seed)
		e := newEngine(t, config(randomInstance(r), &chaos{}, knowledge(seed), seed))
		d := newDriver(t, e, r, nil)
		d.each = func(e *Engine) {
			if err := consistent(e); err != nil {
				t.Fatalf("seed %d at %v: %v", seed, e.now, err)
			}
		}
		d.run()
		for j := range e.st.in.Jobs {
			switch state, at := e.Job(sched.JobID(j)); state {
			case policy.JobDone:
				if at == sched.Never {
					t.Errorf("seed %d: job %d is done, but never", seed, j)
				}
			case policy.JobFailed:
				failed++
			case policy.JobNotRun:
				notRun++
			default:
				t.Errorf("seed %d: job %d ends %v", seed, j, state)
			}
		}
	}
	if failed < 20 || notRun < 10 {
		t.Errorf("only %d jobs failed and %d were not run: the test tests little", failed, notRun)
	}
}

// consistent recomputes everything that is counted from the states of tasks,
// flows, slots and machines.
func consistent(e *Engine) error {
	st, v := e.st, (*view)(e.st)
	inSlot := map[sched.TaskID]bool{}
	for m := range st.in.Machines {
		mach, taken := &st.in.Machines[m], 0
		free := slices.Clone(mach.Capacity)
		for k := range int32(mach.Slots) {
			g := st.slotFirst[m] + k
			t := st.slotTask[g]
			if (st.slotFree[g/64]>>(g%64)&1 == 1) != (t == sched.None) {
				return fmt.Errorf("slot %d: bit set and task %d disagree", g, t)
			}
			if t == sched.None {
				continue
			}
			s := st.x.TaskStage(t)
			switch stage := st.x.Stage(s); {
			case st.taskState[t] != policy.TaskRunning || inSlot[t]:
				return fmt.Errorf("task %d is in slot %d, state %v", t, g, st.taskState[t])
			case !st.machines[m].up:
				return fmt.Errorf("task %d runs on machine %d, which is down", t, m)
			case stage.Machines != nil && !slices.Contains(stage.Machines, sched.MachineID(m)):
				return fmt.Errorf("task %d runs on machine %d against its pin", t, m)
			default:
				for d, n := range stage.Needs {
					free[d] -= n
				}
			}
			inSlot[t] = true
			taken++
		}
		for d, n := range free {
			if n < 0 || n != v.Free(sched.MachineID(m), d) {
				return fmt.Errorf("machine %d: resource %d: %d free, engine says %d", m, d, n, v.Free(sched.MachineID(m), d))
			}
		}
		got := v.Machine(sched.MachineID(m))
		if got.FreeSlots != mach.Slots-taken {
			return fmt.Errorf("machine %d: %d slots taken, %d free", m, taken, got.FreeSlots)
		}
		r := slices.Index(v.BySpeed(), sched.MachineID(m))
		if (v.Idle(r) == r) != (got.Up && got.FreeSlots > 0) {
			return fmt.Errorf("machine %d: idle set is wrong", m)
		}
	}
	inGroup := func(a activity) bool { return st.groups.member != nil && st.groups.member[a].group != 0 }
	running := 0
	for t := range sched.TaskID(st.x.Tasks()) {
		in, run := inGroup(activity(t)), st.taskState[t] == policy.TaskRunning
		if in && inSlot[t] || run != (in || inSlot[t]) {
			return fmt.Errorf("task %d: %v, in slot %v, in group %v", t, st.taskState[t], inSlot[t], in)
		}
		if run {
			running++
		}
	}
	source, sink := make([]int, len(st.in.Machines)), make([]int, len(st.in.Machines))
	for f := range sched.FlowID(st.x.Flows()) {
		in, run := inGroup(activity(st.x.Tasks())+activity(f)), st.flowState[f] == policy.TaskRunning
		if in && !run {
			return fmt.Errorf("flow %d is in a group, but %v", f, st.flowState[f])
		}
		if run {
			running++
		}
		if run && !in {
			source[st.flow(f).From]++
			sink[st.flow(f).To]++
		}
	}
	for m := range source {
		if source[m] > 1 || sink[m] > 1 || st.sourceBusy[m] != (source[m] == 1) || st.sinkBusy[m] != (sink[m] == 1) {
			return fmt.Errorf("machine %d: %d flows leave, %d arrive, engine says %v, %v", m, source[m], sink[m], st.sourceBusy[m], st.sinkBusy[m])
		}
	}
	if running != e.Running() {
		return fmt.Errorf("%d run, engine says %d", running, e.Running())
	}
	for t := range st.progress {
		if st.taskState[t] != policy.TaskRunning {
			return fmt.Errorf("task %d has progress, but is %v", t, st.taskState[t])
		}
	}
	for _, t := range st.early {
		if st.jobs[st.x.StageJob(st.x.TaskStage(t))].arrived {
			return fmt.Errorf("task %d is kept to be recovered though its job has arrived", t)
		}
	}
	return consistentJobs(st)
}

func consistentJobs(st *state) error {
	unresolved := 0
	whole := func(s sched.StageID) bool { // all of s has succeeded
		t, end := st.x.StageTasks(s)
		f, last := st.x.StageFlows(s)
		notDone := func(u policy.TaskState) bool { return u != policy.TaskDone }
		return st.stages[s].ready && !slices.ContainsFunc(st.taskState[t:end], notDone) && !slices.ContainsFunc(st.flowState[f:last], notDone)
	}
	for j := range st.in.Jobs {
		job := &st.jobs[j]
		waits, running, left, pending, delays := int32(0), int32(0), int32(0), 0, 0
		for _, a := range st.in.Jobs[j].After {
			if st.jobs[a].state != policy.JobDone {
				waits++
			}
		}
		first, end := st.x.JobStages(sched.JobID(j))
		for s := first; s < end; s++ {
			t, tEnd := st.x.StageTasks(s)
			f, fEnd := st.x.StageFlows(s)
			count := map[policy.TaskState]int{}
			for _, u := range append(slices.Clone(st.taskState[t:tEnd]), st.flowState[f:fEnd]...) {
				count[u]++
			}
			got := (*view)(st).Stage(s)
			delayed := count[policy.TaskDelayed]
			if delayed != int(st.stages[s].delayed) {
				return fmt.Errorf("stage %d: %v, engine says %d are delayed", s, count, st.stages[s].delayed)
			}
			if !st.stages[s].cancelled {
				delays += delayed
			}
			if got.Running != count[policy.TaskRunning] || got.Done != count[policy.TaskDone] || got.Ready && got.Pending != count[policy.TaskBlocked] || !got.Ready && got.Pending != 0 {
				return fmt.Errorf("stage %d: %v, engine says %+v", s, count, got)
			}
			before := int32(0)
			for _, a := range st.x.Stage(s).After {
				if !whole(first + sched.StageID(a)) {
					before++
				}
			}
			startable := before == 0 && job.arrived && waits == 0 && job.state != policy.JobNotRun
			if before != st.stages[s].waitsFor || st.stages[s].ready && !startable || startable && !st.stages[s].ready && !st.stages[s].cancelled {
				return fmt.Errorf("stage %d waits for %d stages and %d jobs, engine says %+v", s, before, waits, st.stages[s])
			}
			if !whole(s) {
				left++
			}
			running += int32(got.Running)
			pending += got.Pending
		}
		switch {
		case waits != job.waitsFor || running != job.running || left != job.stagesLeft:
			return fmt.Errorf("job %d waits for %d, runs %d, has %d stages left, engine says %+v", j, waits, running, left, *job)
		case (job.state == policy.JobDone) != (left == 0):
			return fmt.Errorf("job %d has %d stages left and is %v", j, left, job.state)
		case job.state == policy.JobFailed && (running > 0 || pending > 0 || delays > 0):
			return fmt.Errorf("job %d has failed, but %d run and %d could", j, running, pending)
		case job.state == policy.JobActive && running == 0 && pending == 0 && delays == 0:
			return fmt.Errorf("job %d is active, but nothing of it can run", j)
		}
		if job.state == policy.JobWaiting || job.state == policy.JobActive {
			unresolved++
		}
	}
	if unresolved != st.unresolved {
		return fmt.Errorf("%d jobs unresolved, engine says %d", unresolved, st.unresolved)
	}
	return nil
}

// The events of an instant may come in any order: the same state, the same
// decisions then and ever after.
func TestSimultaneousEventsCommute(t *testing.T) {
	policies := []func() policy.Policy{func() policy.Policy { return &chaos{} }, dag.NewFIFO, dag.NewRandom, dag.NewWSPT}
	ties := 0
	for seed := range uint64(200) {
		r := rng(seed)
		in := randomInstance(r)
		k := policy.Knowledge{Sizes: policy.SizesExact, Arrivals: policy.Arrivals(seed % 2)}
		p := policies[seed/2%4]
		if seed/2%4 != 0 {
			withoutFlows(in) // those policies start none
		}
		e := newEngine(t, config(in, p(), k, seed))
		d := newDriver(t, e, r, nil)
		d.run()
		var want []string
		changed := ""
		see := func(p policy.Policy) policy.Policy {
			return watched{p, func(v policy.View) { changed = fmt.Sprint(v.Changed(), v.Known()) }, func(policy.View) {}}
		}
		replay(t, newEngine(t, config(in, see(p()), k, seed)), d.history, keep, func(i int, a []Action) {
			if n := len(d.history[i].events); n > 1 {
				ties++
			}
			want = append(want, changed+show(a))
			changed = "" // not every wake is a round
		})
		final := dump(e)
		for range 8 { // most instants have two or three events
			twin := newEngine(t, config(in, see(p()), k, seed))
			shuffle := func(ev []Event) { r.Shuffle(len(ev), func(i, j int) { ev[i], ev[j] = ev[j], ev[i] }) }
			replay(t, twin, d.history, shuffle, func(i int, a []Action) {
				got := changed + show(a)
				if changed = ""; got != want[i] {
					t.Fatalf("seed %d: at %v, another order of %+v gives\n%s, not\n%s", seed, d.history[i].now, d.history[i].events, got, want[i])
				}
			})
			if got := dump(twin); got != final {
				t.Fatalf("seed %d: another order gives another state: %s", seed, differ(got, final))
			}
		}
	}
	if ties < 500 {
		t.Errorf("only %d instants with several events: the test tests little", ties)
	}
}

// All orders of the events of the last instant of many histories, state compared
// at once.
func TestAllPermutationsOfAnInstant(t *testing.T) {
	compared := 0
	for seed := range uint64(300) {
		r := rng(seed)
		in := randomInstance(r)
		k := policy.Knowledge{Sizes: policy.SizesExact}
		d := newDriver(t, newEngine(t, config(in, &chaos{}, k, seed)), r, nil)
		d.run()
		for i := range d.history {
			if n := len(d.history[i].events); n < 2 || n > 4 || r.IntN(3) > 0 {
				continue
			}
			states := map[string]bool{}
			permutations(d.history[i].events, func(events []Event) {
				e := newEngine(t, config(in, &chaos{}, k, seed))
				h := append(slices.Clone(d.history[:i]), instant{d.history[i].now, events})
				replay(t, e, h, keep, func(int, []Action) {})
				states[dump(e)] = true
				compared++
			})
			if len(states) != 1 {
				t.Fatalf("seed %d: the orders of %+v lead to %d states", seed, d.history[i].events, len(states))
			}
			break
		}
	}
	if compared < 600 {
		t.Errorf("only %d orders compared: the test tests little", compared)
	}
}

func permutations(s []Event, each func([]Event)) {
	var rec func(int)
	s = slices.Clone(s)
	rec = func(i int) {
		if i == len(s) {
			each(slices.Clone(s))
		}
		for k := i; k < len(s); k++ {
			s[i], s[k] = s[k], s[i]
			rec(i + 1)
			s[i], s[k] = s[k], s[i]
		}
	}
	rec(0)
}

func show(actions []Action) string {
	var b strings.Builder
	for _, a := range actions {
		if a.Request != nil {
			fmt.Fprintf(&b, "solve %d ", a.Request.ID)
			a.Request = nil
		}
		fmt.Fprintf(&b, "%+v ", a)
	}
	return b.String()
}

func withoutFlows(in *sched.Instance) {
	for j := range in.Jobs {
		for s := range in.Jobs[j].Stages {
			if st := &in.Jobs[j].Stages[s]; st.Flows != nil {
				*st = sched.Stage{Name: st.Name, After: st.After, Count: 1, Sizes: []size.Dist{size.Exact(1)}, Retries: st.Retries}
			}
		}
	}
}

// watched calls see before and after each decision.
type watched struct {
	policy.Policy
	before, after func(policy.View)
}

func (w watched) Decide(now sched.Time, v policy.View, r *rand.Rand) (policy.Decision, error) {
	w.before(v)
	d, err := w.Policy.Decide(now, v, r)
	w.after(v)
	return d, err
}

// No policy changes anything of its View, nor of the instance.
func TestPoliciesLeaveTheViewAlone(t *testing.T) {
	for _, p := range []func() policy.Policy{func() policy.Policy { return &chaos{} }, dag.NewFIFO, dag.NewRandom, dag.NewWSPT} {
		rounds := 0
		for seed := range uint64(12) {
			r := rng(seed)
			in := randomInstance(r)
			withoutFlows(in)
			var e *Engine
			var before string
			w := watched{
				p(),
				func(v policy.View) { before = dump(e) + dumpView(v) },
				func(v policy.View) {
					if after := dump(e) + dumpView(v); after != before {
						t.Fatalf("seed %d: %T changed its View: %s", seed, p(), differ(after, before))
					}
					rounds++
				},
			}
			e = newEngine(t, config(in, w, policy.Knowledge{Sizes: policy.SizesExact}, seed))
			newDriver(t, e, r, nil).run()
		}
		if rounds < 50 {
			t.Errorf("%T: only %d rounds", p(), rounds)
		}
	}
}

// dumpView calls every method of the View for everything there is.
func dumpView(v policy.View) string {
	var b strings.Builder
	x := *v.Index()
	in := x.Instance
	x.Instance = nil // printed below, not its address
	fmt.Fprintf(&b, "%+v\n%v\n%+v\n%v\n%v\n%v\n%+v %v\n", x, v.Knowledge(), v.Estimates(), v.Known(), v.Changed(), v.BySpeed(), v.Solution(), v.Outages())
	for m := range in.Machines {
		fmt.Fprintf(&b, "%+v ", in.Machines[m])
	}
	for j := range in.Jobs {
		fmt.Fprintf(&b, "%+v %v %v\n", in.Jobs[j], v.Job(sched.JobID(j)), v.Remaining(sched.JobID(j)))
		for s := range in.Jobs[j].Stages {
			fmt.Fprintf(&b, "%+v\n", in.Jobs[j].Stages[s])
		}
	}
	for s := range sched.StageID(x.Stages()) {
		fmt.Fprintf(&b, "%+v", v.Stage(s))
		for m := range sched.MachineID(len(in.Machines)) {
			fmt.Fprintf(&b, " %v %v", v.Fits(s, m), v.InputReady(s, m))
		}
		for t, end := x.StageTasks(s); t < end; t++ {
			first, last, marked := v.Progress(t)
			observed, ran := v.Observed(t)
			fmt.Fprintf(&b, " %v %v %v %v %v %v %v", v.Task(t), v.Attained(policy.Activity{Task: t, Flow: sched.None}), first, last, marked, observed, ran)
		}
		for f, end := x.StageFlows(s); f < end; f++ {
			fmt.Fprintf(&b, " %v %v %v", v.Flow(f), v.PortsFree(f), v.Attained(policy.Activity{Task: sched.None, Flow: f}))
		}
		fmt.Fprintln(&b)
	}
	for m := range sched.MachineID(len(in.Machines)) {
		fmt.Fprintf(&b, "%v %v", v.Idle(int(m)), v.Machine(m))
		for d := range in.Resources {
			fmt.Fprintf(&b, " %v", v.Free(m, d))
		}
		for k := range int32(in.Machines[m].Slots) {
			t, since := v.Slot(m, k)
			fmt.Fprintf(&b, " %v %v", t, since)
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

// viewMethods is how many methods of policy.View dumpView calls.
const viewMethods = 23

func TestDumpViewIsComplete(t *testing.T) {
	if n := reflect.TypeFor[policy.View]().NumMethod(); n != viewMethods {
		t.Errorf("the View has %d methods: let dumpView call them all, then set viewMethods", n)
	}
}

// Nothing that a policy may not know can be seen in its View: the Views of two
// instances that differ only in that are equal in every round.
func TestViewHidesWhatIsUnknown(t *testing.T) {
	rounds := 0
	for seed := range uint64(100) {
		r := rng(seed)
		in := randomInstance(r)
		k := policy.Knowledge{Sizes: []policy.SizeKnowledge{policy.SizesUnknown, policy.SizesExact}[seed%2]}
		late := map[sched.JobID]bool{}
		for j := range in.Jobs {
			late[sched.JobID(j)] = j > 0 && r.IntN(2) == 0 ||
				slices.ContainsFunc(in.Jobs[j].After, func(a sched.JobID) bool { return late[a] })
		}
		var views []string
		see := func(p policy.Policy) policy.Policy {
			return watched{p, func(v policy.View) { views = append(views, dumpView(v)) }, func(policy.View) {}}
		}
		d := newDriver(t, newEngine(t, config(in, see(&chaos{}), k, seed)), r, late)
		d.run()
		want := views
		views = nil
		other := disguised(r, in, late, k.Sizes == policy.SizesUnknown)
		replay(t, newEngine(t, config(other, see(&chaos{}), k, seed)), d.history, keep, func(int, []Action) {})
		if len(views) != len(want) {
			t.Fatalf("seed %d: %d rounds, not %d", seed, len(views), len(want))
		}
		for i := range views {
			if views[i] != want[i] {
				t.Fatalf("seed %d: round %d shows something else: %s", seed, i, differ(views[i], want[i]))
			}
		}
		rounds += len(views)
	}
	if rounds < 500 {
		t.Errorf("only %d rounds: the test tests little", rounds)
	}
}

// disguised returns in with everything changed about the late jobs but how many
// stages, tasks and flows they have, and with other sizes.
func disguised(r *rand.Rand, in *sched.Instance, late map[sched.JobID]bool, sizes bool) *sched.Instance {
	out := *in
	out.Jobs = slices.Clone(in.Jobs)
	for j := range out.Jobs {
		job := &out.Jobs[j]
		job.Stages = slices.Clone(job.Stages)
		if late[sched.JobID(j)] {
			job.Name, job.Weight, job.Release, job.Tenant = "other", 17, 42*sched.Second, "someone"
			job.After = nil
			if j > 0 && r.IntN(2) == 0 {
				job.After = []sched.JobID{sched.JobID(r.IntN(j))}
			}
		}
		for s := range job.Stages {
			st := &job.Stages[s]
			if late[sched.JobID(j)] {
				st.Name, st.Needs, st.Machines, st.Input, st.After, st.Retries = "other", []int64{1, 1}, nil, nil, nil, 5
				st.Flows = slices.Clone(st.Flows)
				for i := range st.Flows {
					st.Flows[i].From, st.Flows[i].To = st.Flows[i].To, 0
				}
			}
			if sizes || late[sched.JobID(j)] {
				if st.Count > 0 {
					st.Sizes = []size.Dist{size.Exact(100 * r.Float64())}
				}
				st.Flows = slices.Clone(st.Flows)
				for i := range st.Flows {
					st.Flows[i].Size = size.Exact(1000)
				}
			}
		}
	}
	return &out
}

// wild decides and reports whatever the bytes say, legal or not.
type wild struct{ bytes []byte }

func (w *wild) next(n int) int32 {
	if len(w.bytes) == 0 {
		return sched.None
	}
	b := w.bytes[0]
	w.bytes = w.bytes[1:]
	return int32(int(b)%(n+2)) - 1 // one below and one above what there is, too
}

func (w *wild) Decide(now sched.Time, v policy.View, r *rand.Rand) (d policy.Decision, err error) {
	if w.next(6) > 1 {
		return (&chaos{}).Decide(now, v, r)
	}
	x := v.Index()
	m := len(x.Instance.Machines)
	for range w.next(3) {
		switch w.next(6) {
		case 0:
			d.Start = append(d.Start, policy.Start{Task: sched.TaskID(w.next(x.Tasks())), Machine: sched.MachineID(w.next(m)), Slot: w.next(3)})
		case 1:
			d.Flows = append(d.Flows, sched.FlowID(w.next(x.Flows())))
		case 2:
			d.Join = append(d.Join, policy.Join{
				Activity: policy.Activity{Task: sched.TaskID(w.next(x.Tasks())), Flow: sched.FlowID(w.next(x.Flows()))},
				Group:    policy.GroupID(w.next(3)), Share: float64(w.next(2)),
			})
		case 3:
			d.Rates = append(d.Rates, policy.GroupRate{Group: policy.GroupID(w.next(3)), Rate: []float64{-1, 0, 1, math.NaN(), math.Inf(1)}[w.next(3)+1]})
		case 4:
			d.Reasons = append(d.Reasons, policy.Reason{
				Job: sched.JobID(w.next(len(x.Instance.Jobs))), Code: policy.ReasonCode(w.next(5)),
				Behind: sched.JobID(w.next(len(x.Instance.Jobs))), Machine: sched.MachineID(w.next(m)),
			})
		default:
			d.Wake, d.Solve = now+sched.Time(w.next(9)), &policy.Request{ID: w.next(3)}
		}
	}
	return d, nil
}

// FuzzStep: no sequence of events and decisions makes the engine panic, and as
// long as it takes them, it stays consistent.
func FuzzStep(f *testing.F) {
	r := rng(1)
	for seed := range uint64(40) {
		b := make([]byte, 300)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		f.Add(seed, b)
	}
	f.Fuzz(func(t *testing.T, seed uint64, events []byte) {
		r := rng(seed)
		in := randomInstance(r)
		w := &wild{}
		e := newEngine(t, config(in, w, knowledge(seed), seed))
		w.bytes = events
		now := sched.Time(0)
		for len(w.bytes) > 0 {
			ev := Event{Kind: Wake}
			if w.next(2) != 0 {
				ev.Kind = EventKind(w.next(8) + 1)
			}
			switch ev.Kind {
			case JobArrived:
				ev.Job = sched.JobID(w.next(len(in.Jobs)))
			case TaskFinished, TaskFailed:
				ev.Task, ev.Attempt = sched.TaskID(w.next(e.Index().Tasks())), w.next(3)
			case FlowFinished:
				ev.Flow = sched.FlowID(w.next(e.Index().Flows()))
			case MachineLost, MachineJoined:
				ev.Machine = sched.MachineID(w.next(len(in.Machines)))
			case Solved:
				if w.next(5) >= 0 {
					ev.Solution = &policy.Solution{ID: w.next(4), Order: []sched.StageID{sched.StageID(w.next(e.Index().Stages()))}}
				}
			}
			_, err := e.Step(now, ev)
			_ = e.Digest()
			for j := range in.Jobs {
				_ = e.Explain(sched.JobID(j))
			}
			if err != nil {
				if _, again := e.Step(now, Event{Kind: Wake}); again != err {
					t.Fatalf("after the error %v the engine goes on", err)
				}
				return
			}
			if err := consistent(e); err != nil {
				t.Fatal(err)
			}
			now += sched.Time(w.next(3))
		}
	})
}
