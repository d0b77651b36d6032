package run

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/internal/supervise"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// restore brings the driver to where the run's log ends.
func (d *driver) restore() (err error) {
	rec, err := Open(d.cfg.Dir)
	if err != nil {
		return err
	}
	d.manifest = &rec.Manifest
	if d.lock, err = lockDir(d.cfg.Dir); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	defer func() {
		if err != nil {
			d.lock.Close()
		}
	}()
	exits, _, err := supervise.ReadJournal(d.cfg.Dir)
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	res, err := d.replay()
	if err != nil {
		return err
	}
	file := d.log.file.(*os.File)
	if d.old, err = scanLog(io.NewSectionReader(file, 0, res.Offset), d.x.Tasks(), len(d.cfg.Instance.Machines)); err != nil {
		return fmt.Errorf("run: cannot read the event log: %w", err)
	}
	d.last = res.Last
	d.known = make(map[supervise.Key]bool, len(d.old.starts))
	for i := range d.old.starts {
		if s := &d.old.starts[i]; s.state != AttemptLost {
			d.known[keyOf(s.task, s.attempt, s.at)] = true
		}
	}
	for i := range exits { // times of decisions that the log has lost are not given again
		d.last = max(d.last, min(sched.Time(exits[i].Nonce), furthest))
	}
	d.clock = d.manifest.Began.resumed(d.last)
	d.rebuild(exits)
	d.wake = res.Wake
	if !d.e.Done() {
		for _, r := range res.Requests {
			d.solve(r)
		}
	}
	return nil
}

// replay rebuilds the engine from the log, and makes the log ready to go on.
func (d *driver) replay() (*engine.Resumed, error) {
	if err := d.openLog(0, 0); err != nil {
		return nil, fmt.Errorf("run: cannot open the event log: %w", err)
	}
	file := d.log.file.(*os.File)
	fresh := func() (p policy.Policy, err error) {
		if d.cfg.NewPolicy == nil {
			return nil, errors.New("run: to resume takes a new policy")
		}
		d.cfg.Policy, err = d.cfg.NewPolicy()
		return d.cfg.Policy, err
	}
	e, res, err := engine.Resume(d.engineConfig(), fresh, file)
	if err == nil {
		d.e = e
		d.finished = res.Ended && e.Done()
		err = d.cut(file, res)
	}
	if err == nil && res.Offset == 0 {
		d.writer, err = engine.NewLogWriter(&d.log, d.x, d.cfg.Header)
	} else if err == nil {
		d.writer = engine.AppendLog(&d.log, d.x)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("run: cannot go on with the event log: %w", err)
	}
	return res, nil
}

// cut leaves of the log what is valid, after putting aside the rest.
func (d *driver) cut(log *os.File, res *engine.Resumed) error {
	d.log.durable = res.Offset
	info, err := log.Stat()
	if err != nil || d.finished || info.Size() == res.Offset {
		return err
	}
	if res.Torn != "" {
		name, err := setAside(log, res.Offset, info.Size())
		if err != nil {
			return fmt.Errorf("cannot put aside its damaged end: %w", err)
		}
		d.note(fmt.Sprintf("the event log was damaged: %s; the rest was moved to %s, and what it had finished is known from the supervisor's journal", res.Torn, name))
	}
	if err := log.Truncate(res.Offset); err != nil {
		return err
	}
	return log.Sync()
}

// setAside copies the part of a log from one offset to another into a new file.
func setAside(log *os.File, from, to int64) (name string, err error) {
	for n := 1; ; n++ {
		name = fmt.Sprintf("%s.torn-%d", log.Name(), n)
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return name, err
		}
		_, err = io.Copy(f, io.NewSectionReader(log, from, to-from))
		if err == nil {
			err = f.Sync()
		}
		return filepath.Base(name), errors.Join(err, f.Close())
	}
}

// rebuild brings into step with the engine what the driver keeps account of itself.
func (d *driver) rebuild(exits []supervise.Exit) {
	for _, j := range d.cfg.Instance.ByRelease() {
		if !d.e.Arrived(j) {
			d.arrivals = append(d.arrivals, j)
		}
	}
	d.out.Solution = d.old.solution
	for i := range d.old.starts {
		s := &d.old.starts[i]
		d.placed[s.task] = sched.Placement{Task: s.task, Machine: s.machine, Slot: s.slot, Start: s.at, Finish: s.end}
		if s.state == AttemptRunning {
			d.running = append(d.running, &attempt{
				stage: d.prepare(d.e.TaskStage(s.task)), task: s.task, attempt: s.attempt,
				machine: s.machine, slot: s.slot, at: s.at, first: s.first,
			})
		}
	}
	for t := range d.old.recovered {
		d.placed[t].Task = sched.None
	}
	d.progress.init(d)
	for i := range d.old.starts {
		d.progress.begun[d.x.StageJob(d.e.TaskStage(d.old.starts[i].task))] = true
	}
	attempts := d.old.attempts(d.describer(), exits, d.clock)
	slices.SortStableFunc(attempts, func(a, b Attempt) int { return cmp.Compare(a.Finish, b.Finish) })
	for i := range attempts {
		d.again(&attempts[i])
	}
}

// again takes in an attempt that had ended, as far as the log knows, before the run
// was resumed.
func (d *driver) again(a *Attempt) {
	latest := false
	if a.Machine == sched.None {
		if _, ok := d.old.recovered[a.Task]; !ok {
			return
		}
	} else {
		s := &d.old.starts[d.old.latest[a.Task]]
		if latest = s.at == a.Start; latest && s.state == AttemptRunning {
			return
		}
	}
	d.out.TaskCPU += a.CPU
	if a.State == AttemptFailed {
		d.failed(&Failure{
			Task: a.Task, Attempt: a.Attempt, Machine: a.Machine, Final: latest && d.e.Task(a.Task) == policy.TaskFailed,
			ExitCode: a.ExitCode, Signal: a.Signal, Err: a.Err, Stdout: a.Stdout, Stderr: a.Stderr,
		})
	}
	d.record.add(d, *a)
}
