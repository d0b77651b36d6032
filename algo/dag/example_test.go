package dag_test

import (
	"fmt"
	"math"

	"github.com/fairlead-project/fairlead/algo/dag"
	"github.com/fairlead-project/fairlead/opt/queyranne"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// Two jobs on a fast and a slow machine: a report of two stages, and a small query
// that matters more.
func Example() {
	tasks := func(p ...float64) sched.Stage {
		st := sched.Stage{Count: len(p)}
		for _, x := range p {
			st.Sizes = append(st.Sizes, size.Exact(x))
		}
		return st
	}
	second := tasks(4)
	second.After = []int{0}
	in := &sched.Instance{
		Machines: []sched.Machine{
			{Name: "fast", Speed: 2, Slots: 1, Port: math.Inf(1)},
			{Name: "slow", Speed: 1, Slots: 1, Port: math.Inf(1)},
		},
		Jobs: []sched.Job{
			{Name: "report", Weight: 1, Stages: []sched.Stage{tasks(2, 2), second}},
			{Name: "query", Weight: 3, Stages: []sched.Stage{tasks(2)}},
		},
	}
	x := sched.NewIndex(in)
	z := sched.NewSizes(x)
	z.SetAll(0, 2)
	z.SetAll(1, 4)
	z.SetAll(2, 2)

	p, err := dag.NewProblem(x, z, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := p.Relax(queyranne.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := p.Best(p.Order(r.C))
	if err != nil {
		fmt.Println(err)
		return
	}
	ratio, _ := r.Guarantee()
	fmt.Printf("cost %.2f, no schedule below %.2f, guaranteed in advance: %.2f times that\n", plan.Cost, r.Lower, ratio)
	for _, t := range plan.Schedule.Tasks {
		fmt.Printf("task %d on %s from %v to %v\n", t.Task, in.Machines[t.Machine].Name, t.Start, t.Finish)
	}
	// Output:
	// cost 7.00, no schedule below 6.92, guaranteed in advance: 1.74 times that
	// task 1 on slow from 0s to 2s
	// task 3 on fast from 0s to 1s
	// task 0 on fast from 1s to 2s
	// task 2 on fast from 2s to 4s
}
