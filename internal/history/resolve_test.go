package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

const gib = 1 << 30

// openInstance has machines m0.. of open speeds and the stages of job "job", sizes open.
func openInstance(machines int, counts ...int) *sched.Instance {
	in := &sched.Instance{Jobs: []sched.Job{{Name: "job", Weight: 1}}}
	for m := range machines {
		in.Machines = append(in.Machines, sched.Machine{Name: fmt.Sprint("m", m), Speed: 1, SpeedAssumed: true, Slots: 1, Port: math.Inf(1), Capacity: []int64{}})
	}
	for k, n := range counts {
		in.Jobs[0].Stages = append(in.Jobs[0].Stages, sched.Stage{Name: fmt.Sprint("stage", k), Count: n})
	}
	return in
}

func resolve(t *testing.T, in *sched.Instance, db *DB, budget int64) (*sched.Instance, *Learned) {
	t.Helper()
	out, l, err := Resolve(t.Context(), in, db, budget)
	if err != nil {
		t.Fatal(err)
	}
	return out, l
}

// Whatever the history, a valid instance stays valid, what it states stays, what it
// leaves open becomes positive, every task fits, and the original is not touched.
func TestResolvedInstancesAreValid(t *testing.T) {
	learnt := 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 7))
		in := openInstance(1+rng.IntN(4), 1+rng.IntN(5), 1+rng.IntN(5), 1+rng.IntN(5), 3)
		in.Resources = [][]string{{}, {"cpu"}, {"memory"}, {"cpu", "memory"}, {"gpu", "zeta"}}[rng.IntN(5)]
		for m := range in.Machines {
			mach := &in.Machines[m]
			if mach.SpeedAssumed = rng.IntN(2) == 0; !mach.SpeedAssumed {
				mach.Speed = 1 + rng.Float64()
			}
			mach.Slots = 1 + rng.IntN(3)
			mach.Capacity = make([]int64, len(in.Resources))
			for d := range mach.Capacity {
				mach.Capacity[d] = rng.Int64N(3) * gib * 1000
			}
			mach.Capacity = slices.Clip(mach.Capacity)
		}
		for k := range in.Jobs[0].Stages {
			st := &in.Jobs[0].Stages[k]
			if rng.IntN(3) == 0 {
				st.Sizes = []size.Dist{size.Exact(3)}
			}
			if rng.IntN(2) == 0 && len(in.Resources) > 0 {
				st.Needs = make([]int64, len(in.Resources))
				d := rng.IntN(len(in.Resources))
				st.Needs[d] = rng.Int64N(1 + in.Machines[0].Capacity[d])
			}
			if rng.IntN(2) == 0 {
				st.Machines = []sched.MachineID{0}
			}
		}
		if err := in.Validate(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		var list []Attempt
		for i := range rng.IntN(80) {
			a := attempt(i/20, rng.IntN(5), rng.IntN(3), 3, rng.IntN(6), math.Exp(3*rng.NormFloat64()))
			a.Memory, a.OutOfMemory = rng.Int64N(4*gib), rng.IntN(10) == 0
			a.State = State(1 + rng.IntN(4))
			list = append(list, a)
		}
		before := deepCopy(in)
		x := sched.NewIndex(in)
		budget := rng.Int64N(3) * gib / 2
		out, l := Apply(in, Learn(list, optionsFor(x)), budget)
		if !reflect.DeepEqual(in, before) {
			t.Fatalf("seed %d: the original has changed", seed)
		}
		if err := out.Validate(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !slices.IsSorted(out.Resources) {
			t.Errorf("seed %d: resources %v", seed, out.Resources)
		}
		y := sched.NewIndex(out)
		for s := range sched.StageID(x.Stages()) {
			was, is := x.Stage(s), y.Stage(s)
			if slices.Contains(l.Sizes, s) != (len(is.Sizes) > 0 && len(was.Sizes) == 0) {
				t.Errorf("seed %d: %d is in the wrong list", seed, s)
			}
			if len(was.Sizes) > 0 && !reflect.DeepEqual(is.Sizes, was.Sizes) {
				t.Errorf("seed %d: stated sizes have changed", seed)
			}
			for _, d := range is.Sizes {
				if !(d.Mean() > 0) {
					t.Errorf("seed %d: size %v", seed, d.Mean())
				}
			}
			for d, n := range was.Needs {
				if now := is.Needs[slices.Index(out.Resources, in.Resources[d])]; n > 0 && now != n {
					t.Errorf("seed %d: a stated need of %d has become %d", seed, n, now)
				}
			}
			learnt += len(l.Memory) + len(l.Sizes)
		}
		for m := range in.Machines {
			if !in.Machines[m].SpeedAssumed && out.Machines[m].Speed != in.Machines[m].Speed {
				t.Errorf("seed %d: a stated speed has changed", seed)
			}
		}
		if budget == 0 && !reflect.DeepEqual(in.Resources, out.Resources) {
			t.Errorf("seed %d: resources without a budget", seed)
		}
	}
	if learnt < 100 {
		t.Errorf("only %d things learnt", learnt)
	}
}

func deepCopy(in *sched.Instance) *sched.Instance {
	out := *in
	out.Resources = slices.Clone(in.Resources)
	out.Machines = slices.Clone(in.Machines)
	for m := range out.Machines {
		out.Machines[m].Capacity = slices.Clone(in.Machines[m].Capacity)
	}
	out.Jobs = slices.Clone(in.Jobs)
	for j := range out.Jobs {
		out.Jobs[j].Stages = slices.Clone(in.Jobs[j].Stages)
		for s := range out.Jobs[j].Stages {
			st := &out.Jobs[j].Stages[s]
			st.Needs, st.Sizes = slices.Clone(st.Needs), slices.Clone(st.Sizes)
		}
	}
	return &out
}

func TestResolveSaysWhatItDid(t *testing.T) {
	db := openTemp(t)
	in := openInstance(2, 4, 2, 1)
	in.Jobs[0].Stages[2].Sizes = []size.Dist{size.Exact(7)}
	out, l := resolve(t, in, db, 0)
	if !reflect.DeepEqual(out, in) || l.Runs != 0 || l.Sizes != nil || l.Speeds != nil {
		t.Errorf("from nothing: %+v", l)
	}
	for run := range 3 {
		for task := range 4 {
			record(t, db, attempt(run, 0, task, 4, task%2, 6/float64(1+task%2)))
		}
	}
	out, l = resolve(t, in, db, 0)
	if l.Runs != 3 || !slices.Equal(l.Sizes, []sched.StageID{0}) || !slices.Equal(l.Speeds, []sched.MachineID{0, 1}) {
		t.Errorf("learnt: %+v", l)
	}
	near(t, "speed of m1", out.Machines[1].Speed, 2, 1e-6)
	near(t, "size", out.Jobs[0].Stages[0].Sizes[0].Mean(), 6, 1e-6)
	db = openTemp(t)
	record(t, db, attempt(0, 0, 0, 4, 0, 5))
	if _, alone := resolve(t, openInstance(1, 4), db, 0); alone.Speeds != nil || len(alone.Sizes) != 1 {
		t.Errorf("a machine is compared with itself: %+v", alone)
	}
	if !out.Machines[1].SpeedAssumed {
		t.Error("a learnt speed is taken for a stated one")
	}
}

// The history of a workload of the same name counts, that of others if there is none.
func TestWorkloadsOfOneName(t *testing.T) {
	db := openTemp(t)
	in := openInstance(1, 1, 1)
	in.Name = "mine"
	for k, workload := range []string{"mine", "other", "other"} {
		a := attempt(k, k%2, 0, 1, 0, float64(5*(k+1)))
		a.Workload = workload
		b := attempt(k, 0, 0, 1, 0, float64(5*(k+1)))
		b.Workload = workload
		record(t, db, a, b)
	}
	out, _ := resolve(t, in, db, 0)
	near(t, "size that is known from this workload", out.Jobs[0].Stages[0].Sizes[0].Mean(), 5, 1e-9)
	near(t, "size known from another one", out.Jobs[0].Stages[1].Sizes[0].Mean(), 10, 1e-9)
}

// Machines that these stages have not been compared on have their speeds from others.
func TestSpeedsComeFromOtherStages(t *testing.T) {
	db := openTemp(t)
	in := openInstance(3, 4)
	for run := range 2 {
		for task := range 4 {
			record(t, db, attempt(run, 0, task, 4, 0, 8)) // on m0 only
			record(t, db, attempt(run, 9, task, 4, task%2, 6/float64(1+3*(task%2))))
		}
	}
	out, l := resolve(t, in, db, 0)
	near(t, "m1", out.Machines[1].Speed, 4, 1e-6)
	if !slices.Equal(l.Speeds, []sched.MachineID{0, 1}) || out.Machines[2].Speed != 1 {
		t.Errorf("speeds learnt of %v, m2 has %v", l.Speeds, out.Machines[2].Speed)
	}
	near(t, "size", out.Jobs[0].Stages[0].Sizes[0].Mean(), 8, 1e-6)
	if n := l.Estimates.Stage(Key{"job", "stage0"}).Attempts; n != 8 {
		t.Errorf("%d attempts of a stage that was run 8 times", n)
	}
}

func TestLearntMemory(t *testing.T) {
	db := openTemp(t)
	for k := range 3 {
		a := attempt(0, k, 0, 1, 0, 1)
		a.Memory = int64(k+1) * gib
		record(t, db, a)
	}
	in := openInstance(2, 1, 1, 1)
	in.Machines[1].Slots = 3
	in.Resources = []string{"cpu", "zeta"}
	for m := range in.Machines {
		in.Machines[m].Capacity = []int64{8000, 5000}
	}
	in.Jobs[0].Stages[1].Needs = []int64{1000, 2000}
	in.Jobs[0].Stages[2].Machines = []sched.MachineID{0}
	out, l := resolve(t, in, db, 8*gib)
	if !slices.Equal(out.Resources, []string{"cpu", "memory", "zeta"}) || !slices.Equal(l.Memory, []sched.StageID{0, 1, 2}) {
		t.Fatalf("resources %v, learnt %v", out.Resources, l.Memory)
	}
	if got := out.Machines; got[0].Capacity[1] != 2*gib*1000 || got[1].Capacity[1] != 6*gib*1000 || got[0].Capacity[2] != 5000 {
		t.Errorf("shares of the budget: %v, %v", got[0].Capacity, got[1].Capacity)
	}
	mib := func(s int) float64 { return float64(out.Jobs[0].Stages[s].Needs[1]) / 1000 / memoryUnit }
	near(t, "need", mib(0), math.Ceil(1024*memoryMargin), 1e-9)
	near(t, "need beside others", mib(1), math.Ceil(2048*memoryMargin), 1e-9)
	near(t, "need that exceeds the machine it is pinned to", mib(2), 2048, 1e-9)
	if n := out.Jobs[0].Stages[1].Needs; n[0] != 1000 || n[2] != 2000 {
		t.Errorf("other needs have become %v", n)
	}

	// Stated capacities and needs stay; a machine that states none has its share.
	in.Resources = []string{"memory", "zeta"}
	in.Machines[0].Capacity = []int64{3 * gib * 1000, 0}
	in.Machines[1].Capacity = []int64{0, 5000}
	in.Jobs[0].Stages[1].Needs = []int64{5000, 0}
	out, l = resolve(t, in, db, 4*gib)
	if out.Machines[0].Capacity[0] != 3*gib*1000 || out.Machines[1].Capacity[0] != 4*gib*1000 {
		t.Errorf("capacities %v, %v", out.Machines[0].Capacity, out.Machines[1].Capacity)
	}
	if !slices.Equal(l.Memory, []sched.StageID{0, 2}) || out.Jobs[0].Stages[1].Needs[0] != 5000 {
		t.Errorf("learnt %v, stated need %v", l.Memory, out.Jobs[0].Stages[1].Needs)
	}
}

func BenchmarkResolve(b *testing.B) {
	db, err := Open(filepath.Join(b.TempDir(), "history.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	rng := rand.New(rand.NewPCG(1, 1))
	in := openInstance(4, slices.Repeat([]int{50}, 20)...)
	for run := range 20 {
		var list []Attempt
		for k := range 20 {
			for task := range 50 {
				list = append(list, attempt(run, k, task, 50, rng.IntN(4), math.Exp(rng.NormFloat64())))
			}
		}
		record(b, db, list...)
	}
	for b.Loop() {
		if _, _, err := Resolve(b.Context(), in, db, 0); err != nil {
			b.Fatal(err)
		}
	}
}

// Memory that cannot run out changes nothing. Where it can, the shares of all machines
// together stay within the budget, and the largest need has a machine.
func TestSharesOfTheBudget(t *testing.T) {
	plenty, short := 0, 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 8))
		in := openInstance(1+rng.IntN(4), 2, 1)
		slots := 0
		for m := range in.Machines {
			in.Machines[m].Slots = 1 + rng.IntN(4)
			slots += in.Machines[m].Slots
		}
		var list []Attempt
		for k := range 2 {
			a := attempt(0, k, 0, 1, 0, 1)
			a.Memory = 1 + rng.Int64N(2*gib)
			list = append(list, a)
		}
		x := sched.NewIndex(in)
		known := Learn(list, optionsFor(x))
		largest := max(known.Stages[0].Memory, known.Stages[1].Memory)
		budget := gib + rng.Int64N(16*gib)
		out, l := Apply(in, known, budget)
		if largest*int64(slots) <= budget {
			plenty++
			if len(l.Memory) > 0 || len(out.Resources) > 0 {
				t.Errorf("seed %d: %d slots that need up to %d each of %d: %v", seed, slots, largest, budget, out.Resources)
			}
			continue
		}
		short++
		if !slices.Equal(l.Memory, []sched.StageID{0, 1}) {
			t.Fatalf("seed %d: learnt for %v", seed, l.Memory)
		}
		total, most := int64(0), int64(0)
		for m := range out.Machines {
			total += out.Machines[m].Capacity[0]
			most = max(most, out.Machines[m].Capacity[0])
		}
		if total > budget*1000 {
			t.Errorf("seed %d: %d of %d given away", seed, total, budget*1000)
		}
		if want := min(largest, budget) * 1000; most < want {
			t.Errorf("seed %d: no machine has room for %d, the largest has %d", seed, want, most)
		}
	}
	if plenty < 30 || short < 30 {
		t.Errorf("%d with plenty, %d short", plenty, short)
	}
}
