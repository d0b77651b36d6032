package dag

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fairlead-project/fairlead/sched"
)

// Plan is a complete schedule.
type Plan struct {
	// Schedule holds every task of the problem's jobs; the completion of jobs that
	// are not in the problem is Never.
	Schedule sched.Schedule
	// Placed holds the same placements in the order in which they were made: where
	// tasks take no time, starts do not tell which comes first in a slot.
	Placed []sched.Placement
	// Completion holds per node when its last task finishes; for a sink, when all
	// of the last stages have.
	Completion []sched.Time
	// Units is the number of units, the fastest ones, that the plan was allowed.
	Units int
	// Cost is the total weighted completion time Σ w_j C_j in seconds.
	Cost float64
}

// List places the stages in the given order of nodes, as step 2 of S-PC does, on the
// given number of fastest units, 0 meaning all of them. Each task, in order of
// non-increasing size within its stage, goes to the unit l that minimises
// max(ready, F_l) + p/v_l: ready is when its predecessors are done and its job is
// released, F_l when the tasks placed on l so far are done. Ties go to the smaller
// l. That ready is inside the minimum matters: without it, a task that has to wait
// anyway prefers a slow idle unit to a fast one that will be free in time.
//
// A task that has needs, is pinned to machines or reads input starts on a machine
// no earlier than the time from which its needs are free there for good, and its
// input has arrived there.
//
// The error, which wraps [ErrProblem], says that the order puts a node before its
// predecessor or leaves one out, that a stage fits on none of the units, or that
// times get too large. Time: O(tasks · (speeds + log machines) + nodes · machines),
// where speeds is the number of different ones, and for stages with needs the
// number of tasks that run at the end of what is placed.
func (p *Problem) List(order []int32, units int) (*Plan, error) {
	l, err := p.list(order, units, true)
	if err != nil {
		return nil, err
	}
	return p.planned(l), nil
}

// planned returns the plan that l has placed.
func (p *Problem) planned(l *lister) *Plan {
	plan := &Plan{Completion: l.done, Units: len(l.unit), Cost: l.cost()}
	plan.Placed = l.placed
	plan.Schedule.Tasks = slices.Clone(l.placed)
	slices.SortFunc(plan.Schedule.Tasks, func(a, b sched.Placement) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Task, b.Task))
	})
	plan.Schedule.Completion = make([]sched.Time, len(p.x.Instance.Jobs))
	for j := range plan.Schedule.Completion {
		plan.Schedule.Completion[j] = sched.Never
	}
	for i, j := range p.jobs {
		plan.Schedule.Completion[j] = l.done[p.end[i]]
	}
	return plan
}

// machine is the state of one machine's units while a list is placed.
type machine struct {
	id    sched.MachineID
	speed int     // position in lister.speeds
	slots minTree // F_l
	usage usage
	// start is the earliest start there of a task of the current stage, Never if
	// the stage may not run there.
	start sched.Time
}

// speedClass is the machines of one speed, adjacent in lister.machines.
type speedClass struct {
	speed float64
	first int
	start minTree // starts of its machines
}

type lister struct {
	p        *Problem
	unit     []Unit
	machines []machine // by falling speed
	at       []int32   // position in machines, by MachineID; None: no unit
	speeds   []speedClass
	done     []sched.Time // per node, Never if not placed
	placed   []sched.Placement
	record   bool
	gaps     []gaps // per unit; nil: tasks go to the end of what is placed
	feeding  bool   // some later stage reads the output of the current one

	// Scratch for the current stage.
	need    []int64 // nil: none
	held    []int64
	arrival []sched.Time // per machine of the instance: input
	ports   *ports
	sources [][]source // per node that feeds
	last    []sched.Time
	bySize  []sched.TaskID
	least   sched.Time // no machine can start a task earlier; with gaps
}

// list runs the placement, recording placements only if asked to.
func (p *Problem) list(order []int32, units int, record bool) (*lister, error) {
	if units == 0 {
		units = len(p.Units)
	}
	if units < 0 || units > len(p.Units) {
		return nil, fmt.Errorf("%w: %d of %d units", ErrProblem, units, len(p.Units))
	}
	l := newLister(p, p.Units[:units], record)
	return l, l.placeAll(order)
}

// placeAll places all nodes in the given order.
func (l *lister) placeAll(order []int32) error {
	for _, j := range order {
		if err := l.place(j); err != nil {
			return err
		}
	}
	if len(order) != len(l.p.Nodes) {
		return fmt.Errorf("%w: an order of %d nodes, of %d", ErrProblem, len(order), len(l.p.Nodes))
	}
	return nil
}

func newLister(p *Problem, units []Unit, record bool) *lister {
	in := p.x.Instance
	l := &lister{
		p: p, unit: units, record: record, done: make([]sched.Time, len(p.Nodes)),
		held: make([]int64, len(in.Resources)), arrival: make([]sched.Time, len(in.Machines)),
		sources: make([][]source, len(p.Nodes)), last: make([]sched.Time, len(in.Machines)),
		ports: newPorts(in.Machines), at: make([]int32, len(in.Machines)),
	}
	for j := range l.done {
		l.done[j] = sched.Never
	}
	for m := range l.last {
		l.last[m], l.at[m] = -1, sched.None
	}
	if record {
		tasks := 0
		for _, n := range p.Nodes {
			tasks += n.Tasks
		}
		l.placed = make([]sched.Placement, 0, tasks)
	}
	for i := 0; i < len(units); {
		id, first := units[i].Machine, i
		for i < len(units) && units[i].Machine == id {
			i++
		}
		if v := in.Machines[id].Speed; len(l.speeds) == 0 || l.speeds[len(l.speeds)-1].speed != v {
			l.speeds = append(l.speeds, speedClass{speed: v, first: len(l.machines)})
		}
		l.at[id] = int32(len(l.machines))
		slots := make([]sched.Time, treeSize(i-first))
		for s := i - first; s < len(slots)/2; s++ {
			slots[len(slots)/2+s] = sched.Never // not a slot
		}
		m := machine{id: id, speed: len(l.speeds) - 1, slots: minTree{len(slots) / 2, slots}}
		m.slots.fill() // above leaves that are not slots
		l.machines = append(l.machines, m)
	}
	for c := range l.speeds {
		t := make([]sched.Time, treeSize(l.classEnd(c)-l.speeds[c].first))
		for i := range t {
			t[i] = sched.Never
		}
		l.speeds[c].start = minTree{len(t) / 2, t}
	}
	return l
}

func (l *lister) classEnd(c int) int {
	if c+1 < len(l.speeds) {
		return l.speeds[c+1].first
	}
	return len(l.machines)
}

// place places all tasks of node j.
func (l *lister) place(j int32) error {
	if j < 0 || int(j) >= len(l.done) || l.done[j] != sched.Never {
		return fmt.Errorf("%w: node %d of the order does not exist or came before", ErrProblem, j)
	}
	n := &l.p.Nodes[j]
	ready := n.Release
	for _, i := range l.p.preds[j] {
		if l.done[i] == sched.Never {
			return fmt.Errorf("%w: the order has %s before %s, which must precede it", ErrProblem, l.p.Name(j), l.p.Name(i))
		}
		ready = max(ready, l.done[i])
	}
	l.done[j] = ready
	if n.Stage == sched.None {
		return nil
	}
	l.prepare(n, ready)
	l.feeding = l.p.feeds[j]
	first, end := l.p.x.StageTasks(n.Stage)
	if size, ok := l.p.z.Uniform(n.Stage); ok {
		for t := first; t < end; t++ {
			if err := l.task(j, t, size); err != nil {
				return err
			}
		}
	} else {
		for _, t := range l.sorted(n.Stage) {
			if err := l.task(j, t, l.p.z.Of(n.Stage, t)); err != nil {
				return err
			}
		}
	}
	if l.feeding {
		for m, t := range l.last {
			if t >= 0 {
				l.sources[j] = append(l.sources[j], source{sched.MachineID(m), t})
				l.last[m] = -1
			}
		}
	}
	return nil
}

// sorted returns the tasks of s by non-increasing size, ties by number.
func (l *lister) sorted(s sched.StageID) []sched.TaskID {
	l.bySize = l.bySize[:0]
	first, end := l.p.x.StageTasks(s)
	for t := first; t < end; t++ {
		l.bySize = append(l.bySize, t)
	}
	slices.SortFunc(l.bySize, func(a, b sched.TaskID) int {
		return cmp.Or(cmp.Compare(l.p.z.Of(s, b), l.p.z.Of(s, a)), cmp.Compare(a, b))
	})
	return l.bySize
}

// prepare computes each machine's earliest start for the tasks of n.
func (l *lister) prepare(n *Node, ready sched.Time) {
	st := l.p.x.Stage(n.Stage)
	for m := range l.arrival {
		l.arrival[m] = ready
	}
	for _, i := range st.Input {
		from := l.p.source(*n, i)
		share := i.Bytes / (float64(l.p.Nodes[from].Tasks) * float64(n.Tasks))
		l.ports.arrive(l.sources[from], share, l.arrival)
	}
	l.need = nil
	for _, need := range st.Needs {
		if need > 0 {
			l.need = st.Needs
		}
	}
	l.least = ready
	for i := range l.machines {
		l.machines[i].start = sched.Never
	}
	if st.Machines == nil {
		for i := range l.machines {
			l.open(&l.machines[i])
		}
	}
	for _, id := range st.Machines {
		if i := l.at[id]; i != sched.None {
			l.open(&l.machines[i])
		}
	}
	for c := range l.speeds {
		class := &l.speeds[c]
		for i := class.first; i < l.classEnd(c); i++ {
			class.start.t[class.start.leaves+i-class.first] = l.machines[i].start
		}
		class.start.fill()
	}
}

// open sets m.start if the tasks of the current stage fit on m.
func (l *lister) open(m *machine) {
	for d, need := range l.need {
		if need > l.p.x.Instance.Machines[m.id].Capacity[d] {
			return
		}
	}
	m.start = l.earliest(m)
}

// earliest returns the earliest start on m of a task of the current stage.
func (l *lister) earliest(m *machine) sched.Time {
	t := max(l.arrival[m.id], m.slots.t[1])
	if l.need != nil {
		t = m.usage.free(l.need, l.p.x.Instance.Machines[m.id].Capacity, l.held, t)
	}
	return t
}

// task places task t of node j on the unit where it finishes first.
func (l *lister) task(j int32, t sched.TaskID, size float64) error {
	best, finish, fits := 0, sched.Never, false
	if l.gaps != nil {
		finish = l.insert(t, size)
		fits = finish != sched.Never
	}
	for c := 0; l.gaps == nil && c < len(l.speeds); c++ {
		class := &l.speeds[c]
		start := class.start.t[1]
		if start == sched.Never {
			continue
		}
		fits = true
		if f := after(start, sched.Duration(size, class.speed)); f < finish {
			best, finish = c, f
		}
	}
	switch {
	case !fits:
		return fmt.Errorf("%w: the tasks of stage %s fit on none of the %d fastest slots", ErrProblem, l.p.Name(j), len(l.unit))
	case finish == sched.MaxTime:
		return fmt.Errorf("%w: the tasks of stage %s would run past the end of time, %v", ErrProblem, l.p.Name(j), sched.MaxTime)
	}
	if l.gaps != nil {
		l.done[j] = max(l.done[j], finish)
		return nil
	}
	class := &l.speeds[best]
	i := class.start.first(class.start.t[1])
	m := &l.machines[class.first+i]
	slot := m.slots.first(m.start)
	if l.record {
		l.placed = append(l.placed, sched.Placement{
			Task: t, Machine: m.id, Slot: int32(slot), Start: m.start, Finish: finish,
		})
	}
	m.slots.set(slot, finish)
	if l.need != nil {
		m.usage.hold(l.need, m.start, finish)
	}
	m.start = l.earliest(m)
	class.start.set(i, m.start)
	l.done[j] = max(l.done[j], finish)
	l.ends(m.id, finish)
	return nil
}

// ends notes when a task of the current stage ends on m, in case a later one reads its
// output.
func (l *lister) ends(m sched.MachineID, finish sched.Time) {
	if l.feeding {
		l.last[m] = max(l.last[m], finish)
	}
}

// cost returns Σ w_j C_j in seconds.
func (l *lister) cost() float64 {
	total := 0.0
	for i, j := range l.p.jobs {
		total += float64(l.p.x.Instance.Jobs[j].Weight * l.done[l.p.end[i]].Seconds())
	}
	return total
}
