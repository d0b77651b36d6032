package workload

import (
	"errors"
	"fmt"

	"github.com/fairlead-project/fairlead/sched"
)

// ErrUnsupported is wrapped by the error of [Unsupported].
var ErrUnsupported = errors.New("not supported by this version")

// Unsupported names the first stage of in that this version can read but not
// schedule: transfer stages and rate sharing. Nil if there is none.
func Unsupported(in *sched.Instance) error {
	for j := range in.Jobs {
		for s := range in.Jobs[j].Stages {
			st := &in.Jobs[j].Stages[s]
			what, remedy := unsupported(st)
			if what != "" {
				return fmt.Errorf("stage %s/%s %s, which is %w; %s", in.Jobs[j].Name, st.Name, what, ErrUnsupported, remedy)
			}
		}
	}
	return nil
}

func unsupported(st *sched.Stage) (what, remedy string) {
	const (
		instead = "remove the stage, or charge its data to the stage that reads it with `input`"
		tasks   = "remove the field to run its tasks in slots"
	)
	switch f := st.Fluid; {
	case st.Shuffle != nil:
		return "is a transfer (shuffle)", instead
	case st.Flows != nil:
		return "is a transfer (flows)", instead
	case f == nil:
		return "", ""
	case f.Rates != nil:
		return "shares rates (rates)", tasks
	case f.Speedup != nil:
		return "shares rates (speedup)", tasks
	case f.Page != "":
		return "shares rates (page)", tasks
	case f.Gang:
		return "shares rates (gang)", tasks
	}
	return "shares rates (maxRate)", tasks
}
