package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// loop runs until all jobs have ended or the run has to stop. All that has come
// in is delivered before a wake-up that is due, so that a decision knows it; starts
// are sent when a round of decisions is on the disk.
func (d *driver) loop(ctx context.Context) {
	for {
		d.receive()
		now := d.now()
		switch {
		case d.err != nil || d.failFast:
			return
		case d.e.Done() && d.commit():
			return
		case ctx.Err() != nil:
			d.out.Interrupted = true
			return
		case d.wake <= now:
			d.wake = sched.Never
			d.step(now, engine.Event{Kind: engine.Wake})
		case d.wake == sched.Never && len(d.arrivals)+len(d.running)+d.solves == 0 && !d.e.Done():
			d.fail(fmt.Errorf("nothing more can happen, but jobs are left:\n  %s", strings.Join(d.e.Blocked(), "\n  ")))
		case len(d.unsent) > 0 && d.full == nil || d.nextWrite <= now:
			d.commit()
		case len(d.running) > 0 && d.nextPoll <= now:
			d.poll()
		case d.record.due <= now:
			d.record.flush(d)
		default:
			d.sleep(ctx)
		}
	}
}

// receive delivers what has come in: releases, exits, solutions.
func (d *driver) receive() {
	for len(d.arrivals) > 0 && d.err == nil && d.cfg.Instance.Jobs[d.arrivals[0]].Release <= d.now() {
		j := d.arrivals[0]
		d.arrivals = d.arrivals[1:]
		d.step(d.now(), engine.Arrived(j))
		d.progress.stale = true
	}
	for d.err == nil {
		select {
		case ev := <-d.events:
			d.handle(ev)
		case s := <-d.solved:
			d.answer(s)
		default:
			return
		}
	}
}

// sleep waits for the next event, solution, release or wake-up, for the time to do
// something else, or for the end of ctx.
func (d *driver) sleep(ctx context.Context) {
	if d.full == nil {
		_ = d.writer.Flush() // into memory
		if d.log.flush() != nil {
			d.commit() // it will say what is wrong
			return
		}
	}
	until := min(d.wake, d.progress.show(d), d.nextWrite, d.record.due)
	if len(d.running) > 0 {
		until = min(until, d.nextPoll)
	}
	if len(d.arrivals) > 0 {
		until = min(until, d.cfg.Instance.Jobs[d.arrivals[0]].Release)
	}
	if until != sched.Never {
		d.timer.Reset(time.Duration(until - d.now()))
		defer d.timer.Stop()
	}
	select {
	case ev := <-d.events:
		d.handle(ev)
	case s := <-d.solved:
		d.answer(s)
	case <-d.timer.C:
	case <-ctx.Done():
	}
}

// step takes an event through the engine and into the log. Its time is later than
// that of every event before. Starts wait until the log is on the disk.
func (d *driver) step(at sched.Time, ev engine.Event) {
	d.last = max(at, d.last+1)
	actions, err := d.e.Step(d.last, ev)
	if err == nil {
		err = d.writer.Event(d.last, ev, actions)
	}
	if err != nil {
		d.fail(err)
		return
	}
	for i := range actions {
		switch a := &actions[i]; a.Kind {
		case engine.StartTask:
			d.decided(a)
		case engine.WakeAt:
			d.wake = min(d.wake, a.At)
		case engine.Solve:
			d.solve(a.Request)
		default:
			d.fail(errors.New("the policy shares rates or moves data, which cannot be done for real"))
			return
		}
	}
}

// commit brings the log to the disk, and then sends what waits for that. It reports
// false if the log cannot be written now.
func (d *driver) commit() bool {
	err := d.writer.Flush() // into memory
	if err == nil {
		err = d.log.sync()
	}
	if err != nil {
		d.nextWrite = d.now() + writeAgain
		if d.full == nil {
			d.note(fmt.Sprintf("cannot write the event log: %v: nothing more is started until that works", err))
		}
		d.full = err
		return false
	}
	if d.full != nil {
		d.tell("the event log can be written again")
	}
	d.full, d.nextWrite = nil, sched.Never
	d.send()
	return true
}

// writeAgain is how soon the log is tried again after it could not be written.
const writeAgain = sched.Second

func (d *driver) solve(r *policy.Request) {
	solver, ok := d.cfg.Policy.(policy.Solver)
	if !ok {
		d.fail(errors.New("the policy asks to solve but is no Solver"))
		return
	}
	d.solves++
	go func() {
		s, err := solver.Solve(*r, d.stop.Load)
		if err == nil && s == nil {
			err = errors.New("the policy returned no solution")
		}
		select {
		case d.solved <- solved{s, err}:
		case <-d.done:
		}
	}()
}

// answer takes in what a solver has found.
func (d *driver) answer(s solved) {
	d.solves--
	if s.err != nil {
		d.fail(fmt.Errorf("solve: %w", s.err))
		return
	}
	d.out.Solution = s.solution
	d.step(d.now(), engine.Event{Kind: engine.Solved, Solution: s.solution})
}
