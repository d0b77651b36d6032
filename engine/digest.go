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

func (d *digest) event(now sched.Time, ev Event) {
	d.mix(uint64(now))
	d.mix(uint64(ev.Kind)<<56 ^ uint64(uint32(ev.Job))<<32 ^ uint64(uint32(ev.Task)))
	d.mix(uint64(uint32(ev.Flow))<<32 ^ uint64(uint32(ev.Machine)) ^ uint64(uint32(ev.Attempt))<<40)
	if s := ev.Solution; s != nil {
		d.mix(uint64(s.ID))
		d.mix(math.Float64bits(s.Lower))
		d.mix(math.Float64bits(s.Upper))
		d.mix(uint64(len(s.Note)))
		for _, b := range []byte(s.Note) {
			d.mix(uint64(b))
		}
		if s.Fallback {
			d.mix(1)
		}
		d.mix(uint64(len(s.Order)))
		for _, id := range s.Order {
			d.mix(uint64(id))
		}
		for _, q := range s.Queues {
			d.mix(uint64(len(q)))
			for _, t := range q {
				d.mix(uint64(t))
			}
		}
	}
}

func (d *digest) action(a *Action) {
	d.mix(uint64(a.Kind)<<56 ^ uint64(uint32(a.Task))<<24 ^ uint64(uint32(a.Attempt)))
	d.mix(uint64(uint32(a.Machine))<<32 ^ uint64(uint32(a.Slot)))
	d.mix(uint64(uint32(a.Flow))<<32 ^ uint64(uint32(a.Group)))
	d.mix(math.Float64bits(a.Value))
	d.mix(uint64(a.At))
	if a.Request != nil {
		d.mix(uint64(a.Request.ID))
	}
}
