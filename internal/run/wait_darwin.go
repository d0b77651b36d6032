package run

import (
	"time"

	"golang.org/x/sys/unix"
)

// awaitExit returns when the child pid has exited, without collecting its status.
// (waitid will not do here: on macOS it also returns when the child is stopped.)
func awaitExit(pid int) {
	for !watch(pid) {
		time.Sleep(100 * time.Millisecond) // out of descriptors or memory
	}
}

// watch waits for the exit of pid; it reports false if it cannot.
func watch(pid int) bool {
	queue, err := unix.Kqueue()
	if err != nil {
		return false
	}
	defer unix.Close(queue)
	exit := []unix.Kevent_t{{Fflags: unix.NOTE_EXIT}}
	unix.SetKevent(&exit[0], pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	got := make([]unix.Kevent_t, 1)
	n, err := unix.Kevent(queue, exit, got, nil)
	for err == unix.EINTR {
		n, err = unix.Kevent(queue, nil, got, nil)
	}
	if n == 1 && got[0].Flags&unix.EV_ERROR != 0 {
		err = unix.Errno(got[0].Data)
	}
	return err == nil || err == unix.ESRCH // no such process: it has exited already
}
