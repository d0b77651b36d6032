package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/trace/generate"
)

// The configurations. They were committed before any result was looked at; a change
// here is a change of what is claimed.

// seeds per cell.
const (
	streamSeeds   = 24
	seedSeeds     = 20
	workflowSeeds = 12
)

// baselines are all policies that spc is compared with everywhere.
var baselines = []string{
	"wspt", "fifo", "identical", "map-only", "sjf", "critical-path", "heft", "peft", "min-min", "max-min", "tetris", "random",
}

// everyone is them and S-PC.
func everyone() []string {
	return append([]string{"spc", "spc:plain=true", "spc-online"}, baselines...)
}

// stream is the configuration of the streams whose quality is claimed: 50 to 150 jobs, half
// MapReduce, half layered DAGs, on machines whose fastest is up to ten times as fast as the
// slowest.
type stream struct {
	wide   bool    // stages of 8 to 32 tasks on 4, 8 or 16 machines; else 1 to 4 on 16
	load   float64 // 0: all at once
	cv     float64 // of sizes that are known as distributions only; 0: exact
	after  float64 // probability that a job waits for an earlier one
	weight float64 // weights are log-uniform from 1 to this
}

func (s stream) String() string {
	name := "stages of 1–4 tasks, m = 16"
	if s.wide {
		name = "wide stages, m ≤ 16"
	}
	if s.after > 0 {
		name += fmt.Sprintf(", jobs wait for others, weights 1:%g", s.weight)
	}
	return fmt.Sprintf("%s, load %g", name, s.load)
}

func (s stream) make(seed uint64) (*sched.Instance, error) {
	rng := rand.New(rand.NewPCG(seed, 1001))
	o := generate.Options{
		Kind: generate.Mixed, Seed: seed, Jobs: 50 + rng.IntN(101), Machines: 16,
		SpeedSkew: math.Pow(10, rng.Float64()), Load: s.load,
		Weights: generate.Skewed, WeightSkew: s.weight, After: s.after, SizeCV: s.cv,
		MinTasks: 1, MaxTasks: 4,
	}
	if s.wide {
		o.Machines = []int{4, 8, 16}[rng.IntN(3)]
		o.MinTasks, o.MaxTasks = 8, 32
	}
	return generate.Instance(o)
}

// The targets of streams: median, and worst, of the ratio (load 0) or flowRatio.
var streamTargets = []struct {
	stream
	median, worst float64
}{
	{stream{wide: true, weight: 10}, 1.05, 1.15},
	{stream{wide: true, load: 0.5, weight: 10}, 1.4, 1.8},
	{stream{wide: true, load: 0.9, weight: 10}, 1.55, 2.2},
	{stream{weight: 10}, 1.12, 1.3},
	{stream{load: 0.5, weight: 10}, 1.4, 1.8},
	{stream{load: 0.9, weight: 10}, 1.8, 2.5},
}

// onlineCV is the coefficient of variation of durations under which spc-online must stay
// within onlineFactor of the medians above.
const (
	onlineCV     = 0.5
	onlineFactor = 1.12
)

// waiting are the streams on which spc must be waitingGain below wspt in the median.
var waiting = []stream{
	{wide: true, after: 0.5, weight: 100},
	{after: 0.5, weight: 100},
}

const waitingGain = 0.08

// The experiment of the seed paper, rebuilt: WordCount-, Sort- and TeraSort-like jobs
// on machines of different speeds. One factor varies at a time, the others keep the value
// in the middle.
type experiment struct {
	load  float64
	jobs  int
	skew  float64 // of speeds
	tasks int     // of the map stage: D of the paper, since tasks of a stage are equal
}

var (
	middle      = experiment{load: 0.5, jobs: 60, skew: 4, tasks: 16}
	loads       = []float64{0, 0.25, 0.5, 0.75, 0.9}
	jobNumbers  = []int{15, 30, 60, 120, 240}
	skews       = []float64{1, 2, 4, 8, 16}
	taskNumbers = []int{1, 4, 16, 64, 256}
)

func (x experiment) make(seed uint64) (*sched.Instance, error) {
	return generate.Instance(generate.Options{
		Kind: generate.MapReduce, Seed: seed, Jobs: x.jobs, Machines: 16, SpeedSkew: x.skew,
		Load: x.load, Weights: generate.Skewed, WeightSkew: 100, MinTasks: x.tasks, MaxTasks: x.tasks,
	})
}

// waves are the tasks of a stage per slot: how often a stage fills all machines.
var waves = []float64{0.25, 0.5, 1, 2, 4, 8}

// The distance to the bound over the number of machines and D.
var (
	machineNumbers = []int{2, 4, 8, 16, 32}
	dValues        = []int{1, 2, 4, 16, 64}
)

func distance(m, d int) func(seed uint64) (*sched.Instance, error) {
	return func(seed uint64) (*sched.Instance, error) {
		return generate.Instance(generate.Options{
			Kind: generate.Mixed, Seed: seed, Jobs: 40, Machines: m, SpeedSkew: 4,
			Weights: generate.Skewed, WeightSkew: 10, MinTasks: d, MaxTasks: d,
		})
	}
}
