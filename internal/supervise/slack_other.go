//go:build !linux

package supervise

// Coarse reports that there is nothing to do: the system has no such setting.
func Coarse() bool { return true }

// Coarsen calls start.
func Coarsen(start func() error) error { return start() }

func fine(start func() error) error { return start() }
