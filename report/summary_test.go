package report

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

func two() *sched.Instance {
	return &sched.Instance{Jobs: []sched.Job{
		{Name: "a", Weight: 2, Release: sched.Second},
		{Name: "b", Weight: 1, Release: 0},
	}}
}

func TestRunByHand(t *testing.T) {
	done := []policy.JobState{policy.JobDone, policy.JobDone}
	r := NewRun("p", 7, two(), []sched.Time{4 * sched.Second, 10 * sched.Second}, done, 12)
	// 2·4 + 1·10 = 18; 2·3 + 1·10 = 16; bound on the flow time 12 − 2·1 = 10.
	for name, c := range map[string][2]float64{
		"weightedCompletion": {r.WeightedCompletion, 18},
		"weightedFlowTime":   {r.WeightedFlowTime, 16},
		"makespan":           {r.Makespan, 10},
		"meanCompletion":     {*r.MeanCompletion, 7},
		"meanFlowTime":       {*r.MeanFlowTime, 6.5},
		"p95FlowTime":        {*r.P95FlowTime, 10},
		"ratio":              {*r.Ratio, 1.5},
		"flowRatio":          {*r.FlowRatio, 1.6},
	} {
		if math.Abs(c[0]-c[1]) > 1e-12 {
			t.Errorf("%s = %v, want %v", name, c[0], c[1])
		}
	}
}

func TestRunNulls(t *testing.T) {
	states := []policy.JobState{policy.JobFailed, policy.JobNotRun}
	r := NewRun("p", 0, two(), []sched.Time{sched.Never, sched.Never}, states, 12)
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"ratio":null`, `"flowRatio":null`, `"meanCompletion":null`, `"p95FlowTime":null`, `"completion":null`, `"state":"not-run"`, `"lowerBound":12`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %s in %s", want, b)
		}
	}
	// A bound that does not exceed the weighted releases says nothing about flow.
	done := []policy.JobState{policy.JobDone, policy.JobDone}
	r = NewRun("p", 0, two(), []sched.Time{4 * sched.Second, 10 * sched.Second}, done, 2)
	if r.FlowRatio != nil || r.Ratio == nil {
		t.Errorf("flowRatio %v, ratio %v", r.FlowRatio, r.Ratio)
	}
	r = NewRun("p", 0, two(), []sched.Time{4 * sched.Second, 10 * sched.Second}, done, math.NaN())
	if r.LowerBound != nil || r.Ratio != nil {
		t.Error("a bound out of nothing")
	}
}

func TestQuantileIsNearestRank(t *testing.T) {
	x := []float64{5, 1, 4, 2, 3}
	for q, want := range map[float64]float64{0: 1, 0.2: 1, 0.21: 2, 0.5: 3, 0.95: 5, 1: 5} {
		if got := *Quantile(x, q); got != want {
			t.Errorf("quantile %v = %v, want %v", q, got, want)
		}
	}
	if x[0] != 5 || Quantile(nil, 0.5) != nil {
		t.Error("Quantile changed its argument, or made a number of nothing")
	}
}
