//go:build !linux

package supervise

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// rssUnit is what [unix.Rusage] counts memory in.
const rssUnit = 1

// waiter tells when children have exited. (waitid would not do here: on macOS it
// also returns when the child is stopped.)
type waiter struct {
	wake chan os.Signal
	mu   sync.Mutex
	pids []int // that have exited
}

func newWaiter() *waiter { return &waiter{wake: make(chan os.Signal, 1)} }

// started announces a child.
func (w *waiter) started(pid int) {
	go func() {
		for !awaitExit(pid) {
			time.Sleep(100 * time.Millisecond) // out of descriptors or memory
		}
		w.mu.Lock()
		w.pids = append(w.pids, pid)
		w.mu.Unlock()
		select {
		case w.wake <- unix.SIGCHLD:
		default:
		}
	}()
}

// next returns a child that has exited and is not collected, 0 if there is none.
func (w *waiter) next() (pid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pids) > 0 {
		pid, w.pids = w.pids[0], w.pids[1:]
	}
	return pid
}

// awaitExit waits for the exit of pid; it reports false if it cannot.
func awaitExit(pid int) bool {
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
