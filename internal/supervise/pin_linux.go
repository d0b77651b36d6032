package supervise

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// pins are the processors that the machines' processes are bound to.
type pins struct {
	own  unix.CPUSet    // of this process
	sets []*unix.CPUSet // per machine; nil: not bound
	note func(m int, why error)
}

// newPins finds out, by trying, which machines' processors the system allows, and
// notes those that it does not.
func newPins(cpus [][]int, note func(m int, why error)) pins {
	p := pins{sets: make([]*unix.CPUSet, len(cpus)), note: note}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	none := unix.SchedGetaffinity(0, &p.own)
	for m, cpus := range cpus {
		if len(cpus) == 0 {
			continue
		}
		err := none
		if err == nil {
			err = p.try(cpus)
		}
		if err != nil {
			note(m, err)
			continue
		}
		p.sets[m] = new(unix.CPUSet)
		for _, cpu := range cpus {
			p.sets[m].Set(cpu)
		}
	}
	return p
}

// try binds this thread to cpus and back again. The system silently leaves out
// those that it has not or does not allow, if any are left.
func (p *pins) try(cpus []int) error {
	var set, got unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	} else if err == nil {
		err = unix.SchedGetaffinity(0, &got)
		p.restore()
		if err != nil {
			return err
		}
	}
	for _, cpu := range cpus {
		if !got.IsSet(cpu) {
			return fmt.Errorf("CPU %d does not exist or may not be used", cpu)
		}
	}
	return nil
}

// restore gives this thread its processors back. It can fail only if the system
// has taken all of them away meanwhile, and then it has chosen others already.
func (p *pins) restore() { _ = unix.SchedSetaffinity(0, &p.own) }

// on calls fork, which starts a process for machine m, on a thread that is bound
// to m's processors, which the process inherits. The thread is locked meanwhile,
// so that the runtime neither puts other work on it nor makes threads from it.
func (p *pins) on(m int32, fork func() error) error {
	if int(m) >= len(p.sets) || p.sets[m] == nil {
		return fork()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.SchedSetaffinity(0, p.sets[m]); err != nil {
		p.sets[m] = nil
		p.note(int(m), err)
		return fork()
	}
	defer p.restore()
	return fork()
}
