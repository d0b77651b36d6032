package sched

import (
	"cmp"
	"slices"
	"time"

	"github.com/fairlead-project/fairlead/size"
)

// Identifiers. A StageID and a TaskID number the stages and tasks of the whole
// instance; see [Index]. None is -1.
type (
	JobID     int32
	StageID   int32
	TaskID    int32
	FlowID    int32
	MachineID int32
)

// None is the absent identifier.
const None = -1

// Instance is one scheduling problem: machines and jobs. It is plain data, never
// changed once built; [Instance.Validate] says whether it makes sense.
type Instance struct {
	Name string
	// Resources names the dimensions of Machine.Capacity and Stage.Needs.
	Resources []string
	Machines  []Machine
	Jobs      []Job
}

// ByRelease returns the jobs in order of release, then of JobID.
// Cost: O(jobs log jobs).
func (in *Instance) ByRelease() []JobID {
	jobs := make([]JobID, len(in.Jobs))
	for j := range jobs {
		jobs[j] = JobID(j)
	}
	slices.SortStableFunc(jobs, func(a, b JobID) int {
		return cmp.Compare(in.Jobs[a].Release, in.Jobs[b].Release)
	})
	return jobs
}

// Machine runs up to Slots tasks at a time, each at Speed.
type Machine struct {
	Name string
	// Speed is work per second: a task of size p takes p/Speed seconds.
	Speed float64
	// SpeedAssumed: nobody has said what Speed is. It is a default, or what was learnt
	// from earlier runs, and may be replaced by what is learnt next.
	SpeedAssumed bool
	Slots        int
	// Capacity holds, per dimension of Instance.Resources, thousandths of a unit.
	Capacity []int64
	// Port is the rate of its source and of its sink port, in bytes per second.
	// +Inf: no limit, transfers take no time.
	Port float64
	// CPUs are the processors of this computer that the machine stands for when
	// the workload is run for real. Empty: any.
	CPUs []int
}

// Job is a weighted DAG of stages.
type Job struct {
	Name    string
	Weight  float64 // w_j >= 0
	Release Time    // r_j >= 0; nothing of the job starts earlier
	Tenant  string
	After   []JobID // jobs that must complete first
	Stages  []Stage
}

// Stage is either a compute stage (Count > 0), or a transfer stage (Flows or
// Shuffle set, Count 0).
type Stage struct {
	Name string
	// After holds positions in Job.Stages that must complete first.
	After []int

	// Count is the number of tasks of a compute stage.
	Count int
	// Sizes holds the tasks' sizes in seconds at speed 1: one entry for all
	// tasks, or Count entries. Empty: unknown.
	Sizes []size.Dist
	// Needs holds, per dimension of Instance.Resources, what a task holds while
	// it runs, in thousandths of a unit. Nil: nothing.
	Needs []int64
	// Machines lists where the tasks may run, ascending. Nil: anywhere.
	Machines []MachineID
	// Input is data read from predecessor stages without a transfer stage.
	Input []Input
	// Fluid describes a stage that shares rates instead of holding slots.
	Fluid *Fluid

	Flows   []Flow
	Shuffle *Shuffle

	// What is needed only to run the stage for real.
	Run     *Command
	Workdir string
	Env     []EnvVar
	Image   string
	Retries int
	Timeout time.Duration
}

// Transfer reports whether s moves data instead of computing.
func (s *Stage) Transfer() bool { return s.Shuffle != nil || s.Flows != nil }

// Size returns the distribution of task k's size, nil if unknown.
func (s *Stage) Size(k int) size.Dist {
	switch len(s.Sizes) {
	case 0:
		return nil
	case 1:
		return s.Sizes[0]
	}
	return s.Sizes[k]
}

// Flow moves Size bytes from one machine's source port to another's sink port.
type Flow struct {
	From, To MachineID
	Size     size.Dist
	Run      *Command
}

// Shuffle is an all-to-all transfer between the tasks of two stages of the same
// job; each pair carries an equal share of Size bytes.
type Shuffle struct {
	From, To int // positions in Job.Stages
	Size     size.Dist
}

// Input says that a stage reads Bytes in total from stage From (a position in
// Job.Stages), each pair of tasks an equal share.
type Input struct {
	From  int
	Bytes float64
}

// Fluid holds the fields of rate sharing (design: files). Exactly one of Needs,
// Rates, Speedup and Page is set; Gang and MaxRate go with Needs.
type Fluid struct {
	Needs   []float64 // resource units per unit of rate, per Instance.Resources
	MaxRate float64   // 0: no limit
	Gang    bool
	Rates   []MachineRate
	Speedup []Segment
	Page    string
}

// MachineRate is a stage's speed on one machine (unrelated machines).
type MachineRate struct {
	Machine MachineID
	Rate    float64
}

// Segment is one piece of a concave speed-up curve.
type Segment struct{ Slope, Length float64 }

// Command is what a task runs: argv, or one string for sh -c.
type Command struct {
	Argv  []string // templates over the task's fields
	Shell string   // used if Argv is empty
}

// EnvVar is one environment variable of a stage.
type EnvVar struct{ Name, Value string }
