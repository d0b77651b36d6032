package run

import (
	"math/rand/v2"
	"time"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// toy takes one decision, once, and none afterwards.
type toy struct {
	decision policy.Decision
	fail     error
}

func (p *toy) Decide(sched.Time, policy.View, *rand.Rand) (policy.Decision, error) {
	d := p.decision
	p.decision = policy.Decision{}
	return d, p.fail
}

// slowSolver asks for a solve that only ends when it is stopped.
type slowSolver struct {
	policy.Policy
	asked   bool
	stopped chan bool
}

func (p *slowSolver) Decide(now sched.Time, v policy.View, rng *rand.Rand) (policy.Decision, error) {
	d, err := p.Policy.Decide(now, v, rng)
	if !p.asked {
		p.asked = true
		d.Solve = &policy.Request{ID: 1}
	}
	return d, err
}

func (p *slowSolver) Solve(r policy.Request, stop func() bool) (*policy.Solution, error) {
	for !stop() {
		time.Sleep(time.Millisecond)
	}
	p.stopped <- true
	return &policy.Solution{ID: r.ID}, nil
}

// waitForPlan starts task 0 once its solution is there.
type waitForPlan struct{ asked bool }

func (p *waitForPlan) Decide(_ sched.Time, v policy.View, _ *rand.Rand) (d policy.Decision, err error) {
	switch {
	case !p.asked:
		p.asked = true
		d.Solve = &policy.Request{ID: 7}
	case v.Solution() != nil && v.Task(0) == policy.TaskPending:
		d.Start = []policy.Start{{Task: 0, Machine: 0, Slot: sched.None}}
	}
	return d, nil
}

func (p *waitForPlan) Solve(r policy.Request, _ func() bool) (*policy.Solution, error) {
	return &policy.Solution{ID: r.ID, Order: []sched.StageID{0}}, nil
}

// follower starts tasks where a given schedule has them, per slot in its order.
type follower struct{ left []sched.Placement }

func follow(s []sched.Placement) *follower { return &follower{append([]sched.Placement(nil), s...)} }

func (p *follower) Decide(_ sched.Time, v policy.View, _ *rand.Rand) (d policy.Decision, err error) {
	type slot struct {
		m sched.MachineID
		s int32
	}
	seen := map[slot]bool{}
	left := p.left[:0]
	for _, t := range p.left {
		at := slot{t.Machine, t.Slot}
		busy, _ := v.Slot(t.Machine, t.Slot)
		if !seen[at] && busy == sched.None && v.Task(t.Task) == policy.TaskPending {
			d.Start = append(d.Start, policy.Start{Task: t.Task, Machine: t.Machine, Slot: t.Slot})
		} else {
			left = append(left, t)
		}
		seen[at] = true
	}
	p.left = left
	return d, nil
}
