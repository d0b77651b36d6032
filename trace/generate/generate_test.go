package generate_test

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/trace/generate"
	"github.com/fairlead-project/fairlead/workload"
)

func file(t testing.TB, o generate.Options) *workload.File {
	t.Helper()
	f, err := generate.File(o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Whatever the options, what is generated is a workload that Parse reads back, and
// the same the second time.
func TestAnyOptionsGiveAWorkload(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := generate.Options{
			Kind:      rapid.SampledFrom(generate.Kinds).Draw(t, "kind"),
			Jobs:      rapid.IntRange(1, 12).Draw(t, "jobs"),
			Seed:      rapid.Uint64().Draw(t, "seed"),
			Machines:  rapid.IntRange(1, 5).Draw(t, "machines"),
			Slots:     rapid.IntRange(1, 3).Draw(t, "slots"),
			SpeedSkew: rapid.Float64Range(1, 20).Draw(t, "skew"),
			Load:      rapid.SampledFrom([]float64{0, 0.5, 2}).Draw(t, "load"),
			Weights:   rapid.SampledFrom([]string{"", generate.Uniform, generate.Skewed}).Draw(t, "weights"),
			After:     rapid.Float64Range(0, 1).Draw(t, "after"),
			MaxTasks:  rapid.IntRange(1, 9).Draw(t, "tasks"),
			TaskCV:    rapid.SampledFrom([]float64{0, 0.7}).Draw(t, "task cv"),
			SizeCV:    rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "size cv"),
			Needs:     rapid.Bool().Draw(t, "needs"),
			Port:      1e6,
			CCR:       rapid.SampledFrom([]float64{0, 1}).Draw(t, "ccr"),
		}
		if rapid.Bool().Draw(t, "trace arrivals") {
			o.Arrivals = generate.Intervals
		}
		f, err := generate.File(o)
		if err != nil {
			t.Fatalf("%+v: %v", o, err)
		}
		var b, again bytes.Buffer
		f.EncodeYAML(&b)
		parsed, err := workload.Parse("generated", b.Bytes())
		if err != nil {
			t.Fatalf("%+v: %v\n%s", o, err, b.String())
		}
		parsed.EncodeYAML(&again)
		if b.String() != again.String() {
			t.Fatalf("read back as\n%s\nwritten as\n%s", again.String(), b.String())
		}
		one, err := generate.Instance(o)
		if err != nil {
			t.Fatal(err)
		}
		if two, _ := parsed.Instance(nil); !reflect.DeepEqual(one, two) {
			t.Fatal("the file and the instance differ")
		}
	})
}

// What concerns arrivals, weights and machines leaves the jobs as they are, and more
// jobs leave the first as they are.
func TestPurposesDoNotShiftEachOther(t *testing.T) {
	for _, kind := range generate.Kinds {
		base := generate.Options{Kind: kind, Seed: 7, Jobs: 10, TaskCV: 0.5}
		want := file(t, base)
		for name, change := range map[string]func(*generate.Options){
			"load":            func(o *generate.Options) { o.Load = 0.9 },
			"weights":         func(o *generate.Options) { o.Weights = generate.Skewed },
			"machines":        func(o *generate.Options) { o.Machines, o.SpeedSkew = 4, 10 },
			"after":           func(o *generate.Options) { o.After = 1 },
			"jobs":            func(o *generate.Options) { o.Jobs = 20 },
			"needs and input": func(o *generate.Options) { o.Needs, o.Port, o.CCR = true, 1e6, 1 },
		} {
			o := base
			change(&o)
			got := file(t, o)
			for j := range want.Jobs {
				for s := range got.Jobs[j].Stages { // which are purposes of their own
					got.Jobs[j].Stages[s].Needs, got.Jobs[j].Stages[s].Input = nil, nil
				}
				if !reflect.DeepEqual(got.Jobs[j].Stages, want.Jobs[j].Stages) {
					t.Errorf("%s: another %s changes the stages of job %d", kind, name, j)
				}
			}
		}
		other := base
		other.Seed = 8
		if reflect.DeepEqual(file(t, other).Jobs, want.Jobs) {
			t.Errorf("%s: another seed changes nothing", kind)
		}
	}
}

// work returns the size of all tasks of job j together.
func work(in *sched.Instance, j int) float64 {
	total := 0.0
	for s := range in.Jobs[j].Stages {
		st := &in.Jobs[j].Stages[s]
		for k := range st.Count {
			total += st.Size(k).Mean()
		}
	}
	return total
}

func TestLoadIsWhatWasAsked(t *testing.T) {
	for _, arrivals := range []string{generate.Poisson, generate.Intervals} {
		in, err := generate.Instance(generate.Options{
			Kind: generate.MapReduce, Jobs: 3000, Seed: 3, Machines: 5, Slots: 2, SpeedSkew: 4, Load: 0.5, Arrivals: arrivals,
		})
		if err != nil {
			t.Fatal(err)
		}
		total, speed := 0.0, 0.0
		for j := range in.Jobs {
			total += work(in, j)
		}
		for _, m := range in.Machines {
			speed += m.Speed * float64(m.Slots)
		}
		if got := total / (speed * in.Jobs[len(in.Jobs)-1].Release.Seconds()); math.Abs(got-0.5) > 0.03 {
			t.Errorf("%s arrivals: load %v, asked for 0.5", arrivals, got)
		}
	}
}

func TestGapsAreTheArrivals(t *testing.T) {
	f := file(t, generate.Options{Kind: generate.Layered, Jobs: 5, Gaps: []float64{1, 10}})
	var got []float64
	for j := range f.Jobs {
		got = append(got, f.Jobs[j].Release)
	}
	if want := []float64{0, 1, 11, 12, 22}; !slices.Equal(got, want) {
		t.Errorf("released at %v, want %v", got, want)
	}
}

// MapReduce classes spend their time where their names say, in as many tasks as asked.
func TestClassesDiffer(t *testing.T) {
	in, err := generate.Instance(generate.Options{Kind: generate.MapReduce, Jobs: 300, Seed: 1, MinTasks: 4, MaxTasks: 20})
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	reducers := map[string]float64{}
	for j := range in.Jobs {
		m, r := in.Jobs[j].Stages[0], in.Jobs[j].Stages[1]
		if m.Count < 4 || m.Count > 20 || r.Count < 4 || r.Count > 20 {
			t.Errorf("job %d has %d map and %d reduce tasks, want 4 to 20", j, m.Count, r.Count)
		}
		class := "balanced"
		switch ratio := m.Sizes[0].Mean() / r.Sizes[0].Mean(); {
		case ratio > 3:
			class = "map-heavy"
		case ratio < 0.5:
			class = "reduce-heavy"
		}
		count[class]++
		reducers[class] += float64(r.Count)
	}
	for _, class := range []string{"map-heavy", "balanced", "reduce-heavy"} {
		if count[class] < 60 {
			t.Errorf("%d of 300 jobs are %s", count[class], class)
		}
		reducers[class] /= float64(count[class])
	}
	if !(reducers["map-heavy"] < reducers["balanced"] && reducers["balanced"] < reducers["reduce-heavy"]) {
		t.Errorf("mean numbers of reduce tasks: %v", reducers)
	}
}

// Jobs after Alibaba have the medians of the published quantiles: 2 stages, 1 task
// per stage, and paths no longer than the job.
func TestAlibabaFollowsTheTrace(t *testing.T) {
	f := file(t, generate.Options{Kind: generate.Alibaba, Jobs: 4000, Seed: 5})
	var stages, tasks []int
	var seconds []float64
	for j := range f.Jobs {
		stages = append(stages, len(f.Jobs[j].Stages))
		for s := range f.Jobs[j].Stages {
			st := &f.Jobs[j].Stages[s]
			tasks, seconds = append(tasks, st.Tasks()), append(seconds, st.Size.Value)
		}
	}
	slices.Sort(stages)
	slices.Sort(tasks)
	slices.Sort(seconds)
	at := func(x []int, q float64) int { return x[int(q*float64(len(x)))] }
	// 50, 76 and 88 % of the quantile table, rounded up.
	for q, want := range map[float64]int{0.5: 2, 0.76: 4, 0.88: 7} {
		if got := at(stages, q); got != want {
			t.Errorf("quantile %v of stages per job: %d, want %d", q, got, want)
		}
	}
	for q, want := range map[float64]int{0.5: 1, 0.74: 4, 0.9: 47} {
		if got := at(tasks, q); math.Abs(float64(got-want)) > 0.15*float64(want) {
			t.Errorf("quantile %v of tasks per stage: %d, want %d", q, got, want)
		}
	}
	if got := seconds[len(seconds)/2]; math.Abs(got-11) > 1 {
		t.Errorf("median duration %v, want 11", got)
	}
	if most := tasks[len(tasks)-1]; most != 100 {
		t.Errorf("the widest stage has %d tasks, want the limit of 100", most)
	}
}

func TestBadOptions(t *testing.T) {
	for _, c := range []struct {
		o    generate.Options
		want string
	}{
		{generate.Options{}, "kind"},
		{generate.Options{Jobs: -1}, "jobs"},
		{generate.Options{Machines: -1}, "machines"},
		{generate.Options{Slots: -1}, "slots"},
		{generate.Options{SpeedSkew: 0.5}, "speed skew"},
		{generate.Options{Port: -2}, "port"},
		{generate.Options{Load: math.NaN()}, "load"},
		{generate.Options{Arrivals: "never"}, "arrivals"},
		{generate.Options{Arrivals: generate.Poisson}, "load"},
		{generate.Options{Arrivals: generate.Intervals, Gaps: []float64{1}}, "both"},
		{generate.Options{Gaps: []float64{}}, "gaps"},
		{generate.Options{Gaps: []float64{-1}}, "gap"},
		{generate.Options{Weights: "heavy"}, "weights"},
		{generate.Options{WeightSkew: 0.5}, "weight skew"},
		{generate.Options{After: 1.5}, "after"},
		{generate.Options{MinTasks: 5, MaxTasks: 4}, "tasks 5 to 4"},
		{generate.Options{TaskSeconds: math.Inf(1)}, "task seconds"},
		{generate.Options{StageCV: 1000}, "stage cv"},
		{generate.Options{TaskCV: -2}, "task cv"},
		{generate.Options{SizeCV: math.NaN()}, "size cv"},
		{generate.Options{Layers: 1}, "layers"},
		{generate.Options{EdgeProb: 2}, "edge probability"},
		{generate.Options{CCR: 1}, "port"},
	} {
		if c.want != "kind" {
			c.o.Kind = generate.Mixed
		}
		if _, err := generate.File(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want one about %s", c.o, err, c.want)
		}
	}
	if _, err := generate.File(generate.Options{Kind: generate.Mixed, Jobs: 1000, MinTasks: 1e6, MaxTasks: 1e6}); err == nil || !strings.Contains(err.Error(), "tasks") {
		t.Errorf("a workload of a thousand million tasks: %v", err)
	}
}
