package supervise

import (
	"os"
	"os/signal"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rssUnit is what [unix.Rusage] counts memory in.
const rssUnit = 1024

// waiter tells when children have exited. It takes neither a thread nor a
// descriptor per child: a program of Go's that the system refuses a thread aborts.
type waiter struct{ wake chan os.Signal }

func newWaiter() *waiter {
	w := &waiter{make(chan os.Signal, 1)}
	signal.Notify(w.wake, unix.SIGCHLD)
	return w
}

// started announces a child.
func (w *waiter) started(int) {}

// next returns a child that has exited and is not collected, 0 if there is none.
// Collect it, or it is returned again.
func (w *waiter) next() int {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
		if err == nil {
			return siginfoPID(&info)
		}
		if err != unix.EINTR {
			return 0 // no children
		}
	}
}

// siginfoPID returns si_pid, which is behind three ints, aligned as a pointer.
func siginfoPID(info *unix.Siginfo) int {
	const align = unsafe.Sizeof(uintptr(0)) - 1
	const at = (unsafe.Sizeof([3]int32{}) + align) &^ align
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(info), at)))
}
