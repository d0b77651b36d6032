//go:build !linux

package supervise

import "golang.org/x/sys/unix"

// Now is the time since the computer was started, in nanoseconds, sleep included.
// Nobody sets this clock, and all processes read the same: what one wrote before it
// died makes sense to the next, unless [BootID] has changed.
func Now() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // goes on during sleep on macOS
	return t.Nano()
}

// BootID is a name for the time from one start of the computer to the next; "" if
// the system has none.
func BootID() string {
	id, _ := unix.Sysctl("kern.bootsessionuuid")
	return id
}
