package dag

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// greedy is work-conserving dispatch: as long as some pending task fits on an
// idle machine, start the first such task of the queue there.
type greedy struct {
	q    *queue
	a    account
	pick func(s sched.StageID) sched.MachineID // None: fits nowhere
	turn int                                   // see inTurn
	out  policy.Decision
}

// fastest picks the fastest idle machine where s fits.
func (g *greedy) fastest(s sched.StageID) sched.MachineID {
	for r := g.a.idle(0); r >= 0; r = g.a.idle(r + 1) {
		if m := g.a.v.BySpeed()[r]; g.a.fits(s, m) {
			return m
		}
	}
	return sched.None
}

// inTurn picks the next idle machine where s fits after the one that was picked last, by
// rank of speed and round again.
func (g *greedy) inTurn(s sched.StageID) sched.MachineID {
	for _, from := range []int{g.turn, 0} {
		for r := g.a.idle(from); r >= 0; r = g.a.idle(r + 1) {
			if m := g.a.v.BySpeed()[r]; g.a.fits(s, m) {
				g.turn = r + 1
				return m
			}
		}
	}
	return sched.None
}

func (g *greedy) decide(now sched.Time, v policy.View) policy.Decision {
	g.out.Start, g.out.Reasons = g.out.Start[:0], g.out.Reasons[:0]
	g.q.update(now, v)
	g.q.begin()
	g.a.begin(v)
	for g.a.idle(0) >= 0 {
		s, ok := g.q.head()
		if !ok {
			break
		}
		m := g.pick(s)
		if m == sched.None {
			g.q.block(s)
			g.wait(v, s, policy.NoFit)
			continue
		}
		t, place := g.q.peek(v, s, 0)
		g.q.started(s, place)
		g.a.take(s, m)
		g.out.Start = append(g.out.Start, policy.Start{Task: t, Machine: m, Slot: sched.None})
	}
	g.explain(v)
	return g.out
}

// explain gives the reason of stages that have just become ready and must wait:
// for a slot, behind what was served last. The engine sees for itself what fits.
func (g *greedy) explain(v policy.View) {
	if g.a.idle(0) >= 0 {
		return
	}
	for _, s := range v.Changed() {
		if g.q.stages[s].left > 0 && v.Stage(s).Running == 0 {
			g.wait(v, s, policy.Queued)
		}
	}
}

func (g *greedy) wait(v policy.View, s sched.StageID, code policy.ReasonCode) {
	r := policy.Reason{Job: v.Index().StageJob(s), Code: code, Behind: sched.None, Machine: sched.None}
	if n := len(g.out.Start); n > 0 && code == policy.Queued {
		r.Behind = v.Index().StageJob(v.Index().TaskStage(g.out.Start[n-1].Task))
	}
	g.out.Reasons = append(g.out.Reasons, r)
}

// fifo serves jobs in order of release.
type fifo struct {
	greedy
	x *sched.Index
}

// NewFIFO returns the policy that serves jobs in order of release, then of
// JobID, and within a job in order of stages, on the fastest idle machine.
// Work-conserving: a task that fits nowhere does not hold back those behind it.
// Problem: Q|prec,r_j|Σw_jC_j. Guarantee: none. Source: Hadoop's default
// scheduler. Cost: O(log stages) per event, plus the machines looked at.
func NewFIFO() policy.Policy {
	p := &fifo{}
	p.q = newQueue(func(a, b sched.StageID) bool { return byRelease(p.x, a, b) < 0 })
	p.pick = p.fastest
	return p
}

// byRelease orders stages by their job's release, then by number.
func byRelease(x *sched.Index, a, b sched.StageID) int {
	jobs := x.Instance.Jobs
	return cmp.Or(
		cmp.Compare(jobs[x.StageJob(a)].Release, jobs[x.StageJob(b)].Release),
		cmp.Compare(a, b),
	)
}

func (p *fifo) Decide(now sched.Time, v policy.View, _ *rand.Rand) (policy.Decision, error) {
	p.x = v.Index()
	return p.decide(now, v), nil
}

// random serves stages in random order on random machines.
type random struct {
	greedy
	rng      *rand.Rand
	priority []uint64
	machines []sched.MachineID
	fresh    []sched.StageID
}

// NewRandom returns the policy that serves pending stages in an order drawn when
// they become ready, each task on an idle machine drawn among those where it
// fits. Problem: Q|prec,r_j|Σw_jC_j. Guarantee: none; the floor that any other
// policy should beat.
func NewRandom() policy.Policy {
	p := &random{}
	p.q = newQueue(func(a, b sched.StageID) bool {
		if p.priority[a] != p.priority[b] {
			return p.priority[a] < p.priority[b]
		}
		return a < b
	})
	p.pick = p.any
	return p
}

func (p *random) any(s sched.StageID) sched.MachineID {
	p.machines = p.machines[:0]
	for r := p.a.idle(0); r >= 0; r = p.a.idle(r + 1) {
		if m := p.a.v.BySpeed()[r]; p.a.fits(s, m) {
			p.machines = append(p.machines, m)
		}
	}
	if len(p.machines) == 0 {
		return sched.None
	}
	return p.machines[p.rng.IntN(len(p.machines))]
}

func (p *random) Decide(now sched.Time, v policy.View, rng *rand.Rand) (policy.Decision, error) {
	p.rng = rng
	if p.priority == nil {
		p.priority = make([]uint64, v.Index().Stages())
	}
	// Draws follow the releases, not the order of the file.
	p.fresh = p.fresh[:0]
	for _, s := range v.Changed() {
		if p.priority[s] == 0 && v.Stage(s).Ready {
			p.fresh = append(p.fresh, s)
		}
	}
	slices.SortFunc(p.fresh, func(a, b sched.StageID) int { return byRelease(v.Index(), a, b) })
	for _, s := range p.fresh {
		p.priority[s] = rng.Uint64() | 1
	}
	return p.decide(now, v), nil
}
