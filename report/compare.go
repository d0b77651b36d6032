package report

import (
	"fmt"
	"math"
	"slices"
)

// Estimate is a mean with its 95 % confidence interval, null where there are too few
// values for one.
type Estimate struct {
	Mean float64  `json:"mean"`
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
}

// String prints an estimate of something near 1; "-" for none.
func (e *Estimate) String() string {
	switch {
	case e == nil:
		return "-"
	case e.Low == nil:
		return fmt.Sprintf("%.3f", e.Mean)
	}
	return fmt.Sprintf("%.3f [%.3f, %.3f]", e.Mean, *e.Low, *e.High)
}

// Quotient returns the geometric mean of a[i] / b[i], with its interval over i; nil if
// there are none or one is not positive. Cost: 10,000 means.
func Quotient(a, b []float64) *Estimate {
	logs := make([]float64, len(a))
	for i := range a {
		if !(a[i] > 0 && b[i] > 0) {
			return nil
		}
		logs[i] = math.Log(a[i] / b[i])
	}
	if len(logs) == 0 {
		return nil
	}
	e := estimate(logs)
	for _, x := range []*float64{&e.Mean, e.Low, e.High} {
		if x != nil {
			*x = math.Exp(*x)
		}
	}
	return &e
}

// Comparison is what is known of one policy after runs on several instances: the stable
// JSON form of `simulate --seeds`. Means are over instances, those of ratios as well.
// What compares with another policy is paired: both ran on the same instances.
type Comparison struct {
	Policy    string    `json:"policy"`
	Runs      int       `json:"runs"`
	Cost      Estimate  `json:"weightedCompletion"`
	FlowCost  Estimate  `json:"weightedFlowTime"`
	Ratio     *Estimate `json:"ratio"`
	FlowRatio *Estimate `json:"flowRatio"`

	Against string `json:"against"`
	// Factor is the geometric mean of the quotients of the total weighted completion
	// times, FlowFactor that of the weighted flow times; Difference the mean difference of
	// the latter, in weighted seconds. Null where a cost is 0.
	Factor     *Estimate `json:"factor"`
	FlowFactor *Estimate `json:"flowFactor"`
	Difference Estimate  `json:"flowDifference"`
	// Wins, Ties and Losses count instances by weighted flow time.
	Wins   int `json:"wins"`
	Ties   int `json:"ties"`
	Losses int `json:"losses"`
}

const (
	resamples     = 10_000
	bootstrapSeed = 1
	// tie: costs that differ by less, relatively, are taken to differ by rounding only.
	tie = 1e-9
)

// Compare compares policies over runs: all with the same pairs of workload and seed, in
// the same order, as many as there are. The policies come in the order of their first
// runs; against is one of them. Cost: 10,000 means per estimate.
func Compare(runs []Run, against string) []Comparison {
	var names []string
	byPolicy := map[string][]*Run{}
	for i := range runs {
		r := &runs[i]
		if byPolicy[r.Policy] == nil {
			names = append(names, r.Policy)
		}
		byPolicy[r.Policy] = append(byPolicy[r.Policy], r)
	}
	out := make([]Comparison, 0, len(names))
	for _, name := range names {
		out = append(out, compare(byPolicy[name], byPolicy[against], name, against))
	}
	return out
}

func compare(mine, others []*Run, name, against string) Comparison {
	c := Comparison{Policy: name, Against: against, Runs: len(mine)}
	var cost, flow, otherCost, otherFlow, ratio, flowRatio, difference []float64
	for i, r := range mine {
		o := others[i]
		cost, otherCost = append(cost, r.WeightedCompletion), append(otherCost, o.WeightedCompletion)
		flow, otherFlow = append(flow, r.WeightedFlowTime), append(otherFlow, o.WeightedFlowTime)
		d := r.WeightedFlowTime - o.WeightedFlowTime
		difference = append(difference, d)
		if r.Ratio != nil {
			ratio = append(ratio, *r.Ratio)
		}
		if r.FlowRatio != nil {
			flowRatio = append(flowRatio, *r.FlowRatio)
		}
		switch {
		case math.Abs(d) <= tie*max(r.WeightedFlowTime, o.WeightedFlowTime):
			c.Ties++
		case d < 0:
			c.Wins++
		default:
			c.Losses++
		}
	}
	c.Cost, c.FlowCost, c.Difference = estimate(cost), estimate(flow), estimate(difference)
	c.Factor, c.FlowFactor = Quotient(cost, otherCost), Quotient(flow, otherFlow)
	if len(ratio) == len(mine) { // of some runs only, it would say little
		e := estimate(ratio)
		c.Ratio = &e
	}
	if len(flowRatio) == len(mine) {
		e := estimate(flowRatio)
		c.FlowRatio = &e
	}
	return c
}

// estimate is the mean of values, which are not empty, with a bootstrap interval.
func estimate(values []float64) Estimate {
	e := Estimate{Mean: *mean(values)}
	if slices.Min(values) == slices.Max(values) {
		e.Mean = values[0] // not rounded
	}
	if i := Bootstrap(values, resamples, bootstrapSeed); i != nil {
		low, high := min(i.Low, e.Mean), max(i.High, e.Mean)
		e.Low, e.High = &low, &high
	}
	return e
}
