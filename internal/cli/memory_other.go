//go:build !linux

package cli

import "golang.org/x/sys/unix"

// computerMemory returns how much memory the computer has, in bytes. 0: unknown.
func computerMemory() int64 {
	bytes, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(bytes)
}
