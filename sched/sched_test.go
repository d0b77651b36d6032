package sched

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-project/fairlead/size"
)

func TestDurationRoundsUpAndSaturates(t *testing.T) {
	for _, c := range []struct {
		work, rate float64
		want       Time
	}{
		{0, 1, 0},
		{-1, 1, 0},
		{math.NaN(), 1, 0},
		{0.067, 1, 67_000_000},
		{0.268, 2, 134_000_000},
		{0.0670000011, 1, 67_000_002},
		{1, 1, Second},
		{3, 3, Second},
		{0.7, 1, 700_000_000},
		{1, 3, 333_333_334},
		{1e-12, 1, 1},
		{5, math.Inf(1), 0},
		{1, 0, MaxTime},
		{1e300, 1, MaxTime},
	} {
		if got := Duration(c.work, c.rate); got != c.want {
			t.Errorf("Duration(%v, %v) = %d, want %d", c.work, c.rate, got, c.want)
		}
	}
}

// Whole milliseconds in a file are whole milliseconds on the clock.
func TestMillisecondsAreExact(t *testing.T) {
	for ms := range 200_000 {
		s := float64(ms) / 1000
		if want := Time(ms) * 1_000_000; FromSeconds(s) != want || Duration(s, 1) != want {
			t.Fatalf("%v s: release %d, duration %d, want %d", s, FromSeconds(s), Duration(s, 1), want)
		}
	}
	for s, want := range map[float64]Time{-1: 0, math.NaN(): 0, 1e300: MaxTime, 1.4e-9: 1, 1.6e-9: 2} {
		if got := FromSeconds(s); got != want {
			t.Errorf("FromSeconds(%v) = %d, want %d", s, got, want)
		}
	}
}

// diamond has a diamond of stages, a job after it, and equal and unequal tasks.
func diamond() *Instance {
	one := []size.Dist{size.Exact(1)}
	return &Instance{
		Resources: []string{"cpu"},
		Machines: []Machine{
			{Name: "m", Speed: 1, Slots: 2, Capacity: []int64{2000}, Port: math.Inf(1)},
			{Name: "n", Speed: 2, Slots: 1, Capacity: []int64{500}, Port: 1e6},
		},
		Jobs: []Job{
			{Name: "a", Weight: 1, Stages: []Stage{
				{Name: "s", Count: 3, Sizes: one},
				{Name: "l", Count: 1, Sizes: one, After: []int{0}, Needs: []int64{1000}},
				{Name: "r", Count: 2, Sizes: []size.Dist{size.Exact(1), size.Exact(2)}, After: []int{0}},
				{Name: "t", Count: 1, Sizes: one, After: []int{1, 2}},
			}},
			{Name: "b", Weight: 2, After: []JobID{0}, Stages: []Stage{{Name: "s", Count: 5}, {Name: "u", Count: 1}}},
		},
	}
}

func TestIndex(t *testing.T) {
	x := NewIndex(diamond())
	if x.Stages() != 6 || x.Tasks() != 13 || x.Flows() != 0 {
		t.Fatalf("%d stages, %d tasks, %d flows", x.Stages(), x.Tasks(), x.Flows())
	}
	for s := StageID(0); int(s) < x.Stages(); s++ {
		first, end := x.StageTasks(s)
		for k := first; k < end; k++ {
			if x.TaskStage(k) != s {
				t.Errorf("task %d is in stage %d, not %d", k, x.TaskStage(k), s)
			}
		}
	}
	if got := x.StageName(5); got != "b/u" {
		t.Errorf("stage 5 is %s", got)
	}
	if got := x.Last(0); !slices.Equal(got, []StageID{3}) {
		t.Errorf("last stages of a: %v", got)
	}
	if got := x.Last(1); !slices.Equal(got, []StageID{4, 5}) {
		t.Errorf("last stages of b: %v", got)
	}
}

// transfer puts a transfer stage in the place of the first stage.
func transfer(st Stage) func(*Instance) {
	return func(in *Instance) { in.Jobs[0].Stages[0] = st }
}

func TestByRelease(t *testing.T) {
	in := &Instance{}
	for _, r := range []Time{5, 0, 5, 2, 0} {
		in.Jobs = append(in.Jobs, Job{Release: r})
	}
	if got := in.ByRelease(); !slices.Equal(got, []JobID{1, 4, 3, 0, 2}) {
		t.Errorf("by release: %v", got)
	}
}

func TestValidate(t *testing.T) {
	if err := diamond().Validate(); err != nil {
		t.Fatal(err)
	}
	for want, break_ := range map[string]func(*Instance){
		"speed 0":                    func(in *Instance) { in.Machines[0].Speed = 0 },
		"speed +Inf":                 func(in *Instance) { in.Machines[0].Speed = math.Inf(1) },
		"negative number of slots":   func(in *Instance) { in.Machines[0].Slots = -1 },
		"port rate":                  func(in *Instance) { in.Machines[0].Port = 0 },
		"capacities for 1 resources": func(in *Instance) { in.Machines[0].Capacity = nil },
		"weight NaN":                 func(in *Instance) { in.Jobs[0].Weight = math.NaN() },
		"release":                    func(in *Instance) { in.Jobs[0].Release = -1 },
		"no stages":                  func(in *Instance) { in.Jobs[0].Stages = nil },
		"after: no job 7":            func(in *Instance) { in.Jobs[0].After = []JobID{7} },
		"after: no stage 9":          func(in *Instance) { in.Jobs[0].Stages[1].After = []int{9} },
		"a -> b -> a":                func(in *Instance) { in.Jobs[0].After = []JobID{1} },
		"s -> t -> l -> s":           func(in *Instance) { in.Jobs[0].Stages[0].After = []int{3} },
		"no tasks":                   func(in *Instance) { in.Jobs[0].Stages[0].Count = 0 },
		"2 sizes for 5 tasks":        func(in *Instance) { in.Jobs[0].Stages[2].Count = 5 },
		"fit on no machine":          func(in *Instance) { in.Jobs[0].Stages[1].Needs[0] = 3000 },
		"no machine 4":               func(in *Instance) { in.Jobs[0].Stages[1].Machines = []MachineID{4} },
		"negative capacity":          func(in *Instance) { in.Machines[0].Capacity[0] = -1 },
		"negative needs":             func(in *Instance) { in.Jobs[0].Stages[1].Needs[0] = -1 },
		"retries -1":                 func(in *Instance) { in.Jobs[0].Stages[1].Retries = -1 },
		"not ascending":              func(in *Instance) { in.Jobs[0].Stages[0].Machines = []MachineID{1, 0} },
		"size 0 is missing":          func(in *Instance) { in.Jobs[0].Stages[0].Sizes = []size.Dist{nil} },
		"size -2 is not":             func(in *Instance) { in.Jobs[0].Stages[0].Sizes = []size.Dist{size.Exact(-2)} },
		"input: bad entry":           func(in *Instance) { in.Jobs[0].Stages[1].Input = []Input{{From: 0, Bytes: -1}} },
		"more than the":              func(in *Instance) { in.Jobs[0].Stages[0].Sizes = []size.Dist{size.Exact(1e10)} },
		"it moves data, but has 3 tasks as well": func(in *Instance) {
			in.Jobs[0].Stages[0].Flows = []Flow{{From: 0, To: 1, Size: size.Exact(1)}}
		},
		"flow 0: bad machines":      transfer(Stage{Flows: []Flow{{From: 0, To: 5, Size: size.Exact(1)}}}),
		"flow 0: size NaN is not":   transfer(Stage{Flows: []Flow{{From: 0, To: 1, Size: size.Exact(math.NaN())}}}),
		"flow 1: size -1 is not":    transfer(Stage{Flows: []Flow{{Size: size.Exact(0)}, {Size: size.Exact(-1)}}}),
		"flow 0: size +Inf is not":  transfer(Stage{Flows: []Flow{{Size: size.Exact(math.Inf(1))}}}),
		"shuffle: bad stages":       transfer(Stage{Shuffle: &Shuffle{From: 0, To: 8, Size: size.Exact(1)}}),
		"shuffle: bad stages or no": transfer(Stage{Shuffle: &Shuffle{From: 0, To: 1}}),
		"shuffle: size NaN is not":  transfer(Stage{Shuffle: &Shuffle{From: 0, To: 1, Size: size.Exact(math.NaN())}}),
		"shuffle: size -2 is not":   transfer(Stage{Shuffle: &Shuffle{From: 0, To: 1, Size: size.Exact(-2)}}),
		"shuffle: size +Inf is not": transfer(Stage{Shuffle: &Shuffle{From: 0, To: 1, Size: size.Exact(math.Inf(1))}}),
	} {
		in := diamond()
		break_(in)
		err := in.Validate()
		if !errors.Is(err, ErrInstance) || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}
