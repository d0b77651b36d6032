package run

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/internal/supervise"
	"github.com/fairlead-project/fairlead/sched"
)

// When a process is started, the log on the disk has its start.
func TestLogNamesWhatRuns(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 2}", `
- {name: a, stages: [{name: s, count: 3, run: 'true'}]}
`)
	f := newFake()
	d := r.begun(f)
	disk := &disk{logFile: d.log.file}
	d.log.file = disk
	started := 0
	f.onStart = func(s supervise.Start) {
		started++
		log := r.read("run/events.jsonl")
		equal(t, "bytes synced", disk.synced, int64(len(log)))
		equal(t, "starts in the log", strings.Count(log, `"do":"startTask"`) >= started, true)
		f.exit(s.Key, "")
	}
	must[*Result](t)(d.run(t.Context()))
	equal(t, "started", started, 3)
}

// Times in the log increase strictly, even while the clock stands still.
func TestTimesIncrease(t *testing.T) {
	r := newTrial(t, "{name: m}", `
- {name: a, stages: [{name: s, run: 'true'}]}
- {name: b, stages: [{name: s, run: 'true'}]}
- {name: c, stages: [{name: s, run: 'true'}]}
`)
	r.cfg.Policy = &toy{}
	d := r.begun()
	d.timer = time.NewTimer(0)
	d.clock.origin = supervise.Now() + 1e12
	for j := range r.cfg.Instance.Jobs {
		d.step(d.now(), engine.Arrived(sched.JobID(j)))
	}
	d.end()
	if d.err != nil {
		t.Fatal(d.err)
	}
	equal(t, "times", logTimes(t, d.out.Log), "1ns 2ns 3ns")
}

func logTimes(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	log, err := engine.NewLogReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var times []string
	for {
		now, _, err := log.Next()
		if errors.Is(err, io.ErrUnexpectedEOF) { // no end line: the run is not done
			return strings.Join(times, " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, time.Duration(now).String())
	}
}

// disk counts what has been synced, and is full when told.
type disk struct {
	logFile
	synced, written int64
	full            func() error // called before every write and sync; nil: never full
	half            bool         // writes half of what does not fit
}

func (d *disk) WriteAt(p []byte, off int64) (int, error) {
	if d.full != nil {
		if err := d.full(); err != nil {
			if d.half {
				_, _ = d.logFile.WriteAt(p[:len(p)/2], off)
			}
			return len(p) / 2, err
		}
	}
	n, err := d.logFile.WriteAt(p, off)
	d.written = off + int64(n)
	return n, err
}

func (d *disk) Sync() error {
	if d.full != nil {
		if err := d.full(); err != nil {
			return err
		}
	}
	d.synced = d.written
	return d.logFile.Sync()
}

// While the disk is full nothing new starts, what runs goes on, the user is told, and
// when there is room again nothing has been lost.
func TestDiskFull(t *testing.T) {
	for name, half := range map[string]bool{"nothing fits": false, "half of it fits": true} {
		t.Run(name, func(t *testing.T) {
			r := newTrial(t, "{name: m, slots: 2}", `
- {name: a, stages: [{name: s, count: 6, run: 'true'}]}
`)
			var told []string
			r.cfg.Notify = func(s string) { told = append(told, s) }
			f := newFake()
			d := r.begun(f)
			full, tries := false, 0
			d.log.file = &disk{logFile: d.log.file, half: half, full: func() error {
				if !full {
					return nil
				}
				if tries++; tries < 3 {
					return unix.ENOSPC
				}
				full = false
				return nil
			}}
			var started []int32
			f.onStart = func(s supervise.Start) {
				equal(t, "disk full at a start", full, false)
				started = append(started, s.Task)
				if len(started) == 2 {
					full = true
				}
				f.exit(s.Key, "")
			}
			began := time.Now()
			res := must[*Result](t)(d.run(t.Context()))
			equal(t, "states", r.states(res), "a:done")
			equal(t, "started", len(started), 6)
			equal(t, "tries", tries, 3)
			if took := time.Since(began); took < time.Second || took > 10*time.Second {
				t.Errorf("took %v, want a second for each try", took)
			}
			equal(t, "told", strings.Join(told, "\n"), "cannot write the event log: no space left on device: nothing more is started until that works\n"+
				"the event log can be written again")
			equal(t, "notes", len(res.Notes), 1)
			r.replay(res)
		})
	}
}

// A disk that stays full ends the run only when the user does.
func TestDiskStaysFull(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 2}", "- {name: a, stages: [{name: s, count: 6, run: 'true'}]}\n")
	f := newFake()
	d := r.begun(f)
	d.log.file = &disk{logFile: d.log.file, full: func() error { return unix.EDQUOT }}
	f.onStart = func(supervise.Start) { t.Error("something was started") }
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	res, err := d.run(ctx)
	if err == nil || err.Error() != "run: cannot write the event log: disk quota exceeded" {
		t.Errorf("got %v", err)
	}
	equal(t, "interrupted", res.Interrupted, true)
	equal(t, "closed", f.closed, true)
}
