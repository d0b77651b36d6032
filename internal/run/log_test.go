package run

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/sched"
)

// When a process runs, the log on disk has its start: not only soon, as it may
// have with luck, but at once. To see that, the driver is held up between the first
// start and whatever it does next, by a pipe nobody reads, as the second's output.
func TestLogNamesWhatRuns(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 2}", `
- {name: a, stages: [{name: s, run: 'grep -c "startTask.*\"job\":\"a\"" "$LOG" >seen; touch looked'}]}
- {name: b, stages: [{name: s, run: 'true'}]}
`)
	r.cfg.Env = append(os.Environ(), "LOG="+filepath.Join(r.cfg.Dir, "events.jsonl"))
	logs := filepath.Join(r.cfg.Dir, "logs/b/s")
	if err := os.MkdirAll(logs, 0o777); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(logs, "0.1.out")
	if err := unix.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	// Its other end opens after the first task has looked, and stays open.
	held := make(chan *os.File, 1)
	go r.when("looked", func() {
		f, err := os.OpenFile(pipe, os.O_RDWR, 0)
		if err != nil {
			t.Error(err)
		}
		held <- f
	})
	res := r.run(t.Context())
	(<-held).Close()
	equal(t, "states", r.states(res), "a:done b:done")
	equal(t, "starts of it in the log", r.read("seen"), "1\n")
}

// Times in the log increase strictly, even while the clock stands still.
func TestTimesIncrease(t *testing.T) {
	r := newTrial(t, "{name: m}", `
- {name: a, stages: [{name: s, run: 'true'}]}
- {name: b, stages: [{name: s, run: 'true'}]}
- {name: c, stages: [{name: s, run: 'true'}]}
`)
	r.cfg.Policy = &toy{}
	d, err := newDriver(r.cfg)
	if err != nil {
		t.Fatal(err)
	}
	d.timer = time.NewTimer(0)
	d.began = time.Now().Add(time.Hour)
	for j := range r.cfg.Instance.Jobs {
		d.step(engine.Arrived(sched.JobID(j)))
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
		if errors.Is(err, io.EOF) {
			return strings.Join(times, " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, time.Duration(now).String())
	}
}

// disk takes so many writes and is full then.
type disk struct {
	file   *os.File
	writes int
}

func (d *disk) Write(p []byte) (int, error) {
	if d.writes--; d.writes < 0 {
		return 0, unix.ENOSPC
	}
	return d.file.Write(p)
}

// The event log cannot be written, from the start or later: nothing more starts,
// everything ends and Run says why.
func TestLogNotWritable(t *testing.T) {
	for writes, explained := range []string{
		"a was not started;b was not started",
		"a was stopped: 0 of its 1 tasks had finished;b was not started",
	} {
		r := newTrial(t, "{name: m, slots: 2}", `
- {name: a, stages: [{name: s, run: 'touch a; exec sleep 60'}]}
- {name: b, release: 1s, stages: [{name: s, run: 'touch b'}]}
`)
		d, err := newDriver(r.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if d.log, err = engine.NewLogWriter(&disk{d.file, writes}, d.x, r.cfg.Header); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		res, err := d.run(t.Context())
		if err == nil || err.Error() != "run: cannot write the event log: no space left on device" {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("took %v", took)
		}
		equal(t, "explained", strings.Join(res.Explain, ";"), explained)
		for k, job := range []string{"a", "b"} {
			_, err := os.Stat(filepath.Join(r.dir, job))
			equal(t, job+" has run", err == nil, k < writes)
		}
	}
}
