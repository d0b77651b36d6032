package cli

import (
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
)

// prediction is how long a run is expected to take, in seconds.
type prediction struct {
	Makespan float64 `json:"makespan"`
	// Low and High are passed in one case of ten each.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Samples are drawn until there are enough of them to tell one in ten, or it has
// taken as long as people do not mind before a run.
const (
	predictSamples = 40
	predictTime    = 500 * time.Millisecond
)

// predict simulates the run that is about to begin. Nil: not all sizes are known.
func (e *env) predict(x *sched.Index, spec string, seed uint64) *prediction {
	if sim.Unsized(x) != nil {
		return nil
	}
	means, err := sim.Means(x)
	if err != nil {
		return nil
	}
	makespan := func(z *sched.Sizes) (float64, error) {
		r, err := e.simulate(simulation{spec: spec, in: x.Instance, x: x, sizes: z, estimates: means, seed: seed})
		if err != nil {
			return 0, err
		}
		return r.Makespan, nil
	}
	if randomStage(x) == "" {
		t, err := makespan(means)
		if err != nil {
			return nil
		}
		return &prediction{t, t, t}
	}
	var drawn []float64
	for began := time.Now(); len(drawn) < predictSamples && (len(drawn) == 0 || time.Since(began) < predictTime); {
		z, err := sim.Realise(x, seed+uint64(len(drawn)))
		if err != nil {
			return nil
		}
		t, err := makespan(z)
		if err != nil {
			return nil
		}
		drawn = append(drawn, t)
	}
	slices.Sort(drawn)
	at := func(percent int) float64 { return drawn[(len(drawn)-1)*percent/100] }
	return &prediction{at(50), at(10), at(90)}
}

func (p *prediction) String() string {
	if p.Low == p.High {
		return span(p.Makespan)
	}
	return fmt.Sprintf("%s (in 8 of 10 cases %s to %s)", span(p.Makespan), span(p.Low), span(p.High))
}
