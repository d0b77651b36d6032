package dag

import (
	"math"
	"math/rand/v2"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// wspt serves the job with the greatest weight per remaining work.
type wspt struct {
	dispatch
	x     *sched.Index
	ratio []float64 // per job: weight / remaining work
}

// NewWSPT returns dynamic WSPT (weighted shortest remaining processing time on
// the level of jobs): at every event the ready stages are served in order of their
// job's weight over its remaining work, the largest first (ties: release, JobID,
// stage), each task where it is expected to finish first.
// Problem: Q|prec,r_j|Σw_jC_j. Guarantee: none for this problem; optimal on one
// machine without releases and precedence (Smith 1956). Source: Smith's rule,
// extended to machines of different speeds by the dispatch that S-PC uses.
func NewWSPT() policy.Policy {
	p := &wspt{}
	p.q = newQueue(p.before)
	return p
}

func (p *wspt) before(a, b sched.StageID) bool {
	ja, jb := p.x.StageJob(a), p.x.StageJob(b)
	if ja == jb {
		return a < b
	}
	if p.ratio[ja] != p.ratio[jb] {
		return p.ratio[ja] > p.ratio[jb]
	}
	jobs := p.x.Instance.Jobs
	if jobs[ja].Release != jobs[jb].Release {
		return jobs[ja].Release < jobs[jb].Release
	}
	return ja < jb
}

func (p *wspt) Decide(now sched.Time, v policy.View, _ *rand.Rand) (policy.Decision, error) {
	p.x = v.Index()
	if p.ratio == nil {
		p.ratio = make([]float64, len(p.x.Instance.Jobs))
		p.q.stages = make([]queued, p.x.Stages())
	}
	for _, s := range v.Changed() {
		j := p.x.StageJob(s)
		if r := smith(p.x.Instance.Jobs[j].Weight, v.Remaining(j)); r != p.ratio[j] {
			p.q.reorder(v, j, func() { p.ratio[j] = r })
		}
	}
	return p.decide(now, v)
}

// smith is Smith's ratio; no work comes first whatever the weight.
func smith(weight, work float64) float64 {
	if work <= 0 {
		return math.Inf(1)
	}
	return weight / work
}
