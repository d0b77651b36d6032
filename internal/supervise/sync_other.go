//go:build !linux

package supervise

import "os"

// Datasync brings a file to the disk.
func Datasync(f *os.File) error { return f.Sync() }
