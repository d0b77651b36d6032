package check

import (
	"fmt"

	"github.com/fairlead-project/fairlead/sched"
)

// Rule names what a schedule can break.
type Rule string

const (
	Range      Rule = "range"      // a task, flow, machine or slot that does not exist; times before 0 or backwards
	Order      Rule = "order"      // tasks not in order of start, then TaskID
	Once       Rule = "once"       // a task or flow missing or repeated
	Length     Rule = "length"     // finish - start is not what size and rate give
	Overlap    Rule = "overlap"    // two tasks in a slot at the same time
	Capacity   Rule = "capacity"   // more of a resource in use than the machine has
	Pin        Rule = "pin"        // a task on a machine that its stage does not list
	Release    Rule = "release"    // a start before the job's release
	Precedence Rule = "precedence" // a start before a predecessor's finish
	Input      Rule = "input"      // a start before the task's input has come
	Port       Rule = "port"       // two flows on a port at the same time
	Completion Rule = "completion" // a recorded C_j that is not the last finish
)

// Violation is the first rule that a schedule breaks, and where. Fields that do
// not apply are empty, -1 for Task and Flow.
type Violation struct {
	Rule       Rule
	Job, Stage string
	Task, Flow int // positions in the stage
	Machine    string
	Detail     string
}

func (v *Violation) Error() string {
	s := "check: " + string(v.Rule) + ": "
	if v.Job != "" {
		s += "job " + v.Job
		if v.Stage != "" {
			s += ", stage " + v.Stage
		}
		if v.Task >= 0 {
			s += fmt.Sprintf(", task %d", v.Task)
		}
		if v.Flow >= 0 {
			s += fmt.Sprintf(", flow %d", v.Flow)
		}
		if v.Machine != "" {
			s += ", on machine " + v.Machine
		}
		s += ": "
	}
	return s + v.Detail
}

func broken(r Rule, format string, args ...any) *Violation {
	return &Violation{Rule: r, Task: -1, Flow: -1, Detail: fmt.Sprintf(format, args...)}
}

func (c *checker) atJob(v *Violation, j sched.JobID) error {
	v.Job = c.in.Jobs[j].Name
	return v
}

func (c *checker) atStage(v *Violation, s sched.StageID) error {
	v.Stage = c.x.Stage(s).Name
	return c.atJob(v, c.x.StageJob(s))
}

func (c *checker) atTask(v *Violation, p sched.Placement) error {
	s := c.stageOf[p.Task]
	first, _ := c.x.StageTasks(s)
	v.Task = int(p.Task - first)
	v.Machine = c.in.Machines[p.Machine].Name
	return c.atStage(v, s)
}

func (c *checker) atFlow(v *Violation, f sched.FlowID) error {
	s := c.x.FlowStage(f)
	first, _ := c.x.StageFlows(s)
	v.Flow = int(f - first)
	return c.atStage(v, s)
}
