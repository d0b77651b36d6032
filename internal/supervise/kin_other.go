//go:build !linux

package supervise

import "syscall"

// kin would be the descendants of tasks which have left their group: this system
// does not tell.
type kin struct{}

type relative struct{}

func (relative) signal(syscall.Signal) error { return nil }

func (*kin) adopt()       {}
func (*kin) reaper() bool { return false }

func (s *supervisor) look()                      {}
func (s *supervisor) bury(int)                   {}
func (s *supervisor) left(*process) bool         { return false }
func (s *supervisor) strays(*process) []relative { return nil }
