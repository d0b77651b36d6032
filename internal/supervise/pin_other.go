//go:build !linux

package supervise

import "errors"

// pins would bind processes to processors, which this system cannot.
type pins struct{}

func newPins(cpus [][]int, note func(m int, why error)) (p pins) {
	for m := range cpus {
		if len(cpus[m]) > 0 {
			note(m, errors.New("this system cannot do that"))
		}
	}
	return p
}

func (pins) on(_ int32, fork func() error) error { return fork() }
