package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fairlead-project/fairlead/internal/history"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/policy/dag"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
)

const (
	// trainingRuns are the earlier runs that sizes are learnt from.
	trainingRuns = 3
	// trainingCV is by how much every task's duration varied in them.
	trainingCV = 0.2
)

// learnt returns the mean sizes that the history tells after earlier runs of the same
// workload without sizes, under fifo, in which durations varied.
func learnt(in *sched.Instance, x *sched.Index, z *sched.Sizes, _ string, seed uint64) (*sched.Sizes, error) {
	blank := *in
	blank.Jobs = slices.Clone(in.Jobs)
	for j := range blank.Jobs {
		blank.Jobs[j].Stages = slices.Clone(blank.Jobs[j].Stages)
		for s := range blank.Jobs[j].Stages {
			blank.Jobs[j].Stages[s].Sizes = nil
		}
	}
	bx := sched.NewIndex(&blank)
	rng := rand.New(rand.NewPCG(seed, 1002))
	sigma := math.Sqrt(math.Log1p(trainingCV * trainingCV))
	var attempts []history.Attempt
	for run := range trainingRuns {
		noisy := sched.NewSizes(x)
		for s := range sched.StageID(x.Stages()) {
			t, end := x.StageTasks(s)
			each := make([]float64, 0, end-t)
			for ; t < end; t++ {
				each = append(each, z.Of(s, t)*math.Exp(sigma*rng.NormFloat64()-sigma*sigma/2))
			}
			if len(each) > 0 {
				noisy.SetEach(s, each)
			}
		}
		r, err := sim.Run(sim.Config{
			Instance: in, Policy: dag.NewFIFO(), Sizes: noisy, Seed: seed,
			Knowledge: policy.Knowledge{Sizes: policy.SizesUnknown, Arrivals: policy.Online},
		})
		if err != nil {
			return nil, err
		}
		for _, p := range r.Schedule.Tasks {
			a := history.Attempt{
				Run: fmt.Sprint(run), Attempt: 1, State: history.Done,
				Launched: time.Unix(int64(run)*1e6, int64(p.Start)), Start: p.Start, End: p.Finish,
			}
			a.Describe(bx, p.Task, p.Machine)
			attempts = append(attempts, a)
		}
	}
	filled, _ := history.Apply(&blank, history.Learn(attempts, history.Options{}), 0)
	return sim.Means(sched.NewIndex(filled))
}
