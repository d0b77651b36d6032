package engine_test

import (
	"fmt"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/policy/dag"
	"github.com/fairlead-project/fairlead/sched"
)

// A driver delivers events and carries out the actions, among them the wake-ups in
// which decisions are made.
func ExampleEngine_Step() {
	e, err := engine.New(engine.Config{
		Instance: &sched.Instance{
			Machines: []sched.Machine{{Name: "m", Speed: 1, Slots: 1, Port: 1}},
			Jobs:     []sched.Job{{Name: "backup", Stages: []sched.Stage{{Name: "copy", Count: 1}}}},
		},
		Policy: dag.NewFIFO(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	step := func(now sched.Time, ev engine.Event) {
		actions, err := e.Step(now, ev)
		if err != nil {
			fmt.Println(err)
		}
		for _, a := range actions {
			switch a.Kind {
			case engine.StartTask:
				fmt.Printf("%v: start task %d, attempt %d, on machine %d\n", now, a.Task, a.Attempt, a.Machine)
			case engine.WakeAt:
				fmt.Printf("%v: wake me at %v\n", now, a.At)
			}
		}
	}
	step(0, engine.Arrived(0))
	step(0, engine.Event{Kind: engine.Wake})
	step(5*sched.Second, engine.Finished(0, 1))
	fmt.Println(e.Explain(0))
	// Output:
	// 0s: wake me at 0s
	// 0s: start task 0, attempt 1, on machine 0
	// 5s: wake me at 5s
	// backup completed at 5s
}
