package sim_test

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/policy/dag"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
	"github.com/fairlead-project/fairlead/size"
)

// mapReduce returns n tasks in jobs of 80 map and 20 reduce tasks, on one machine
// per thousand tasks (at least 10) of two slots and three speeds. Jobs are released
// so that the machines are nearly always busy. If equal, the tasks of a stage
// have one size, and many end at the same instant; otherwise each has its own.
func mapReduce(n int, equal bool) *sched.Instance {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	in := &sched.Instance{}
	speed := 0.0
	for m := range max(10, n/1000) {
		v := []float64{1, 1.5, 3}[m%3]
		speed += 2 * v
		in.Machines = append(in.Machines, sched.Machine{Name: fmt.Sprint("m", m), Speed: v, Slots: 2, Port: math.Inf(1)})
	}
	const perJob, mean = 100, 10
	for j := range n / perJob {
		st := func(name string, count int) sched.Stage {
			s := sched.Stage{Name: name, Count: count}
			if equal {
				s.Sizes = []size.Dist{size.Exact(float64(1 + r.IntN(2*mean-1)))}
				return s
			}
			for range count {
				s.Sizes = append(s.Sizes, size.Exact(2*mean*r.Float64()))
			}
			return s
		}
		reduce := st("reduce", 20)
		reduce.After = []int{0}
		in.Jobs = append(in.Jobs, sched.Job{
			Name: fmt.Sprint("j", j), Weight: 1, Release: sched.FromSeconds(float64(j) * perJob * mean / speed),
			Stages: []sched.Stage{st("map", 80), reduce},
		})
	}
	return in
}

// BenchmarkSimulate is the engine's speed through View and policy: events are
// calls of Step, wake-ups included.
func BenchmarkSimulate(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		for _, c := range []struct {
			name       string
			equal, log bool
		}{{"distinct", false, false}, {"distinct,log", false, true}, {"equal", true, false}, {"equal,log", true, true}} {
			b.Run(fmt.Sprintf("fifo/%d/%s", n, c.name), func(b *testing.B) {
				in := mapReduce(n, c.equal)
				var events int64
				var peak uint64
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					cfg := sim.Config{Instance: in, Policy: dag.NewFIFO()}
					var w *engine.LogWriter
					if c.log {
						var err error
						if w, err = engine.NewLogWriter(io.Discard, sched.NewIndex(in), engine.LogHeader{}); err != nil {
							b.Fatal(err)
						}
						cfg.Observe = w.Event
					}
					r, err := sim.Run(cfg)
					if err != nil {
						b.Fatal(err)
					}
					if len(r.Schedule.Tasks) != n {
						b.Fatalf("%d tasks, not %d", len(r.Schedule.Tasks), n)
					}
					if w != nil {
						if err := w.Close(r.Digest); err != nil {
							b.Fatal(err)
						}
					}
					events += r.Stats.Events
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					peak = max(peak, m.Sys)
				}
				b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
				b.ReportMetric(float64(peak)/(1<<20), "MiB")
			})
		}
	}
}

// apart shares one machine equally among n jobs, each a group of its own, so that
// every completion changes the rates of all that are left: the worst case of the
// event queue.
type apart struct {
	live  []sched.TaskID
	rates []policy.GroupRate
}

func (p *apart) Decide(_ sched.Time, v policy.View, _ *rand.Rand) (d policy.Decision, err error) {
	for _, s := range v.Changed() {
		if t, _ := v.Index().StageTasks(s); v.Task(t) == policy.TaskPending {
			p.live = append(p.live, t)
			d.Join = append(d.Join, policy.Join{Activity: policy.Activity{Task: t, Flow: sched.None}, Group: policy.GroupID(t), Share: 1})
		}
	}
	p.live = slices.DeleteFunc(p.live, func(t sched.TaskID) bool { return v.Task(t) == policy.TaskDone })
	p.rates = p.rates[:0]
	for _, t := range p.live {
		p.rates = append(p.rates, policy.GroupRate{Group: policy.GroupID(t), Rate: 1 / float64(len(p.live))})
	}
	d.Rates = p.rates
	return d, nil
}

func manyGroups(n int) *sched.Instance {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	in := &sched.Instance{Machines: []sched.Machine{{Name: "m", Speed: 1, Slots: 1, Port: math.Inf(1)}}}
	for j := range n {
		in.Jobs = append(in.Jobs, sched.Job{Name: fmt.Sprint("j", j), Weight: 1, Stages: []sched.Stage{
			{Name: "s", Count: 1, Sizes: []size.Dist{size.Exact(1 + r.Float64())}},
		}})
	}
	return in
}

// BenchmarkManyGroups sets n²/2 rates.
func BenchmarkManyGroups(b *testing.B) {
	for _, n := range []int{1000, 4000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			in := manyGroups(n)
			b.ReportAllocs()
			for range b.N {
				r, err := sim.Run(sim.Config{Instance: in, Policy: &apart{}})
				if err != nil {
					b.Fatal(err)
				}
				if r.Stats.Decisions < int64(n) {
					b.Fatalf("%d decisions: the rates were not set at every completion", r.Stats.Decisions)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(n*n/2), "ns/rate")
		})
	}
}
