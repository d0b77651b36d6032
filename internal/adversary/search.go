// Package adversary searches small workloads on which a policy does badly, by simulated
// annealing, as PISA does for schedulers of one workflow (Coleman, Krishnamachari,
// "PISA: An adversarial approach to comparing task graph scheduling algorithms", 2024).
package adversary

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/workload"
)

// Options of a search. All must be positive but Seed.
type Options struct {
	// Jobs, Stages (per job), Tasks (per stage) and Machines are the most there may be.
	Jobs, Stages, Tasks, Machines int
	// Size, Weight and Speed are the largest values: whole numbers from 1, weights from
	// 0. Releases are at most Size. So a ratio cannot grow by scaling alone.
	Size, Weight, Speed int
	// Steps per restart; Restarts are independent.
	Steps, Restarts int
	Seed            uint64
	// Workers search at the same time; the result does not depend on how many.
	Workers int
}

// Validate says what is wrong with o.
func (o *Options) Validate() error {
	for _, f := range []struct {
		name  string
		value int
		most  int
	}{
		{"jobs", o.Jobs, 20},
		{"stages", o.Stages, 20},
		{"tasks", o.Tasks, 50},
		{"machines", o.Machines, 20},
		{"size", o.Size, 1_000_000},
		{"weight", o.Weight, 1_000_000},
		{"speed", o.Speed, 1_000_000},
		{"steps", o.Steps, 100_000_000},
		{"restarts", o.Restarts, 10_000},
		{"workers", o.Workers, 1_000_000},
	} {
		if f.value < 1 || f.value > f.most {
			return fmt.Errorf("%s %d: expected 1 to %d", f.name, f.value, f.most)
		}
	}
	return nil
}

// Cost is what a policy costs on a workload, and what it is compared with.
type Cost struct{ Mine, Other float64 }

// Ratio is 0 where nothing is compared.
func (c Cost) Ratio() float64 {
	if !(c.Mine > 0 && c.Other > 0) {
		return 0
	}
	return c.Mine / c.Other
}

// Result is the worst workload found.
type Result struct {
	File  *workload.File
	Cost  // of it
	Tasks int
	// Tried is how many workloads were looked at.
	Tried int
}

// ErrStopped is returned, with the best result so far, when the search was told to stop.
var ErrStopped = errors.New("adversary: told to stop")

// Temperatures of the logarithm of the ratio: at first a step that makes it a tenth
// smaller is mostly taken, in the end none is.
const (
	hot  = 0.1
	cold = 0.0005
)

// Search looks for a workload whose cost has a large ratio. cost is called from several
// goroutines and must be a pure function, but that it may fail once stop reports true.
// after is called, under a lock, after every workload that was tried; stop is polled.
// An error of cost ends the search.
func Search(o Options, cost func(*sched.Instance) (Cost, error), after func(), stop func() bool) (*Result, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	results := make([]*Result, o.Restarts)
	errs := make([]error, o.Restarts)
	var mu sync.Mutex
	tell := func() {
		mu.Lock()
		defer mu.Unlock()
		after()
	}
	work := make(chan int)
	var wg sync.WaitGroup
	for range min(o.Workers, o.Restarts) {
		wg.Go(func() {
			for i := range work {
				results[i], errs[i] = o.anneal(uint64(i), cost, tell, stop)
			}
		})
	}
	for i := range o.Restarts {
		work <- i
	}
	close(work)
	wg.Wait()
	best := &Result{}
	for _, r := range results { // the first of equals
		if r != nil {
			tried := best.Tried + r.Tried
			if r.Ratio() > best.Ratio() || best.File == nil {
				best = r
			}
			best.Tried = tried
		}
	}
	return best, first(errs)
}

// first returns the first error, one that is not ErrStopped if there is.
func first(errs []error) (found error) {
	for _, err := range errs {
		if err != nil && (found == nil || errors.Is(found, ErrStopped)) {
			found = err
		}
	}
	return found
}

// anneal is one restart.
func (o *Options) anneal(restart uint64, cost func(*sched.Instance) (Cost, error), after func(), stop func() bool) (*Result, error) {
	r := rand.New(rand.NewPCG(o.Seed, restart))
	value := func(p *problem) (Cost, error) {
		in, err := p.instance()
		if err != nil {
			return Cost{}, err
		}
		c, err := cost(in)
		switch {
		case err != nil && stop():
			return Cost{}, ErrStopped
		case err != nil:
			return Cost{}, fmt.Errorf("on a workload of %d tasks: %w", p.tasks(), err)
		}
		return c, nil
	}
	if stop() {
		return nil, ErrStopped
	}
	now := random(o, r)
	current, err := value(now)
	if err != nil {
		return nil, err
	}
	best, most, tried := now, current, 1
	result := func() *Result {
		return &Result{File: best.file("adversary"), Cost: most, Tasks: best.tasks(), Tried: tried}
	}
	for step := range o.Steps {
		if stop() {
			return result(), ErrStopped
		}
		next := now.clone()
		for !o.move(next, r) {
		}
		c, err := value(next)
		if err != nil {
			return result(), err
		}
		tried++
		after()
		heat := hot * math.Pow(cold/hot, float64(step)/float64(o.Steps))
		if x, old := c.Ratio(), current.Ratio(); x >= old || r.Float64() < math.Exp((math.Log(x)-math.Log(old))/heat) {
			now, current = next, c
		}
		if c.Ratio() > most.Ratio() {
			best, most = next, c
		}
	}
	return result(), nil
}
