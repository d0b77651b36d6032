package dag

import (
	"math/rand/v2"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// tetris packs: it starts the task that is most alike to what is free.
type tetris struct {
	smiths
	q *queue
	a account

	capacity []float64 // largest of any machine, per resource
	out      policy.Decision
}

// NewTetris returns multi-resource packing: whenever machines have room, fastest first,
// the task starts that has the greatest alignment, the inner product of its needs and of
// what is free there, both as parts of the largest machine, plus the shortness of its
// job: 1 − its remaining work over the largest of any job that has tasks pending. Without
// needs only the latter counts, which is shortest remaining work first.
// Problem: Q|prec,r_j,needs|ΣC_j. Guarantee: none. Source: Grandl, Ananthanarayanan,
// Kandula, Rao, Akella, "Multi-resource packing for cluster schedulers", SIGCOMM 2014.
// Departures: their weight between the two terms is the ratio of their means, here it is
// 1; no fairness knob and no barrier hints; speeds are not in the paper. Cost per start:
// the number of classes of needs.
func NewTetris() policy.Policy {
	p := &tetris{}
	p.alike = true
	p.q = newQueue(p.before)
	return p
}

func (p *tetris) Decide(now sched.Time, v policy.View, _ *rand.Rand) (policy.Decision, error) {
	p.out.Start, p.out.Reasons = p.out.Start[:0], p.out.Reasons[:0]
	p.refresh(v, p.q)
	p.q.update(now, v)
	p.a.begin(v)
	in := v.Index().Instance
	if p.capacity == nil {
		p.capacity = make([]float64, len(in.Resources))
		for m := range in.Machines {
			for d, c := range in.Machines[m].Capacity {
				p.capacity[d] = max(p.capacity[d], float64(c))
			}
		}
	}
	for r := p.a.idle(0); r >= 0; r = p.a.idle(r + 1) {
		m := v.BySpeed()[r]
		for p.a.room(m) {
			s := p.best(v, m)
			if s == sched.None {
				break
			}
			t, place := p.q.peek(v, s, 0)
			p.q.started(s, place)
			p.a.take(s, m)
			p.out.Start = append(p.out.Start, policy.Start{Task: t, Machine: m, Slot: sched.None})
		}
	}
	return p.out, nil
}

// best returns the stage whose tasks score highest on m, None if none fits. Of stages
// with the same needs the first in the queue has the shortest job.
func (p *tetris) best(v policy.View, m sched.MachineID) sched.StageID {
	longest := 0.0
	for _, i := range p.q.active {
		s := p.q.classes[i].heap.stages[0]
		longest = max(longest, v.Remaining(v.Index().StageJob(s)))
	}
	best, score := sched.StageID(sched.None), 0.0
	for _, i := range p.q.active {
		s := p.q.classes[i].heap.stages[0]
		if !p.a.fits(s, m) {
			continue
		}
		x := 0.0
		for d, n := range v.Index().Stage(s).Needs {
			if p.capacity[d] > 0 {
				x += float64(float64(n) / p.capacity[d] * (float64(p.a.left(m, d)) / p.capacity[d]))
			}
		}
		if longest > 0 {
			x += 1 - v.Remaining(v.Index().StageJob(s))/longest
		}
		if best == sched.None || x > score || x == score && p.q.less(s, best) {
			best, score = s, x
		}
	}
	return best
}
