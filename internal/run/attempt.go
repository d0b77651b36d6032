package run

import (
	"fmt"
	"slices"
	"syscall"
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
	d.leaders[p.pid] = true
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

// reap collects an attempt's process, which has exited, and ends what it has left.
func (d *driver) reap(p *process) exit {
	x := p.collect()
	d.out.TaskCPU += x.cpu
	if p.timer != nil {
		p.timer.Stop()
	}
	if i := slices.Index(d.running, p); i >= 0 {
		d.running = slices.Delete(d.running, i, i+1)
	}
	delete(d.leaders, p.pid)
	d.look()
	return x
}

// signal sends sig to all processes of attempts: their groups and those that have
// left them, which are looked for first, as long as their parents still live.
func (d *driver) signal(sig syscall.Signal, attempts ...*process) {
	d.look()
	var strays []relative
	for _, p := range attempts {
		strays = append(strays, d.strays(p)...)
	}
	if d.over {
		strays = append(strays, d.unowned()...)
	}
	for _, p := range attempts {
		p.signal(sig)
	}
	for _, r := range strays {
		_ = r.signal(sig) // as for a group; what is left will be seen
	}
}

// after has m posted when t has passed, unless its process has ended by then.
func (d *driver) after(t time.Duration, m message) {
	m.p.timer = time.AfterFunc(t, func() { d.post(m) })
}

// end stops what still runs, in bounded time, and closes the log.
func (d *driver) end() {
	d.stop.Store(true)
	d.over = true
	d.signal(unix.SIGTERM, d.running...)
	d.stopped()
	err := d.log.Close(d.e.Digest())
	if err2 := d.file.Close(); err == nil {
		err = err2
	}
	if err != nil {
		d.logFailed(err)
	}
	d.null.Close()
}

// stopped waits until all that was told to stop has ended, and helps.
func (d *driver) stopped() {
	if len(d.left()) == 0 {
		return
	}
	defer d.timer.Stop()
	d.timer.Reset(d.cfg.Grace)
	ticker := time.NewTicker(time.Duration(lookSoon)) // nobody reports the end of orphans
	defer ticker.Stop()
	for killed := false; len(d.left()) > 0; {
		select {
		case m := <-d.msgs:
			if m.kind == exited {
				d.reap(m.p)
			}
		case <-ticker.C:
			d.look()
		case <-d.timer.C:
			if killed {
				left := d.left()
				d.fail(fmt.Errorf("%d processes do not end even when killed; the first has the id %d: see what it waits for with ps -o stat,wchan", len(left), left[0]))
				d.running = nil
				return
			}
			killed = true
			d.signal(unix.SIGKILL, d.running...)
			d.timer.Reset(d.killWait)
		}
	}
}

// left returns the numbers of the processes that have to end before the run can.
func (d *driver) left() (pids []int) {
	for _, p := range d.running {
		pids = append(pids, p.pid)
	}
	return append(pids, d.orphans()...)
}
