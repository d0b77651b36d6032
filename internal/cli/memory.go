package cli

import (
	"slices"
	"strconv"

	"github.com/fairlead-project/fairlead/internal/history"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/workload"
)

// memoryDimension is that of memory among an instance's resources, -1 if it is none.
func memoryDimension(in *sched.Instance) int { return slices.Index(in.Resources, history.Memory) }

// headroom is the part of the computer's memory that is left to everything but tasks.
const headroom = 0.1

// bytesFlag is a flag that takes a size such as 2GiB.
type bytesFlag int64

func (b *bytesFlag) String() string {
	if *b == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*b), 10)
}

func (b *bytesFlag) Type() string { return "size" }

func (b *bytesFlag) Set(text string) error {
	x, err := workload.ParseBytes(text)
	if err == nil {
		*b = bytesFlag(x)
	}
	return err
}

// budget is how many bytes the tasks on this computer may use together. 0: unknown.
func (g *given) budget() int64 {
	if g.memory > 0 {
		return int64(g.memory)
	}
	return int64(float64(computerMemory()) * (1 - headroom))
}

// memoryLimits are the declared needs of memory, per stage: a task that exceeds what
// the workload says it needs is ended, where the system can do that, before it harms
// others. What was only learnt is no promise and no limit.
func memoryLimits(given *sched.Index) []int64 {
	in := given.Instance
	d := memoryDimension(in)
	if d < 0 {
		return nil
	}
	limits := make([]int64, given.Stages())
	for s := range limits {
		if needs := given.Stage(sched.StageID(s)).Needs; needs != nil {
			limits[s] = needs[d] / 1000
		}
	}
	return limits
}

// memoryBudget is what the machines have together, 0 for no limit. Where one of them
// does not say, and none of the computer's memory has been shared out either, what the
// others have must not limit its tasks.
func memoryBudget(in *sched.Instance, shared bool) int64 {
	d := memoryDimension(in)
	if d < 0 {
		return 0
	}
	total := int64(0)
	for m := range in.Machines {
		capacity := in.Machines[m].Capacity[d]
		if capacity == 0 && !shared {
			return 0
		}
		total += capacity / 1000
	}
	return total
}
