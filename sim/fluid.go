package sim

import (
	"container/heap"
	"math"
	"slices"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// fluid is a group of activities that share a rate. Its service is the integral
// of the rate; a member is complete when the service has grown by what is left
// of its size over its share. So the next to complete is known from a heap of
// service marks, and a change of rate moves one queue entry however many members
// there are.
type fluid struct {
	rate    float64
	service float64
	since   sched.Time
	members marks
	version int32 // of the group's entry in the queue; older ones are outdated
}

type mark struct {
	service float64 // at which the member completes
	a       policy.Activity
	attempt int32
	share   float64
}

type marks []mark

func (m marks) Len() int { return len(m) }
func (m marks) Less(i, j int) bool {
	if m[i].service != m[j].service {
		return m[i].service < m[j].service
	}
	if m[i].a.Task != m[j].a.Task {
		return m[i].a.Task < m[j].a.Task
	}
	return m[i].a.Flow < m[j].a.Flow
}
func (m marks) Swap(i, j int) { m[i], m[j] = m[j], m[i] }
func (m *marks) Push(x any)   { *m = append(*m, x.(mark)) }
func (m *marks) Pop() any {
	h := *m
	x := h[len(h)-1]
	*m = h[:len(h)-1]
	return x
}

func (g *fluid) advance(now sched.Time) {
	g.service += float64(g.rate * (now - g.since).Seconds())
	g.since = now
}

func (s *simulation) group(id policy.GroupID) *fluid {
	for int(id) >= len(s.groups) {
		s.groups = append(s.groups, fluid{})
	}
	return &s.groups[id]
}

func (s *simulation) join(now sched.Time, a *engine.Action) {
	act := policy.Activity{Task: a.Task, Flow: a.Flow}
	work := s.leave(now, act)
	if a.Task != sched.None {
		s.placed[a.Task] = sched.None // what an earlier attempt did in a slot counts no more
	}
	g := s.group(a.Group)
	g.advance(now)
	s.memberOf[act] = a.Group
	heap.Push(&g.members, mark{service: g.service + work/a.Value, a: act, attempt: a.Attempt, share: a.Value})
	s.arm(a.Group)
}

// leave takes an activity out of the group it may be in and returns the work
// it has left. Cost: O(1) for a newcomer, O(members) for one that moves.
func (s *simulation) leave(now sched.Time, a policy.Activity) float64 {
	if id, ok := s.memberOf[a]; ok {
		g := &s.groups[id]
		i := slices.IndexFunc(g.members, func(m mark) bool { return m.a == a })
		g.advance(now)
		left := max(0, (g.members[i].service-g.service)*g.members[i].share)
		heap.Remove(&g.members, i)
		s.arm(id)
		return left
	}
	if a.Task != sched.None {
		return s.sizes.Of(s.e.TaskStage(a.Task), a.Task)
	}
	return s.flows[a.Flow]
}

func (s *simulation) setRate(now sched.Time, a *engine.Action) {
	g := s.group(a.Group)
	g.advance(now)
	g.rate = a.Value
	s.arm(a.Group)
}

// arm queues the completion of the group's next member at its present rate.
func (s *simulation) arm(id policy.GroupID) {
	g := &s.groups[id]
	g.version++
	if len(g.members) == 0 || g.rate == 0 {
		return
	}
	at := g.since + sched.Duration(g.members[0].service-g.service, g.rate)
	s.queue.push(entry{at: at, what: groupNext, id: int32(id), tag: g.version})
}

// nextOfGroup completes the first member of a group.
func (s *simulation) nextOfGroup(e entry) engine.Event {
	g := &s.groups[e.id]
	if e.tag != g.version {
		return engine.Event{}
	}
	g.advance(e.at)
	m := heap.Pop(&g.members).(mark)
	delete(s.memberOf, m.a)
	// Rounding up to a nanosecond may have let the service pass the mark or,
	// by a rounding of floats, stop just short of it.
	g.service = math.Max(g.service, m.service)
	s.arm(policy.GroupID(e.id))
	if m.a.Task != sched.None {
		return s.taskEnded(m.a.Task, m.attempt)
	}
	return engine.Event{Kind: engine.FlowFinished, Flow: m.a.Flow}
}
