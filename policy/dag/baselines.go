package dag

import (
	"cmp"
	"math/rand/v2"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// ranked serves stages by a rank that each gets once, when its job has become known, the
// largest first (ties: release, number), and every task where it is expected to finish
// first.
type ranked struct {
	dispatch
	x     *sched.Index
	rank  []float64 // per stage
	seen  []bool    // per job
	known int
	// of ranks the stages of job j.
	of func(v policy.View, j sched.JobID, rank []float64) error
}

func newRanked(of func(policy.View, sched.JobID, []float64) error) *ranked {
	p := &ranked{of: of}
	p.q = newQueue(func(a, b sched.StageID) bool {
		return cmp.Or(cmp.Compare(p.rank[b], p.rank[a]), byRelease(p.x, a, b)) < 0
	})
	return p
}

func (p *ranked) Decide(now sched.Time, v policy.View, _ *rand.Rand) (policy.Decision, error) {
	p.x = v.Index()
	if p.rank == nil {
		p.rank, p.seen = make([]float64, p.x.Stages()), make([]bool, len(p.x.Instance.Jobs))
	}
	known := v.Known()
	for i := len(known) - 1; p.known < len(known); i-- { // they are the latest, as a rule
		if j := known[i]; !p.seen[j] {
			p.seen[j] = true
			p.known++
			if err := p.of(v, j, p.rank); err != nil {
				return policy.Decision{}, err
			}
		}
	}
	return p.decide(now, v)
}

// NewSJF returns shortest job first: by the estimated work of the whole job, the least
// first, whatever of it is done; weights are not looked at.
// Problem: Q|prec,r_j|Σw_jC_j. Guarantee: none; optimal for Σ C_j on one machine without
// releases and precedence. Source: folklore (SPT, Smith 1956), on the level of jobs.
// Departures: a task goes where it is expected to finish first, as under spc.
func NewSJF() policy.Policy {
	return newRanked(func(v policy.View, j sched.JobID, rank []float64) error {
		for s, end := v.Index().JobStages(j); s < end; s++ {
			rank[s] = -v.Remaining(j) // all of it: it has just become known
		}
		return nil
	})
}

// NewCriticalPath returns list scheduling by critical path: the stage with the longest way
// to the end of its job first, counting each stage as its largest task on a machine of
// mean speed, and whichever is more, its work on all machines together.
// Problem: Q|prec,r_j|C_max. Guarantee: none on machines of different speeds; 2−1/m for
// one DAG on equal ones (Graham 1966, for any list). Source: Hu 1961, as build tools
// use it. Departures: many jobs are one graph; a task goes where it is expected to finish
// first, as under spc.
func NewCriticalPath() policy.Policy {
	return newRanked(func(v policy.View, j sched.JobID, rank []float64) error {
		x := v.Index()
		speed, slots := 0.0, 0.0
		for m := range x.Instance.Machines {
			mach := &x.Instance.Machines[m]
			speed += float64(mach.Speed * float64(mach.Slots))
			slots += float64(mach.Slots)
		}
		first, end := x.JobStages(j)
		length := make([]float64, end-first)
		for s := first; s < end; s++ {
			work, longest := 0.0, 0.0
			for t, last := x.StageTasks(s); t < last; t++ {
				p, err := estimate(v, s, t)
				if err != nil {
					return err
				}
				work, longest = work+p, max(longest, p)
			}
			length[s-first] = max(longest*slots, work) / speed
		}
		for changed := true; changed; { // stages may stand in any order in the file
			changed = false
			for s := end - 1; s >= first; s-- {
				if r := rank[s]; r < length[s-first] {
					rank[s], changed = length[s-first], true
				}
				for _, a := range x.Stage(s).After {
					from := first + sched.StageID(a)
					if r := length[a] + rank[s]; rank[from] < r {
						rank[from], changed = r, true
					}
				}
			}
		}
		return nil
	})
}

// NewMinMin returns min-min: of all ready tasks the one that could finish earliest is
// mapped to where it would, then the next, and so on; what is mapped to an idle machine
// starts, the rest is mapped anew at the next event.
// Problem: Q|prec,r_j|C_max in batches. Guarantee: none. Source: Ibarra, Kim, J. ACM 24,
// 1977; Braun et al., J. Parallel Distrib. Comput. 61, 2001. Departures: weights are not
// looked at, ready tasks of all jobs are one batch. On machines that differ in speed only,
// the task that could finish earliest is the shortest one; so tasks are served in that
// order, also where needs, pins or input would have it otherwise, and the tasks of a stage
// together, by the shortest.
func NewMinMin() policy.Policy { return newBySize(-1) }

// NewMaxMin returns max-min: min-min with the task mapped first whose earliest finish is
// latest, which is the longest one. Problem, source and departures: as those of
// [NewMinMin].
func NewMaxMin() policy.Policy { return newBySize(+1) }

func newBySize(sign float64) policy.Policy {
	p := newRanked(func(v policy.View, j sched.JobID, rank []float64) error {
		x := v.Index()
		for s, end := x.JobStages(j); s < end; s++ {
			t, last := x.StageTasks(s)
			for first := t; t < last; t++ {
				size, err := estimate(v, s, t)
				if err != nil {
					return err
				}
				if r := sign * size; t == first || r > rank[s] {
					rank[s] = r
				}
			}
		}
		return nil
	})
	p.q.ascending = sign < 0
	return p
}
