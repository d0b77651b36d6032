package dag

import (
	"fmt"
	"slices"

	"github.com/fairlead-project/fairlead/algo/progress"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// dispatch starts the tasks of a queue, in its order, each on the machine where
// it is expected to finish first (S-PC's rule for choosing a machine, applied at
// launch). If that machine is busy, the task waits for it: it gets a reservation
// there, which a later task of the queue may not delay, and the next task is
// looked at. Ties go to a machine that is idle now, then to the faster one, then to
// the smaller MachineID.
type dispatch struct {
	q        *queue
	a        account
	profiles []profile // per machine
	lanes    lanes
	finish   []sched.Time // when the tasks of out.Start are expected to finish
	credit   int
	out      policy.Decision
	// factor, per stage, corrects the estimates by what was observed; nil: none.
	factor []float64
	// accept is how much longer than where it is expected to finish first a task may
	// take on the best idle machine and still start there: a factor, 0 for 1.
	accept float64

	general bool // tests: never use lanes
}

// Reservations cost time, and in vain if nothing comes of them: a round may look
// at lookIncome machines (or speeds) for them, and at what earlier rounds have
// saved, up to lookSavings. What is not looked at waits for a later round; starts
// are free.
const (
	lookIncome  = 1 << 11
	lookSavings = 1 << 17
)

// overdue: a task that has run longer than estimated is expected to take this
// part of its present age more. Any positive value keeps the estimate in the
// future; a quarter follows the residual of sizes that vary by a factor of two.
const overdue = 0.25

func (d *dispatch) decide(now sched.Time, v policy.View) (policy.Decision, error) {
	d.out.Start, d.out.Reasons, d.out.Wake = d.out.Start[:0], d.out.Reasons[:0], 0
	d.finish = d.finish[:0]
	d.q.update(now, v)
	d.q.begin()
	d.a.begin(v)
	if d.profiles == nil {
		d.profiles = make([]profile, len(v.BySpeed()))
		d.credit = lookSavings
	}
	d.credit = min(d.credit+lookIncome, lookSavings)
	simple := !d.general && d.q.simple()
	for d.credit > 0 && d.a.idle(0) >= 0 {
		s, ok := d.q.head()
		if !ok {
			break
		}
		if err := d.serve(now, s, simple); err != nil {
			return policy.Decision{}, err
		}
	}
	d.q.end()
	d.explain(v)
	return d.out, nil
}

// serve gives the tasks of s, the first stage of the queue, a machine or a
// reservation each, until there are none left, no machine is idle or no credit is
// left; then s is out of the queue for this round.
func (d *dispatch) serve(now sched.Time, s sched.StageID, simple bool) error {
	v := d.a.v
	reserved := int32(0)
	for place := int32(0); d.credit > 0 && d.a.idle(0) >= 0; place++ {
		var t sched.TaskID
		if d.q.equal(s) { // any task will do: count those that have a reservation
			place = 0
		}
		if t, place = d.q.peek(v, s, place); t == sched.None || d.q.equal(s) && reserved == d.q.stages[s].left {
			break
		}
		p, err := d.size(v, s, t)
		if err != nil {
			return err
		}
		c, looks := d.chooseFor(now, s, p, simple)
		switch {
		case c.machine == sched.None: // pinned to machines that are down
			d.q.block(s)
			d.wait(v, s, policy.NoFit, sched.None)
			return nil
		case c.start == now:
			d.q.started(s, place)
			d.a.take(s, c.machine)
			d.out.Start = append(d.out.Start, policy.Start{Task: t, Machine: c.machine, Slot: sched.None})
			d.finish = append(d.finish, c.finish)
			if d.q.stages[s].left == 0 {
				return nil
			}
		default:
			d.credit -= looks
			reserved++
			if d.out.Wake == 0 || c.start < d.out.Wake {
				d.out.Wake = c.start // if the machine is late, choose again
			}
			if reserved == 1 && v.Stage(s).Running == 0 {
				d.wait(v, s, policy.Reserved, c.machine)
			}
		}
	}
	d.q.setAside(s)
	return nil
}

// booked returns until when a task that is expected to finish at a time holds its
// slot as far as this round is concerned: one that takes no time gives it back in
// the next round only.
func booked(now, finish sched.Time) sched.Time { return max(finish, now+1) }

// chooseFor returns where a task of s with size p finishes first, books it there,
// and says how many machines or speeds it looked at.
func (d *dispatch) chooseFor(now sched.Time, s sched.StageID, p float64, simple bool) (c choice, looks int) {
	if simple {
		return d.chooseSimple(now, p)
	}
	c, looks = d.choose(now, s, p)
	if c.machine != sched.None {
		d.profile(now, c.machine).add(c.start, booked(now, c.finish), s, c.start > now)
	}
	return c, looks
}

// explain gives a reason to stages that have just become ready and were not
// looked at because no slot is free.
func (d *dispatch) explain(v policy.View) {
	for _, s := range v.Changed() {
		if d.a.idle(0) < 0 && d.q.stages[s].left > 0 && v.Stage(s).Running == 0 {
			d.wait(v, s, policy.Queued, sched.None)
		}
	}
}

func (d *dispatch) wait(v policy.View, s sched.StageID, code policy.ReasonCode, m sched.MachineID) {
	d.out.Reasons = append(d.out.Reasons, policy.Reason{
		Job: v.Index().StageJob(s), Code: code, Behind: sched.None, Machine: m,
	})
}

// estimate returns the size that the policy expects task t of stage s to have.
func estimate(v policy.View, s sched.StageID, t sched.TaskID) (float64, error) {
	z := v.Estimates()
	if z == nil || !z.Known(s) {
		return 0, fmt.Errorf("stage %s has no size, and this policy needs one", v.Index().StageName(s))
	}
	return z.Of(s, t), nil
}

// size is estimate, corrected by what was observed of the stage.
func (d *dispatch) size(v policy.View, s sched.StageID, t sched.TaskID) (float64, error) {
	p, err := estimate(v, s, t)
	if d.factor != nil {
		p *= d.factor[s]
	}
	return p, err
}

// choice is where and when a task would run.
type choice struct {
	machine       sched.MachineID
	start, finish sched.Time
}

// before reports whether c is better than best, a choice on a machine that is at
// least as fast.
func (c choice) before(best choice, now sched.Time) bool {
	return c.finish < best.finish || c.finish == best.finish && c.start == now && best.start > now
}

// choose returns the machine where a task of s with size p finishes first. Busy
// machines can win only if they are faster than the first idle one.
func (d *dispatch) choose(now sched.Time, s sched.StageID, p float64) (best choice, looks int) {
	best = choice{machine: sched.None, finish: sched.Never}
	idle := best
	v := d.a.v
	in := v.Index().Instance
	st := v.Index().Stage(s)
	for _, m := range v.BySpeed() {
		looks++
		mach := &in.Machines[m]
		if !v.Machine(m).Up || !in.MayRun(st, m) {
			continue
		}
		dur := sched.Duration(p, mach.Speed)
		if best.machine != sched.None && now+dur > best.finish &&
			(idle.machine != sched.None || !d.acceptable(now, choice{m, now, now + dur}, best)) {
			break // and all that follow are no faster
		}
		start := d.earliest(now, s, m, dur)
		c := choice{m, start, start + dur}
		if c.before(best, now) {
			best = c
		}
		if start == now && c.before(idle, now) {
			idle = c
		}
	}
	if d.acceptable(now, idle, best) {
		return idle, looks
	}
	return best, looks
}

// acceptable reports whether a task may as well start on an idle machine as wait for
// the best choice.
func (d *dispatch) acceptable(now sched.Time, idle, best choice) bool {
	return d.accept > 1 && idle.machine != sched.None && float64(idle.finish-now) <= d.accept*float64(best.finish-now)
}

// earliest returns when a task of s could start on m without delaying anything
// that has a reservation there.
func (d *dispatch) earliest(now sched.Time, s sched.StageID, m sched.MachineID, dur sched.Time) sched.Time {
	fits := d.a.fits(s, m)
	pr := &d.profiles[m]
	if pr.round != d.a.round && fits {
		return now
	}
	pr = d.profile(now, m)
	if fits && now+dur <= pr.reserved {
		return now // it is gone before the first reservation
	}
	return max(pr.free(d.a.v, s, m, now), d.a.v.InputReady(s, m))
}

// profile returns when m's slots and resources become free, as far as is known.
func (d *dispatch) profile(now sched.Time, m sched.MachineID) *profile {
	pr := &d.profiles[m]
	if pr.round == d.a.round {
		return pr
	}
	pr.round, pr.points, pr.reserved = d.a.round, pr.points[:0], sched.Never
	v := d.a.v
	mach := &v.Index().Instance.Machines[m]
	for slot := range int32(mach.Slots) {
		if t, _ := v.Slot(m, slot); t != sched.None {
			pr.add(now, d.free(now, m, slot), v.Index().TaskStage(t), false)
		}
	}
	return pr
}

// free returns when a slot is expected to get free; now if it is.
func (d *dispatch) free(now sched.Time, m sched.MachineID, slot int32) sched.Time {
	v := d.a.v
	t, since := v.Slot(m, slot)
	if t == sched.None {
		return now
	}
	p, err := d.size(v, v.Index().TaskStage(t), t)
	if err != nil {
		p = 0 // unknown: overdue from the start
	}
	return expectedEnd(now, v, t, since, sched.Duration(p, v.Index().Instance.Machines[m].Speed))
}

// expectedEnd returns when a running task is expected to end, which is later than
// now: by its progress, if it has reported enough of it, otherwise after its
// estimated duration.
func expectedEnd(now sched.Time, v policy.View, t sched.TaskID, since, estimated sched.Time) sched.Time {
	if first, last, ok := v.Progress(t); ok {
		if total, ok := progress.Estimate(since, progress.Mark(first), progress.Mark(last)); ok {
			estimated = total
		}
	}
	end := min(since+estimated, sched.MaxTime) // so that a duration can be added
	if end <= now {
		end = now + 1 + sched.Time(overdue*float64(now-since))
	}
	return end
}

// profile is the future of one machine's slots and resources during one round.
type profile struct {
	round    uint32
	points   []point    // ascending in time, at equal times ends before starts
	reserved sched.Time // start of the first reservation
}

// point is a change: a task of stage s ends (+1) or starts (−1).
type point struct {
	at   sched.Time
	s    sched.StageID
	sign int64
}

// add puts a task of s that runs from start to end into the profile. A running
// task needs no starting point: the past does not matter.
func (pr *profile) add(start, end sched.Time, s sched.StageID, reservation bool) {
	pr.insert(point{end, s, +1})
	if reservation {
		pr.insert(point{start, s, -1})
		pr.reserved = min(pr.reserved, start)
	}
}

func (pr *profile) insert(p point) {
	i, _ := slices.BinarySearchFunc(pr.points, p, func(a, b point) int {
		if a.at < b.at || a.at == b.at && a.sign >= b.sign {
			return -1
		}
		return 1
	})
	pr.points = slices.Insert(pr.points, i, p)
}

// free returns the earliest time from which m has room for a task of s for good:
// going back from the far future, when all is free, until it does not fit.
func (pr *profile) free(v policy.View, s sched.StageID, m sched.MachineID, now sched.Time) sched.Time {
	x := v.Index()
	mach := &x.Instance.Machines[m]
	needs := x.Stage(s).Needs
	slots := int64(mach.Slots)
	var room [8]int64
	left := append(room[:0], mach.Capacity...)
	for i := len(pr.points) - 1; i >= 0; i-- {
		p := &pr.points[i]
		slots -= p.sign
		short := slots < 1
		for d, n := range x.Stage(p.s).Needs {
			left[d] -= p.sign * n
		}
		for d, n := range needs {
			short = short || left[d] < n
		}
		if short {
			return p.at
		}
	}
	return now
}
