//go:build !linux

package run

import "github.com/fairlead-project/fairlead/sched"

// pins would bind processes to processors, which this system cannot.
type pins struct{ notes []string }

func newPins(machines []sched.Machine) (p pins) {
	for m := range machines {
		if len(machines[m].CPUs) > 0 {
			p.notes = append(p.notes, "tasks of machine "+machines[m].Name+" are not bound to its CPUs: this system cannot do that")
		}
	}
	return p
}

func (pins) on(_ sched.MachineID, fork func() error) error { return fork() }
