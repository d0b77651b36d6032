package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// Streams of a seed; the engine's policy stream is 1.
const (
	taskSizeStream = 2
	flowSizeStream = 3
)

// ErrNoSizes is wrapped by the error for stages whose sizes are unknown.
var ErrNoSizes = fmt.Errorf("sim: sizes are needed to simulate")

// Unsized lists the compute stages without sizes, as job/stage.
func Unsized(x *sched.Index) []string {
	var missing []string
	for s := range sched.StageID(x.Stages()) {
		if st := x.Stage(s); st.Count > 0 && len(st.Sizes) == 0 {
			missing = append(missing, x.StageName(s))
		}
	}
	return missing
}

// Realise draws every task's size. The same seed gives the same sizes, whatever
// the policy. Stages with exact sizes stay compact.
func Realise(x *sched.Index, seed uint64) (*sched.Sizes, error) {
	rng := rand.New(rand.NewPCG(seed, taskSizeStream))
	return fill(x, func(d size.Dist) float64 { return d.Sample(rng) })
}

// Means returns every task's mean size.
func Means(x *sched.Index) (*sched.Sizes, error) {
	return fill(x, size.Dist.Mean)
}

// MeansWhereKnown is Means that leaves stages without sizes unknown.
func MeansWhereKnown(x *sched.Index) *sched.Sizes {
	z := sched.NewSizes(x)
	fillKnown(x, z, size.Dist.Mean)
	return z
}

func fill(x *sched.Index, of func(size.Dist) float64) (*sched.Sizes, error) {
	if missing := Unsized(x); missing != nil {
		const most = 8
		more := ""
		if n := len(missing); n > most {
			missing, more = missing[:most], fmt.Sprintf(" and %d more", n-most)
		}
		return nil, fmt.Errorf("%w: no size for %s%s", ErrNoSizes, strings.Join(missing, ", "), more)
	}
	z := sched.NewSizes(x)
	fillKnown(x, z, of)
	return z, nil
}

func fillKnown(x *sched.Index, z *sched.Sizes, of func(size.Dist) float64) {
	for s := range sched.StageID(x.Stages()) {
		st := x.Stage(s)
		if st.Count == 0 || len(st.Sizes) == 0 {
			continue
		}
		if p, exact := size.Value(st.Sizes[0]); exact && len(st.Sizes) == 1 {
			z.SetAll(s, p)
			continue
		}
		each := make([]float64, st.Count)
		for k := range each {
			each[k] = of(st.Size(k))
		}
		if len(each) == 1 || !slices.ContainsFunc(each, func(p float64) bool { return p != each[0] }) {
			z.SetAll(s, each[0])
			continue
		}
		z.SetEach(s, each)
	}
}

// Estimates returns what a policy of the given knowledge is shown, when the
// realised sizes are z.
func Estimates(x *sched.Index, k policy.Knowledge, z *sched.Sizes) *sched.Sizes {
	switch k.Sizes {
	case policy.SizesExact:
		return z
	case policy.SizesDistribution:
		return MeansWhereKnown(x)
	}
	return nil
}

// flowSizes draws the sizes of all explicit flows.
func flowSizes(x *sched.Index, seed uint64) []float64 {
	if x.Flows() == 0 {
		return nil
	}
	rng := rand.New(rand.NewPCG(seed, flowSizeStream))
	z := make([]float64, 0, x.Flows())
	for s := range sched.StageID(x.Stages()) {
		for _, f := range x.Stage(s).Flows {
			z = append(z, f.Size.Sample(rng))
		}
	}
	return z
}
