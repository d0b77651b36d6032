package dag

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/fairlead-project/fairlead/opt/queyranne"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// wideInstance has the given numbers of tasks and machines: jobs of two stages of
// 50 unequal tasks each, four speeds, releases.
func wideInstance(tasks, machines int) *sched.Instance {
	rng := rand.New(rand.NewPCG(41, 42))
	in := &sched.Instance{}
	for m := range machines {
		in.Machines = append(in.Machines, sched.Machine{Speed: float64(1 + 4*m/machines), Slots: 1, Port: math.Inf(1)})
	}
	const perStage = 50
	stage := func(after []int) sched.Stage {
		st := sched.Stage{Count: perStage, After: after}
		for range perStage {
			st.Sizes = append(st.Sizes, size.Exact(1+math.Floor(rng.ExpFloat64()*10)))
		}
		return st
	}
	for range tasks / (2 * perStage) {
		in.Jobs = append(in.Jobs, sched.Job{
			Weight: 1 + rng.Float64(), Release: sched.FromSeconds(rng.Float64() * 100),
			Stages: []sched.Stage{stage(nil), stage([]int{0})},
		})
	}
	return in
}

func wide(tasks, machines int) *Problem {
	x := sched.NewIndex(wideInstance(tasks, machines))
	p, err := NewProblem(x, sizesOf(x), nil)
	if err != nil {
		panic(err)
	}
	return p
}

// BenchmarkList places tasks in an arbitrary order of jobs, with the plan's
// placements sorted and recorded.
func BenchmarkList(b *testing.B) {
	for _, c := range []struct{ tasks, machines int }{{100_000, 100}, {1_000_000, 1000}} {
		p := wide(c.tasks, c.machines)
		order := make([]int32, len(p.Nodes))
		for i := range order {
			order[i] = int32(i)
		}
		b.Run(fmt.Sprintf("tasks=%d/machines=%d", c.tasks, c.machines), func(b *testing.B) {
			for b.Loop() {
				if _, err := p.List(order, 0); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/plan")
		})
	}
}

// BenchmarkSPC is the whole algorithm: relaxation, list placement, and the best of
// several numbers of units.
func BenchmarkSPC(b *testing.B) {
	p := wide(100_000, 100)
	for b.Loop() {
		r, err := p.Relax(queyranne.Options{Tolerance: 1e-3})
		if err != nil {
			b.Fatal(err)
		}
		plan, err := p.Best(p.Order(r.C))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(plan.Cost/r.Lower, "cost/bound")
		b.ReportMetric(float64(plan.Units), "units")
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/plan")
}
