package sched

import (
	"math"
	"time"
)

// Time is a point in time, or a span, in whole nanoseconds since the run began.
// Integer time makes ties exact and replays equal on every processor.
type Time int64

const (
	// Second is one second of Time.
	Second Time = 1e9
	// Never is later than every event.
	Never Time = math.MaxInt64
	// MaxTime is the latest time an instance may reach, about 146 years; two
	// such times can be added without overflow.
	MaxTime Time = 1<<62 - 1
)

// Seconds returns t in seconds. Above 2^53 ns (104 days) the last digits are lost.
func (t Time) Seconds() float64 { return float64(t) / 1e9 }

// String formats t as a duration, "never" for Never.
func (t Time) String() string {
	if t == Never {
		return "never"
	}
	return time.Duration(t).String()
}

// FromSeconds converts seconds to Time, rounding to the nearest nanosecond and
// saturating at MaxTime. Negative and NaN values give 0.
func FromSeconds(s float64) Time {
	ns := math.Round(s * 1e9)
	switch {
	case !(ns > 0):
		return 0
	case !(ns < float64(MaxTime)):
		return MaxTime
	}
	return Time(ns)
}

// Duration returns the time that work takes at the given rate, rounded up to a
// whole nanosecond: the one place where a rate becomes a time. Up to the rounding
// of a few operations on floats, no schedule costs less than its exact value, so
// lower bounds stay below. An infinite rate takes no time; a rate of zero takes
// MaxTime.
func Duration(work, rate float64) Time {
	exact := work / rate * 1e9
	ns := math.Ceil(exact)
	switch {
	case !(work > 0) || math.IsInf(rate, 1):
		return 0
	case !(ns < float64(MaxTime)):
		return MaxTime
	}
	if down := ns - 1; exact-down <= down*durationTolerance {
		return Time(down)
	}
	return Time(ns)
}

// durationTolerance is twice what the two roundings in Duration can add: 67 ms must
// not become 67,000,001 ns because 0.067·1e9 is a float just above 67,000,000.
const durationTolerance = 1.0 / (1 << 51)
