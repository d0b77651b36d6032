package main

import (
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// The same cells give the same samples on any number of workers, each at least the bound.
func TestRunIsDeterministic(t *testing.T) {
	run := func(workers int) *cell {
		x := middle
		x.jobs, x.tasks = 6, 3
		c := &cell{name: "small", seeds: 5, make: x.make, policies: []string{"spc", "wspt", "fifo", "random"}}
		e := &evaluation{workers: workers, began: time.Now()}
		if err := e.run("test", []*cell{c}); err != nil {
			t.Fatal(err)
		}
		return c
	}
	one, three := run(1), run(3)
	if !reflect.DeepEqual(one.samples, three.samples) {
		t.Error("one worker and three find different costs")
	}
	for spec, list := range one.samples {
		for i, s := range list {
			if !(s.ratio() >= 1) || !(s.flowRatio() >= 1) {
				t.Errorf("%s, seed %d: %+v", spec, i, s)
			}
			if spec == "spc" && s.cost > one.samples["wspt"][i].cost*(1+1e-12) {
				t.Errorf("seed %d: spc costs more than wspt", i)
			}
		}
	}
	if f := one.factor("fifo", "spc", sample.flow); !(f.low <= f.mean && f.mean <= f.high && f.mean >= 1) {
		t.Errorf("fifo over spc: %v", f)
	}
}

// A target that is missed is counted, one that is not a number as well.
func TestTargets(t *testing.T) {
	e := &evaluation{only: "none"}
	e.claim(1, 2, "met")
	e.claim(3, 2, "missed")
	e.claim(math.NaN(), 2, "unknown")
	var b strings.Builder
	missed, err := e.write(&b)
	if err != nil || missed != 2 {
		t.Errorf("%d missed, %v", missed, err)
	}
	if got := strings.Count(b.String(), "**no**"); got != 2 {
		t.Errorf("the document says no %d times", got)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		of   []float64
		want float64
	}{{[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 2, 3}, 2.5}, {[]float64{7}, 7}} {
		if got := median(c.of); got != c.want {
			t.Errorf("median of %v: %v", c.of, got)
		}
	}
	if !math.IsNaN(median(nil)) || spread(nil) != "–" || spread([]float64{2, 1}) != "1.500 (2.000)" {
		t.Error("of nothing, or two")
	}
}

// The streams of real jobs are valid, and what is learnt of them is near the truth.
func TestRealStreams(t *testing.T) {
	t.Chdir("../..")
	if _, err := os.Stat(traces()); err != nil {
		t.Skipf("no traces: %v (FAIRLEAD_TRACES names their folder)", err)
	}
	flows, err := wfcommons(traces())
	if err != nil {
		t.Fatal(err)
	}
	sql, err := queries(traces())
	if err != nil {
		t.Fatal(err)
	}
	if len(flows) != 12 || len(sql) != 154 {
		t.Errorf("%d workflows, %d queries", len(flows), len(sql))
	}
	small := real{"small", flows[4:7], 6, 0.5}
	c := &cell{name: "small", seeds: 2, make: small.make, policies: []string{"spc-online", "wspt"}, estimates: learnt}
	told := &cell{name: "told", seeds: 2, make: small.make, policies: []string{"spc-online", "wspt"}}
	e := &evaluation{workers: 1, began: time.Now()}
	if err := e.run("test", []*cell{c, told}); err != nil {
		t.Fatal(err)
	}
	for spec, list := range c.samples {
		for i, s := range list {
			if q := s.flow() / told.samples[spec][i].flow(); q < 0.7 || q > 1.5 {
				t.Errorf("%s, seed %d: %v of the cost with sizes told", spec, i, q)
			}
		}
	}
}
