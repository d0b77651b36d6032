package dag

import (
	"slices"

	algo "github.com/fairlead-project/fairlead/algo/dag"
	"github.com/fairlead-project/fairlead/opt/queyranne"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// otherwise is spc with another order.
type otherwise struct {
	spc
	order func(*algo.Problem, queyranne.Options) ([]sched.StageID, *algo.Relaxation, error)
}

func newOtherwise(rule string, order func(*algo.Problem, queyranne.Options) ([]sched.StageID, *algo.Relaxation, error)) policy.Policy {
	p := &otherwise{spc: spc{params: SPCParams{Tolerance: defaultTolerance}}, order: order}
	p.init()
	p.rule = rule
	return p
}

// Solve solves a relaxation of something else.
func (p *otherwise) Solve(req policy.Request, stop func() bool) (*policy.Solution, error) {
	problem, err := problemOf(req)
	if err != nil {
		return nil, err
	}
	stages, r, err := p.order(problem, queyranne.Options{Tolerance: p.params.Tolerance, Stop: stop})
	if err != nil {
		return nil, err
	}
	sol := &policy.Solution{ID: req.ID, Rule: p.rule, Order: stages}
	noteGap(sol, r)
	return sol, nil
}

// NewIdentical returns the baseline that takes machines to be alike: jobs in the order of
// S-PC's relaxation for machines of the mean speed, each task on an idle machine, in turn:
// any is where it finishes first if all are equally fast; carried out at the true speeds.
// Problem: P|prec,r_j|Σw_jC_j, on machines of different speeds. Guarantee: none there.
// Source: the baseline "Identical-machine" of Aggarwal, Lan, Subramaniam, Xu, IEEE TNSM
// 2021, which stands for the 3- and 7-approximations for identical machines. Departures:
// what they ran is not known in detail; the order is by job, as under spc, and the machine
// is chosen at launch: queues made for equal speeds would be much worse.
func NewIdentical() policy.Policy {
	return newOtherwise(byAnyMachine, func(p *algo.Problem, o queyranne.Options) ([]sched.StageID, *algo.Relaxation, error) {
		in := *p.Instance()
		in.Machines = slices.Clone(in.Machines)
		speed, slots := 0.0, 0
		for m := range in.Machines {
			speed += float64(in.Machines[m].Speed * float64(in.Machines[m].Slots))
			slots += in.Machines[m].Slots
		}
		for m := range in.Machines {
			in.Machines[m].Speed = speed / float64(slots)
		}
		alike, err := algo.NewProblem(sched.NewIndex(&in), p.Sizes(), p.Jobs())
		if err != nil {
			return nil, nil, err
		}
		r, err := alike.RelaxStrong(o)
		if err != nil {
			return nil, nil, err
		}
		return alike.Stages(alike.JobOrder(r.C)), r, nil
	})
}

// NewMapOnly returns the baseline that orders jobs by their first stages: by S-PC's
// relaxation of a workload that has only those, later ones follow. Each task goes where
// it is expected to finish first.
// Problem: Q|prec,r_j|Σw_jC_j. Guarantee: none. Source: the baseline "Map-only" of
// Aggarwal, Lan, Subramaniam, Xu, IEEE TNSM 2021, after Im and Li, FOCS 2016. Departures:
// what they ran is not known in detail; map stages are those that wait for none of their
// job.
func NewMapOnly() policy.Policy {
	return newOtherwise(byOrder, func(p *algo.Problem, o queyranne.Options) ([]sched.StageID, *algo.Relaxation, error) {
		x := p.Index()
		in := *p.Instance()
		in.Jobs = slices.Clone(in.Jobs)
		var from []sched.StageID // of the full instance, per stage
		for j := range in.Jobs {
			first, _ := x.JobStages(sched.JobID(j))
			var maps []sched.Stage
			for s, st := range in.Jobs[j].Stages {
				if len(st.After) == 0 {
					st.Input = nil
					maps, from = append(maps, st), append(from, first+sched.StageID(s))
				}
			}
			in.Jobs[j].Stages = maps
		}
		mx := sched.NewIndex(&in)
		z := sched.NewSizes(mx)
		for s, full := range from {
			t, end := x.StageTasks(full)
			each := make([]float64, 0, end-t)
			for ; t < end; t++ {
				each = append(each, p.Sizes().Of(full, t))
			}
			z.SetEach(sched.StageID(s), each)
		}
		maps, err := algo.NewProblem(mx, z, p.Jobs())
		if err != nil {
			return nil, nil, err
		}
		r, err := maps.RelaxStrong(o)
		if err != nil {
			return nil, nil, err
		}
		end := make([]float64, len(in.Jobs)) // when a job's maps are done
		for i, n := range maps.Nodes {
			end[n.Job] = max(end[n.Job], r.C[i])
		}
		c := make([]float64, len(p.Nodes))
		for i, n := range p.Nodes {
			c[i] = end[n.Job]
		}
		return p.Stages(p.JobOrder(c)), r, nil
	})
}
