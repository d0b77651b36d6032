package report

import (
	"math"
	"slices"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// Run is the outcome of one policy on one workload: the stable JSON form of
// `simulate`, `plan` and `run`. Times are seconds. Pointers are null where the
// number does not exist: no bound, a denominator that is not positive, no job
// that completed.
type Run struct {
	// Workload names the file where there are several.
	Workload           string   `json:"workload,omitempty"`
	Policy             string   `json:"policy"`
	Seed               uint64   `json:"seed"`
	WeightedCompletion float64  `json:"weightedCompletion"`
	WeightedFlowTime   float64  `json:"weightedFlowTime"`
	Makespan           float64  `json:"makespan"`
	MeanCompletion     *float64 `json:"meanCompletion"`
	MeanFlowTime       *float64 `json:"meanFlowTime"`
	P95FlowTime        *float64 `json:"p95FlowTime"`
	LowerBound         *float64 `json:"lowerBound"`
	Ratio              *float64 `json:"ratio"`
	FlowRatio          *float64 `json:"flowRatio"`
	Jobs               []Job    `json:"jobs"`
}

// Job is one job of a Run. Completion is null unless it completed.
type Job struct {
	Name       string   `json:"name"`
	Release    float64  `json:"release"`
	Completion *float64 `json:"completion"`
	Weight     float64  `json:"weight"`
	State      string   `json:"state"`
}

// Complete reports whether every job completed, so that costs and ratios mean
// what they say.
func (r *Run) Complete() bool {
	return !slices.ContainsFunc(r.Jobs, func(j Job) bool { return j.Completion == nil })
}

// NewRun computes the statistics of a schedule. Jobs that did not complete count
// in no sum. lower is a lower bound on Σ w_j C_j, NaN if there is none.
func NewRun(name string, seed uint64, in *sched.Instance, completion []sched.Time, states []policy.JobState, lower float64) Run {
	r := Run{Policy: name, Seed: seed, Jobs: make([]Job, len(in.Jobs))}
	var completions, flows []float64
	released := 0.0
	for j := range in.Jobs {
		job := &in.Jobs[j]
		out := Job{Name: job.Name, Release: job.Release.Seconds(), Weight: job.Weight, State: states[j].String()}
		released += float64(job.Weight * out.Release)
		if states[j] == policy.JobDone {
			c := completion[j].Seconds()
			out.Completion = &c
			f := (completion[j] - job.Release).Seconds()
			r.WeightedCompletion += float64(job.Weight * c)
			r.WeightedFlowTime += float64(job.Weight * f)
			r.Makespan = max(r.Makespan, c)
			completions, flows = append(completions, c), append(flows, f)
		}
		r.Jobs[j] = out
	}
	r.MeanCompletion, r.MeanFlowTime = mean(completions), mean(flows)
	r.P95FlowTime = Quantile(flows, 0.95)
	if !math.IsNaN(lower) {
		r.LowerBound = &lower
		if r.Complete() {
			r.Ratio = over(r.WeightedCompletion, lower)
			r.FlowRatio = over(r.WeightedFlowTime, lower-released)
		}
	}
	return r
}

func over(a, b float64) *float64 {
	if !(b > 0) {
		return nil
	}
	q := a / b
	return &q
}

func mean(x []float64) *float64 {
	if len(x) == 0 {
		return nil
	}
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	m := sum / float64(len(x))
	return &m
}

// Quantile returns the smallest of x that at least a share q of x does not
// exceed (nearest rank), nil if x is empty. It does not change x.
func Quantile(x []float64, q float64) *float64 {
	if len(x) == 0 {
		return nil
	}
	s := slices.Clone(x)
	slices.Sort(s)
	i := max(0, min(len(s)-1, int(math.Ceil(q*float64(len(s))))-1))
	return &s[i]
}
