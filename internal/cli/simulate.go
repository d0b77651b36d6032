package cli

import (
	"time"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/report"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
)

// simulated is one finished simulation.
type simulated struct {
	report.Run
	*sim.Result
	spent time.Duration
}

// simulation describes one: a policy on an instance.
type simulation struct {
	spec      string
	in        *sched.Instance
	x         *sched.Index
	sizes     *sched.Sizes
	estimates *sched.Sizes // nil: what the policy's knowledge allows
	knowledge *policy.Knowledge
	seed      uint64
	lower     float64 // NaN: none
	observe   func(sched.Time, engine.Event, []engine.Action) error
	stop      func() bool // besides Ctrl-C; nil: never
}

func (e *env) simulate(s simulation) (*simulated, error) {
	entry, p, err := e.parsePolicy(s.spec)
	if err != nil {
		return nil, err
	}
	stop := e.stopped
	if s.stop != nil {
		stop = func() bool { return e.stopped() || s.stop() }
	}
	c := sim.Config{
		Instance: s.in, Policy: p, Knowledge: entry.Knowledge, Seed: s.seed,
		Sizes: s.sizes, Estimates: s.estimates, Stop: stop, Observe: s.observe,
	}
	if s.knowledge != nil {
		c.Knowledge = *s.knowledge
	}
	began := time.Now()
	r, err := sim.Run(c)
	switch {
	case e.stopped(): // too late for a short one to notice
		return nil, errInterrupted
	case err != nil:
		return nil, usage("%s: %w", s.spec, err)
	}
	return &simulated{
		Run:    report.NewRun(s.spec, s.seed, s.in, r.Schedule.Completion, r.States, s.lower),
		Result: r, spent: time.Since(began),
	}, nil
}
