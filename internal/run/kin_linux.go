package run

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/fairlead-project/fairlead/sched"
)

// kin are the descendants of tasks that have lost their parent. The driver is a
// child subreaper: the system makes it their parent, wherever in the tree, in
// whatever group or session they were.
type kin struct {
	reaper  bool // this process is a child subreaper for the run
	before  bool // and was one before
	alone   bool // it had no children before the run
	self    int
	group   int
	orphans map[int]*process // children that it has not started: whose they are; nil: unknown
	next    sched.Time       // when to look again
}

// Whose an orphan is, besides attempts that run.
var (
	// past stands for an attempt that had ended when its orphan was found.
	past = &process{collected: true}
	// foreign is who has an orphan that this process may not signal.
	foreign = &process{}
)

// adopt makes the driver the parent of its tasks' orphans until the run is over.
func (d *driver) adopt() {
	k := &d.kin
	*k = kin{self: os.Getpid(), group: unix.Getpgrp(), orphans: map[int]*process{}, next: sched.Never}
	k.alone = len(children(k.self)) == 0
	var before int32
	_, _, errno := unix.Syscall(unix.SYS_PRCTL, unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&before)), 0)
	k.before = errno == 0 && before != 0
	_, err := adopted(k.self)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	}
	if k.reaper = err == nil; k.reaper {
		k.next = lookEvery
	}
	d.out.OutOfReach = !k.reaper
}

// disown undoes adopt.
func (d *driver) disown() {
	if d.kin.reaper && !d.kin.before {
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) // as allowed as setting it
	}
}

// look collects orphans that have ended and kills those whose attempt has, with all
// their descendants. After the last task, that is all of them.
func (d *driver) look() {
	k := &d.kin
	if !k.reaper {
		return
	}
	k.next = d.now() + lookEvery
	for d.lookOnce() { // what was buried may have left children of its own, now ours
	}
}

// lookOnce is look for the orphans that there are now; it reports whether one of
// them was collected.
func (d *driver) lookOnce() (buried bool) {
	k := &d.kin
	pids, _ := adopted(k.self)
	for _, pid := range pids {
		if d.leaders[pid] {
			continue
		}
		s, ok := readStat(pid)
		if !ok {
			continue // somebody else's, and gone
		}
		of := k.orphans[pid]
		if of == nil {
			if of, ok = d.owner(pid, s); !ok {
				continue
			}
			k.orphans[pid] = of
		}
		switch {
		case s.state == 'Z':
			buried = d.bury(pid) || buried
		case of != foreign && (d.over && len(d.running) == 0 || of != nil && of.collected):
			k.next = d.now() + lookSoon
			for _, r := range below(relative{pid, k.self}, 0) {
				if r.signal(unix.SIGKILL) == unix.EPERM && r.pid == pid {
					k.orphans[pid] = foreign
					d.out.OutOfReach = true
					d.out.Notes = append(d.out.Notes, fmt.Sprintf("process %d, which a task has left behind, runs on: it has other rights", pid))
				}
			}
		}
	}
	return buried
}

// bury collects an orphan that has ended.
func (d *driver) bury(pid int) bool {
	var usage unix.Rusage
	got, err := unix.Wait4(pid, nil, unix.WNOHANG, &usage)
	if got != pid && err != unix.ECHILD {
		return false
	}
	delete(d.kin.orphans, pid)
	d.out.TaskCPU += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	return got == pid
}

// orphans returns the orphans that have to end before the run can.
func (d *driver) orphans() (pids []int) {
	for pid, of := range d.kin.orphans {
		if of != foreign {
			pids = append(pids, pid)
		}
	}
	return pids
}

// owner finds out whose orphan a child of this process is. It reports false for
// what may be no orphan at all but started by other parts of this program.
func (d *driver) owner(pid int, s stat) (*process, bool) {
	for _, p := range d.running {
		if s.group == p.pid {
			return p, true
		}
	}
	environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // empty for a zombie
	_, mark, found := bytes.Cut(environ, []byte(d.id+"."))
	if !found { // it has been overwritten or cleared, as by env -i
		return nil, d.kin.alone && s.group != d.kin.group
	}
	var task sched.TaskID
	var attempt int32
	if n, _ := fmt.Sscanf(string(mark[:min(len(mark), 64)]), "%d.%d", &task, &attempt); n == 2 {
		for _, p := range d.running {
			if p.task == task && p.attempt == attempt {
				return p, true
			}
		}
	}
	return past, true
}

// strays returns the descendants of p which are not in its group.
func (d *driver) strays(p *process) []relative {
	k := &d.kin
	out := below(relative{p.pid, k.self}, p.pid)
	for pid, of := range k.orphans {
		if of == p {
			out = append(out, below(relative{pid, k.self}, p.pid)...)
		}
	}
	return out
}

// unowned returns the orphans that may be of any attempt, with their descendants.
func (d *driver) unowned() (out []relative) {
	for pid, of := range d.kin.orphans {
		if of == nil {
			out = append(out, below(relative{pid, d.kin.self}, 0)...)
		}
	}
	return out
}

// relative is a descendant of a task.
type relative struct{ pid, parent int }

// below returns root and its descendants, parents first, without those in a group.
func below(root relative, group int) (out []relative) {
	all := []relative{root}
	for i := 0; i < len(all); i++ {
		pid := all[i].pid
		for _, child := range children(pid) {
			all = append(all, relative{child, pid})
		}
		if s, ok := readStat(pid); ok && s.group != group {
			out = append(out, all[i])
		}
	}
	return out
}

// signal sends sig to r. Its number may have passed to a stranger since it was
// found: it counts only as long as its parent is still the same, or is now this
// process. The descriptor makes sure that what was looked at gets the signal.
func (r relative) signal(sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(r.pid, 0)
	if err == nil {
		defer unix.Close(fd)
	}
	if s, ok := readStat(r.pid); !ok || s.parent != r.parent && s.parent != os.Getpid() {
		return nil
	}
	if err == nil {
		return unix.PidfdSendSignal(fd, sig, nil, 0)
	}
	return unix.Kill(r.pid, sig) // before Linux 5.3: a stranger would have microseconds
}

// stat is what the system says about a process.
type stat struct {
	state         byte
	parent, group int
}

func readStat(pid int) (s stat, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return s, false
	}
	text := string(b[bytes.LastIndexByte(b, ')')+1:]) // after the command, which may contain anything
	n, _ := fmt.Sscanf(text, " %c %d %d", &s.state, &s.parent, &s.group)
	return s, n == 3
}

// adopted returns the children of this process's first thread, which are all that
// it has adopted, and some that it has started.
func adopted(self int) ([]int, error) { return childrenOf(self, strconv.Itoa(self)) }

// children returns the children of all threads of a process, as far as it can.
func children(pid int) (out []int) {
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid)) // none: it has ended
	for _, t := range threads {
		c, _ := childrenOf(pid, t.Name())
		out = append(out, c...)
	}
	return out
}

func childrenOf(pid int, thread string) (out []int, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, thread))
	for _, f := range strings.Fields(string(b)) {
		if n, err := strconv.Atoi(f); err == nil {
			out = append(out, n)
		}
	}
	return out, err
}
