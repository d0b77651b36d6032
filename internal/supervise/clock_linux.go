package supervise

import (
	"bytes"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Now is the time since the computer was started, in nanoseconds, sleep included.
// Nobody sets this clock, and all processes read the same: what one wrote before it
// died makes sense to the next, unless [BootID] has changed.
func Now() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) // fails for no clock that exists
	return t.Nano()
}

// BootID is a name for the time from one start of the computer to the next; "" if
// the system has none.
func BootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(bytes.TrimSpace(b))
}

// birthSlack is how far [stat.born] may be from what Now was: the system counts in
// hundredths of a second and rounds down.
const birthSlack = 10 * time.Millisecond
