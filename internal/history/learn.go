package history

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-project/fairlead/size"
)

const (
	// halfLife, in runs of a stage: an attempt of so many runs ago counts half. Drift is
	// followed within a few runs, and a single odd run does not decide.
	halfLife = 3.0
	// oldest is the age, in runs, beyond which attempts count no less: weights stay
	// within floats.
	oldest = 60
	// supportPoints of a stage's distribution; where tasks have distributions of their
	// own each has noisePoints.
	supportPoints = 64
	noisePoints   = 16
	// systematic: the tasks of a stage get sizes of their own if they differ from each
	// other by this factor more than the attempts of one task do. Below, sizes of their
	// own would be noise.
	systematic = 1.75
	// memoryRuns is how many runs of a stage back its use of memory is looked at;
	// memoryQuantile of the peaks, the largest of up to 100, gets memoryMargin added. An
	// attempt that was ended for want of memory would have used more: outOfMemoryFactor.
	memoryRuns        = 10
	memoryQuantile    = 0.99
	memoryMargin      = 1.15
	outOfMemoryFactor = 1.5
	// memoryUnit: needs are whole MiB.
	memoryUnit = 1 << 20
)

// Shape is what a stage is now.
type Shape struct {
	Tasks int
	Input float64 // bytes per task; 0: not stated
}

// Options of [Learn]. The zero value learns what can be said of the history alone.
type Options struct {
	// Speeds are the stated speeds of machines, which are kept. Nil: what the workloads
	// stated when the attempts were made, the latest counts.
	Speeds map[string]float64
	// Machines set the unit of size where neither a speed nor a size is stated: the
	// median of their speeds is 1. Nil: all.
	Machines []string
	// Stages says what stages are now; one that is missing is as in its latest run.
	Stages map[Key]Shape
}

// Estimates is what has been learnt.
type Estimates struct {
	Runs     int               // that attempts are of
	Stages   []StageEstimate   // by job and stage
	Machines []MachineEstimate // by name
}

// StageEstimate says how large the tasks of a stage are.
type StageEstimate struct {
	Key
	Runs, Attempts, Done int
	LastSeen             time.Time // the latest launch
	// Sizes is the distribution of the size of any task of the stage, in seconds at speed
	// 1, at the present input. Nil: no attempt has succeeded.
	Sizes       size.Dist
	Median, P90 float64
	// ByTask holds a distribution per task, if the tasks differ systematically.
	ByTask []size.Dist
	// Launch is how many of these seconds pass until work begins, 0 if that is not known.
	Launch float64
	// Memory is what a task should be given, in bytes, 0 if that is not known.
	Memory int64
}

// Source says where a machine's speed comes from.
type Source string

// Sources of speeds: the workload states it; comparison with other machines or stated
// sizes; nothing has been found to compare it with.
const (
	Stated  Source = "stated"
	Learnt  Source = "learnt"
	Assumed Source = "assumed"
)

// MachineEstimate says how fast a machine is.
type MachineEstimate struct {
	Name     string
	Speed    float64 // work per second
	Source   Source
	Attempts int // that succeeded
}

// Stage returns what is known of a stage, nil if nothing is.
func (e *Estimates) Stage(k Key) *StageEstimate {
	i, ok := slices.BinarySearchFunc(e.Stages, k, func(s StageEstimate, k Key) int { return s.Key.compare(k) })
	if !ok {
		return nil
	}
	return &e.Stages[i]
}

// Machine returns what is known of a machine, nil if nothing is.
func (e *Estimates) Machine(name string) *MachineEstimate {
	i, ok := slices.BinarySearchFunc(e.Machines, name, func(m MachineEstimate, n string) int { return strings.Compare(m.Name, n) })
	if !ok {
		return nil
	}
	return &e.Machines[i]
}

func (k Key) compare(o Key) int {
	return cmp.Or(strings.Compare(k.Job, o.Job), strings.Compare(k.Stage, o.Stage))
}

// Learn estimates sizes and speeds from attempts, given in the order of their runs,
// oldest first. It is a pure function: the same attempts give the same bits. Cost:
// O(attempts) for each of at most some hundred iterations.
func Learn(attempts []Attempt, o Options) *Estimates {
	l := newLearner(attempts, o)
	l.fit = newFit(l.obs, len(l.stages), l.tasks, l.known)
	l.anchor()
	e := &Estimates{Runs: l.runs}
	for k := range l.stages {
		e.Stages = append(e.Stages, l.stage(k))
	}
	for m, name := range l.machines {
		e.Machines = append(e.Machines, MachineEstimate{
			Name: name, Speed: math.Exp(l.fit.speed[m]), Source: l.source[m], Attempts: len(l.fit.on[m]),
		})
	}
	return e
}
