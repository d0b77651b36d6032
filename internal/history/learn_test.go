package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/fairlead-project/fairlead/sched"
)

// world is a cluster and its stages as they really are.
type world struct {
	speeds  []float64
	sizes   [][]float64 // per stage and task
	noise   float64     // standard deviation of log durations
	outlier float64     // fraction of attempts that take ten times as long
	missing float64     // fraction of (stage, machine) that never happens
	seed    uint64
}

func (w world) attempts(runs int) []Attempt {
	rng := rand.New(rand.NewPCG(w.seed, 1))
	allowed := make([][]int, len(w.sizes))
	for k := range allowed {
		for m := range w.speeds {
			if rng.Float64() >= w.missing || m == k%len(w.speeds) || m == (k+1)%len(w.speeds) {
				allowed[k] = append(allowed[k], m)
			}
		}
	}
	var list []Attempt
	for r := range runs {
		for k, tasks := range w.sizes {
			for t, p := range tasks {
				m := allowed[k][rng.IntN(len(allowed[k]))]
				d := p / w.speeds[m] * math.Exp(w.noise*rng.NormFloat64())
				if rng.Float64() < w.outlier {
					d *= 10
				}
				a := attempt(r, k, t, len(tasks), m, d)
				list = append(list, a)
			}
		}
	}
	return list
}

// attempt is one that succeeded, at a speed that nobody has stated.
func attempt(run, stage, task, tasks, machine int, seconds float64) Attempt {
	return Attempt{
		Run: fmt.Sprint("run", run), Job: "job", Stage: fmt.Sprint("stage", stage), Task: task, Tasks: tasks, Attempt: 1,
		Machine: fmt.Sprint("m", machine), Speed: 1, SpeedAssumed: true,
		Launched: time.Unix(int64(run)*1000, 0), Start: 5 * sched.Second, End: 5*sched.Second + sched.FromSeconds(seconds),
		State: Done,
	}
}

func equal(n int, p float64) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = p
	}
	return list
}

// near fails unless got is within a fraction of want.
func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within*want) {
		t.Errorf("%s: %.5g, want %.5g within %.1f %%", what, got, want, 100*within)
	}
}

// With stated speeds of m0 the others' speeds and all sizes are known absolutely.
func TestTruthIsRecovered(t *testing.T) {
	for _, c := range []struct {
		name                    string
		noise, outlier, missing float64
		within                  float64
	}{
		{"exact", 0, 0, 0, 1e-6},
		{"noise", 0.1, 0, 0, 0.04},
		{"outliers", 0.1, 0.1, 0, 0.04},
		{"missing cells", 0.1, 0.1, 0.6, 0.05},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(5) {
				w := world{speeds: []float64{1, 3, 0.4, 1.7, 8}, noise: c.noise, outlier: c.outlier, missing: c.missing, seed: seed}
				for k := range 12 {
					w.sizes = append(w.sizes, equal(8, 0.5*math.Pow(1.8, float64(k))))
				}
				e := Learn(w.attempts(8), Options{Speeds: map[string]float64{"m0": 1}})
				for m, v := range w.speeds {
					got := e.Machine(fmt.Sprint("m", m))
					near(t, got.Name, got.Speed, v, c.within)
				}
				for k, tasks := range w.sizes {
					s := e.Stage(Key{"job", fmt.Sprint("stage", k)})
					near(t, s.Key.Stage+" median", s.Median, tasks[0], 2.5*c.within)
					mean := tasks[0] * math.Exp(c.noise*c.noise/2) * (1 + 9*c.outlier)
					near(t, s.Key.Stage+" mean", s.Sizes.Mean(), mean, 2*c.within+c.outlier*6)
				}
			}
		})
	}
}

// Where nothing is stated the median machine has speed 1; of two, the slower one.
func TestUnitOfSize(t *testing.T) {
	w := world{speeds: []float64{2, 8, 4}, sizes: [][]float64{equal(30, 40), equal(30, 8)}, seed: 1}
	list := w.attempts(2)
	check := func(what string, o Options, speeds []float64, size0 float64, source Source) {
		t.Helper()
		e := Learn(list, o)
		for m, v := range speeds {
			got := e.Machine(fmt.Sprint("m", m))
			near(t, what+" "+got.Name, got.Speed, v, 1e-6)
			if got.Source != source && o.Speeds[got.Name] == 0 && what != "stated then" {
				t.Errorf("%s: speed of %s is %s, want %s", what, got.Name, got.Source, source)
			}
		}
		near(t, what+" size", e.Stages[0].Sizes.Mean(), size0, 1e-6)
		near(t, what+" size", e.Stages[1].Sizes.Mean(), size0/5, 1e-6)
	}
	check("none stated", Options{}, []float64{0.5, 2, 1}, 10, Learnt)
	check("of two", Options{Machines: []string{"m0", "m1", "other"}}, []float64{1, 4, 2}, 20, Learnt)
	check("speed stated", Options{Speeds: map[string]float64{"m1": 4}}, []float64{1, 4, 2}, 20, Learnt)
	for i := range list {
		if list[i].Stage == "stage1" {
			list[i].Size = 8
		}
	}
	check("size stated", Options{}, []float64{2, 8, 4}, 40, Learnt)
	check("speed before size", Options{Speeds: map[string]float64{"m1": 4}}, []float64{1, 4, 2}, 20, Learnt)
	for i := range list {
		list[i].Size = 0
		if list[i].Machine == "m2" {
			list[i].Speed, list[i].SpeedAssumed = 6, false
		}
	}
	check("stated then", Options{}, []float64{3, 12, 6}, 60, Learnt)
	check("open now", Options{Speeds: map[string]float64{}}, []float64{0.5, 2, 1}, 10, Learnt)
}

// Machines that share no stage are never compared.
func TestComponents(t *testing.T) {
	var list []Attempt
	for i := range 10 {
		list = append(list,
			attempt(0, 0, i, 10, i%2, 6/float64(1+i%2)),       // m0, m1
			attempt(0, 1, i, 10, 2+i%2, 5/float64(1+2*(i%2))), // m2, m3: 1 and 3
			attempt(0, 2, i, 10, 4, 7),                        // m4 alone
		)
	}
	for i := range list {
		if list[i].Machine == "m4" {
			list[i].Speed = 2 // assumed
		}
	}
	e := Learn(list, Options{Speeds: map[string]float64{"m3": 30}})
	for m, want := range []MachineEstimate{{"m0", 1, Learnt, 5}, {"m1", 2, Learnt, 5}, {"m2", 10, Learnt, 5}, {"m3", 30, Stated, 5}, {"m4", 2, Assumed, 10}} {
		got := e.Machines[m]
		near(t, want.Name, got.Speed, want.Speed, 1e-6)
		if got.Speed = want.Speed; got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	for k, want := range []float64{6, 50, 14} {
		near(t, e.Stages[k].Key.Stage, e.Stages[k].Sizes.Mean(), want, 1e-6)
	}
}

// Tasks get sizes of their own if they differ in every run, not if they do by chance.
func TestTasksThatDiffer(t *testing.T) {
	skewed := equal(16, 3)
	skewed[11] = 90 // one large partition
	spread := make([]float64, 16)
	for i := range spread {
		spread[i] = 2 * math.Pow(1.3, float64(i%7))
	}
	w := world{
		speeds: []float64{1, 2.5, 0.6}, sizes: [][]float64{skewed, spread, equal(16, 5)}, noise: 0.05, seed: 3,
	}
	e := Learn(w.attempts(1), Options{})
	for _, s := range e.Stages {
		if s.ByTask != nil {
			t.Errorf("%s: sizes per task after one run", s.Key.Stage)
		}
	}
	near(t, "work of the skewed stage after one run", 16*e.Stages[0].Sizes.Mean(), 15*3+90, 0.6)
	e = Learn(w.attempts(5), Options{Speeds: map[string]float64{"m0": 1}})
	for k, sizes := range w.sizes[:2] {
		s := e.Stages[k]
		if len(s.ByTask) != len(sizes) {
			t.Fatalf("%s: %d sizes per task", s.Key.Stage, len(s.ByTask))
		}
		for i, p := range sizes {
			near(t, fmt.Sprintf("%s task %d", s.Key.Stage, i), s.ByTask[i].Mean(), p, 0.12)
		}
	}
	// In another unit of size they are all other numbers.
	other := Learn(w.attempts(5), Options{Machines: []string{"m1"}})
	near(t, "the large task, m1 having speed 1", other.Stages[0].ByTask[11].Mean(), 90/2.5, 0.12)
	if e.Stages[2].ByTask != nil {
		t.Error("equal tasks have sizes of their own")
	}
	near(t, "machine m1", e.Machines[1].Speed, 2.5, 0.05)
	near(t, "machine m2", e.Machines[2].Speed, 0.6, 0.05)

	// Outliers hit any task: no systematic difference.
	w = world{speeds: []float64{1, 2}, sizes: [][]float64{equal(20, 5)}, noise: 0.05, outlier: 0.1}
	for w.seed = range 10 {
		if e := Learn(w.attempts(6), Options{}); e.Stages[0].ByTask != nil {
			t.Errorf("seed %d: outliers are taken for large tasks", w.seed)
		}
	}

	// With another number of tasks the numbers mean other tasks.
	w = world{speeds: []float64{1}, sizes: [][]float64{spread}, seed: 1}
	key := Key{"job", "stage0"}
	if e := Learn(w.attempts(4), Options{Stages: map[Key]Shape{key: {Tasks: 32}}}); e.Stages[0].ByTask != nil {
		t.Error("sizes per task though there are others now")
	}
	// And of tasks never seen nothing is known but the stage.
	list := w.attempts(4)
	for i := range list {
		list[i].Tasks = 17
	}
	if e := Learn(list, Options{}); len(e.Stages[0].ByTask) != 17 || !reflect.DeepEqual(e.Stages[0].ByTask[16], e.Stages[0].Sizes) {
		t.Error("a task never seen should be like any other of its stage")
	}
}

func TestDriftIsFollowed(t *testing.T) {
	var list []Attempt
	for run := range 26 {
		d := 10.0
		if run >= 20 {
			d = 20
		}
		for task := range 6 {
			list = append(list, attempt(run, 0, task, 6, 0, d))
		}
	}
	near(t, "median after six runs at twice the size", Learn(list, Options{}).Stages[0].Median, 20, 0.05)
	if m := Learn(list[:21*6], Options{}).Stages[0].Median; m > 12 {
		t.Errorf("one odd run has moved the median to %v", m)
	}
	if mean := Learn(list[:22*6], Options{}).Stages[0].Sizes.Mean(); mean < 12 || mean > 18 {
		t.Errorf("after two runs the mean is %v", mean)
	}
	list = nil
	for run := range 12 {
		list = append(list, attempt(run, 0, 0, 1, 0, 10*math.Pow(1.3, float64(run))))
	}
	if Learn(list, Options{}).Stages[0].ByTask != nil {
		t.Error("one task that drifts is taken for tasks that differ")
	}
}

func TestSizesFollowTheInput(t *testing.T) {
	var list []Attempt
	for run, bytes := range []float64{1e6, 4e6, 2e6} {
		for task := range 8 {
			a := attempt(run, 0, task, 8, task%2, 3*bytes/1e6/float64(1+task%2))
			a.Input = bytes
			list = append(list, a)
		}
	}
	key := Key{"job", "stage0"}
	for input, want := range map[float64]float64{8e6: 24, 1e6: 3, 0: 0} {
		o := Options{Stages: map[Key]Shape{key: {Tasks: 8, Input: input}}, Speeds: map[string]float64{"m0": 1}}
		e := Learn(list, o)
		if input == 0 { // not stated: as it was, unscaled
			if d := e.Stages[0].Sizes; d.Variance() < 1 {
				t.Errorf("without an input: %v", d)
			}
			continue
		}
		near(t, fmt.Sprint("size at ", input), e.Stages[0].Sizes.Mean(), want, 1e-6)
		if d := e.Stages[0].Sizes; d.Variance() > 1e-9 {
			t.Errorf("input explains all, but the variance is %v", d.Variance())
		}
		near(t, "speed", e.Machines[1].Speed, 2, 1e-6)
	}
	near(t, "size at the latest input", Learn(list, Options{Speeds: map[string]float64{"m0": 1}}).Stages[0].Sizes.Mean(), 6, 1e-6)
}

// What passes until work begins does not depend on the machine: with it taken for work
// the fast machine would look slower than it is.
func TestLaunchIsSeparated(t *testing.T) {
	var list []Attempt
	for run := range 3 {
		for task := range 10 {
			speed := float64(1 + 3*(task%2))
			a := attempt(run, 0, task, 10, task%2, 2+12/speed)
			a.FirstProgressAt = a.Start + sched.FromSeconds(2+3/speed) // a quarter of the work
			a.FirstProgress = 0.25
			list = append(list, a)
		}
	}
	e := Learn(list, Options{Speeds: map[string]float64{"m0": 1}})
	near(t, "speed", e.Machines[1].Speed, 4, 1e-6)
	near(t, "size", e.Stages[0].Sizes.Mean(), 14, 1e-6)
	near(t, "launch", e.Stages[0].Launch, 2, 1e-6)
	list = nil
	for run := range 3 {
		for task := range 10 {
			work := 4 * float64(1+task)
			a := attempt(run, 0, task, 10, (run+task)%2, 2+work/float64(1+3*((run+task)%2)))
			a.FirstProgressAt = a.Start + 2*sched.Second
			list = append(list, a)
		}
	}
	e = Learn(list, Options{Speeds: map[string]float64{"m0": 1}})
	if len(e.Stages[0].ByTask) != 10 {
		t.Fatal("no sizes per task")
	}
	near(t, "size of the third task", e.Stages[0].ByTask[2].Mean(), 2+12, 1e-3)
	for i := range list { // at the end, or before the start: says nothing
		list[i].FirstProgressAt, list[i].FirstProgress = list[i].End, 1
	}
	if e := Learn(list, Options{}); e.Stages[0].Launch != 0 {
		t.Errorf("launch %v from progress that says nothing", e.Stages[0].Launch)
	}
}

func TestMemoryIsLearnt(t *testing.T) {
	const mib = 1 << 20
	var list []Attempt
	add := func(run int, peak int64, spoil func(*Attempt)) {
		for task := range 10 {
			a := attempt(run, 0, task, 10, 0, 1)
			a.Memory = peak + int64(task)*mib
			if spoil != nil {
				spoil(&a)
			}
			list = append(list, a)
		}
	}
	memory := func() int64 { return Learn(list, Options{}).Stages[0].Memory }
	add(0, 91*mib, func(a *Attempt) { a.Memory = 0 })
	if memory() != 0 {
		t.Error("unknown peaks are something")
	}
	add(1, 91*mib, nil)
	if got := memory(); got != 115*mib { // of the largest, 100 MiB
		t.Errorf("%d MiB, want 115", got/mib)
	}
	add(2, 191*mib, func(a *Attempt) { a.State = Stopped }) // too early to say
	if got := memory(); got != 115*mib {
		t.Errorf("%d MiB, want 115", got/mib)
	}
	add(3, 151*mib, func(a *Attempt) { a.State, a.OutOfMemory = Failed, true })
	if got := memory(); got != 240*mib {
		t.Errorf("%d MiB after one was not enough, want 240", got/mib)
	}
	for run := range memoryRuns {
		add(4+run, 31*mib, nil)
	}
	if got := memory(); got != 46*mib {
		t.Errorf("%d MiB, want 46 since all else is long ago", got/mib)
	}
}

// Attempts that did not succeed say nothing of sizes; tasks too short for the clock do.
func TestOddAttempts(t *testing.T) {
	if e := Learn(nil, Options{}); e.Runs != 0 || e.Stage(Key{"job", "stage0"}) != nil || e.Machine("m0") != nil {
		t.Errorf("learnt from nothing: %+v", e)
	}
	list := []Attempt{attempt(0, 0, 0, 1, 0, 5), attempt(0, 1, 0, 1, 0, 0)}
	list[0].State = Failed
	e := Learn(list, Options{})
	if s := e.Stage(Key{"job", "stage0"}); s.Sizes != nil || s.Done != 0 || s.Attempts != 1 {
		t.Errorf("learnt from a failure: %+v", s)
	}
	if s := e.Stage(Key{"job", "stage1"}); s.Sizes == nil || !(s.Sizes.Mean() > 0) {
		t.Errorf("a task of no time: %+v", s)
	}
}
