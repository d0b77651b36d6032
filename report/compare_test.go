package report

import (
	"math"
	"testing"
)

func ptr(x float64) *float64 { return &x }

// runsOf returns runs of policies a and b on three instances.
func runsOf(cost, flow map[string][]float64) (runs []Run) {
	for i := range 3 {
		for _, p := range []string{"a", "b"} {
			runs = append(runs, Run{
				Policy: p, Seed: uint64(i), WeightedCompletion: cost[p][i], WeightedFlowTime: flow[p][i],
				Ratio: ptr(cost[p][i] / 10), FlowRatio: ptr(flow[p][i] / 5),
			})
		}
	}
	return runs
}

// Everything by hand.
func TestCompare(t *testing.T) {
	runs := runsOf(
		map[string][]float64{"a": {10, 20, 40}, "b": {20, 40, 10}},
		map[string][]float64{"a": {8, 6, 10}, "b": {16, 6 * (1 + 1e-12), 5}},
	)
	list := Compare(runs, "a")
	if len(list) != 2 || list[0].Policy != "a" || list[1].Policy != "b" || list[1].Against != "a" {
		t.Fatalf("%+v", list)
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	a, b := list[0], list[1]
	near("mean cost", a.Cost.Mean, 70./3)
	near("mean flow", b.FlowCost.Mean, 9)
	near("ratio", a.Ratio.Mean, 7./3)
	near("flowRatio", b.FlowRatio.Mean, 9./5)
	near("factor", b.Factor.Mean, 1) // 2 · 2 · 1/4
	near("flow factor", b.FlowFactor.Mean, 1)
	near("difference", b.Difference.Mean, 1)
	if b.Wins != 1 || b.Ties != 1 || b.Losses != 1 || a.Ties != 3 {
		t.Errorf("b %d-%d-%d, a %d ties with itself", b.Wins, b.Ties, b.Losses, a.Ties)
	}
	// The interval of three values reaches from the least to the largest mean.
	near("low", *b.Factor.Low, 0.25)
	near("high", *b.Factor.High, 2)
	if *a.Factor.Low != 1 || *a.Factor.High != 1 || a.Factor.Mean != 1 {
		t.Errorf("a against itself: %v", a.Factor)
	}
}

// What does not exist is null, not a number.
func TestCompareWithLittle(t *testing.T) {
	runs := runsOf(
		map[string][]float64{"a": {10, 20, 40}, "b": {20, 0, 10}},
		map[string][]float64{"a": {8, 6, 10}, "b": {16, 0, 5}},
	)
	runs[3].Ratio, runs[3].FlowRatio = nil, nil
	b := Compare(runs, "a")[1]
	if b.Ratio != nil || b.FlowRatio != nil || b.Factor != nil || b.FlowFactor != nil {
		t.Errorf("a cost of 0, and no ratio: %+v", b)
	}
	one := Compare(runs[:2], "a")[1]
	if one.Runs != 1 || one.Cost.Low != nil || one.Factor.Low != nil || one.Factor.String() != "2.000" {
		t.Errorf("of one instance: %+v", one)
	}
	var none *Estimate
	if none.String() != "-" || Quotient(nil, nil) != nil {
		t.Error("of nothing")
	}
}
