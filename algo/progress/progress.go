package progress

import "github.com/fairlead-project/fairlead/sched"

// Mark is a progress, the part of the work that is done, reported at a time.
type Mark struct {
	At    sched.Time
	Value float64
}

// Estimate returns how long a task launched at the given time takes in all, by its
// first and its latest report: the launch, and the rest of the work at the rate seen
// between the two. Not ok where nothing follows from them: no progress, or no
// time, between the two, or a launch after the first.
func Estimate(launch sched.Time, first, last Mark) (total sched.Time, ok bool) {
	t, rest, ok := rate(launch, first, last)
	if !ok {
		return 0, false
	}
	return add(first.At-launch, (1-first.Value)*t/rest), true
}

// AsPrinted is Estimate in the form of the S-PC paper, which counts the work done
// before the first report twice: it exceeds Estimate by the part FP of the second
// term.
func AsPrinted(launch sched.Time, first, last Mark) (total sched.Time, ok bool) {
	t, rest, ok := rate(launch, first, last)
	if !ok {
		return 0, false
	}
	return add(first.At-launch, t/rest), true
}

// Linear is Hadoop's estimator: all of the time since the launch counts as work.
func Linear(launch sched.Time, last Mark) (total sched.Time, ok bool) {
	if !(last.Value > 0) || last.At <= launch {
		return 0, false
	}
	return add(0, (last.At-launch).Seconds()/min(last.Value, 1)), true
}

// rate returns the time between two marks, in seconds, and the progress in it.
func rate(launch sched.Time, first, last Mark) (t, progress float64, ok bool) {
	fp, cp := first.Value, min(last.Value, 1)
	if !(fp >= 0) || !(cp > fp) || last.At <= first.At || first.At < launch {
		return 0, 0, false
	}
	return (last.At - first.At).Seconds(), cp - fp, true
}

// add saturates, since a tiny progress predicts a time beyond all others.
func add(t sched.Time, seconds float64) sched.Time {
	return min(t, sched.MaxTime) + min(sched.FromSeconds(seconds), sched.MaxTime-min(t, sched.MaxTime))
}
