package sched

// Placement is where and when one task ran, without interruption.
type Placement struct {
	Task          TaskID
	Machine       MachineID
	Slot          int32
	Start, Finish Time
}

// Transmission is when one flow held its ports.
type Transmission struct {
	Flow          FlowID
	Start, Finish Time
}

// Schedule is a complete record of what ran where. Tasks is in order of start
// time, then TaskID.
type Schedule struct {
	Tasks []Placement
	Flows []Transmission
	// Completion holds C_j per job; Never for a job that did not complete.
	Completion []Time
}

// Sizes holds one realised size per task, in seconds at speed 1; compact where
// all tasks of a stage are equal.
type Sizes struct {
	stages [][]float64 // per stage: one entry, or one per task
	first  []TaskID
}

// NewSizes returns sizes for the stages of x, all zero; fill it with SetAll
// and SetEach.
func NewSizes(x *Index) *Sizes {
	return &Sizes{stages: make([][]float64, x.Stages()), first: x.stageTask}
}

// SetAll gives every task of s the size p.
func (z *Sizes) SetAll(s StageID, p float64) { z.stages[s] = []float64{p} }

// SetEach gives the tasks of s the sizes p, one per task. It keeps p.
func (z *Sizes) SetEach(s StageID, p []float64) { z.stages[s] = p }

// Of returns the size of task t of stage s.
func (z *Sizes) Of(s StageID, t TaskID) float64 {
	p := z.stages[s]
	switch len(p) {
	case 0:
		return 0
	case 1:
		return p[0]
	}
	return p[t-z.first[s]]
}

// Known reports whether s has sizes.
func (z *Sizes) Known(s StageID) bool { return len(z.stages[s]) > 0 }

// Uniform returns the common size of s's tasks, if they were set by SetAll.
func (z *Sizes) Uniform(s StageID) (p float64, ok bool) {
	if len(z.stages[s]) == 1 {
		return z.stages[s][0], true
	}
	return 0, false
}
