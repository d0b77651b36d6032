package run

import "golang.org/x/sys/unix"

// awaitExit returns when the child pid has exited, without collecting its status.
func awaitExit(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}
