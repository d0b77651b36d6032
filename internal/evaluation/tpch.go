package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// query is a TPC-H query as a DAG of stages.
type query struct {
	Query  int
	Size   string
	Stages []struct {
		Tasks  int
		MeanMS float64 `json:"mean_ms"`
	}
	Edges [][2]int
}

// queries reads all queries of all sizes.
func queries(dir string) ([]sched.Job, error) {
	files, err := filepath.Glob(filepath.Join(dir, "tpch", "*.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no TPC-H queries in %s", dir)
	}
	var jobs []sched.Job
	for _, f := range files { // sorted by Glob
		data, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		var list []query
		if err := json.Unmarshal(data, &list); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		for _, q := range list {
			jobs = append(jobs, q.job())
		}
	}
	return jobs, nil
}

func (q *query) job() sched.Job {
	j := sched.Job{Name: fmt.Sprintf("q%d-%s", q.Query, q.Size), Weight: 1}
	for s, st := range q.Stages {
		j.Stages = append(j.Stages, sched.Stage{
			Name: fmt.Sprint("s", s), Count: st.Tasks, Sizes: []size.Dist{size.Exact(st.MeanMS / 1000)},
		})
	}
	for _, e := range q.Edges {
		j.Stages[e[1]].After = append(j.Stages[e[1]].After, e[0])
	}
	return j
}
