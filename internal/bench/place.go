package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"

	"github.com/fairlead-project/fairlead/algo/dag"
	"github.com/fairlead-project/fairlead/check"
	"github.com/fairlead-project/fairlead/opt/queyranne"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
	"github.com/fairlead-project/fairlead/workload"
)

// listSeconds is the target for placing 100,000 tasks on 100 machines.
const listSeconds = 0.5

// placement measures list scheduling, against a plain twin that must place every
// task in the same way, and the checker on the schedules.
func (b *bench) placement() error {
	t := table{
		title: "List scheduling",
		text: `Workload w, in the order of the relaxation, one thread. The plain twin looks at every
machine for every task; it is checked to place every task in the same way. The checker
is the independent one, on the same schedule.`,
		head: []string{"Workload", "CPU", "Allocations", "Plain twin's CPU", "Ratio", "Checker's CPU"},
	}
	for _, in := range []int{w100k, w1m} {
		p, err := problem(b.path(in))
		if err != nil {
			return err
		}
		r, err := p.Relax(queyranne.Options{Tolerance: 1e-2})
		if err != nil {
			return err
		}
		order := p.Order(r.C)
		progress("%s: list scheduling", inputs[in].name)
		var spent []float64
		var plan *dag.Plan
		var used cost
		for range b.runs {
			used, err = call(func() (err error) {
				plan, err = p.List(order, 0)
				return err
			})
			if err != nil {
				return err
			}
			spent = append(spent, used.cpu.Seconds())
		}
		if in == w100k {
			b.claims = append(b.claims, claim{
				what: inputs[in].name + ": list scheduling, CPU", show: seconds,
				target: listSeconds, runs: spent,
			})
		}
		sizes, err := sim.Means(sched.NewIndex(p.Instance()))
		if err != nil {
			return err
		}
		var twin []sched.Placement
		slow, _ := call(func() error { // which cannot fail
			twin = plainList(p, sizes, order)
			return nil
		})
		if !slices.Equal(twin, plan.Schedule.Tasks) {
			return fmt.Errorf("%s: list scheduling differs from its plain twin", inputs[in].name)
		}
		checked, err := call(func() error {
			_, err := check.Schedule(p.Instance(), sizes, &plan.Schedule, check.Options{})
			return err
		})
		if err != nil {
			return err
		}
		t.row(inputs[in].name, seconds(median(spent)), grouped(int64(used.allocs)),
			seconds(slow.cpu.Seconds()), times(slow.cpu.Seconds()/median(spent)), seconds(checked.cpu.Seconds()))
	}
	b.tables = append(b.tables, t)
	return nil
}

// plainList is list placement as the paper has it: each stage in order, its tasks by
// non-increasing size, each on the unit where it finishes first, ready times inside
// the minimum. No needs, pins or input. Cost: O(tasks · units).
func plainList(p *dag.Problem, z *sched.Sizes, order []int32) []sched.Placement {
	in := p.Instance()
	x := sched.NewIndex(in)
	preds := make([][]int32, len(p.Nodes))
	for _, a := range p.Arcs {
		preds[a.To] = append(preds[a.To], a.From)
	}
	free := make([]sched.Time, len(p.Units))
	done := make([]sched.Time, len(p.Nodes))
	var out []sched.Placement
	for _, j := range order {
		n := p.Nodes[j]
		ready := n.Release
		for _, i := range preds[j] {
			ready = max(ready, done[i])
		}
		done[j] = ready
		if n.Stage == sched.None {
			continue
		}
		first, end := x.StageTasks(n.Stage)
		var tasks []sched.TaskID
		for t := first; t < end; t++ {
			tasks = append(tasks, t)
		}
		slices.SortStableFunc(tasks, func(a, b sched.TaskID) int {
			return cmp.Compare(z.Of(n.Stage, b), z.Of(n.Stage, a))
		})
		for _, t := range tasks {
			size := z.Of(n.Stage, t)
			best := sched.Placement{Finish: sched.Never}
			at := 0
			for l, u := range p.Units {
				start := max(ready, free[l])
				if f := start + sched.Duration(size, in.Machines[u.Machine].Speed); f < best.Finish {
					at, best = l, sched.Placement{Task: t, Machine: u.Machine, Slot: u.Slot, Start: start, Finish: f}
				}
			}
			free[at] = best.Finish
			done[j] = max(done[j], best.Finish)
			out = append(out, best)
		}
	}
	slices.SortFunc(out, func(a, b sched.Placement) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Task, b.Task))
	})
	return out
}

// parsing measures the reader of workloads.
func (b *bench) parsing() error {
	t := table{
		title: "Reading workloads",
		text:  "Parsing, checking and expanding, one thread.",
		head:  []string{"Workload", "File", "CPU", "Rate", "Allocations"},
	}
	for _, in := range []int{w100k, w1m, e1m, l10k, l100k} {
		data, err := os.ReadFile(b.path(in))
		if err != nil {
			return err
		}
		progress("%s: reading", inputs[in].name)
		used, err := call(func() error {
			f, err := workload.Parse(inputs[in].file, data)
			if err == nil {
				_, err = f.Instance(nil)
			}
			return err
		})
		if err != nil {
			return err
		}
		mb := float64(len(data)) / 1e6
		t.row(inputs[in].name, fmt.Sprintf("%.1f MB", mb), seconds(used.cpu.Seconds()), fmt.Sprintf("%.1f MB/s", mb/used.cpu.Seconds()), grouped(int64(used.allocs)))
	}
	b.tables = append(b.tables, t)
	return nil
}
