package check_test

import (
	"fmt"
	"math"

	"github.com/fairlead-project/fairlead/check"
	"github.com/fairlead-project/fairlead/sched"
)

func Example() {
	in := &sched.Instance{
		Machines: []sched.Machine{{Name: "m", Speed: 2, Slots: 1, Port: math.Inf(1)}},
		Jobs:     []sched.Job{{Name: "job", Weight: 3, Stages: []sched.Stage{{Name: "map", Count: 2}}}},
	}
	z := sched.NewSizes(sched.NewIndex(in))
	z.SetAll(0, 4)
	s := &sched.Schedule{
		Tasks: []sched.Placement{
			{Task: 0, Start: 0, Finish: 2 * sched.Second},
			{Task: 1, Start: 2 * sched.Second, Finish: 4 * sched.Second},
		},
		Completion: []sched.Time{4 * sched.Second},
	}
	r, err := check.Schedule(in, z, s, check.Options{})
	fmt.Println(r.WeightedCompletion, r.Makespan, err)
	s.Tasks[1].Start -= sched.Second
	s.Tasks[1].Finish -= sched.Second
	s.Completion[0] -= sched.Second
	_, err = check.Schedule(in, z, s, check.Options{})
	fmt.Println(err)
	// Output:
	// 12 4s <nil>
	// check: overlap: job job, stage map, task 1, on machine m: starts at 1s in slot 0, which is held until 2s
}
