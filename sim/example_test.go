package sim_test

import (
	"fmt"
	"math"

	"github.com/fairlead-project/fairlead/policy/dag"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
	"github.com/fairlead-project/fairlead/size"
)

// Three equal tasks on a slow machine and one twice as fast.
func ExampleRun() {
	in := &sched.Instance{
		Machines: []sched.Machine{
			{Name: "slow", Speed: 1, Slots: 1, Port: math.Inf(1)},
			{Name: "fast", Speed: 2, Slots: 1, Port: math.Inf(1)},
		},
		Jobs: []sched.Job{{Name: "j", Weight: 1, Stages: []sched.Stage{
			{Name: "s", Count: 3, Sizes: []size.Dist{size.Exact(4)}},
		}}},
	}
	r, err := sim.Run(sim.Config{Instance: in, Policy: dag.NewFIFO()})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range r.Schedule.Tasks {
		fmt.Printf("task %d on %s from %v to %v\n", p.Task, in.Machines[p.Machine].Name, p.Start, p.Finish)
	}
	fmt.Println("completed at", r.Schedule.Completion[0])
	// Output:
	// task 0 on fast from 0s to 2s
	// task 1 on slow from 0s to 4s
	// task 2 on fast from 2s to 4s
	// completed at 4s
}
