package supervise

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// orphans finds the processes that a supervisor has left behind when it died.
type orphans struct {
	run  string
	was  *past
	self int
	// denied are those that have other rights.
	denied map[int]bool
}

// endOrphans kills what is left of a predecessor's attempts, as their output is
// void, and returns when it is gone, or notes what is not.
func endOrphans(run string, was *past, outOfReach func(string)) {
	if was.fresh || was.last.Boot != BootID() {
		return // of another life of the computer nothing is left
	}
	o := orphans{run: run, was: was, self: os.Getpid(), denied: map[int]bool{}}
	for end := time.Now().Add(killWait); ; time.Sleep(5 * time.Millisecond) {
		left := o.find(allProcesses())
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			outOfReach(fmt.Sprintf("%d processes of the supervisor that died do not end even when killed; the first has the id %d: see what it waits for with ps -o stat,wchan", len(left), left[0].pid))
			return
		}
		for _, s := range left {
			if err := s.kill(unix.SIGKILL); errors.Is(err, unix.EPERM) {
				o.denied[s.pid] = true
				outOfReach(fmt.Sprintf("process %d of the supervisor that died runs on: it has other rights", s.pid))
			}
		}
	}
}

// find returns those of all that are ours: what was started and not seen to end,
// what is in its group, or in the run's control group, what has the mark of an attempt, and all that descends from
// any of these. Numbers of processes are used again, so none of it counts unless
// it was born when it must have been.
func (o *orphans) find(all []stat) (ours []stat) {
	started := map[int]*started{}
	for i := range o.was.open {
		if r := &o.was.open[i]; r.PID != 0 {
			started[r.PID] = r
		}
	}
	at := map[int]int{} // where in all
	for i := range all {
		at[all[i].pid] = i
	}
	grouped := inGroups(o.was.last.Group)
	mine := make([]bool, len(all))
	for i, s := range all {
		if s.pid == o.self {
			continue
		}
		if r := started[s.group]; r != nil {
			mine[i] = o.inGroup(s, r, all, at)
		}
		mine[i] = mine[i] || grouped[s.pid]
		if !mine[i] {
			_, mine[i] = markOf(s.pid, o.run)
		}
	}
	for changed := true; changed; {
		changed = false
		for i, s := range all {
			if p, ok := at[s.parent]; ok && mine[p] && !mine[i] && s.pid != o.self {
				mine[i], changed = true, true
			}
		}
	}
	for i, s := range all {
		if mine[i] && s.state != 'Z' && s.state != 'X' && !o.denied[s.pid] {
			ours = append(ours, s)
		}
	}
	return ours
}

// inGroup reports whether s, whose group has the number of r, is of r's group.
func (o *orphans) inGroup(s stat, r *started, all []stat, at map[int]int) bool {
	if leader, ok := at[r.PID]; ok {
		born := all[leader].born
		return born >= r.Born-int64(birthSlack) && born <= r.At+int64(birthSlack)
	}
	// A number is not used again while a group or a session has it: if the leader is
	// gone and not replaced, both numbers are what they were, unless two strangers
	// have got just these.
	return s.session == o.was.last.PID && s.born >= r.Born-int64(birthSlack)
}
