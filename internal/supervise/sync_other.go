//go:build !linux

package supervise

import "os"

type syncFile struct{ *os.File }
