package report

import "github.com/fairlead-project/fairlead/sched"

// tick is a mark on the time axis.
type tick struct {
	at    sched.Time
	label string
}

// ticks marks the axis from 0 to end at the smallest sensible step that leaves at
// most n marks after 0.
func ticks(end sched.Time, n int) []tick {
	step := stepOf(end / sched.Time(n))
	var out []tick
	for at := sched.Time(0); at <= end; at += step {
		out = append(out, tick{at, tickLabel(at)})
	}
	return out
}

// stepOf returns the first of the steps 1, 2, 5 × 10^k ns up to 1 s, then those that
// clocks and calendars have, then 1, 2, 5 × 10^k days that exceeds least.
func stepOf(least sched.Time) sched.Time {
	const minute, hour, day = 60 * sched.Second, 3600 * sched.Second, 86400 * sched.Second
	for unit := sched.Time(1); unit < sched.Second; unit *= 10 {
		for _, k := range []sched.Time{1, 2, 5} {
			if k*unit > least {
				return k * unit
			}
		}
	}
	for _, unit := range []sched.Time{sched.Second, minute} {
		for _, k := range []sched.Time{1, 2, 5, 10, 15, 30} {
			if k*unit > least {
				return k * unit
			}
		}
	}
	for _, k := range []sched.Time{1, 2, 3, 6, 12} {
		if k*hour > least {
			return k * hour
		}
	}
	for unit := sched.Time(day); ; unit *= 10 {
		for _, k := range []sched.Time{1, 2, 5} {
			if k*unit > least {
				return k * unit
			}
		}
	}
}

// tickLabel prints a multiple of a step, exactly.
func tickLabel(t sched.Time) string {
	switch {
	case t == 0:
		return "0"
	case t%sched.Second == 0:
		return clock(t)
	}
	for _, u := range units {
		if t >= u.size {
			return decimal(t*(sched.Second/u.size)) + " " + u.name
		}
	}
	return decimal(t) + " s"
}
