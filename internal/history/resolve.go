package history

import (
	"context"
	"math"
	"slices"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// Memory is the resource that learnt needs are of, in bytes.
const Memory = "memory"

// speedRuns is how many of the latest runs, of whatever workload, are looked at for
// speeds that the stages at hand do not show.
const speedRuns = 50

// Learned says what an instance has taken from the history.
type Learned struct {
	// Runs is how many runs the sizes come from, of the stage that has been run most often.
	Runs int
	// Sizes and Memory list stages that have their sizes or needs of memory from it.
	Sizes, Memory []sched.StageID
	// Speeds lists the machines that have their speeds from it.
	Speeds []sched.MachineID
	// Estimates is all that was learnt.
	Estimates *Estimates
}

// Resolve returns a copy of the instance in which what the workload leaves open is as
// learnt from the history: sizes, speeds, and, if budget is positive, needs of memory.
// budget is what all machines together may use, in bytes; machines that state no memory
// share it in proportion to their slots. A learnt need is never more than some machine
// that the task may run on has, so that every task can run.
//
// A stage is recognised by the names of its job and itself; where the history has it
// from workloads of this name and of others, those of this name count. The result is
// valid if the instance is.
func Resolve(ctx context.Context, in *sched.Instance, db *DB, budget int64) (*sched.Instance, *Learned, error) {
	x := sched.NewIndex(in)
	var keys []Key
	for s := range sched.StageID(x.Stages()) {
		if x.Stage(s).Count > 0 {
			keys = append(keys, Key{in.Jobs[x.StageJob(s)].Name, x.Stage(s).Name})
		}
	}
	attempts, err := db.Of(ctx, in.Name, keys)
	if err != nil {
		return nil, nil, err
	}
	if uncompared(in, attempts) {
		others, err := db.Recent(ctx, speedRuns)
		if err != nil {
			return nil, nil, err
		}
		attempts = append(without(others, keys), attempts...)
	}
	out, l := Apply(in, Learn(attempts, optionsFor(x)), budget)
	if err := out.Validate(); err != nil {
		return nil, nil, err
	}
	return out, l, nil
}

// without leaves out the attempts of the given stages.
func without(attempts []Attempt, keys []Key) []Attempt {
	drop := map[Key]bool{}
	for _, k := range keys {
		drop[k] = true
	}
	return slices.DeleteFunc(attempts, func(a Attempt) bool { return drop[Key{a.Job, a.Stage}] })
}

// uncompared reports whether a machine whose speed is open has not run any stage that
// another machine of the instance has run too.
func uncompared(in *sched.Instance, attempts []Attempt) bool {
	open := false
	here := map[string]bool{}
	for i := range in.Machines {
		here[in.Machines[i].Name] = true
		open = open || in.Machines[i].SpeedAssumed
	}
	if !open || len(here) < 2 {
		return false
	}
	first := map[Key]string{}
	compared := map[string]bool{}
	for i := range attempts {
		a := &attempts[i]
		if a.State != Done || !here[a.Machine] {
			continue
		}
		switch k := (Key{a.Job, a.Stage}); {
		case first[k] == "":
			first[k] = a.Machine
		case first[k] != a.Machine:
			compared[first[k]], compared[a.Machine] = true, true
		}
	}
	return len(compared) < len(here)
}

// optionsFor describes the instance to Learn.
func optionsFor(x *sched.Index) Options {
	in := x.Instance
	o := Options{Speeds: map[string]float64{}, Machines: []string{}, Stages: map[Key]Shape{}}
	for i := range in.Machines {
		m := &in.Machines[i]
		o.Machines = append(o.Machines, m.Name)
		if !m.SpeedAssumed {
			o.Speeds[m.Name] = m.Speed
		}
	}
	for s := range sched.StageID(x.Stages()) {
		if st := x.Stage(s); st.Count > 0 {
			o.Stages[Key{in.Jobs[x.StageJob(s)].Name, st.Name}] = Shape{st.Count, inputOf(st)}
		}
	}
	return o
}

// Apply is [Resolve] with estimates at hand; its result may be invalid where they are
// beyond what times can count.
func Apply(in *sched.Instance, e *Estimates, budget int64) (*sched.Instance, *Learned) {
	out := *in
	out.Machines = slices.Clone(in.Machines)
	out.Jobs = slices.Clone(in.Jobs)
	for j := range out.Jobs {
		out.Jobs[j].Stages = slices.Clone(in.Jobs[j].Stages)
	}
	l := &Learned{Estimates: e}
	for m := range out.Machines {
		mach := &out.Machines[m]
		if known := e.Machine(mach.Name); mach.SpeedAssumed && known != nil && known.Source != Assumed {
			mach.Speed = known.Speed
			l.Speeds = append(l.Speeds, sched.MachineID(m))
		}
	}
	x := sched.NewIndex(&out)
	for s := range sched.StageID(x.Stages()) {
		st := x.Stage(s)
		if st.Count == 0 || len(st.Sizes) > 0 {
			continue
		}
		known := e.Stage(Key{out.Jobs[x.StageJob(s)].Name, st.Name})
		switch {
		case known == nil || known.Sizes == nil:
			continue
		case len(known.ByTask) == st.Count:
			st.Sizes = known.ByTask
		default:
			st.Sizes = []size.Dist{known.Sizes}
		}
		l.Sizes = append(l.Sizes, s)
		l.Runs = max(l.Runs, known.Runs)
	}
	if budget > 0 {
		applyMemory(x, e, l, budget)
	}
	return &out, l
}

// applyMemory gives stages that state no need of memory the learnt one, if there can be
// too little memory at all: a resource that never runs out is not worth looking at.
func applyMemory(x *sched.Index, e *Estimates, l *Learned, budget int64) {
	in := x.Instance
	learnt := make([]int64, x.Stages()) // thousandths, 0: stated or unknown
	d := slices.Index(in.Resources, Memory)
	largest, some := int64(0), false
	for s := range sched.StageID(x.Stages()) {
		st := x.Stage(s)
		known := e.Stage(Key{in.Jobs[x.StageJob(s)].Name, st.Name})
		switch {
		case st.Count == 0:
		case d >= 0 && st.Needs != nil && st.Needs[d] > 0:
			largest = max(largest, st.Needs[d])
		case known != nil && known.Memory > 0:
			learnt[s], some = milli(known.Memory), true
			largest = max(largest, learnt[s])
		}
	}
	if !some || !scarce(in, d, largest, milli(budget)) {
		return
	}
	if d < 0 {
		d = addMemory(in)
	}
	shareBudget(in, d, milli(budget), largest)
	for s, need := range learnt {
		if need == 0 {
			continue
		}
		st := x.Stage(sched.StageID(s))
		most := int64(0)
		for m := range sched.MachineID(len(in.Machines)) {
			if in.MayRun(st, m) { // without it
				most = max(most, in.Machines[m].Capacity[d])
			}
		}
		needs := make([]int64, len(in.Resources))
		copy(needs, st.Needs)
		needs[d] = min(need, most)
		st.Needs = needs
		l.Memory = append(l.Memory, sched.StageID(s))
	}
}

// scarce reports whether tasks that need as much as the largest could, one in every
// slot, exceed what a machine states or, together, the budget.
func scarce(in *sched.Instance, d int, largest, budget int64) bool {
	slots := 0
	for m := range in.Machines {
		mach := &in.Machines[m]
		if d < 0 || mach.Capacity[d] == 0 {
			slots += mach.Slots
		} else if mach.Capacity[d]/int64(max(1, mach.Slots)) < largest {
			return true
		}
	}
	return slots > 0 && budget/int64(slots) < largest
}

// addMemory adds the dimension, in the order of names, and returns its position.
func addMemory(in *sched.Instance) int {
	d, _ := slices.BinarySearch(in.Resources, Memory)
	in.Resources = slices.Insert(slices.Clone(in.Resources), d, Memory)
	for m := range in.Machines {
		in.Machines[m].Capacity = slices.Insert(slices.Clone(in.Machines[m].Capacity), d, 0)
	}
	for j := range in.Jobs {
		for s := range in.Jobs[j].Stages {
			if st := &in.Jobs[j].Stages[s]; st.Needs != nil {
				st.Needs = slices.Insert(slices.Clone(st.Needs), d, 0)
			}
			if f := in.Jobs[j].Stages[s].Fluid; f != nil && f.Needs != nil {
				fluid := *f
				fluid.Needs = slices.Insert(slices.Clone(f.Needs), d, 0)
				in.Jobs[j].Stages[s].Fluid = &fluid
			}
		}
	}
	return d
}

// shareBudget gives the machines that state no memory their shares of the budget, by
// slots. Where the share of none is enough for the largest need, the machine with the
// most slots gets that much, and the others share the rest: all together never use
// more than the budget, and every task can run.
func shareBudget(in *sched.Instance, d int, budget, largest int64) {
	slots, first := 0, -1
	for m := range in.Machines {
		if mach := &in.Machines[m]; mach.Capacity[d] == 0 {
			slots += mach.Slots
			if first < 0 || mach.Slots > in.Machines[first].Slots {
				first = m
			}
		} else if mach.Capacity[d] >= largest {
			largest = 0 // it has a place already
		}
	}
	if slots == 0 {
		return
	}
	give := func(m int, amount int64) {
		in.Machines[m].Capacity = slices.Clone(in.Machines[m].Capacity)
		in.Machines[m].Capacity[d] = amount
	}
	open := make([]bool, len(in.Machines))
	for m := range in.Machines {
		open[m] = in.Machines[m].Capacity[d] == 0
	}
	part := func(s int) int64 { return int64(float64(budget) * float64(s) / float64(slots)) }
	if share := part(in.Machines[first].Slots); share < largest {
		largest = min(largest, budget)
		give(first, largest)
		open[first] = false
		budget -= largest
		slots -= in.Machines[first].Slots
	}
	for m := range in.Machines {
		if open[m] {
			give(m, part(in.Machines[m].Slots))
		}
	}
}

// milli converts bytes to the thousandths that instances count in.
func milli(bytes int64) int64 { return min(bytes, math.MaxInt64/4000) * 1000 }
