// Package brute finds optimal schedules of very small instances by trying everything.
// It shares no code with what is checked against it.
package brute

import (
	"slices"

	"github.com/fairlead-project/fairlead/sched"
)

// search is a branch and bound on the next task to start and its slot.
type search struct {
	x     *sched.Index
	z     *sched.Sizes
	below int64

	speed []float64 // per slot
	free  []sched.Time

	left   [][]sched.TaskID // per stage: tasks not placed
	finish []sched.Time     // per stage: of the tasks placed
	fast   float64
}

// Optimum returns the least Σ w_j C_j, in nanoseconds, over all schedules of an
// instance without needs, pins and input, whose weights are whole numbers and whose tasks
// have the sizes z; below if there is no cheaper schedule. Tasks are started in order
// of time; a task starts as soon as its slot is free and it is ready. Cost: exponential;
// up to about nine tasks take less than a second.
func Optimum(in *sched.Instance, z *sched.Sizes, below int64) int64 {
	x := sched.NewIndex(in)
	b := &search{x: x, z: z, below: below}
	for _, m := range in.Machines {
		for range m.Slots {
			b.speed = append(b.speed, m.Speed)
		}
		b.fast = max(b.fast, m.Speed)
	}
	b.free = make([]sched.Time, len(b.speed))
	b.finish = make([]sched.Time, x.Stages())
	for s := range sched.StageID(x.Stages()) {
		first, end := x.StageTasks(s)
		var tasks []sched.TaskID
		for k := first; k < end; k++ {
			tasks = append(tasks, k)
		}
		b.left = append(b.left, tasks)
	}
	b.branch(0, sched.None)
	return b.below
}

// ready returns when stage s can start, given the stages' completion times, and
// whether all tasks before it are placed.
func (b *search) ready(s sched.StageID, done []sched.Time) (sched.Time, bool) {
	j := b.x.StageJob(s)
	job := &b.x.Instance.Jobs[j]
	first, _ := b.x.JobStages(j)
	t, placed := job.Release, true
	wait := func(q sched.StageID) {
		t, placed = max(t, done[q]), placed && len(b.left[q]) == 0
	}
	for _, a := range b.x.Stage(s).After {
		wait(first + sched.StageID(a))
	}
	for _, a := range job.After {
		lo, hi := b.x.JobStages(a)
		for q := lo; q < hi; q++ {
			wait(q)
		}
	}
	return t, placed
}

// lower bounds the cost of all completions: every stage that is left takes at least
// its longest task on the fastest slot, from now and from the end of what precedes.
func (b *search) lower(now sched.Time) int64 {
	done := slices.Clone(b.finish)
	for range done { // enough rounds for any order of the stages
		changed := false
		for s := range done {
			if len(b.left[s]) == 0 {
				continue
			}
			t, _ := b.ready(sched.StageID(s), done)
			longest := 0.0
			for _, k := range b.left[s] {
				longest = max(longest, b.z.Of(sched.StageID(s), k))
			}
			if t = max(t, now) + sched.Duration(longest, b.fast); t > done[s] {
				done[s], changed = t, true
			}
		}
		if !changed {
			break
		}
	}
	cost := int64(0)
	for j := range b.x.Instance.Jobs {
		lo, hi := b.x.JobStages(sched.JobID(j))
		cost += int64(b.x.Instance.Jobs[j].Weight) * int64(slices.Max(done[lo:hi]))
	}
	return cost
}

func (b *search) branch(now sched.Time, task sched.TaskID) {
	cost := b.lower(now)
	if cost >= b.below {
		return
	}
	complete := true
	for s := range b.left {
		if len(b.left[s]) == 0 {
			continue
		}
		complete = false
		t, ok := b.ready(sched.StageID(s), b.finish)
		if !ok {
			continue
		}
		seen := map[float64]bool{}
		for i, k := range b.left[s] {
			p := b.z.Of(sched.StageID(s), k)
			if seen[p] {
				continue
			}
			seen[p] = true
			for u := range b.free {
				if b.twin(u) {
					continue
				}
				start := max(t, b.free[u])
				if start < now || start == now && k < task {
					continue
				}
				free, finish, left := b.free[u], b.finish[s], b.left[s]
				b.free[u] = start + sched.Duration(p, b.speed[u])
				b.finish[s] = max(finish, b.free[u])
				b.left[s] = slices.Delete(slices.Clone(left), i, i+1)
				b.branch(start, k)
				b.free[u], b.finish[s], b.left[s] = free, finish, left
			}
		}
	}
	if complete {
		b.below = cost
	}
}

// twin reports whether an earlier slot is as fast and as free as u.
func (b *search) twin(u int) bool {
	for v := range u {
		if b.speed[v] == b.speed[u] && b.free[v] == b.free[u] {
			return true
		}
	}
	return false
}
