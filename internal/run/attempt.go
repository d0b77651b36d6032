package run

import (
	"fmt"
	"os"
	"slices"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/internal/supervise"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// decided takes in that the engine has started an attempt.
func (d *driver) decided(x *engine.Action) {
	a := &attempt{
		stage: d.prepare(d.e.TaskStage(x.Task)),
		task:  x.Task, attempt: x.Attempt, machine: x.Machine, slot: x.Slot, at: d.last,
	}
	d.placed[x.Task] = sched.Placement{Task: x.Task, Machine: x.Machine, Slot: x.Slot, Start: d.last}
	d.running = append(d.running, a)
	d.unsent = append(d.unsent, a)
	d.progress.started(a.stage.job)
}

// send has the supervisor start what waits for that. If the supervisor is gone, an
// event tells, and all is sent again to the next one: it starts no key twice.
func (d *driver) send() {
	for _, a := range d.unsent {
		if s := a.stage; !s.sent {
			s.sent = d.sup.Stage(s.Stage) == nil
		}
		start, err := d.start(a)
		if err != nil {
			d.fail(err)
			return
		}
		if d.old != nil { // an attempt that the log had lost may have left it
			_ = os.Remove(a.stage.file(a, "progress"))
		}
		_ = d.sup.Start(start)
	}
	d.unsent = d.unsent[:0]
}

// handle takes in what the supervisor reports.
func (d *driver) handle(ev supervise.Event) {
	switch {
	case ev.Exit != nil:
		if a := d.find(ev.Exit.Key); a != nil {
			d.gone = d.gone[:0]
			d.ended(a, ev.Exit)
		}
	case ev.Note != "":
		d.out.OutOfReach = d.out.OutOfReach || ev.OutOfReach
		d.note(ev.Note)
	default:
		d.orphaned(ev.Gone)
	}
}

// find returns the attempt that runs under a key, nil if none does.
func (d *driver) find(key supervise.Key) *attempt {
	for _, a := range d.running {
		if int32(a.task) == key.Task && a.key() == key {
			return a
		}
	}
	return nil
}

// ended takes in the end of an attempt.
func (d *driver) ended(a *attempt, x *supervise.Exit) {
	ev, state := engine.Finished(a.task, a.attempt), AttemptDone
	switch {
	case x.Lost || x.Stopped || a.stopping:
		ev, state = engine.Lost(a.task, a.attempt), AttemptLost
	case x.Err != "":
		ev, state = engine.Failed(a.task, a.attempt), AttemptFailed
	}
	d.over(a, min(d.now(), d.clock.at(x.At)), ev)
	if final := d.e.Task(a.task) == policy.TaskFailed; state == AttemptFailed {
		d.failed(&Failure{
			Task: a.task, Attempt: a.attempt, Machine: a.machine, Final: final,
			ExitCode: x.Code, Signal: x.Signal, Err: x.Err,
			Stdout: a.stage.file(a, "out"), Stderr: a.stage.file(a, "err"),
		})
		d.failFast = d.failFast || final && d.cfg.FailFast
	}
	d.out.TaskCPU += x.CPU
	d.record.ended(d, a, state, x)
}

// over tells the engine that an attempt runs no more.
func (d *driver) over(a *attempt, at sched.Time, ev engine.Event) {
	if i := slices.Index(d.running, a); i >= 0 {
		d.running = slices.Delete(d.running, i, i+1)
	}
	d.step(at, ev)
	a.end = d.last
	d.placed[a.task].Finish = a.end
	d.progress.ended(a.stage.job, d.e.Task(a.task))
}

// end stops what still runs, in bounded time, and closes the log, with its last line
// if nothing is left to be done.
func (d *driver) end() {
	d.stop.Store(true)
	d.halt()
	if d.e.Done() && d.err == nil && !d.finished {
		_ = d.writer.Close(d.e.Digest()) // into memory
	}
	if !d.commit() { // the last try
		d.fail(fmt.Errorf("cannot write the event log: %w", d.full))
	}
	if err := d.log.file.Close(); err != nil {
		d.fail(err)
	}
	d.record.flush(d)
}

// halt ends all that runs, in bounded time, and the supervisor. The log has that
// these attempts are lost before they are told to end: whatever becomes of this
// driver, what they do then is not taken for a failure. One that succeeds before it is
// told has succeeded: a run that is resumed finds that in the journal.
func (d *driver) halt() {
	if d.sup == nil && len(d.running) > 0 { // a run that was resumed and interrupted at once, or the supervisor has died
		if err := d.supervised(); err != nil {
			d.fail(err)
		}
	}
	stopped := slices.Clone(d.running)
	for _, a := range stopped {
		d.over(a, d.now(), engine.Lost(a.task, a.attempt))
	}
	d.unsent = d.unsent[:0]
	d.commit()
	if d.sup == nil {
		return
	}
	err := d.sup.Close()
	if err != nil && len(stopped) > 0 { // it may have died: another one ends what it has left
		if err = d.supervised(); err == nil {
			err = d.sup.Close()
		}
	}
	if err != nil {
		d.fail(err)
	}
	d.sup = nil
	if len(stopped) > 0 {
		d.used(stopped)
	}
}

// used takes in what attempts have used until they were stopped.
func (d *driver) used(stopped []*attempt) {
	exits, _, err := supervise.ReadJournal(d.cfg.Dir)
	if err != nil {
		d.fail(err)
	}
	of := make(map[supervise.Key]*supervise.Exit, len(exits))
	for i := range exits {
		of[exits[i].Key] = &exits[i]
	}
	for _, a := range stopped {
		x := of[a.key()]
		if x == nil { // it was never started
			x = &supervise.Exit{Lost: true, At: supervise.Now()}
		}
		d.out.TaskCPU += x.CPU
		d.record.ended(d, a, AttemptLost, x)
	}
}
