package progress

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/fairlead-project/fairlead/sched"
)

// curve is what a task reported, the last at its end; launched at 0.
type curve struct {
	total sched.Time
	marks []Mark
}

func read(t testing.TB, name string) curve {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "curves", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var c curve
	for s := bufio.NewScanner(f); s.Scan(); {
		if strings.HasPrefix(s.Text(), "#") {
			continue
		}
		var at, value float64
		if _, err := fmt.Sscanf(s.Text(), "total %g", &at); err == nil {
			c.total = sched.FromSeconds(at)
			continue
		}
		if _, err := fmt.Sscanf(s.Text(), "%g %g", &at, &value); err != nil {
			t.Fatalf("%s: %q: %v", name, s.Text(), err)
		}
		c.marks = append(c.marks, Mark{sched.FromSeconds(at), value})
	}
	if n := len(c.marks); n < 4 || c.marks[n-1] != (Mark{c.total, 1}) {
		t.Fatalf("%s: %d marks, of which the last is not the end", name, n)
	}
	return c
}

// estimators by name, as functions of the marks up to the i-th.
var estimators = []struct {
	name string
	of   func(c curve, i int) (sched.Time, bool)
}{
	{"s-pc", func(c curve, i int) (sched.Time, bool) { return Estimate(0, c.marks[0], c.marks[i]) }},
	{"as printed", func(c curve, i int) (sched.Time, bool) { return AsPrinted(0, c.marks[0], c.marks[i]) }},
	{"hadoop", func(c curve, i int) (sched.Time, bool) { return Linear(0, c.marks[i]) }},
}

// off is the relative error of a prediction.
func off(c curve, predicted sched.Time) float64 {
	return (predicted.Seconds() - c.total.Seconds()) / c.total.Seconds()
}

// meanError is the mean absolute error of the k-th estimator over all reports
// between the first and the last.
func meanError(c curve, k int) float64 {
	sum, n := 0.0, 0
	for i := 1; i < len(c.marks)-1; i++ {
		if p, ok := estimators[k].of(c, i); ok {
			sum += math.Abs(off(c, p))
			n++
		}
	}
	return sum / float64(n)
}

// TestErrors shows the errors of all estimators on all curves.
func TestErrors(t *testing.T) {
	datadriven.RunTest(t, filepath.Join("testdata", "errors.txt"), func(t *testing.T, d *datadriven.TestData) string {
		var b strings.Builder
		for _, arg := range d.CmdArgs {
			c := read(t, arg.Key)
			fmt.Fprintf(&b, "%-24s", arg.Key)
			shares := []float64{0.2, 0.4, 0.6, 0.8}
			for _, share := range shares {
				fmt.Fprintf(&b, "%7.0f %%", 100*share)
			}
			fmt.Fprintf(&b, "%9s\n", "mean")
			for k, e := range estimators {
				fmt.Fprintf(&b, "  %-22s", e.name)
				for _, share := range shares {
					near := 1
					for i := range c.marks {
						at := func(i int) float64 { return math.Abs(c.marks[i].At.Seconds() - share*c.total.Seconds()) }
						if i > 0 && at(i) < at(near) {
							near = i
						}
					}
					p, ok := e.of(c, near)
					if !ok {
						fmt.Fprintf(&b, "%9s", "-")
						continue
					}
					fmt.Fprintf(&b, "%+9.1f", 100*off(c, p))
				}
				fmt.Fprintf(&b, "%9.1f\n", 100*meanError(c, k))
			}
		}
		return b.String()
	})
}

// Telling the launch from the work is what makes the difference: after a launch of a
// sixth of the duration Hadoop's estimator is off by what S-PC's is not, and they
// agree without one. The printed form is off by FP times the work.
func TestLaunchDelay(t *testing.T) {
	const rounded = 0.01 // of progress to three digits
	c := read(t, "launch")
	for i := 1; i < len(c.marks); i++ {
		if p, ok := Estimate(0, c.marks[0], c.marks[i]); !ok || math.Abs(off(c, p)) > rounded {
			t.Errorf("launch, report %d: predicted %v, ok %v", i, p, ok)
		}
		h, _ := Linear(0, c.marks[i])
		// (t−0)/CP with CP = (t−9.5)/50.5 exceeds 60 by 9.5·(60−t)/(t−9.5).
		at := c.marks[i].At.Seconds()
		if want := 9.5 * (60 - at) / (at - 9.5) / 60; math.Abs(off(c, h)-want) > 2*rounded {
			t.Errorf("launch, report %d: Hadoop is off by %v, expected %v", i, off(c, h), want)
		}
		printed, _ := AsPrinted(0, c.marks[0], c.marks[i])
		if want := 50.5 * c.marks[0].Value / 60; math.Abs(off(c, printed)-want) > rounded {
			t.Errorf("launch, report %d: the printed form is off by %v, expected %v", i, off(c, printed), want)
		}
	}
	c = read(t, "linear")
	for i := 1; i < len(c.marks); i++ {
		p, _ := Estimate(0, c.marks[0], c.marks[i])
		if h, _ := Linear(0, c.marks[i]); math.Abs(off(c, p)) > rounded || math.Abs(off(c, h)) > rounded {
			t.Errorf("linear, report %d: predicted %v and %v", i, p, h)
		}
	}
	for _, name := range []string{"launch-noisy", "steps"} {
		if c := read(t, name); meanError(c, 0) > meanError(c, 2)/2 {
			t.Errorf("%s: mean errors %v, Hadoop's %v", name, meanError(c, 0), meanError(c, 2))
		}
	}
}

// A task that works at a constant rate from its first report on is predicted
// exactly, whatever came before.
func TestConstantRateIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 10_000 {
		launch := sched.FromSeconds(1000 * r.Float64())
		start, fp, work := 50*r.Float64(), 0.9*r.Float64(), 0.01+500*r.Float64()
		first := Mark{launch + sched.FromSeconds(start), fp}
		share := 0.01 + 0.99*r.Float64()
		last := Mark{first.At + sched.FromSeconds(share*work), fp + share*(1-fp)}
		got, ok := Estimate(launch, first, last)
		if want := start + work; !ok || math.Abs(got.Seconds()-want) > 1e-5*want {
			t.Fatalf("launch %v, first %v, last %v: %v, %v, want %v", launch, first, last, got, ok, want)
		}
	}
}

func TestGuards(t *testing.T) {
	at := func(s float64, v float64) Mark { return Mark{sched.FromSeconds(s), v} }
	nan := math.NaN()
	for _, c := range []struct {
		launch      float64
		first, last Mark
		spc, linear bool
		want        float64
	}{
		{0, at(1, 0.1), at(2, 0.2), true, true, 10},
		{0, at(1, 0), at(2, 0.25), true, true, 5},
		{0, at(1, 0.1), at(2, 1.7), true, true, 2}, // more than all: done now
		{0, at(1, 0.1), at(2, 0.1), false, true, 0},
		{0, at(1, 0.2), at(2, 0.1), false, true, 0},
		{0, at(1, 0.1), at(1, 0.2), false, true, 0},
		{0, at(2, 0.1), at(1, 0.2), false, true, 0},
		{3, at(1, 0.1), at(2, 0.2), false, false, 0},
		{0, at(1, nan), at(2, 0.2), false, true, 0},
		{0, at(1, 0.1), at(2, nan), false, false, 0},
		{0, at(1, -0.1), at(2, 0.2), false, true, 0},
		{0, at(1, 1), at(2, 1), false, true, 0},
		{0, at(0, 0), at(0, 0), false, false, 0},
	} {
		launch := sched.FromSeconds(c.launch)
		got, ok := Estimate(launch, c.first, c.last)
		if ok != c.spc || ok && math.Abs(got.Seconds()-c.want) > 1e-9 {
			t.Errorf("%+v: %v, %v", c, got, ok)
		}
		if _, ok := AsPrinted(launch, c.first, c.last); ok != c.spc {
			t.Errorf("%+v: as printed: %v", c, ok)
		}
		if _, ok := Linear(launch, c.last); ok != c.linear {
			t.Errorf("%+v: linear: %v", c, ok)
		}
	}
	// A progress too small to mean anything predicts the end of time, not the past.
	got, ok := Estimate(0, Mark{sched.MaxTime - 1, 0}, Mark{sched.MaxTime, 1e-300})
	if !ok || got != sched.MaxTime {
		t.Errorf("tiny progress: %v, %v", got, ok)
	}
	if got, ok := Linear(0, Mark{sched.MaxTime, 1e-300}); !ok || got != sched.MaxTime {
		t.Errorf("tiny progress: %v, %v", got, ok)
	}
}
