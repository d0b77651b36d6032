package generate

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Kinds are what [Options.Kind] can be.
var Kinds = []string{MapReduce, Layered, Mixed, Alibaba}

// The kinds of workload.
const (
	MapReduce = "mapreduce" // WordCount-, Sort- and TeraSort-like jobs of a map and a reduce stage
	Layered   = "layered"   // random DAGs in layers
	Mixed     = "mixed"     // MapReduce and layered jobs by turns
	Alibaba   = "alibaba"   // DAG jobs after the Alibaba 2018 trace
)

// How jobs weigh.
const (
	Equal   = "equal"   // all 1
	Uniform = "uniform" // uniform in [1, WeightSkew]
	Skewed  = "skewed"  // log-uniform in [1, WeightSkew]
)

// When jobs arrive.
const (
	Poisson   = "poisson" // exponential gaps
	Intervals = "alibaba" // gaps after the Alibaba 2018 trace
)

// Limits that keep a generated workload within what a file may hold.
const (
	maxJobs     = 1_000_000
	maxMachines = 100_000
	maxStages   = 10_000 // layers × width
	maxWidth    = 1_000_000
)

// Options say what to generate. The zero value of a field is its default.
type Options struct {
	Kind string // one of [Kinds]; must be given
	Jobs int    // default 20
	Seed uint64

	// Machines is their number, default 16; Slots their slots, default 1.
	Machines, Slots int
	// SpeedSkew is the speed of the fastest machine; the slowest has speed 1, those
	// between are spaced evenly on a logarithmic scale. Default 1: all are equal.
	SpeedSkew float64
	// Port is the rate of each machine's ports in bytes per second. Default: no limit.
	Port float64

	// Load is the work that arrives per second over what all slots can do in one.
	// 0: all jobs are there from the beginning, unless Arrivals or Gaps is set.
	Load float64
	// Arrivals is Poisson (the default with a Load) or Intervals.
	Arrivals string
	// Gaps are the seconds between arrivals, repeated as often as needed, in place of
	// Arrivals. With a Load, gaps of any origin are scaled to it.
	Gaps []float64

	// Weights is Equal (the default), Uniform or Skewed. WeightSkew is the largest
	// weight: 10 by default if Uniform, 100 if Skewed.
	Weights    string
	WeightSkew float64

	// After is the probability that a job waits for one of the eight before it.
	After float64

	// MinTasks and MaxTasks bound the tasks of a stage, default 8 and 32. Numbers are
	// uniform; of reduce stages they are a quarter, half or all of such a number, but
	// not below MinTasks. Where tasks of a stage are equal, MinTasks is thus the least D of
	// S-PC's guarantee. Of Alibaba jobs, only MaxTasks counts: more tasks than that
	// become so many, default 100.
	MinTasks, MaxTasks int
	// TaskSeconds is the mean size of tasks, default 10. Not for Alibaba.
	TaskSeconds float64
	// StageCV is the coefficient of variation of the mean sizes of stages, which are
	// lognormal. Default 1; NoSpread: 0. Not for Alibaba, which has its own.
	StageCV float64
	// TaskCV is that of the sizes of the tasks of a stage. Default 0: all are equal.
	TaskCV float64
	// SizeCV makes each size a lognormal distribution of that coefficient of
	// variation about its mean, drawn when the workload is run. Default 0: exact.
	SizeCV float64

	// Layers is the number of layers of a layered job, drawn from 2 to Layers, default
	// 5; Width the number of stages per layer, drawn from 1 to Width, default 4.
	Layers, Width int
	// EdgeProb is the probability that a stage reads one of the layer before; one
	// of them it always reads. Default 0.3; NoSpread: 0.
	EdgeProb float64

	// Needs gives machines a unit of cpu and a GiB of memory per slot, and tasks needs
	// of both, equal within a stage: each log-uniform from a quarter to 4, so that
	// resources are short before slots are; of Alibaba jobs as in the trace. At most what a
	// machine has. Load still counts slots.
	Needs bool

	// CCR makes stages read input: the mean of the seconds in which a task reads it
	// through its port over those it computes at speed 1. Needs Port. Default 0: none.
	CCR float64
}

// NoSpread asks for 0 where 0 means the default.
const NoSpread = -1

// Validate says what is wrong with o.
func (o *Options) Validate() error {
	r := o.withDefaults()
	bad := func(name string, value any, expected string) error {
		return fmt.Errorf("generate: %s %v: expected %s", name, value, expected)
	}
	finite := func(x, low, high float64) bool { return x >= low && x <= high }
	switch {
	case !slices.Contains(Kinds, r.Kind):
		return bad("kind", fmt.Sprintf("%q", r.Kind), strings.Join(Kinds, ", "))
	case r.Jobs < 1 || r.Jobs > maxJobs:
		return bad("jobs", r.Jobs, fmt.Sprintf("1 to %d", maxJobs))
	case r.Machines < 1 || r.Machines > maxMachines:
		return bad("machines", r.Machines, fmt.Sprintf("1 to %d", maxMachines))
	case r.Slots < 1 || r.Slots > maxMachines:
		return bad("slots", r.Slots, fmt.Sprintf("1 to %d", maxMachines))
	case !finite(r.SpeedSkew, 1, 1e6):
		return bad("speed skew", r.SpeedSkew, "1 to 1e6")
	case !(r.Port > 0):
		return bad("port", r.Port, "a positive number of bytes per second")
	case !finite(r.Load, 0, 1e6):
		return bad("load", r.Load, "0 to 1e6")
	case !slices.Contains([]string{"", Poisson, Intervals}, r.Arrivals):
		return bad("arrivals", fmt.Sprintf("%q", r.Arrivals), Poisson+" or "+Intervals)
	case r.Arrivals == Poisson && r.Load == 0:
		return bad("load", 0, "a positive one for poisson arrivals")
	case r.Arrivals != "" && r.Gaps != nil:
		return fmt.Errorf("generate: both arrivals and gaps: expected one of them")
	case r.Gaps != nil && len(r.Gaps) == 0:
		return bad("gaps", "[]", "at least one")
	case !slices.Contains([]string{Equal, Uniform, Skewed}, r.Weights):
		return bad("weights", fmt.Sprintf("%q", r.Weights), strings.Join([]string{Equal, Uniform, Skewed}, ", "))
	case !finite(r.WeightSkew, 1, 1e9):
		return bad("weight skew", r.WeightSkew, "1 to 1e9")
	case !finite(r.After, 0, 1):
		return bad("after", r.After, "a probability")
	case r.MinTasks < 1 || r.MaxTasks < r.MinTasks || r.MaxTasks > maxWidth:
		return bad("tasks", fmt.Sprintf("%d to %d", r.MinTasks, r.MaxTasks), fmt.Sprintf("a range within 1 to %d", maxWidth))
	case !finite(r.TaskSeconds, 1e-3, 1e9):
		return bad("task seconds", r.TaskSeconds, "0.001 to 1e9")
	case !finite(r.StageCV, 0, maxCV):
		return bad("stage cv", r.StageCV, fmt.Sprintf("0 to %d", maxCV))
	case !finite(r.TaskCV, 0, maxCV):
		return bad("task cv", r.TaskCV, fmt.Sprintf("0 to %d", maxCV))
	case !finite(r.SizeCV, 0, maxCV):
		return bad("size cv", r.SizeCV, fmt.Sprintf("0 to %d", maxCV))
	case r.Layers < 2 || r.Width < 1 || r.Layers > maxStages || r.Width > maxStages/r.Layers:
		return bad("layers and width", fmt.Sprintf("%d × %d", r.Layers, r.Width), fmt.Sprintf("at least 2 layers and 1 stage each, at most %d in all", maxStages))
	case !finite(r.EdgeProb, 0, 1):
		return bad("edge probability", r.EdgeProb, "a probability")
	case !finite(r.CCR, 0, 1e6):
		return bad("ccr", r.CCR, "0 to 1e6")
	case r.CCR > 0 && math.IsInf(r.Port, 1):
		return bad("ccr", r.CCR, "a port as well, to know how many bytes that is")
	}
	for _, g := range r.Gaps {
		if !finite(g, 0, 1e9) {
			return bad("gap", g, "0 to 1e9 seconds")
		}
	}
	return nil
}

// maxCV keeps the moments of lognormal sizes within what can be computed.
const maxCV = 100

// withDefaults fills in what is left open.
func (o *Options) withDefaults() Options {
	r := *o
	integer := func(x *int, def int) {
		if *x == 0 {
			*x = def
		}
	}
	number := func(x *float64, def float64) {
		switch *x {
		case 0:
			*x = def
		case NoSpread:
			*x = 0
		}
	}
	integer(&r.Jobs, 20)
	integer(&r.Machines, 16)
	integer(&r.Slots, 1)
	integer(&r.Layers, 5)
	integer(&r.Width, 4)
	number(&r.SpeedSkew, 1)
	number(&r.Port, math.Inf(1))
	number(&r.TaskSeconds, 10)
	number(&r.StageCV, 1)
	number(&r.EdgeProb, 0.3)
	if r.Kind == Alibaba {
		integer(&r.MinTasks, 1)
		integer(&r.MaxTasks, 100)
	}
	integer(&r.MaxTasks, max(32, r.MinTasks))
	integer(&r.MinTasks, min(8, r.MaxTasks))
	if r.Weights == "" {
		r.Weights = Equal
	}
	if r.Weights == Skewed {
		number(&r.WeightSkew, 100)
	}
	number(&r.WeightSkew, 10)
	if r.Arrivals == "" && r.Gaps == nil && r.Load > 0 {
		r.Arrivals = Poisson
	}
	return r
}
