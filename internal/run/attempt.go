package run

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// start starts an attempt. That it could not is news for the next round: the
// engine must not be asked while its actions are carried out.
func (d *driver) start(now sched.Time, a *engine.Action) {
	p := &process{task: a.Task, attempt: a.Attempt, machine: a.Machine, slot: a.Slot, since: now}
	d.placed[a.Task] = sched.Placement{Task: a.Task, Machine: a.Machine, Slot: a.Slot, Start: now}
	s := d.prepare(d.e.TaskStage(a.Task))
	d.progress.started(s.job)
	if exit := d.launch(s, p); exit != nil {
		d.pending = append(d.pending, message{kind: notStarted, p: p, exit: exit})
		return
	}
	d.running = append(d.running, p)
	if s.stage.Timeout > 0 {
		d.after(s.stage.Timeout, message{kind: timeout, p: p})
	}
	go func() {
		awaitExit(p.pid)
		d.post(message{kind: exited, p: p})
	}()
}

// ended takes in the end of an attempt.
func (d *driver) ended(p *process, x exit) {
	d.forget(p)
	d.out.TaskCPU += x.cpu
	s := d.prepare(d.e.TaskStage(p.task))
	if p.timedOut {
		x.err = "timed out after " + short(s.stage.Timeout)
	}
	ev := engine.Finished(p.task, p.attempt)
	if x.err != "" {
		ev = engine.Failed(p.task, p.attempt)
	}
	d.step(ev)
	d.placed[p.task].Finish = d.last
	state := d.e.Task(p.task)
	if x.err != "" {
		final := state == policy.TaskFailed
		d.failed(s, p, x, final)
		d.failFast = d.failFast || final && d.cfg.FailFast
	}
	d.progress.ended(s.job, state)
}

// forget takes p off the list of what runs.
func (d *driver) forget(p *process) {
	if p.timer != nil {
		p.timer.Stop()
	}
	if i := slices.Index(d.running, p); i >= 0 {
		d.running = slices.Delete(d.running, i, i+1)
	}
}

// after has m posted when t has passed, unless its process has ended by then.
func (d *driver) after(t time.Duration, m message) {
	m.p.timer = time.AfterFunc(t, func() { d.post(m) })
}

// end stops what still runs, in bounded time, and closes the log.
func (d *driver) end() {
	d.stop.Store(true)
	for _, p := range d.running {
		p.signal(unix.SIGTERM)
	}
	killed := false
	for d.timer.Reset(d.cfg.Grace); len(d.running) > 0; {
		select {
		case m := <-d.msgs:
			if m.kind == exited {
				d.out.TaskCPU += m.p.collect().cpu
				d.forget(m.p)
			}
		case <-d.timer.C:
			if killed {
				d.fail(fmt.Errorf("%d processes do not end even when killed; the first has the id %d: see what it waits for with ps -o stat,wchan", len(d.running), d.running[0].pid))
				d.running = nil
				break
			}
			killed = true
			for _, p := range d.running {
				p.signal(unix.SIGKILL)
			}
			d.timer.Reset(d.killWait)
		}
	}
	d.timer.Stop()
	err := d.log.Close(d.e.Digest())
	if err2 := d.file.Close(); err == nil {
		err = err2
	}
	if err != nil {
		d.fail(fmt.Errorf("cannot write the event log: %w", err))
	}
	d.null.Close()
}
