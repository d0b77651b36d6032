package main

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	algo "github.com/fairlead-project/fairlead/algo/dag"
	"github.com/fairlead-project/fairlead/opt/queyranne"
	"github.com/fairlead-project/fairlead/policy/all"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
)

// evaluation is one run of the program.
type evaluation struct {
	quick   bool
	only    string
	workers int
	began   time.Time

	out     document
	cells   []*cell // all that were run
	targets []target
}

// cell is one configuration: several instances, on each of which every policy is
// simulated.
type cell struct {
	name     string
	where    string // what the name stands for, where its table does not; "" for the name
	seeds    int
	make     func(seed uint64) (*sched.Instance, error)
	policies []string
	// estimates returns what policies are shown in place of what they may know.
	estimates func(in *sched.Instance, x *sched.Index, z *sched.Sizes, spec string, seed uint64) (*sched.Sizes, error)

	samples map[string][]sample // by policy; one per seed
	bounds  []bracket           // one per seed
}

// bracket is what is known about an instance.
type bracket struct {
	lower     float64 // of Σ w C, hindsight
	released  float64 // Σ w r
	published float64 // the proven ratio; NaN: none holds
}

// sample is the cost of one policy on one instance.
type sample struct {
	cost float64 // Σ w C
	bracket
}

func (s sample) ratio() float64 { return s.cost / s.lower }
func (s sample) flow() float64  { return s.cost - s.released }

// flowRatio is NaN where the bound says nothing about flow times.
func (s sample) flowRatio() float64 {
	if s.lower <= s.released {
		return math.NaN()
	}
	return s.flow() / (s.lower - s.released)
}

// tolerance of the relaxation that gives the bound.
const tolerance = 1e-4

// run simulates all cells, several instances at a time. What comes out does not depend
// on how many.
func (e *evaluation) run(section string, cells []*cell) error {
	if e.quick {
		for _, c := range cells {
			c.seeds = max(2, c.seeds/5)
		}
	}
	type unit struct {
		c    *cell
		seed int
	}
	var units []unit
	for _, c := range cells {
		c.samples = map[string][]sample{}
		for _, spec := range c.policies {
			c.samples[spec] = make([]sample, c.seeds)
		}
		c.bounds = make([]bracket, c.seeds)
		for seed := range c.seeds {
			units = append(units, unit{c, seed})
		}
	}
	began, done := time.Now(), 0
	var mu sync.Mutex
	var failed error
	var wg sync.WaitGroup
	next := make(chan unit)
	for range e.workers {
		wg.Go(func() {
			for u := range next {
				err := u.c.one(u.seed)
				mu.Lock()
				if err != nil && failed == nil {
					failed = fmt.Errorf("%s, %s, seed %d: %w", section, u.c.name, u.seed, err)
				}
				if done++; done%max(1, len(units)/20) == 0 {
					spent := time.Since(began)
					left := time.Duration(float64(spent) / float64(done) * float64(len(units)-done))
					progress("%s: %d of %d instances in %v, %v left", section, done, len(units), spent.Round(time.Second), left.Round(time.Second))
				}
				mu.Unlock()
			}
		})
	}
	for _, u := range units {
		mu.Lock()
		stop := failed != nil
		mu.Unlock()
		if stop {
			break
		}
		next <- u
	}
	close(next)
	wg.Wait()
	e.cells = append(e.cells, cells...)
	return failed
}

// one runs every policy on the instance of a seed.
func (c *cell) one(seed int) error {
	in, err := c.make(uint64(seed))
	if err != nil {
		return err
	}
	x := sched.NewIndex(in)
	z, err := sim.Realise(x, uint64(seed))
	if err != nil {
		return err
	}
	b, err := hindsight(x, z)
	if err != nil {
		return err
	}
	c.bounds[seed] = b
	for _, spec := range c.policies {
		entry, p, err := all.Registry().Parse(spec)
		if err != nil {
			return err
		}
		config := sim.Config{Instance: in, Policy: p, Knowledge: entry.Knowledge, Sizes: z, Seed: uint64(seed)}
		if c.estimates != nil {
			if config.Estimates, err = c.estimates(in, x, z, spec, uint64(seed)); err != nil {
				return err
			}
		}
		r, err := sim.Run(config)
		if err != nil {
			return fmt.Errorf("%s: %w", spec, err)
		}
		c.samples[spec][seed] = sample{cost: weighted(in, r.Schedule.Completion), bracket: b}
	}
	return nil
}

// hindsight bounds the cost of every schedule of the realised sizes.
func hindsight(x *sched.Index, z *sched.Sizes) (bracket, error) {
	p, err := algo.NewProblem(x, z, nil)
	if err != nil {
		return bracket{}, err
	}
	r, err := p.RelaxStrong(queyranne.Options{Tolerance: tolerance})
	if err != nil {
		return bracket{}, err
	}
	b := bracket{lower: r.Lower, published: math.NaN()}
	if ratio, ok := p.Published(); ok {
		b.published = ratio
	}
	for j := range x.Instance.Jobs {
		b.released += x.Instance.Jobs[j].Weight * x.Instance.Jobs[j].Release.Seconds()
	}
	return b, nil
}

// weighted is Σ w C in seconds.
func weighted(in *sched.Instance, completion []sched.Time) float64 {
	cost := 0.0
	for j, c := range completion {
		cost += in.Jobs[j].Weight * c.Seconds()
	}
	return cost
}

// of returns a figure of every sample of a policy, without those that have none.
func (c *cell) of(spec string, figure func(sample) float64) []float64 {
	var out []float64
	for _, s := range c.samples[spec] {
		if x := figure(s); !math.IsNaN(x) {
			out = append(out, x)
		}
	}
	return out
}

// median of values, NaN if there are none; worst is the largest.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	v := slices.Clone(values)
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

func worst(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return slices.Max(values)
}
