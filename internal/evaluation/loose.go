package main

import (
	"fmt"
	"math"

	"github.com/fairlead-project/fairlead/algo/dag/brute"
	"github.com/fairlead-project/fairlead/policy/all"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
	"github.com/fairlead-project/fairlead/trace/generate"
)

// mostTasks is what brute force can do in a moment.
const mostTasks = 8

// tiny returns the n-th instance, of stages of the given number of tasks, that is small
// enough for brute force.
func tiny(tasks int, load float64, n int) (*sched.Instance, error) {
	for seed := uint64(0); ; seed++ {
		in, err := generate.Instance(generate.Options{
			Kind: generate.Mixed, Seed: seed, Jobs: 2 + int(seed%3), Machines: 3, SpeedSkew: 4, Load: load,
			Weights: generate.Uniform, WeightSkew: 10, MinTasks: tasks, MaxTasks: tasks, Layers: 2, Width: 1,
		})
		if err != nil {
			return nil, err
		}
		for j := range in.Jobs { // which brute force wants
			in.Jobs[j].Weight = math.Round(in.Jobs[j].Weight)
		}
		if t := sched.NewIndex(in).Tasks(); t >= 4 && t <= mostTasks {
			if n--; n < 0 {
				return in, nil
			}
		}
	}
}

// loose shows how much of the distance to the bound is the bound's.
func (e *evaluation) loose() error {
	const instances = 30
	e.out.say(`### Where the bound is loose

A ratio well above 1 is the schedule's fault or the bound's. On instances of the same kinds that are small enough to
try everything (4 to %d tasks on 3 machines), most of it is the bound's: the machines that a stage cannot fill, and the
tasks that one machine must run one after another, are averaged away in it. Median (worst) over %d instances.`, mostTasks, instances)
	var rows [][]string
	for _, tasks := range []int{1, 2} {
		for _, load := range []float64{0, 0.9} {
			var optimum, total, mine []float64
			for n := range instances {
				in, err := tiny(tasks, load, n)
				if err != nil {
					return err
				}
				x := sched.NewIndex(in)
				z, err := sim.Means(x)
				if err != nil {
					return err
				}
				b, err := hindsight(x, z)
				if err != nil {
					return err
				}
				entry, p, err := all.Registry().Parse("spc")
				if err != nil {
					return err
				}
				r, err := sim.Run(sim.Config{Instance: in, Policy: p, Knowledge: entry.Knowledge, Sizes: z})
				if err != nil {
					return err
				}
				cost := weighted(in, r.Schedule.Completion)
				best := float64(brute.Optimum(in, z, int64(cost*1e9)+1)) / 1e9
				if best < b.lower {
					return fmt.Errorf("brute force finds %v, below the bound %v", best, b.lower)
				}
				flow := func(x float64) float64 { return x - b.released }
				total = append(total, flow(cost)/flow(b.lower))
				optimum = append(optimum, flow(best)/flow(b.lower))
				mine = append(mine, flow(cost)/flow(best))
			}
			rows = append(rows, []string{fmt.Sprintf("%d tasks per stage, load %g", tasks, load), spread(total), spread(optimum), spread(mine)})
		}
	}
	e.out.table([]string{"Instances", "`spc` over bound", "optimum over bound", "`spc` over optimum"}, rows)
	return nil
}
