package run

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/fairlead-project/fairlead/sched"
)

const (
	// maxRunning bounds how many processes run at the same time. To wait for one
	// takes a thread where there are no pidfds, and a Go program aborts at 10,000
	// threads (on macOS at 4,096), leaving all that it has started behind. It is
	// also more than one computer has use for.
	maxRunning = 4000

	// spareFiles are descriptors for all but waiting, which takes one per process:
	// the log, the outputs of the task that is being started, the terminal.
	spareFiles = 64
)

// openFiles is how many descriptors this process may have. (The Go runtime has
// raised the soft limit to the hard one.)
func openFiles() uint64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return maxRunning + spareFiles // it will do, or else attempts fail and say why
	}
	return limit.Cur
}

// bounded reports an instance of which more tasks might run at the same time than
// this process, with so many descriptors, can surely watch. Refused before
// anything starts, they harm nobody.
func bounded(in *sched.Instance, files uint64) error {
	tasks, n := 0, 0
	for j := range in.Jobs {
		for s := range in.Jobs[j].Stages {
			tasks += in.Jobs[j].Stages[s].Count
		}
	}
	for m := range in.Machines {
		n = min(n+min(in.Machines[m].Slots, tasks), tasks) // no sum to overflow
	}
	if n > maxRunning {
		return fmt.Errorf("up to %d tasks would run at the same time, but at most %d can: give the machines fewer slots in total (`slots`, or -j)", n, maxRunning)
	}
	if uint64(n)+spareFiles > files {
		return fmt.Errorf("up to %d tasks would run at the same time, which takes %d open files, but the limit is %d: raise it (ulimit -n) or give the machines fewer slots in total (`slots`, or -j)", n, n+spareFiles, files)
	}
	return nil
}
