package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/internal/supervise"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// Supervisors that die again and again are not replaced for ever: mostDeaths within
// deathsWithin without any task having ended in between are an error.
const (
	mostDeaths   = 3
	deathsWithin = sched.Time(time.Minute)
)

// supervised attaches to the run's supervisor, or starts one, and brings what the
// driver knows into step with what it has found. It does not heed the run's context:
// what has been begun must be ended properly, and it takes a moment only.
func (d *driver) supervised() error {
	cfg := supervise.Config{
		Dir: d.cfg.Dir, Run: d.manifest.ID, Grace: d.cfg.Grace, Memory: d.cfg.MemoryBudget, Command: d.cfg.Supervisor,
	}
	for m := range d.cfg.Instance.Machines {
		cfg.CPUs = append(cfg.CPUs, d.cfg.Instance.Machines[m].CPUs)
		cfg.Machines = append(cfg.Machines, d.cfg.Instance.Machines[m].Name)
	}
	sup, found, err := d.open(context.Background(), cfg)
	if err != nil {
		return err
	}
	d.sup, d.events = sup, sup.Events()
	d.out.OutOfReach = d.out.OutOfReach || found.OutOfReach
	for _, s := range d.stage {
		if s != nil {
			s.sent = false
		}
	}
	return d.reconcile(&found)
}

// orphaned replaces a supervisor that has died. The new one ends what the old one
// had started and reports it as lost.
func (d *driver) orphaned(why error) {
	d.sup, d.events = nil, nil
	now := d.now()
	d.gone = append(slices.DeleteFunc(d.gone, func(t sched.Time) bool { return t < now-deathsWithin }), now)
	if len(d.gone) == mostDeaths {
		d.fail(fmt.Errorf("the supervisor has died %d times without a task having ended: %w; see %s",
			mostDeaths, why, filepath.Join(d.cfg.Dir, "supervisor.log")))
		return
	}
	d.note(fmt.Sprintf("the supervisor of the tasks has died (%v): what it had started is started again", why))
	if err := d.supervised(); err != nil {
		d.fail(err)
	}
}

// reconcile takes in what a supervisor has found. Of the attempts that the driver
// believes to run, those with an exit have ended, those that run are watched, and
// the others have never been started, unless the computer was restarted: the journal
// may not have kept what was begun just before. What runs without being known is ended first:
// the log has lost its start, and its task may be started anew. If such a start had
// succeeded, its task is done.
func (d *driver) reconcile(found *supervise.Found) error {
	recovered := d.lostSuccesses(found.Exits)
	open := make(map[supervise.Key]*attempt, len(d.running))
	for _, a := range d.running {
		a.stopping = a.stopping || recovered[a.task] != nil
		open[a.key()] = a
	}
	runs := make(map[supervise.Key]bool, len(found.Running))
	strays := map[supervise.Key]bool{}
	for _, key := range found.Running {
		runs[key] = true
		if a := open[key]; a == nil || a.stopping {
			strays[key] = true
		}
	}
	if err := d.expel(strays, found); err != nil {
		return err
	}
	for i := range found.Exits {
		x := &found.Exits[i]
		if a := open[x.Key]; a != nil {
			delete(open, x.Key)
			d.ended(a, x)
		}
	}
	d.unsent = d.unsent[:0]
	for _, a := range slices.Clone(d.running) {
		switch {
		case a.stopping, !runs[a.key()] && d.restarted():
			d.ended(a, &supervise.Exit{At: supervise.Now(), Lost: true})
		case !runs[a.key()]:
			d.unsent = append(d.unsent, a)
		}
	}
	maps.Copy(recovered, d.lostSuccesses(found.Exits)) // with those of strays that were too late
	for _, t := range slices.Sorted(maps.Keys(recovered)) {
		if s := d.e.Task(t); s != policy.TaskDone && s != policy.TaskFailed && s != policy.TaskRunning {
			d.step(d.now(), engine.Recovered(t))
			d.placed[t].Task = sched.None
			d.progress.recovered(d.x.StageJob(d.e.TaskStage(t)))
			d.record.recovered(d, recovered[t])
		}
	}
	d.known = nil // from now on the driver knows all that is started
	return nil
}

// restarted reports whether the computer was since the run began.
func (d *driver) restarted() bool {
	return d.old != nil && d.manifest.Began.Boot != supervise.BootID()
}

// lostSuccesses returns the starts that succeeded, by task, of which a run that is
// resumed does not know that: its log has lost them, or says that they were lost, for
// it was interrupted before it could hear of their end, or before it could tell them to
// end. (One that was told to has not succeeded, whatever it then returned.)
func (d *driver) lostSuccesses(exits []supervise.Exit) map[sched.TaskID]*supervise.Exit {
	tasks := map[sched.TaskID]*supervise.Exit{}
	if d.known == nil {
		return tasks
	}
	for i := range exits {
		x := &exits[i]
		t := sched.TaskID(x.Task)
		if succeeded(x) && !d.known[x.Key] && t >= 0 && int(t) < d.x.Tasks() && d.e.Task(t) != policy.TaskDone {
			tasks[t] = x
		}
	}
	return tasks
}

// expel ends starts and adds their exits, and those that come meanwhile, to found.
func (d *driver) expel(strays map[supervise.Key]bool, found *supervise.Found) error {
	for key := range strays {
		_ = d.sup.Stop(key) // if it is gone, an event tells
	}
	d.timer.Reset(d.cfg.Grace + d.killWait)
	defer d.timer.Stop()
	for len(strays) > 0 {
		select {
		case ev := <-d.events:
			switch {
			case ev.Exit != nil:
				found.Exits = append(found.Exits, *ev.Exit)
				delete(strays, ev.Exit.Key)
			case ev.Note != "":
				d.note(ev.Note)
			default:
				return fmt.Errorf("the supervisor has died: %w", ev.Gone)
			}
		case <-d.timer.C:
			return errors.New("processes of tasks that the log does not know do not end even when killed; see what they wait for with ps -o pid,stat,wchan,args")
		}
	}
	return nil
}
