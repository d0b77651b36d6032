package trace

import (
	"fmt"

	"github.com/fairlead-project/fairlead/workload"
)

// A row is one task in a log that knows of no dependencies.
type row struct {
	job     *workload.Job
	stage   *workload.Stage
	task    int
	seconds float64
}

// rows returns the tasks of a workload in which nothing waits for anything.
func rows(f *workload.File) ([]row, error) {
	var out []row
	for j := range f.Jobs {
		job := &f.Jobs[j]
		if job.After != nil {
			return nil, fmt.Errorf("job %s waits for another one: %w", job.Name, ErrCannotHold)
		}
		for s := range job.Stages {
			st := &job.Stages[s]
			if st.After != nil {
				return nil, fmt.Errorf("job %s: stage %s waits for another one: %w", job.Name, st.Name, ErrCannotHold)
			}
			sizes, err := known(st)
			if err != nil {
				return nil, fmt.Errorf("job %s: %w", job.Name, err)
			}
			for k, z := range sizes {
				out = append(out, row{job, st, k, z})
			}
		}
	}
	return out, nil
}

// oneJob refuses workloads of several jobs.
func oneJob(f *workload.File) error {
	if len(f.Jobs) != 1 {
		return fmt.Errorf("it has %s, the format has one: %w", plural(len(f.Jobs), "job"), ErrCannotHold)
	}
	return nil
}

// sizesOf gives a stage its tasks: one size if they are equal.
func sizesOf(st *workload.Stage, seconds []float64) {
	equal := true
	for _, z := range seconds {
		equal = equal && z == seconds[0]
	}
	if equal {
		st.Size = &workload.Size{Value: seconds[0]}
		if len(seconds) > 1 {
			st.Count = len(seconds)
		}
		return
	}
	st.Sizes = make([]workload.Size, len(seconds))
	for k, z := range seconds {
		st.Sizes[k].Value = z
	}
}
