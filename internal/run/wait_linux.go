package run

import (
	"os"

	"golang.org/x/sys/unix"
)

// awaitExit returns when the child pid has exited, without collecting its status.
func awaitExit(pid int) {
	if !pollExit(pid) {
		blockForExit(pid)
	}
}

// pollExit waits through a pidfd in the runtime's poller, as for a socket, which
// takes no thread. Threads count against a container's limit of processes, and a
// Go program that is refused one aborts, leaving all that it has started behind.
// It reports false if it cannot wait: before Linux 5.10, in some sandboxes, or
// without a descriptor left.
func pollExit(pid int) bool {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	return conn.Read(func(uintptr) bool { return hasExited(pid) }) == nil
}

func hasExited(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err == nil && info.Signo != 0 || err == unix.ECHILD
}

// blockForExit keeps a thread waiting.
func blockForExit(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}
