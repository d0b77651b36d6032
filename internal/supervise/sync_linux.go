package supervise

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncFile syncs what is in a file but not when it was written, which nobody needs.
type syncFile struct{ *os.File }

func (f syncFile) Sync() error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return err
		}
	}
}
