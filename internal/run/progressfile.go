package run

import (
	"math"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/sched"
)

const (
	// pollEvery is how often the files of FAIRLEAD_PROGRESS are read.
	pollEvery = sched.Second
	// progressStep is the least growth of a task's progress that counts: a log of
	// every change would be longer than of use.
	progressStep = 0.01
	// progressBytes is how much of a file is read, at its end.
	progressBytes = 64
)

// poll takes in the progress that running tasks have reported.
func (d *driver) poll() {
	d.nextPoll = d.now() + pollEvery
	for _, a := range d.running {
		if v, ok := readProgress(a.stage.file(a, "progress")); ok && v >= a.progress+progressStep {
			a.progress = v
			d.step(d.now(), engine.Progress(a.task, a.attempt, v))
			if a.first.Value == 0 {
				a.first.At, a.first.Value = d.last, v
			}
			d.progress.changed = true
		}
	}
}

// readProgress reads the last word of a file, which must be a number in 0..1. The
// task may write what and when it wants: neither a pipe nor anything else it puts
// there holds the driver up, and what makes no sense is not there.
func readProgress(path string) (float64, bool) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, false
	}
	defer unix.Close(fd)
	var info unix.Stat_t
	if unix.Fstat(fd, &info) != nil || info.Mode&unix.S_IFMT != unix.S_IFREG {
		return 0, false
	}
	var buf [progressBytes]byte
	n, err := unix.Pread(fd, buf[:], max(0, info.Size-progressBytes))
	if err != nil {
		return 0, false
	}
	words := strings.Fields(string(buf[:n]))
	if len(words) == 0 {
		return 0, false
	}
	v, err := strconv.ParseFloat(words[len(words)-1], 64)
	return v, err == nil && v >= 0 && v <= 1 && !math.IsNaN(v)
}
