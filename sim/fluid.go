package sim

import (
	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// fluid is a group of activities that share a rate. Its service is the integral
// of the rate; a member is complete when the service has grown by what is left
// of its size over its share. So the next to complete is known from a heap of
// service marks, and a change of rate moves one entry of the event queue however
// many members there are. The event queue holds at most one entry per group.
type fluid struct {
	rate    float64
	service float64
	since   sched.Time
	members heap[float64]
}

func (g *fluid) advance(now sched.Time) {
	g.service += float64(g.rate * (now - g.since).Seconds())
	g.since = now
}

// membership is the group and the share of an activity that is in a group.
type membership struct {
	group policy.GroupID
	share float64
}

// activity numbers tasks from 0 and flows after the last task.
func (s *simulation) activity(t sched.TaskID, f sched.FlowID) int32 {
	if t != sched.None {
		return int32(t)
	}
	return int32(s.x.Tasks()) + int32(f)
}

// group returns the group numbered id, which begins to be with its first member.
func (s *simulation) group(id policy.GroupID) *fluid {
	if s.memberOf == nil {
		n := s.x.Tasks() + s.x.Flows()
		s.memberOf, s.memberAt = make([]membership, n), make([]int32, n)
		for a := range s.memberAt {
			s.memberAt[a] = -1
		}
	}
	for int(id) >= len(s.groups) {
		s.groups = append(s.groups, fluid{members: heap[float64]{follow: memberEnds, at: s.memberAt}})
		s.queue.at = append(s.queue.at, -1)
	}
	return &s.groups[id]
}

func (s *simulation) join(now sched.Time, a *engine.Action) {
	g := s.group(a.Group)
	act := s.activity(a.Task, a.Flow)
	work := s.leave(now, act)
	if a.Task != sched.None {
		s.placed[a.Task] = sched.None // what an earlier attempt did in a slot counts no more
	}
	g.advance(now)
	s.memberOf[act] = membership{a.Group, a.Value}
	g.members.push(entry[float64]{key: g.service + work/a.Value, what: memberEnds, id: act, attempt: a.Attempt})
	s.arm(a.Group)
}

// leave takes an activity out of the group it may be in and returns the work
// it has left.
func (s *simulation) leave(now sched.Time, act int32) float64 {
	if i := s.memberAt[act]; i >= 0 {
		m := s.memberOf[act]
		g := &s.groups[m.group]
		g.advance(now)
		left := max(0, (g.members.remove(int(i)).key-g.service)*m.share)
		s.arm(m.group)
		return left
	}
	if t := sched.TaskID(act); int(t) < s.x.Tasks() {
		return s.sizes.Of(s.e.TaskStage(t), t)
	}
	return s.flows[int(act)-s.x.Tasks()]
}

func (s *simulation) setRate(now sched.Time, a *engine.Action) {
	g := s.group(a.Group)
	g.advance(now)
	g.rate = a.Value
	s.arm(a.Group)
}

// arm puts the completion of the group's next member, at its present rate, into
// the event queue, in place of what is there of the group.
func (s *simulation) arm(id policy.GroupID) {
	g := &s.groups[id]
	i := int(s.queue.at[id])
	if len(g.members.entries) == 0 || g.rate == 0 {
		if i >= 0 {
			s.queue.remove(i)
		}
		return
	}
	at := g.since + sched.Duration(g.members.entries[0].key-g.service, g.rate)
	if i >= 0 {
		s.queue.change(i, at)
		return
	}
	s.queue.push(entry[sched.Time]{key: at, what: groupNext, id: int32(id)})
}

// nextOfGroup completes the first member of a group.
func (s *simulation) nextOfGroup(now sched.Time, id policy.GroupID) engine.Event {
	g := &s.groups[id]
	g.advance(now)
	m := g.members.pop()
	// Rounding up to a nanosecond may have let the service pass the mark or,
	// by a rounding of floats, stop just short of it.
	g.service = max(g.service, m.key)
	s.arm(id)
	if t := sched.TaskID(m.id); int(t) < s.x.Tasks() {
		return s.taskEnded(t, m.attempt)
	}
	return engine.Event{Kind: engine.FlowFinished, Flow: sched.FlowID(int(m.id) - s.x.Tasks())}
}
