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
	smiths
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

func (p *wspt) Decide(now sched.Time, v policy.View, _ *rand.Rand) (policy.Decision, error) {
	p.refresh(v, p.q)
	return p.decide(now, v)
}

// smith is Smith's ratio; no work comes first whatever the weight.
func smith(weight, work float64) float64 {
	if work <= 0 {
		return math.Inf(1)
	}
	return weight / work
}
