package supervise

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// kin are the descendants of tasks that have lost their parent. The supervisor is a
// child subreaper: the system makes it their parent, wherever in the tree, in
// whatever group or session they were.
type kin struct {
	self    int
	list    *os.File         // of the children of this process's first thread; nil: it is no reaper
	orphans map[int]*process // children that it has not started: whose they are; nil: unknown
	text    []byte
	pids    []int
}

// Whose an orphan is, besides attempts that have not been reported.
var (
	// bygone stands for an attempt that had been reported when its orphan was found.
	bygone = &process{collected: true}
	// foreign is who has an orphan that this process may not signal.
	foreign = &process{}
)

// adopt makes this process the parent of its tasks' orphans.
func (k *kin) adopt() {
	k.self, k.orphans = os.Getpid(), map[int]*process{}
	f, err := os.Open(fmt.Sprintf("/proc/%d/task/%d/children", k.self, k.self))
	if err == nil {
		if err = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err == nil {
			k.list = f
		} else {
			f.Close()
		}
	}
}

// reaper reports whether orphans are found.
func (k *kin) reaper() bool { return k.list != nil }

// adopted returns the children of this process's first thread, which are all that
// it has adopted, and some that it has started; valid until the next call.
func (k *kin) adopted() []int {
	k.text, k.pids = k.text[:0], k.pids[:0]
	var part [4096]byte
	for {
		n, err := k.list.ReadAt(part[:], int64(len(k.text)))
		k.text = append(k.text, part[:n]...)
		if err != nil || n == 0 {
			break
		}
	}
	pid := 0
	for _, c := range k.text {
		if c >= '0' && c <= '9' {
			pid = 10*pid + int(c-'0')
		} else if pid > 0 {
			k.pids, pid = append(k.pids, pid), 0
		}
	}
	return k.pids
}

// look kills orphans whose attempt has ended, with all their descendants. When
// nothing runs, that is all of them.
func (s *supervisor) look() {
	k := &s.kin
	if !k.reaper() {
		return
	}
	for _, pid := range k.adopted() {
		if s.pids[pid] != nil {
			continue
		}
		of := k.orphans[pid]
		if of == nil {
			st, ok := readStat(pid)
			if !ok || st.state == 'Z' {
				continue // bury will see to it
			}
			of = s.owner(st)
			k.orphans[pid] = of
		}
		if of == foreign || len(s.pids) > 0 && (of == nil || !of.collected) {
			continue
		}
		for _, r := range below(relative{pid, k.self}, 0) {
			if r.signal(unix.SIGKILL) == unix.EPERM && r.pid == pid {
				k.orphans[pid] = foreign
				s.outOfReach(fmt.Sprintf("process %d, which a task has left behind, runs on: it has other rights", pid))
			}
		}
	}
}

// bury collects an orphan that has ended.
func (s *supervisor) bury(pid int) {
	of, known := s.kin.orphans[pid]
	if st, ok := readStat(pid); ok && !known {
		of = s.ofGroup(st.group)
	}
	var usage unix.Rusage
	_, _ = unix.Wait4(pid, nil, unix.WNOHANG, &usage) // it has been seen to have exited
	delete(s.kin.orphans, pid)
	if of != nil {
		of.exit.used(&usage)
	}
}

// owner finds out whose orphan a child of this process is.
func (s *supervisor) owner(st stat) *process {
	if p := s.ofGroup(st.group); p != nil {
		return p
	}
	k, ok := markOf(st.pid, s.cfg.Run)
	if !ok { // it has been overwritten or cleared, as by env -i
		return nil
	}
	if p := s.procs[k]; p != nil {
		return p
	}
	return bygone
}

func (s *supervisor) ofGroup(group int) *process {
	if p := s.pids[group]; p != nil {
		return p
	}
	for _, p := range s.ending {
		if p.pid == group {
			return p
		}
	}
	return nil
}

// left reports whether an orphan of p is left, or with nil, of anybody.
func (s *supervisor) left(p *process) bool {
	for _, of := range s.kin.orphans {
		if of != foreign && (p == nil || of == p) {
			return true
		}
	}
	return false
}

// strays returns the descendants of p which are not in its group, and with p nil,
// the orphans that may be of any attempt, with their descendants.
func (s *supervisor) strays(p *process) (out []relative) {
	k := &s.kin
	group := 0
	if p != nil {
		group = p.pid
		out = below(relative{p.pid, k.self}, group)
	}
	for pid, of := range k.orphans {
		if of == p {
			out = append(out, below(relative{pid, k.self}, group)...)
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
// process.
func (r relative) signal(sig syscall.Signal) error {
	s, ok := readStat(r.pid)
	if !ok || s.parent != r.parent && s.parent != os.Getpid() {
		return nil
	}
	return s.kill(sig)
}

// children returns the children of all threads of a process, as far as it can.
func children(pid int) (out []int) {
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid)) // none: it has ended
	for _, t := range threads {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
		for _, f := range strings.Fields(string(b)) {
			if n, err := strconv.Atoi(f); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}
