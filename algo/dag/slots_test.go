package dag

import (
	"math"
	"testing"

	"github.com/fairlead-project/fairlead/check"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// A machine has exactly its slots, whatever their number: 15 equal tasks on s slots
// take ⌈15/s⌉ rounds, and the plan stands the independent check.
func TestEveryNumberOfSlots(t *testing.T) {
	for slots := 1; slots <= 70; slots++ {
		in := &sched.Instance{
			Machines: []sched.Machine{
				{Name: "a", Speed: 1, Slots: slots, Port: math.Inf(1)},
				{Name: "b", Speed: 1e-6, Slots: 3, Port: math.Inf(1)},
			},
			Jobs: []sched.Job{{Name: "j", Weight: 1, Stages: []sched.Stage{
				{Name: "s", Count: 15, Sizes: []size.Dist{size.Exact(1)}},
			}}},
		}
		x := sched.NewIndex(in)
		z := sched.NewSizes(x)
		z.SetAll(0, 1)
		p, err := NewProblem(x, z, nil)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := p.List([]int32{0}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := check.Schedule(in, z, &plan.Schedule, check.Options{}); err != nil {
			t.Errorf("%d slots: %v", slots, err)
		}
		if want := sched.Time((15+slots-1)/slots) * sched.Second; plan.Completion[0] != want {
			t.Errorf("%d slots: completes at %v, want %v", slots, plan.Completion[0], want)
		}
	}
}
