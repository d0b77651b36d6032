package supervise

import (
	"os"

	"golang.org/x/sys/unix"
)

// Datasync brings to the disk what is in a file, but not when it was written, which
// nobody needs.
func Datasync(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return err
		}
	}
}
