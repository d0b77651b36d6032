package cli

import (
	"context"
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
// taken as long as people do not mind before a run. If not even one is ready by
// predictWithin, there is none: a run does not wait for what is said about it.
const (
	predictSamples = 40
	predictTime    = 500 * time.Millisecond
	predictWithin  = 2 * time.Second
)

// predict simulates the run that is about to begin. Nil: not all sizes are known, or it
// would take longer than within.
func (e *env) predict(x *sched.Index, spec string, seed uint64, within time.Duration) *prediction {
	if sim.Unsized(x) != nil {
		return nil
	}
	means, err := sim.Means(x)
	if err != nil {
		return nil
	}
	began := time.Now()
	late := func() bool { return time.Since(began) > within }
	makespan := func(z *sched.Sizes) (float64, error) {
		r, err := e.simulate(simulation{spec: spec, in: x.Instance, x: x, sizes: z, estimates: means, seed: seed, stop: late})
		switch {
		case err != nil:
			return 0, err
		case late(): // its solves may have been cut short
			return 0, context.DeadlineExceeded
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
	for len(drawn) < predictSamples && (len(drawn) == 0 || time.Since(began) < predictTime) {
		z, err := sim.Realise(x, seed+uint64(len(drawn)))
		if err != nil {
			return nil
		}
		t, err := makespan(z)
		if err != nil {
			break
		}
		drawn = append(drawn, t)
	}
	if len(drawn) == 0 {
		return nil
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
