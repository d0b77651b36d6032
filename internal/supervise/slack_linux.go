package supervise

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Slack is by how many nanoseconds the system may be late in waking a thread from a
// sleep. A Go program has a thread that looks after the others; while they are busy now
// and then, as driver and supervisor are, it wakes every 20 µs and whatever slack it
// has, to find that all is well. With the system's default that is a quarter of all the
// time that a run of short tasks costs. Threads and programs inherit the slack of the
// thread that starts them, and that one thread is started before anything of ours.
const (
	coarse      = 5_000_000
	defaultFine = 50_000 // the system's default, which tasks get
)

// slack returns that of the present thread, 0 if the system does not say.
func slack() int {
	ns, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		return 0
	}
	return ns
}

// Coarse reports whether this program was started by [Coarsen], or cannot be.
func Coarse() bool {
	was := slack()
	return was == 0 || was >= coarse
}

// Coarsen calls start, which starts a program that should wake seldom. That has a price:
// its timers may be late by a few milliseconds.
func Coarsen(start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	was := slack()
	if was == 0 || was >= coarse || unix.Prctl(unix.PR_SET_TIMERSLACK, coarse, 0, 0, 0) != nil {
		return start()
	}
	err := start()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(was), 0, 0, 0) // as allowed as before
	return err
}

// fine calls start, which starts a task, from a thread with the system's default.
func fine(start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	was := slack()
	if was == 0 || was == defaultFine || unix.Prctl(unix.PR_SET_TIMERSLACK, defaultFine, 0, 0, 0) != nil {
		return start()
	}
	err := start()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(was), 0, 0, 0)
	return err
}
