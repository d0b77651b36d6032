package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-project/fairlead/internal/history"
	"github.com/fairlead-project/fairlead/internal/run"
	"github.com/fairlead-project/fairlead/sched"
)

// keeper is the history while a run goes on: what it knew before, and what is added.
type keeper struct {
	e    *env
	lock *os.File
	db   *history.DB // nil: there is none, or it is of no use
	// given is the workload as it is written: what was learnt is not stated.
	given *sched.Index
	dir   string // of the run
	run   *run.Manifest
}

// openKeeper takes the data home for one run. That it cannot be written costs the
// history, not the run; that another run has it is an error, since the two would give
// the same processors and the same memory away twice.
func (e *env) openKeeper() (*keeper, error) {
	k := &keeper{e: e}
	dir, err := e.dataHome()
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		k.lock, err = lockFile(filepath.Join(dir, "lock"))
	}
	if errors.Is(err, errHeld) {
		return nil, fail(exitUsage, fmt.Errorf("%w has the data home %s, and with it this computer: wait until it has ended, or give this run another data home with --data", err, dir))
	}
	if err == nil {
		k.db, err = history.Open(filepath.Join(dir, historyFile))
	}
	if err != nil {
		e.say("going on without a history: nothing is known from earlier runs, and nothing of this one is kept: %v", err)
	}
	return k, nil
}

var errHeld = errors.New("another run")

// lockFile locks a file, and says in it who has done so. The system gives the lock
// back when this process ends, however it does.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil {
		if err = f.Truncate(0); err == nil {
			_, err = fmt.Fprintf(f, "%d\n", os.Getpid())
		}
		if errors.Is(err, unix.ENOSPC) {
			err = nil // only a courtesy
		}
	}
	if err == nil {
		return f, nil
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = errHeld
		holder, _ := os.ReadFile(path)
		if pid := strings.TrimSpace(string(holder)); pid != "" {
			err = fmt.Errorf("%w (process %s)", errHeld, pid)
		}
	}
	f.Close()
	return nil, err
}

// record adds attempts to the history. It is called by the run, with attempts that
// have ended.
func (k *keeper) record(attempts []run.Attempt) {
	if k.db == nil {
		return
	}
	if k.run == nil {
		var m run.Manifest
		text, err := os.ReadFile(filepath.Join(k.dir, manifestFile))
		if err == nil {
			err = json.Unmarshal(text, &m)
		}
		if err != nil {
			k.drop(err)
			return
		}
		k.run = &m
	}
	list := make([]history.Attempt, 0, len(attempts))
	for i := range attempts {
		if a := &attempts[i]; a.Machine != sched.None {
			list = append(list, k.attempt(a))
		}
	}
	// Not the run's context: what happened is kept, also after Ctrl-C.
	if err := k.db.Record(context.Background(), list); err != nil {
		k.drop(err)
	}
}

var historyStates = map[run.AttemptState]history.State{
	run.AttemptDone: history.Done, run.AttemptFailed: history.Failed,
	run.AttemptLost: history.Lost, run.AttemptStopped: history.Stopped,
}

func (k *keeper) attempt(a *run.Attempt) history.Attempt {
	h := history.Attempt{
		Run: k.run.ID, Attempt: int(a.Attempt),
		Launched: k.run.Began.Wall.Add(time.Duration(a.Start)), Start: a.Start, End: a.Finish,
		FirstProgressAt: a.FirstProgress.At, FirstProgress: a.FirstProgress.Value,
		State: historyStates[a.State], ExitCode: a.ExitCode, Signal: a.Signal,
		CPU: a.CPU, Memory: a.MaxRSS, OutOfMemory: a.OutOfMemory,
	}
	h.Describe(k.given, a.Task, a.Machine)
	return h
}

// drop goes on without the history.
func (k *keeper) drop(err error) {
	k.e.say("the history is not kept from here on: %v", err)
	k.db.Close()
	k.db = nil
}

func (k *keeper) close() {
	if k.db != nil {
		if err := k.db.Close(); err != nil {
			k.e.say("%v", err)
		}
	}
	if k.lock != nil {
		k.lock.Close()
	}
}
