package cli

import (
	"slices"
	"strconv"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/workload"
)

// memoryResource is the resource whose unit is a byte, as Kubernetes has it.
const memoryResource = "memory"

// memoryDimension is that of memory among an instance's resources, -1 if it is none.
func memoryDimension(in *sched.Instance) int { return slices.Index(in.Resources, memoryResource) }

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
