package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/workload"
)

// process is one attempt at a task. It belongs to the driver.
type process struct {
	task      sched.TaskID
	attempt   int32
	machine   sched.MachineID
	slot      int32
	since     sched.Time
	pid       int         // also the number of its group
	timer     *time.Timer // for its time-out, then for its end; nil: none
	timedOut  bool
	collected bool // its number may belong to somebody else now
}

// exit is how a process ended; err is empty if it succeeded.
type exit struct {
	code   int
	signal string
	err    string
	cpu    time.Duration
}

// Exit codes of a shell for what it cannot start.
const (
	cannotStart = 126
	notFound    = 127
)

// launch starts an attempt as a process in a group of its own. If it cannot, it
// says why, in the words and with the exit code of a shell.
func (d *driver) launch(s *stage, p *process) *exit {
	machine := &d.cfg.Instance.Machines[p.machine]
	k := int(p.task - s.first)
	argv, err := workload.Argv(s.stage.Run, fields(d.cfg.Instance, s.job, s.stage, k, p.machine, p.attempt))
	if err != nil {
		return &exit{code: cannotStart, err: err.Error()}
	}
	stdout, err := s.create(p.task, p.attempt, "out")
	if err != nil {
		return &exit{code: cannotStart, err: "cannot make the file for its standard output: " + err.Error()}
	}
	defer stdout.Close()
	stderr, err := s.create(p.task, p.attempt, "err")
	if err != nil {
		return &exit{code: cannotStart, err: "cannot make the file for its standard error: " + err.Error()}
	}
	defer stderr.Close()
	file, err := s.lookup(argv[0])
	if err != nil {
		return s.notFound(argv[0], file, err)
	}
	// Not os/exec: the exit status must stay uncollected until the group has been
	// killed, see collect.
	attr := &syscall.ProcAttr{
		Dir:   s.dir,
		Env:   s.attemptEnv(k, machine, p.attempt, d.mark(p)),
		Files: []uintptr{d.null.Fd(), stdout.Fd(), stderr.Fd()},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	}
	err = d.pins.on(p.machine, func() (err error) {
		p.pid, err = syscall.ForkExec(file, argv, attr)
		return err
	})
	if err != nil {
		return s.notStarted(file, err)
	}
	return nil
}

// notFound explains why a lookup found no command, or only file.
func (s *stage) notFound(name, file string, err error) *exit {
	if x := s.noDirectory(); x != nil {
		return x
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return &exit{code: cannotStart, err: fmt.Sprintf("cannot start %s: it is not executable (chmod +x)", file)}
	case errors.Is(err, unix.EISDIR):
		return &exit{code: cannotStart, err: fmt.Sprintf("cannot start %s: it is a directory", file)}
	}
	return &exit{code: notFound, err: "command not found: " + name}
}

// notStarted explains why file, which exists, could not be started.
func (s *stage) notStarted(file string, err error) *exit {
	if x := s.noDirectory(); x != nil {
		return x
	}
	why := err.Error()
	switch {
	case errors.Is(err, syscall.ENOENT):
		why = "the interpreter that it names does not exist"
	case errors.Is(err, syscall.ENOEXEC):
		why = "it is neither a program for this computer nor a script that begins with #!"
	}
	return &exit{code: cannotStart, err: fmt.Sprintf("cannot start %s: %s", file, why)}
}

func (s *stage) noDirectory() *exit {
	if info, err := os.Stat(s.dir); err != nil || !info.IsDir() {
		return &exit{code: cannotStart, err: fmt.Sprintf("the working directory %s is missing, or is no directory", s.dir)}
	}
	return nil
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
func (p *process) collect() exit {
	p.signal(unix.SIGKILL)
	p.collected = true
	var status unix.WaitStatus
	var usage unix.Rusage
	for {
		_, err := unix.Wait4(p.pid, &status, 0, &usage)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			return exit{code: cannotStart, err: "cannot learn how it ended: " + err.Error()}
		}
	}
	x := exit{cpu: time.Duration(usage.Utime.Nano() + usage.Stime.Nano())}
	switch {
	case status.Signaled():
		x.code = 128 + int(status.Signal())
		if x.signal = unix.SignalName(status.Signal()); x.signal == "" { // real-time signals have no names
			x.signal = fmt.Sprintf("signal %d", int(status.Signal()))
		}
		x.err = "ended by " + x.signal
	case status.ExitStatus() != 0:
		x.code = status.ExitStatus()
		x.err = fmt.Sprintf("exit status %d", x.code)
	}
	return x
}
