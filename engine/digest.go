package engine

import (
	"math"
	"math/bits"

	"github.com/fairlead-project/fairlead/sched"
)

// digest is a running 64-bit hash. It detects differences between runs, not
// tampering.
type digest uint64

// mix folds one word in: multiply by a large odd constant into 128 bits and fold
// the halves, so that every bit of both matters.
func (d *digest) mix(w uint64) {
	hi, lo := bits.Mul64(uint64(*d)^w^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	*d = digest(hi ^ lo ^ bits.RotateLeft64(w, 23))
}

func (d *digest) pair(a, b int32) { d.mix(uint64(uint32(a))<<32 | uint64(uint32(b))) }

func (d *digest) event(now sched.Time, ev Event) {
	d.mix(uint64(now))
	d.pair(int32(ev.Kind), ev.Attempt)
	d.pair(int32(ev.Job), int32(ev.Task))
	d.pair(int32(ev.Flow), int32(ev.Machine))
	if ev.Value != 0 {
		d.mix(math.Float64bits(ev.Value))
	}
	if s := ev.Solution; s != nil {
		d.mix(uint64(s.ID))
		d.mix(math.Float64bits(s.Lower))
		d.mix(math.Float64bits(s.Upper))
		d.text(s.Note)
		d.text(s.Rule)
		fallback := uint64(0)
		if s.Fallback {
			fallback = 1
		}
		d.mix(fallback)
		d.mix(uint64(len(s.Order)))
		for _, id := range s.Order {
			d.mix(uint64(id))
		}
		d.mix(uint64(len(s.Queues)))
		for _, q := range s.Queues {
			d.mix(uint64(len(q)))
			for _, t := range q {
				d.mix(uint64(t))
			}
		}
	}
}

func (d *digest) text(s string) {
	d.mix(uint64(len(s)))
	for _, b := range []byte(s) {
		d.mix(uint64(b))
	}
}

func (d *digest) action(a *Action) {
	d.pair(int32(a.Kind), a.Attempt)
	d.pair(int32(a.Task), int32(a.Flow))
	d.pair(int32(a.Machine), a.Slot)
	d.mix(uint64(uint32(a.Group)))
	d.mix(math.Float64bits(a.Value))
	d.mix(uint64(a.At))
	if a.Request != nil {
		d.mix(uint64(a.Request.ID))
	}
}
