package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/fairlead-project/fairlead/sched"
)

// Timeline is what ran where and when: all that pictures and exports need of a
// finished or unfinished run, a simulation or a plan. It is plain data. Times count
// from the beginning of the run.
type Timeline struct {
	// Name of the workload, may be empty.
	Name string
	// Kind is "run", "simulation" or "plan".
	Kind string
	// Began is the wall time of time 0; zero if the clock was virtual.
	Began time.Time
	// Now is how far the record goes: what runs has run until then.
	Now sched.Time
	// Unfinished says that more would have followed.
	Unfinished bool
	// Run holds the policy, the costs and bound as far as they are known, and the
	// jobs, which Attempt.Job indexes.
	Run      Run
	Machines []TimelineMachine
	// Attempts may be in any order.
	Attempts []Attempt
}

// TimelineMachine is one machine: a lane per slot.
type TimelineMachine struct {
	Name  string
	Speed float64
	Slots int
}

// Attempt is one attempt at a task. What a simulation or a plan does not have is
// zero.
type Attempt struct {
	ID      sched.TaskID // numbers the tasks of the workload
	Job     int
	Stage   string
	Task    int // within the stage
	Attempt int // from 1
	Machine int
	Slot    int
	// Start and Finish; a running attempt has not finished: Finish is ignored.
	Start, Finish sched.Time
	State         AttemptState
	// ExitCode as a shell reports it: 128 + n for signal n.
	ExitCode int
	Signal   string // such as SIGKILL
	Error    string // what happened, if it failed
	CPU      time.Duration
	// PeakMemory in bytes.
	PeakMemory int64
	// Command as a shell would take it.
	Command string
	// Stdout and Stderr are paths of the outputs.
	Stdout, Stderr string
}

// AttemptState is how an attempt ended, if it has.
type AttemptState uint8

const (
	// Done: it succeeded.
	Done AttemptState = iota
	// Failed: it ended without success.
	Failed
	// Lost: how it ended is not known.
	Lost
	// Stopped: it was ended because the run had to end.
	Stopped
	// Running: it has not ended.
	Running
	states = iota
)

func (s AttemptState) String() string {
	return [...]string{"done", "failed", "lost", "stopped", "running"}[s]
}

// FromSchedule makes the timeline of a simulation or a plan, in which every task of
// the schedule is done at its first attempt. Cost: O(tasks log stages).
func FromSchedule(kind string, x *sched.Index, s *sched.Schedule, r Run) *Timeline {
	t := &Timeline{Name: x.Instance.Name, Kind: kind, Run: r, Machines: MachinesOf(x.Instance)}
	t.Attempts = make([]Attempt, len(s.Tasks))
	for i, p := range s.Tasks {
		stage := x.TaskStage(p.Task)
		first, _ := x.StageTasks(stage)
		t.Attempts[i] = Attempt{
			ID: p.Task, Job: int(x.StageJob(stage)), Stage: x.Stage(stage).Name, Task: int(p.Task - first), Attempt: 1,
			Machine: int(p.Machine), Slot: int(p.Slot), Start: p.Start, Finish: p.Finish,
		}
		t.Now = max(t.Now, p.Finish)
	}
	return t
}

// MachinesOf lists the machines of an instance for a timeline.
func MachinesOf(in *sched.Instance) []TimelineMachine {
	machines := make([]TimelineMachine, len(in.Machines))
	for m := range in.Machines {
		machines[m] = TimelineMachine{Name: in.Machines[m].Name, Speed: in.Machines[m].Speed, Slots: in.Machines[m].Slots}
	}
	return machines
}

// end is when the attempt ended, or until when it has been seen to run.
func (t *Timeline) end(a *Attempt) sched.Time {
	if a.State == Running {
		return max(a.Start, t.Now)
	}
	return max(a.Start, a.Finish)
}

// span is what a picture covers: until the last known instant, more than nothing.
func (t *Timeline) span() sched.Time {
	last := max(1, t.Now)
	for i := range t.Attempts {
		last = max(last, t.end(&t.Attempts[i]))
	}
	return last
}

// lanes returns the indices of the attempts, per machine and slot in order of start.
// Those of machines or slots that do not exist are left out.
func (t *Timeline) lanes() [][][]int {
	lanes := make([][][]int, len(t.Machines))
	for m := range lanes {
		lanes[m] = make([][]int, max(0, t.Machines[m].Slots))
	}
	for i := range t.Attempts {
		a := &t.Attempts[i]
		if a.Machine >= 0 && a.Machine < len(lanes) && a.Slot >= 0 && a.Slot < len(lanes[a.Machine]) {
			lane := &lanes[a.Machine][a.Slot]
			*lane = append(*lane, i)
		}
	}
	for _, slots := range lanes {
		for _, lane := range slots {
			slices.SortFunc(lane, t.byStart)
		}
	}
	return lanes
}

// byStart compares attempts by index.
func (t *Timeline) byStart(i, j int) int {
	a, b := &t.Attempts[i], &t.Attempts[j]
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(t.end(a), t.end(b)), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Attempt, b.Attempt))
}

// Usage is what became of a machine's, or a job's, time.
type Usage struct {
	// Attempts counts them by state, indexed by AttemptState.
	Attempts [states]int
	// Busy is the sum of the attempts' durations.
	Busy time.Duration
	CPU  time.Duration
	// PeakMemory in bytes, the largest of an attempt.
	PeakMemory int64
}

// Total counts the attempts.
func (u *Usage) Total() int {
	n := 0
	for _, k := range u.Attempts {
		n += k
	}
	return n
}

func (u *Usage) add(t *Timeline, a *Attempt) {
	u.Attempts[a.State]++
	u.Busy += time.Duration(t.end(a) - a.Start)
	u.CPU += a.CPU
	u.PeakMemory = max(u.PeakMemory, a.PeakMemory)
}

// Usage returns what every machine and every job used.
func (t *Timeline) Usage() (machines, jobs []Usage) {
	machines, jobs = make([]Usage, len(t.Machines)), make([]Usage, len(t.Run.Jobs))
	for i := range t.Attempts {
		a := &t.Attempts[i]
		if a.Machine >= 0 && a.Machine < len(machines) {
			machines[a.Machine].add(t, a)
		}
		if a.Job >= 0 && a.Job < len(jobs) {
			jobs[a.Job].add(t, a)
		}
	}
	return machines, jobs
}

// Utilisation is the share of the slots' time, from 0 to the end of the timeline,
// that u was busy.
func (t *Timeline) Utilisation(u *Usage, slots int) float64 {
	if slots <= 0 {
		return 0
	}
	return u.Busy.Seconds() / (float64(slots) * t.span().Seconds())
}

// job returns the name of an attempt's job.
func (t *Timeline) job(a *Attempt) string {
	if a.Job < 0 || a.Job >= len(t.Run.Jobs) {
		return ""
	}
	return t.Run.Jobs[a.Job].Name
}

func (t *Timeline) machine(a *Attempt) string {
	if a.Machine < 0 || a.Machine >= len(t.Machines) {
		return ""
	}
	return t.Machines[a.Machine].Name
}

// inOrder returns the indices of all attempts in order of start.
func (t *Timeline) inOrder() []int {
	order := make([]int, len(t.Attempts))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, t.byStart)
	return order
}
