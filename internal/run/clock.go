package run

import (
	"time"

	"github.com/fairlead-project/fairlead/internal/supervise"
	"github.com/fairlead-project/fairlead/sched"
)

// clock is the run's: nanoseconds since it began, on the clock that supervisors
// stamp exits with. It goes on while the computer sleeps, and nobody can set it.
type clock struct{ origin int64 } // time 0 on supervise.Now

func (c clock) now() sched.Time { return c.at(supervise.Now()) }

// at converts a time of the supervisor.
func (c clock) at(t int64) sched.Time { return sched.Time(t - c.origin) }

// Began is when a run began, on three clocks.
type Began struct {
	Wall time.Time `json:"wall"`
	Boot string    `json:"boot"` // the system's name for the time between two starts of it
	At   int64     `json:"at"`   // nanoseconds since that start
}

func beginsNow() Began {
	return Began{Wall: time.Now().Round(0), Boot: supervise.BootID(), At: supervise.Now()}
}

// furthest is how far a run's clock may jump when it is resumed, about seventy
// years: whatever the wall clock was set to, times stay far from overflow.
const furthest = sched.MaxTime / 2

// resumed returns the clock of a run that began then and whose last event was at
// last. After a restart of the computer only the wall clock knows how long that
// was; it may have been set back, the run's clock never goes back.
func (b Began) resumed(last sched.Time) clock {
	now := supervise.Now()
	elapsed := sched.Time(now - b.At)
	if b.Boot == "" || b.Boot != supervise.BootID() {
		elapsed = sched.Time(time.Since(b.Wall))
	}
	elapsed = max(last+1, min(elapsed, furthest))
	return clock{now - int64(elapsed)}
}
