package supervise

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a start that has not been reported as ended.
type process struct {
	key     Key
	pid     int // also the number of its group
	timeout time.Duration
	memory  int64
	outputs [2]string // paths of its files
	group   *group    // nil: it has none

	due      time.Time // when next to do something about it; zero: nothing is
	told     told
	timedOut bool

	// collected: its exit is known, and its number may belong to somebody else now.
	// What is left of its group and its strays is being killed until gaveUp.
	collected bool
	gaveUp    time.Time
	exit      Exit
}

// told is how a process has been asked to end.
type told uint8

const (
	toldNothing told = iota
	toldTerm
	toldKill
)

// launch starts an attempt as a process in a group of its own. If it cannot, it
// says why, in the words and with the exit code of a shell, or returns an error if
// that is for want of space, which may change.
func (s *supervisor) launch(st *stage, r *Start, p *process) (failure, error) {
	stdout, err := s.create(st, r.Output+".out")
	if err != nil {
		return cannotMake("output", err)
	}
	defer unix.Close(stdout)
	stderr, err := s.create(st, r.Output+".err")
	if err != nil {
		return cannotMake("error", err)
	}
	defer unix.Close(stderr)
	p.outputs = [2]string{filepath.Join(st.Logs, r.Output+".out"), filepath.Join(st.Logs, r.Output+".err")}
	if len(r.Argv) == 0 {
		return failure{notFound, "command not found: there is none"}, nil
	}
	if p.group, err = s.limit(r); err != nil {
		return failure{cannotStart, "cannot limit its memory: " + err.Error()}, nil
	}
	name := r.Argv[0]
	for again := false; ; again = true {
		file, err := st.lookup(name)
		if err != nil {
			return st.notFound(name, file, err), nil
		}
		// No process may run that the journal does not name: if this one did and the
		// supervisor died, nobody would know whether its task has been run.
		if !again && !s.announce(p) {
			return failure{}, s.journal.failed
		}
		// Not os/exec: the exit status must stay uncollected until the group has been
		// killed, see collect.
		attr := &syscall.ProcAttr{
			Dir:   st.Dir,
			Env:   st.attemptEnv(r),
			Files: []uintptr{uintptr(s.null), uintptr(stdout), uintptr(stderr)},
			Sys:   &syscall.SysProcAttr{Setpgid: true},
		}
		err = p.group.fork(attr, func() error {
			return s.pins.on(r.Machine, func() error {
				return fine(func() (err error) {
					p.pid, err = syscall.ForkExec(file, r.Argv, attr)
					return err
				})
			})
		})
		if err == nil {
			return failure{}, nil
		}
		if again {
			return st.notStarted(file, err), nil
		}
		st.forget(name) // it may have been moved since it was found
	}
}

func cannotMake(which string, err error) (failure, error) {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return failure{}, err
	}
	return failure{cannotStart, "cannot make the file for its standard " + which + ": " + err.Error()}, nil
}

// signal sends sig to the whole group.
func (p *process) signal(sig syscall.Signal) {
	// The only error there can be is that all of the group is gone (or, for a
	// program with other rights, out of reach), which its exit will tell.
	_ = unix.Kill(-p.pid, sig)
}

// collect kills what is left of the group of a process that has exited and
// collects its exit status. As long as that is uncollected, neither its number nor
// its group's can be given to another process.
func (p *process) collect() {
	p.signal(unix.SIGKILL)
	p.collected = true
	var status unix.WaitStatus
	var usage unix.Rusage
	x := &p.exit
	x.Key, x.At = p.key, Now()
	for {
		_, err := unix.Wait4(p.pid, &status, 0, &usage)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			x.Code, x.Err = cannotStart, "cannot learn how it ended: "+err.Error()
			return
		}
	}
	x.used(&usage)
	switch {
	case status.Signaled():
		x.Code = 128 + int(status.Signal())
		if x.Signal = unix.SignalName(status.Signal()); x.Signal == "" { // real-time signals have no names
			x.Signal = fmt.Sprintf("signal %d", int(status.Signal()))
		}
		x.Err = "ended by " + x.Signal
	case status.ExitStatus() != 0:
		x.Code = status.ExitStatus()
		x.Err = fmt.Sprintf("exit status %d", x.Code)
	}
	switch {
	case p.timedOut:
		x.Err = "timed out after " + short(p.timeout)
	case p.told != toldNothing:
		if x.Stopped = true; x.Err == "" {
			x.Err = "stopped"
		}
	}
}

// used adds what a process and its children have used.
func (x *Exit) used(u *unix.Rusage) {
	x.CPU += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	x.MaxRSS = max(x.MaxRSS, int64(u.Maxrss)*rssUnit)
}

// explainMemory says so if the use of memory has ended the process.
func (p *process) explainMemory(all int64) {
	x := &p.exit
	if !x.OutOfMemory || x.Err == "" || p.timedOut {
		return
	}
	limit := all
	if p.memory > 0 && (limit <= 0 || p.memory < limit) {
		limit = p.memory
	}
	x.Err = fmt.Sprintf("out of memory, of which it may use %.4g MiB (%s)", float64(limit)/(1<<20), x.Err)
}

// groupGone reports whether nothing is left of the group of a process that has been
// collected.
func (p *process) groupGone() bool { return unix.Kill(-p.pid, 0) == unix.ESRCH }

// short formats a duration without the parts that are zero: 10m, not 10m0s.
func short(t time.Duration) string {
	s := t.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
