package run

import (
	"github.com/fairlead-project/fairlead/internal/supervise"
	"github.com/fairlead-project/fairlead/sched"
)

// recordEvery is how often Config.Record is called, at most: it may well write to a
// database, which takes as long for many attempts as for one.
const recordEvery = sched.Second

// recorder collects attempts for Config.Record.
type recorder struct {
	pending []Attempt
	due     sched.Time // Never if pending is empty
}

func (d *driver) describer() *describer { return &describer{x: d.x, dir: d.cfg.Dir} }

// ended takes in the end of an attempt, which the log has just taken in.
func (r *recorder) ended(d *driver, a *attempt, state AttemptState, x *supervise.Exit) {
	if d.cfg.Record == nil {
		return
	}
	full := d.describer().describe(&start{
		task: a.task, attempt: a.attempt, machine: a.machine, slot: a.slot, at: a.at, end: a.end, state: state, first: a.first,
	})
	full.settle(x, d.clock)
	r.add(d, full)
}

// recovered takes in an attempt of which only its success is known.
func (r *recorder) recovered(d *driver, x *supervise.Exit) {
	if d.cfg.Record != nil {
		r.add(d, d.describer().unseen(x, d.last, d.clock))
	}
}

func (r *recorder) add(d *driver, a Attempt) {
	if d.cfg.Record == nil {
		return
	}
	if len(r.pending) == 0 {
		r.due = d.now() + recordEvery
	}
	r.pending = append(r.pending, a)
}

func (r *recorder) flush(d *driver) {
	r.due = sched.Never
	if len(r.pending) > 0 {
		d.cfg.Record(r.pending)
		r.pending = nil // it may have been kept
	}
}
