package sched

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fairlead-project/fairlead/size"
)

// ErrInstance is wrapped by every error of [Instance.Validate].
var ErrInstance = errors.New("sched: invalid instance")

// Validate reports the first thing in the instance that makes no sense: an index
// out of range, a cycle, a speed of zero, a task that fits on no machine, or
// times that could exceed MaxTime. A file is checked more kindly, with
// positions, by package workload.
func (in *Instance) Validate() error {
	if err := in.validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrInstance, err)
	}
	return nil
}

func (in *Instance) validate() error {
	for m := range in.Machines {
		if err := in.validateMachine(&in.Machines[m]); err != nil {
			return fmt.Errorf("machine %d (%s): %w", m, in.Machines[m].Name, err)
		}
	}
	for j := range in.Jobs {
		if err := in.validateJob(&in.Jobs[j]); err != nil {
			return fmt.Errorf("job %d (%s): %w", j, in.Jobs[j].Name, err)
		}
	}
	after := func(j int) []JobID { return in.Jobs[j].After }
	if cycle := FindCycle(len(in.Jobs), after); cycle != nil {
		names := make([]string, len(cycle))
		for i, j := range cycle {
			names[i] = in.Jobs[j].Name
		}
		return fmt.Errorf("jobs wait for each other: %s", strings.Join(names, " -> "))
	}
	return in.validateSpan()
}

func (in *Instance) validateMachine(m *Machine) error {
	switch {
	case !(m.Speed > 0) || math.IsInf(m.Speed, 1):
		return fmt.Errorf("speed %v is not positive and finite", m.Speed)
	case m.Slots < 0:
		return fmt.Errorf("negative number of slots %d", m.Slots)
	case !(m.Port > 0):
		return fmt.Errorf("port rate %v is not positive", m.Port)
	case len(m.Capacity) != len(in.Resources):
		return fmt.Errorf("%d capacities for %d resources", len(m.Capacity), len(in.Resources))
	case slices.ContainsFunc(m.Capacity, negative):
		return fmt.Errorf("negative capacity among %v", m.Capacity)
	}
	return nil
}

func (in *Instance) validateJob(job *Job) error {
	if !(job.Weight >= 0) || math.IsInf(job.Weight, 1) {
		return fmt.Errorf("weight %v is not a finite number >= 0", job.Weight)
	}
	if job.Release < 0 || job.Release > MaxTime {
		return fmt.Errorf("release %v is out of range", job.Release)
	}
	if len(job.Stages) == 0 {
		return errors.New("no stages")
	}
	for _, a := range job.After {
		if a < 0 || int(a) >= len(in.Jobs) {
			return fmt.Errorf("after: no job %d", a)
		}
	}
	for s := range job.Stages {
		if err := in.validateStage(job, &job.Stages[s]); err != nil {
			return fmt.Errorf("stage %d (%s): %w", s, job.Stages[s].Name, err)
		}
	}
	after := func(s int) []int { return job.Stages[s].After }
	if cycle := FindCycle(len(job.Stages), after); cycle != nil {
		names := make([]string, len(cycle))
		for i, s := range cycle {
			names[i] = job.Stages[s].Name
		}
		return fmt.Errorf("stages wait for each other: %s", strings.Join(names, " -> "))
	}
	return nil
}

func (in *Instance) validateStage(job *Job, st *Stage) error {
	ref := func(i int) bool { return i >= 0 && i < len(job.Stages) }
	for _, a := range st.After {
		if !ref(a) {
			return fmt.Errorf("after: no stage %d", a)
		}
	}
	for _, in := range st.Input {
		if !ref(in.From) || !(in.Bytes >= 0) || math.IsInf(in.Bytes, 1) {
			return fmt.Errorf("input: bad entry %+v", in)
		}
	}
	if st.Transfer() {
		return in.validateTransfer(job, st)
	}
	switch {
	case st.Count < 1:
		return errors.New("no tasks")
	case len(st.Sizes) > 1 && len(st.Sizes) != st.Count:
		return fmt.Errorf("%d sizes for %d tasks", len(st.Sizes), st.Count)
	case st.Needs != nil && len(st.Needs) != len(in.Resources):
		return fmt.Errorf("%d needs for %d resources", len(st.Needs), len(in.Resources))
	case slices.ContainsFunc(st.Needs, negative):
		return fmt.Errorf("negative needs among %v", st.Needs)
	case st.Retries < 0:
		return fmt.Errorf("negative number of retries %d", st.Retries)
	}
	for i, m := range st.Machines {
		switch {
		case m < 0 || int(m) >= len(in.Machines):
			return fmt.Errorf("no machine %d", m)
		case i > 0 && m <= st.Machines[i-1]:
			return fmt.Errorf("machines %v are not ascending", st.Machines)
		}
	}
	for i, d := range st.Sizes {
		if d == nil {
			return fmt.Errorf("size %d is missing", i)
		}
		if err := validateSize(d); err != nil {
			return err
		}
	}
	if st.Fluid == nil && len(in.Machines) > 0 && !in.fitsSomewhere(st) {
		return errors.New("its tasks fit on no machine")
	}
	return nil
}

func (in *Instance) validateTransfer(job *Job, st *Stage) error {
	if st.Count != 0 {
		return fmt.Errorf("it moves data, but has %d tasks as well: make two stages of it", st.Count)
	}
	if sh := st.Shuffle; sh != nil {
		if sh.From < 0 || sh.To < 0 || max(sh.From, sh.To) >= len(job.Stages) || sh.Size == nil {
			return errors.New("shuffle: bad stages or no size")
		}
		if err := validateSize(sh.Size); err != nil {
			return fmt.Errorf("shuffle: %w", err)
		}
	}
	for i, f := range st.Flows {
		if f.From < 0 || f.To < 0 || int(max(f.From, f.To)) >= len(in.Machines) || f.Size == nil {
			return fmt.Errorf("flow %d: bad machines or no size", i)
		}
		if err := validateSize(f.Size); err != nil {
			return fmt.Errorf("flow %d: %w", i, err)
		}
	}
	return nil
}

func validateSize(d size.Dist) error {
	if p, exact := size.Value(d); exact && (!(p >= 0) || math.IsInf(p, 1)) {
		return fmt.Errorf("size %v is not a finite number >= 0", p)
	}
	return nil
}

func negative(n int64) bool { return n < 0 }

func (in *Instance) fitsSomewhere(st *Stage) bool {
	for _, m := range st.Machines {
		if in.MayRun(st, m) {
			return true
		}
	}
	for m := range in.Machines {
		if st.Machines == nil && in.MayRun(st, MachineID(m)) {
			return true
		}
	}
	return false
}

// MayRun reports whether a task of st could run on an otherwise empty machine m.
// Cost: O(resources + log pins).
func (in *Instance) MayRun(st *Stage, m MachineID) bool {
	mach := &in.Machines[m]
	if mach.Slots < 1 {
		return false
	}
	for d, n := range st.Needs {
		if n > mach.Capacity[d] {
			return false
		}
	}
	if st.Machines == nil {
		return true
	}
	_, pinned := slices.BinarySearch(st.Machines, m)
	return pinned
}

// validateSpan refuses instances in which a schedule could run past MaxTime: all
// work one after another on the slowest machine, after the last release.
func (in *Instance) validateSpan() error {
	slowest, last, work := math.Inf(1), 0.0, 0.0
	for m := range in.Machines {
		slowest = min(slowest, in.Machines[m].Speed)
	}
	for j := range in.Jobs {
		last = max(last, in.Jobs[j].Release.Seconds())
		for s := range in.Jobs[j].Stages {
			st := &in.Jobs[j].Stages[s]
			for _, d := range st.Sizes {
				w := d.Mean()
				if p, ok := size.Value(d); ok {
					w = p
				}
				if len(st.Sizes) == 1 {
					w *= float64(st.Count)
				}
				work += w
			}
		}
	}
	if total := last + work/slowest; len(in.Machines) > 0 && !(total < MaxTime.Seconds()) {
		return fmt.Errorf("a schedule could take %.3g seconds, more than the %.3g that time can count", total, MaxTime.Seconds())
	}
	return nil
}

// FindCycle returns the vertices of one cycle of the graph with n vertices, each
// waiting for those in after, first vertex repeated at the end; nil if there is
// none. Deterministic: it starts from the smallest vertex. Cost: O(n + arcs).
func FindCycle[V ~int | ~int32](n int, after func(v int) []V) []int {
	const (
		white = iota // not seen
		grey         // on the stack
		black        // finished
	)
	state := make([]uint8, n)
	type frame struct{ v, next int }
	var stack []frame
	for root := range n {
		if state[root] != white {
			continue
		}
		state[root] = grey
		stack = append(stack[:0], frame{v: root})
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			preds := after(top.v)
			if top.next == len(preds) {
				state[top.v] = black
				stack = stack[:len(stack)-1]
				continue
			}
			u := int(preds[top.next])
			top.next++
			switch state[u] {
			case white:
				state[u] = grey
				stack = append(stack, frame{v: u})
			case grey:
				i := len(stack) - 1
				for stack[i].v != u {
					i--
				}
				cycle := make([]int, 0, len(stack)-i+1)
				for _, f := range stack[i:] {
					cycle = append(cycle, f.v)
				}
				return append(cycle, u)
			}
		}
	}
	return nil
}
