package check

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

const s = sched.Second

// example: job a maps on both machines, copies, reduces with input; job b waits
// for a; job c is released at 1 s and needs much.
//
//	fast (speed 2): slot 0  a/map.0 [0,2)   a/reduce [7,9)    b/only [9,10)
//	                slot 1  c/big [2,4)
//	slow (speed 1): slot 0  a/map.1 [0,3)
//	                flow a/copy slow -> fast [3,5)
func example() (*sched.Instance, *sched.Sizes, *sched.Schedule) {
	in := &sched.Instance{
		Resources: []string{"memory"},
		Machines: []sched.Machine{
			{Name: "fast", Speed: 2, Slots: 2, Capacity: []int64{4000}, Port: 4},
			{Name: "slow", Speed: 1, Slots: 1, Capacity: []int64{4000}, Port: 2},
		},
		Jobs: []sched.Job{
			{Name: "a", Weight: 2, Stages: []sched.Stage{
				{Name: "map", Count: 2, Needs: []int64{2000}},
				{Name: "copy", After: []int{0}, Flows: []sched.Flow{{From: 1, To: 0, Size: size.Exact(4)}}},
				{Name: "reduce", Count: 1, After: []int{0, 1}, Input: []sched.Input{{From: 0, Bytes: 16}}},
			}},
			{Name: "b", Weight: 1, After: []sched.JobID{0}, Stages: []sched.Stage{{Name: "only", Count: 1}}},
			{Name: "c", Weight: 4, Release: s, Stages: []sched.Stage{
				{Name: "big", Count: 1, Needs: []int64{3000}, Machines: []sched.MachineID{0}},
			}},
		},
	}
	z := sched.NewSizes(sched.NewIndex(in))
	z.SetEach(0, []float64{4, 3})
	z.SetAll(2, 4)
	z.SetAll(3, 2)
	z.SetAll(4, 4)
	return in, z, &sched.Schedule{
		Tasks: []sched.Placement{
			{Task: 0, Machine: 0, Slot: 0, Start: 0, Finish: 2 * s},
			{Task: 1, Machine: 1, Slot: 0, Start: 0, Finish: 3 * s},
			{Task: 4, Machine: 0, Slot: 1, Start: 2 * s, Finish: 4 * s},
			{Task: 2, Machine: 0, Slot: 0, Start: 7 * s, Finish: 9 * s}, // 3 s + (16/2 bytes)/(2 bytes/s)
			{Task: 3, Machine: 0, Slot: 0, Start: 9 * s, Finish: 10 * s},
		},
		Flows:      []sched.Transmission{{Flow: 0, Start: 3 * s, Finish: 5 * s}},
		Completion: []sched.Time{9 * s, 10 * s, 4 * s},
	}
}

func TestExample(t *testing.T) {
	in, z, sc := example()
	for _, opts := range []Options{{}, {Observed: true}} {
		got, err := Schedule(in, z, sc, opts)
		want := Report{WeightedCompletion: 2*9 + 10 + 4*4, WeightedFlowTime: 2*9 + 10 + 4*3, Makespan: 10 * s, Completed: 3}
		if err != nil || got != want {
			t.Errorf("%+v: got %+v, %v; want %+v", opts, got, err, want)
		}
	}
}

// shift moves a placement or a transmission in time.
func shift(start, finish *sched.Time, by sched.Time) { *start += by; *finish += by }

// One change per rule; each is reported by its name, and with the place.
func TestOneMutationPerRule(t *testing.T) {
	type mutation struct {
		rule   Rule
		says   string
		break_ func(in *sched.Instance, sc *sched.Schedule)
	}
	task := func(i int, change func(p *sched.Placement)) func(*sched.Instance, *sched.Schedule) {
		return func(_ *sched.Instance, sc *sched.Schedule) { change(&sc.Tasks[i]) }
	}
	for name, m := range map[string]mutation{
		"no such task":    {Range, "no task 9", task(0, func(p *sched.Placement) { p.Task = 9 })},
		"no such machine": {Range, "no machine 2", task(0, func(p *sched.Placement) { p.Machine = 2 })},
		"no such slot":    {Range, "job a, stage map, task 0, on machine fast: slot 2 of 2", task(0, func(p *sched.Placement) { p.Slot = 2 })},
		"backwards":       {Range, "runs from 2s to 1s", task(2, func(p *sched.Placement) { p.Finish = s })},
		"before time 0":   {Range, "runs from -1s", task(0, func(p *sched.Placement) { shift(&p.Start, &p.Finish, -s) })},
		"no such flow":    {Range, "no flow 1", func(_ *sched.Instance, sc *sched.Schedule) { sc.Flows[0].Flow = 1 }},
		"flow backwards":  {Range, "job a, stage copy, flow 0: runs from 6s", func(_ *sched.Instance, sc *sched.Schedule) { sc.Flows[0].Start = 6 * s }},
		"order": {Order, "job a, stage map, task 0", func(_ *sched.Instance, sc *sched.Schedule) {
			sc.Tasks[0], sc.Tasks[1] = sc.Tasks[1], sc.Tasks[0]
		}},
		"task missing": {Once, "job b, stage only: not all of it runs, but its job is recorded to complete at 10s", func(_ *sched.Instance, sc *sched.Schedule) {
			sc.Tasks = sc.Tasks[:4]
		}},
		"task twice": {Once, "job a, stage map, task 0, on machine fast: runs a second time, from 0s", func(_ *sched.Instance, sc *sched.Schedule) {
			sc.Tasks = slices.Insert(sc.Tasks, 1, sc.Tasks[0])
		}},
		"flow missing":   {Once, "job a, stage copy: not all of it runs", func(_ *sched.Instance, sc *sched.Schedule) { sc.Flows = nil }},
		"flow twice":     {Once, "flow 0: runs a second time", func(_ *sched.Instance, sc *sched.Schedule) { sc.Flows = append(sc.Flows, sc.Flows[0]) }},
		"too short":      {Length, "job c, stage big, task 0, on machine fast: takes 1.999999999s, but size 4 at speed 2 takes 2s", task(2, func(p *sched.Placement) { p.Start++ })},
		"too long":       {Length, "takes 2.000000001s", task(2, func(p *sched.Placement) { p.Start-- })},
		"wrong machine":  {Length, "size 4 at speed 1 takes 4s", task(0, func(p *sched.Placement) { p.Machine = 1 })},
		"flow too short": {Length, "takes 1.999999999s, but 4 bytes at 2 bytes/s take 2s", func(_ *sched.Instance, sc *sched.Schedule) { sc.Flows[0].Start++ }},
		"same slot":      {Overlap, "job c, stage big, task 0, on machine fast: starts at 1.999999999s in slot 0, which is held until 2s", task(2, func(p *sched.Placement) { p.Slot = 0; shift(&p.Start, &p.Finish, -1) })},
		"capacity":       {Capacity, "job c, stage big, task 0, on machine fast: at 1.999999999s it needs 3000 thousandths of memory, but 2000 of 4000", task(2, func(p *sched.Placement) { shift(&p.Start, &p.Finish, -1) })},
		"pin":            {Pin, "job c, stage big", func(in *sched.Instance, _ *sched.Schedule) { in.Jobs[2].Stages[0].Machines[0] = 1 }},
		"release":        {Release, "starts at 2s, before the release at 3s", func(in *sched.Instance, _ *sched.Schedule) { in.Jobs[2].Release = 3 * s }},
		"after a job":    {Precedence, "job b, stage only, task 0, on machine fast: starts at 8s, before job a finishes at 9s", task(4, func(p *sched.Placement) { p.Slot = 1; shift(&p.Start, &p.Finish, -s) })},
		"flow too early": {Precedence, "flow 0: starts at 2s, before stage map finishes at 3s", func(_ *sched.Instance, sc *sched.Schedule) { shift(&sc.Flows[0].Start, &sc.Flows[0].Finish, -s) }},
		"flow too late":  {Precedence, "stage reduce, task 0, on machine fast: starts at 7s, before stage copy finishes at 7.000000001s", func(_ *sched.Instance, sc *sched.Schedule) { shift(&sc.Flows[0].Start, &sc.Flows[0].Finish, 2*s+1) }},
		"input":          {Input, "starts at 6.999999999s, but its input from stage map is there at 7s", task(3, func(p *sched.Placement) { shift(&p.Start, &p.Finish, -1) })},
		"port":           {Port, "flow 1: starts at 4s, but the source port of slow is held until 5s", func(in *sched.Instance, sc *sched.Schedule) { secondFlow(in, sc, 1, 0) }},
		"sink port":      {Port, "flow 1: starts at 4s, but the sink port of fast is held until 5s", func(in *sched.Instance, sc *sched.Schedule) { secondFlow(in, sc, 0, 0) }},
		"completion":     {Completion, "job a: recorded as 8s, but its last task or flow finishes at 9s", func(_ *sched.Instance, sc *sched.Schedule) { sc.Completion[0] = 8 * s }},
		"wrongly never":  {Completion, "job a: recorded as never", func(_ *sched.Instance, sc *sched.Schedule) { sc.Completion[0] = sched.Never }},
		"completions":    {Completion, "2 completion times for 3 jobs", func(_ *sched.Instance, sc *sched.Schedule) { sc.Completion = sc.Completion[:2] }},
		"waits for never": {Precedence, "job b, stage only, task 0, on machine fast: starts at 9s, but not all of job a runs", func(_ *sched.Instance, sc *sched.Schedule) {
			sc.Tasks = slices.Delete(sc.Tasks, 3, 4)
			sc.Completion[0] = sched.Never
		}},
	} {
		in, z, sc := example()
		m.break_(in, sc)
		if m.rule != Order && m.rule != Range {
			slices.SortStableFunc(sc.Tasks, byStart)
		}
		switch name { // completions that follow from the change
		case "after a job":
			sc.Completion[1] -= s
		case "input":
			sc.Completion[0]--
		case "same slot", "capacity":
			sc.Completion[2]--
		}
		_, err := Schedule(in, z, sc, Options{})
		var v *Violation
		if !errors.As(err, &v) || v.Rule != m.rule || !strings.Contains(err.Error(), m.says) {
			t.Errorf("%s: got %v, want %s: ... %q", name, err, m.rule, m.says)
		}
	}
}

// secondFlow gives stage copy another flow, from 4 s on.
func secondFlow(in *sched.Instance, sc *sched.Schedule, from, to sched.MachineID) {
	st := &in.Jobs[0].Stages[1]
	st.Flows = append(st.Flows, sched.Flow{From: from, To: to, Size: size.Exact(4)})
	rate := sched.Time(2) * s
	if from == to {
		rate = s
	}
	sc.Flows = append(sc.Flows, sched.Transmission{Flow: 1, Start: 4 * s, Finish: 4*s + rate})
}

func TestJobsThatDidNotComplete(t *testing.T) {
	in, z, sc := example()
	sc.Tasks = sc.Tasks[:3] // no reduce, no b
	sc.Completion[0], sc.Completion[1] = sched.Never, sched.Never
	got, err := Schedule(in, z, sc, Options{})
	if want := (Report{WeightedCompletion: 16, WeightedFlowTime: 12, Makespan: 5 * s, Completed: 1}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestObservedTimes(t *testing.T) {
	in, _, sc := example()
	for i := range sc.Tasks { // everything takes what it took
		sc.Tasks[i].Finish -= sched.Time(i)
	}
	sc.Completion = []sched.Time{9*s - 3, 10*s - 4, 4*s - 2}
	sc.Tasks[3].Start = 5 * s // the data was there earlier than modelled
	if _, err := Schedule(in, nil, sc, Options{Observed: true}); err != nil {
		t.Error(err)
	}
	sc.Tasks[3].Start = 5*s - 1
	var v *Violation
	if _, err := Schedule(in, nil, sc, Options{Observed: true}); !errors.As(err, &v) || v.Rule != Precedence {
		t.Errorf("got %v, want a violation of precedence", err)
	}
}

func TestUnsupported(t *testing.T) {
	for says, break_ := range map[string]func(*sched.Instance, *sched.Sizes){
		"stage a/map has no realised sizes": func(_ *sched.Instance, z *sched.Sizes) { z.SetEach(0, nil) },
		"stage a/copy has a flow of random size": func(in *sched.Instance, _ *sched.Sizes) {
			in.Jobs[0].Stages[1].Flows[0].Size = size.Uniform{Low: 1, High: 2}
		},
		"stage a/map shares rates": func(in *sched.Instance, _ *sched.Sizes) { in.Jobs[0].Stages[0].Fluid = &sched.Fluid{} },
		"stage a/copy is a shuffle": func(in *sched.Instance, _ *sched.Sizes) {
			in.Jobs[0].Stages[1].Shuffle = &sched.Shuffle{To: 2, Size: size.Exact(1)}
		},
	} {
		in, z, sc := example()
		break_(in, z)
		_, err := Schedule(in, z, sc, Options{})
		if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
	in, z, sc := example()
	in.Machines[0].Speed = 0
	if _, err := Schedule(in, z, sc, Options{}); !errors.Is(err, sched.ErrInstance) {
		t.Errorf("an invalid instance: %v", err)
	}
}

// Drawn schedules are accepted; after a drawn change, exactly those are accepted
// that the slow twin accepts.
func TestAgreesWithTwin(t *testing.T) {
	accepted := 0
	rejected := map[Rule]int{}
	rapid.Check(t, func(t *rapid.T) {
		in, z := drawInstance(t)
		w := twin{in, sched.NewIndex(in), z}
		sc := w.schedule(t)
		if !w.valid(sc) {
			t.Fatalf("the test's own schedule is not valid")
		}
		rep, err := Schedule(in, z, sc, Options{})
		if err != nil {
			t.Fatalf("a valid schedule: %v", err)
		}
		cost := 0.0
		for j, c := range sc.Completion {
			cost += in.Jobs[j].Weight * c.Seconds()
		}
		if math.Abs(cost-rep.WeightedCompletion) > 1e-9*(1+cost) || rep.Completed != len(in.Jobs) {
			t.Fatalf("%+v, but the cost is %v", rep, cost)
		}
		for range 8 {
			bad := change(t, w, sc)
			_, err := Schedule(in, z, bad, Options{})
			if w.valid(bad) != (err == nil) {
				t.Fatalf("valid: %v, but check says: %v", w.valid(bad), err)
			}
			var v *Violation
			if errors.As(err, &v) {
				rejected[v.Rule]++
			} else {
				accepted++
			}
		}
	})
	if accepted == 0 {
		t.Error("no changed schedule was valid")
	}
	for _, r := range []Rule{Range, Order, Once, Length, Overlap, Capacity, Pin, Release, Precedence, Input, Port, Completion} {
		if rejected[r] == 0 {
			t.Errorf("rule %q was never broken: %v", r, rejected)
		}
	}
}

// change returns a changed copy of sc, repaired in some respects, so that a
// change to one task is not always given away by another rule.
func change(t *rapid.T, w twin, sc *sched.Schedule) *sched.Schedule {
	out := &sched.Schedule{Tasks: slices.Clone(sc.Tasks), Flows: slices.Clone(sc.Flows), Completion: slices.Clone(sc.Completion)}
	by := rapid.SampledFrom([]sched.Time{1, -1, s, -s, 2 * s, -2 * s, 10 * s, s / 2}).Draw(t, "by")
	if len(out.Flows) > 0 && (len(out.Tasks) == 0 || rapid.IntRange(0, 2).Draw(t, "flow") == 0) {
		f := &out.Flows[rapid.IntRange(0, len(out.Flows)-1).Draw(t, "which")]
		switch rapid.IntRange(0, 4).Draw(t, "how") {
		case 0:
			f.Finish += by
		case 1:
			f.Flow = sched.FlowID(rapid.IntRange(-1, w.x.Flows()).Draw(t, "to"))
		default:
			shift(&f.Start, &f.Finish, by)
		}
	} else if len(out.Tasks) > 0 {
		i := rapid.IntRange(0, len(out.Tasks)-1).Draw(t, "which")
		p := &out.Tasks[i]
		switch rapid.IntRange(0, 9).Draw(t, "how") {
		case 0:
			p.Finish += by
		case 1:
			out.Tasks = slices.Delete(out.Tasks, i, i+1)
		case 2:
			q := &out.Tasks[rapid.IntRange(0, len(out.Tasks)-1).Draw(t, "with")]
			p.Task, q.Task = q.Task, p.Task
		case 3:
			p.Task = sched.TaskID(rapid.IntRange(-1, w.x.Tasks()).Draw(t, "to"))
		case 4:
			p.Slot = int32(rapid.IntRange(-1, 2).Draw(t, "to"))
		case 5:
			p.Machine = sched.MachineID(rapid.IntRange(-1, len(w.in.Machines)).Draw(t, "to"))
		case 6:
			p.Machine = sched.MachineID(rapid.IntRange(0, len(w.in.Machines)-1).Draw(t, "to"))
			if p.Task >= 0 {
				p.Finish = p.Start + sched.Duration(w.z.Of(w.x.TaskStage(p.Task), p.Task), w.in.Machines[p.Machine].Speed)
			}
		default:
			shift(&p.Start, &p.Finish, by)
		}
	}
	if rapid.IntRange(0, 5).Draw(t, "sort") > 0 {
		slices.SortFunc(out.Tasks, byStart)
	}
	switch rapid.IntRange(0, 5).Draw(t, "completion") {
	case 0:
		out.Completion[rapid.IntRange(0, len(out.Completion)-1).Draw(t, "job")] = rapid.SampledFrom([]sched.Time{sched.Never, 0, s}).Draw(t, "as")
	case 1:
	default:
		w.complete(out)
	}
	return out
}

// complete sets the completion times that follow.
func (w twin) complete(sc *sched.Schedule) {
	left := make([]int, len(w.in.Jobs))
	for st := range sched.StageID(w.x.Stages()) {
		left[w.x.StageJob(st)] += w.x.Stage(st).Count + len(w.x.Stage(st).Flows)
	}
	last := make([]sched.Time, len(w.in.Jobs))
	note := func(st sched.StageID, finish sched.Time) {
		j := w.x.StageJob(st)
		left[j]--
		last[j] = max(last[j], finish)
	}
	for _, p := range sc.Tasks {
		if p.Task >= 0 && int(p.Task) < w.x.Tasks() {
			note(w.x.TaskStage(p.Task), p.Finish)
		}
	}
	for _, f := range sc.Flows {
		if f.Flow >= 0 && int(f.Flow) < w.x.Flows() {
			note(w.x.FlowStage(f.Flow), f.Finish)
		}
	}
	for j := range last {
		if sc.Completion[j] = last[j]; left[j] > 0 {
			sc.Completion[j] = sched.Never
		}
	}
}

// large returns a schedule of n tasks in stages of 1000, back to back on 1000
// machines, with needs, pins and input.
func large(n int) (*sched.Instance, *sched.Sizes, *sched.Schedule) {
	const machines = 1000
	in := &sched.Instance{Resources: []string{"cpu"}}
	var all []sched.MachineID
	for m := range machines {
		in.Machines = append(in.Machines, sched.Machine{Name: fmt.Sprint("m", m), Speed: 1, Slots: 1, Capacity: []int64{1000}, Port: 1e9})
		all = append(all, sched.MachineID(m))
	}
	stages := n / machines
	sc := &sched.Schedule{}
	for j := range stages / 2 {
		in.Jobs = append(in.Jobs, sched.Job{Name: fmt.Sprint("j", j), Weight: 1, Stages: []sched.Stage{
			{Name: "map", Count: machines, Needs: []int64{1000}, Machines: all},
			{Name: "reduce", Count: machines, Needs: []int64{1000}, After: []int{0}, Input: []sched.Input{{From: 0, Bytes: 1e6}}},
		}})
		sc.Completion = append(sc.Completion, sched.Time(2*j+2)*2*s)
	}
	z := sched.NewSizes(sched.NewIndex(in))
	for st := range stages {
		z.SetAll(sched.StageID(st), 1)
		for k := range machines {
			start := sched.Time(st) * 2 * s
			sc.Tasks = append(sc.Tasks, sched.Placement{Task: sched.TaskID(st*machines + k), Machine: sched.MachineID((k + st) % machines), Start: start, Finish: start + s})
		}
	}
	for j := range sc.Completion {
		sc.Completion[j] -= s
	}
	return in, z, sc
}

// A million tasks take about a second; the limit leaves room for the race
// detector and a busy machine.
func TestMillionTasks(t *testing.T) {
	if testing.Short() {
		t.Skip("a million tasks")
	}
	in, z, sc := large(1_000_000)
	begin := time.Now()
	rep, err := Schedule(in, z, sc, Options{})
	if err != nil || rep.Completed != 500 {
		t.Fatalf("%+v, %v", rep, err)
	}
	if d := time.Since(begin); d > 30*time.Second {
		t.Errorf("a million tasks take %v", d)
	}
	last := len(sc.Tasks) - 1
	sc.Tasks[last].Machine = sc.Tasks[last-1].Machine
	var v *Violation
	if _, err := Schedule(in, z, sc, Options{}); !errors.As(err, &v) || v.Rule != Overlap {
		t.Errorf("the last task on an occupied machine: %v", err)
	}
}

func BenchmarkSchedule(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			in, z, sc := large(n)
			for b.Loop() {
				if _, err := Schedule(in, z, sc, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// leaveOneOut against the obvious maximum.
func TestLeaveOneOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type entry struct {
			m sched.MachineID
			t sched.Time
		}
		list := rapid.SliceOf(rapid.Custom(func(t *rapid.T) entry {
			return entry{sched.MachineID(rapid.IntRange(0, 3).Draw(t, "m")), sched.Time(rapid.IntRange(0, 5).Draw(t, "t"))}
		})).Draw(t, "list")
		l := nobody
		for _, e := range list {
			l.add(e.m, e.t)
		}
		for m := range sched.MachineID(5) {
			want := sched.Time(-1)
			for _, e := range list {
				if e.m != m {
					want = max(want, e.t)
				}
			}
			if got := l.without(m); got != want {
				t.Fatalf("without %d: %v, want %v", m, got, want)
			}
		}
	})
}
