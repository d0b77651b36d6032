package sched

import (
	"math"
	"strconv"
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

// FromSeconds converts seconds to Time, rounding up to the next nanosecond and
// saturating at MaxTime. Negative and NaN values give 0.
func FromSeconds(s float64) Time { return Duration(s, 1) }

// Duration returns the time that work takes at the given rate, rounded up to a
// whole nanosecond: the one place where a rate becomes a time. Up to the rounding
// of one division of floats, no schedule costs less than its exact value, so lower
// bounds stay below.
// An infinite rate takes no time; a rate of zero takes MaxTime.
func Duration(work, rate float64) Time {
	ns := math.Ceil(work / rate * 1e9)
	switch {
	case !(work > 0) || math.IsInf(rate, 1):
		return 0
	case !(ns < float64(MaxTime)):
		return MaxTime
	}
	return Time(ns)
}

// FormatSeconds prints t as decimal seconds without exponent or trailing zeros.
func FormatSeconds(t Time) string { return strconv.FormatFloat(t.Seconds(), 'f', -1, 64) }
