package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// loop runs until all jobs have ended or the run has to stop. All that has come
// in is delivered before a wake-up that is due, so that a decision knows it.
func (d *driver) loop(ctx context.Context) {
	for {
		d.receive()
		if d.kin.next <= d.now() {
			d.look()
		}
		switch {
		case d.err != nil || d.failFast || d.e.Done():
			return
		case ctx.Err() != nil:
			d.out.Interrupted = true
			return
		case d.wake <= d.now():
			d.wake = sched.Never
			d.step(engine.Event{Kind: engine.Wake})
		case d.wake == sched.Never && len(d.arrivals) == 0 && len(d.running)+len(d.pending)+d.solves == 0:
			d.fail(fmt.Errorf("nothing more can happen, but jobs are left:\n  %s", strings.Join(d.e.Blocked(), "\n  ")))
		case len(d.pending) == 0:
			d.sleep(ctx)
		}
	}
}

// receive delivers what has come in: releases, messages.
func (d *driver) receive() {
	for len(d.arrivals) > 0 && d.err == nil && d.cfg.Instance.Jobs[d.arrivals[0]].Release <= d.now() {
		j := d.arrivals[0]
		d.arrivals = d.arrivals[1:]
		d.step(engine.Arrived(j))
		d.progress.stale = true
	}
	for d.err == nil {
		if len(d.pending) > 0 {
			m := d.pending[0]
			d.pending = d.pending[1:]
			d.handle(m)
			continue
		}
		select {
		case m := <-d.msgs:
			d.handle(m)
			continue
		default:
		}
		return
	}
}

// sleep waits for the next message, release or wake-up, for the time to show
// progress, or for the end of ctx.
func (d *driver) sleep(ctx context.Context) {
	if err := d.log.Flush(); err != nil {
		d.logFailed(err)
		return
	}
	until := min(d.wake, d.progress.show(d), d.kin.next)
	if len(d.arrivals) > 0 {
		until = min(until, d.cfg.Instance.Jobs[d.arrivals[0]].Release)
	}
	if until != sched.Never {
		d.timer.Reset(time.Duration(until - d.now()))
		defer d.timer.Stop()
	}
	select {
	case m := <-d.msgs:
		d.handle(m)
	case <-d.timer.C:
	case <-ctx.Done():
	}
}

// now is the time on the run's clock.
func (d *driver) now() sched.Time { return sched.Time(time.Since(d.began)) }

func (d *driver) fail(err error) {
	if d.err == nil {
		d.err = fmt.Errorf("run: %w", err)
	}
}

func (d *driver) logFailed(err error) { d.fail(fmt.Errorf("cannot write the event log: %w", err)) }

// post gives the driver a message, from another goroutine.
func (d *driver) post(m message) {
	select {
	case d.msgs <- m:
	case <-d.done:
	}
}

func (d *driver) handle(m message) {
	switch m.kind {
	case exited:
		d.ended(m.p, d.reap(m.p))
	case notStarted:
		d.ended(m.p, *m.exit)
	case timeout:
		if !m.p.collected {
			m.p.timedOut = true
			d.signal(unix.SIGTERM, m.p)
			d.after(d.cfg.Grace, message{kind: kill, p: m.p})
		}
	case kill:
		if !m.p.collected {
			d.signal(unix.SIGKILL, m.p)
		}
	case solved:
		d.solves--
		if m.err == nil && m.solution == nil {
			m.err = errors.New("the policy returned no solution")
		}
		if m.err != nil {
			d.fail(fmt.Errorf("solve: %w", m.err))
			return
		}
		d.out.Solution = m.solution
		d.step(engine.Event{Kind: engine.Solved, Solution: m.solution})
	}
}

// step takes an event through the engine and into the log, then acts. Its time is
// later than that of every event before.
func (d *driver) step(ev engine.Event) {
	now := max(d.now(), d.last+1)
	d.last = now
	actions, err := d.e.Step(now, ev)
	if err != nil {
		d.fail(err)
		return
	}
	err = d.log.Event(now, ev, actions)
	if err == nil && slices.ContainsFunc(actions, isStart) {
		err = d.log.Flush() // no process may run that the log on disk does not name
	}
	if err != nil {
		d.logFailed(err)
		return
	}
	for i := range actions {
		switch a := &actions[i]; a.Kind {
		case engine.StartTask:
			d.start(now, a)
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

func isStart(a engine.Action) bool { return a.Kind == engine.StartTask }

func (d *driver) solve(r *policy.Request) {
	solver, ok := d.cfg.Policy.(policy.Solver)
	if !ok {
		d.fail(errors.New("the policy asks to solve but is no Solver"))
		return
	}
	d.solves++
	go func() {
		s, err := solver.Solve(*r, d.stop.Load)
		d.post(message{kind: solved, solution: s, err: err})
	}()
}
