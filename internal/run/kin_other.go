//go:build !linux

package run

import (
	"syscall"

	"github.com/fairlead-project/fairlead/sched"
)

// kin would be the descendants of tasks which have left their group: this system
// does not tell.
type kin struct{ next sched.Time }

type relative struct{}

func (relative) signal(syscall.Signal) error { return nil }

func (d *driver) adopt()                     { d.kin.next, d.out.OutOfReach = sched.Never, true }
func (d *driver) disown()                    {}
func (d *driver) look()                      {}
func (d *driver) orphans() []int             { return nil }
func (d *driver) strays(*process) []relative { return nil }
func (d *driver) unowned() []relative        { return nil }
