package engine

import (
	"fmt"
	"math"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// activity numbers tasks from 0 and flows after the last task.
type activity int32

func taskActivity(t sched.TaskID) activity { return activity(t) }

func (st *state) activity(a policy.Activity) activity {
	if a.Task != sched.None {
		return activity(a.Task)
	}
	return activity(len(st.taskState)) + activity(a.Flow)
}

// groups keeps the service that each group has given, from which follows what
// each member has attained: a change of rate costs O(1) however many members.
type groups struct {
	group  []group
	member []membership // per activity; nil until the first Join
}

type group struct {
	rate    float64
	service float64 // integral of the rate up to since
	since   sched.Time
}

// membership of an activity: attained before it joined its present group, and
// that group's service then.
type membership struct {
	group    policy.GroupID // plus 1; 0: none
	share    float64
	attained float64
	joined   float64
}

func (g *group) at(now sched.Time) float64 {
	return g.service + float64(g.rate*(now-g.since).Seconds())
}

func (gs *groups) attained(a activity, now sched.Time) float64 {
	if gs.member == nil {
		return 0
	}
	m := &gs.member[a]
	if m.group == 0 {
		return m.attained
	}
	return m.attained + float64(m.share*(gs.group[m.group-1].at(now)-m.joined))
}

// leave takes an activity out of its group; false if it was in none.
func (gs *groups) leave(a activity) bool {
	if gs.member == nil || gs.member[a].group == 0 {
		return false
	}
	gs.member[a] = membership{}
	return true
}

// maxGroups bounds the numbers a policy may choose for its groups.
const maxGroups = 1 << 24

func (st *state) join(now sched.Time, j policy.Join) (attempt int32, err error) {
	if j.Group < 0 || j.Group >= maxGroups || !(j.Share > 0) || math.IsInf(j.Share, 1) {
		return 0, fmt.Errorf("join of group %d with share %v: need a small number and a positive share", j.Group, j.Share)
	}
	if (j.Activity.Task == sched.None) == (j.Activity.Flow == sched.None) {
		return 0, fmt.Errorf("join: need either a task or a flow, got %+v", j.Activity)
	}
	if t, f := j.Activity.Task, j.Activity.Flow; t < sched.None || int(t) >= len(st.taskState) || f < sched.None || int(f) >= len(st.flowState) {
		return 0, fmt.Errorf("join of task %d, flow %d: no such thing", t, f)
	}
	gs := &st.groups
	if gs.member == nil {
		gs.member = make([]membership, len(st.taskState)+len(st.flowState))
	}
	for int(j.Group) >= len(gs.group) {
		gs.group = append(gs.group, group{})
	}
	a := st.activity(j.Activity)
	attained := gs.attained(a, now)
	switch {
	case gs.member[a].group == 0:
		if attempt, err = st.beginActivity(j.Activity); err != nil {
			return 0, err
		}
	case j.Activity.Task != sched.None: // it moves
		attempt = st.taskAttempt[j.Activity.Task]
	default:
		attempt = 1
	}
	gs.member[a] = membership{group: j.Group + 1, share: j.Share, attained: attained, joined: gs.group[j.Group].at(now)}
	return attempt, nil
}

// beginActivity starts a task or flow that holds nothing.
func (st *state) beginActivity(a policy.Activity) (attempt int32, err error) {
	v := (*view)(st)
	if a.Task != sched.None {
		if got := v.Task(a.Task); got != policy.TaskPending {
			return 0, fmt.Errorf("join of task %d, which is %v", a.Task, got)
		}
		return st.begin(st.taskStage[a.Task], a.Task), nil
	}
	if got := v.Flow(a.Flow); got != policy.TaskPending {
		return 0, fmt.Errorf("join of flow %d, which is %v", a.Flow, got)
	}
	st.beginFlow(a.Flow)
	return 1, nil
}

func (st *state) setRate(now sched.Time, r policy.GroupRate) error {
	if r.Group < 0 || int(r.Group) >= len(st.groups.group) || !(r.Rate >= 0) || math.IsInf(r.Rate, 1) {
		return fmt.Errorf("rate %v for group %d: need a finite rate >= 0 and a group that was joined", r.Rate, r.Group)
	}
	g := &st.groups.group[r.Group]
	g.service, g.since, g.rate = g.at(now), now, r.Rate
	return nil
}

// flow returns the flow numbered f.
func (st *state) flow(f sched.FlowID) *sched.Flow {
	s := st.x.FlowStage(f)
	first, _ := st.x.StageFlows(s)
	return &st.x.Stage(s).Flows[f-first]
}

// startFlow makes a flow hold both its ports. A flow from a machine to itself
// uses its ports like any other.
func (st *state) startFlow(f sched.FlowID) error {
	if f < 0 || int(f) >= len(st.flowState) {
		return fmt.Errorf("start of flow %d: no such flow", f)
	}
	v := (*view)(st)
	if got := v.Flow(f); got != policy.TaskPending {
		return fmt.Errorf("start of flow %d, which is %v", f, got)
	}
	if !v.PortsFree(f) {
		return fmt.Errorf("start of flow %d, whose ports are not both free", f)
	}
	fl := st.flow(f)
	st.sourceBusy[fl.From], st.sinkBusy[fl.To] = true, true
	st.beginFlow(f)
	return nil
}

func (st *state) beginFlow(f sched.FlowID) {
	s := st.x.FlowStage(f)
	st.flowState[f] = policy.TaskRunning
	st.begun(s)
}

func (st *state) endFlow(now sched.Time, f sched.FlowID) {
	s := st.x.FlowStage(f)
	st.flowState[f] = policy.TaskDone
	st.stages[s].active--
	st.stages[s].done++
	st.jobs[st.x.StageJob(s)].running--
	st.running--
	if !st.groups.leave(activity(len(st.taskState)) + activity(f)) {
		fl := st.flow(f)
		st.sourceBusy[fl.From], st.sinkBusy[fl.To] = false, false
	}
	if st.stages[s].done == st.stages[s].total {
		st.complete(now, s)
	}
	st.touch(s)
	st.settle(st.x.StageJob(s))
}
