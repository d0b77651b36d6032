package supervise

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// limits is the control group of a run, below which each attempt has its own. It
// enforces what they may use of memory.
type limits struct {
	hierarchy
	dir string
}

// newLimits makes the group of a run, with a limit for all of it unless memory is
// 0. root is where the file system begins, for tests.
func newLimits(root, run string, memory int64, driver int) (*limits, error) {
	h, err := findHierarchy(root)
	if err != nil {
		return nil, err
	}
	if h.v2 {
		if err := h.delegate(os.Getpid(), driver); err != nil {
			return nil, err
		}
	}
	l := &limits{h, filepath.Join(h.own, "fairlead-"+run)}
	if err := os.Mkdir(l.dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("cannot make a control group: %w", err)
	}
	if h.v2 {
		err = write(l.dir, "cgroup.subtree_control", "+memory")
	} else {
		_ = write(l.dir, "memory.use_hierarchy", "1") // it always is, or cannot be changed, since Linux 5.11
	}
	if err == nil && memory > 0 {
		err = h.limit(l.dir, memory)
	}
	if err != nil {
		_ = os.Remove(l.dir) // it is empty
		return nil, err
	}
	return l, nil
}

// limit sets what a group may use. Swap would be a way around, where it is counted.
func (h hierarchy) limit(dir string, memory int64) error {
	n := strconv.FormatInt(memory, 10)
	if h.v2 {
		_ = write(dir, "memory.swap.max", "0")
		return write(dir, "memory.max", n)
	}
	err := write(dir, "memory.limit_in_bytes", n)
	_ = write(dir, "memory.memsw.limit_in_bytes", n)
	return err
}

// group is the control group of one attempt.
type group struct {
	hierarchy
	dir string
}

// attempt makes the group of one attempt; memory 0: only the run's limit counts.
func (l *limits) attempt(k Key, memory int64) (*group, error) {
	g := &group{l.hierarchy, filepath.Join(l.dir, fmt.Sprintf("%d.%d.%d", k.Task, k.Attempt, k.Nonce))}
	err := os.Mkdir(g.dir, 0o755)
	if err != nil {
		return nil, fmt.Errorf("cannot make a control group for it: %w", err)
	}
	if memory > 0 {
		err = l.limit(g.dir, memory)
	}
	if l.v2 {
		_ = write(g.dir, "memory.oom.group", "1") // since Linux 4.19: half a task is of no use
	}
	if err != nil {
		_ = os.Remove(g.dir)
		return nil, err
	}
	return g, nil
}

// fork calls start, which starts the process that attr describes, in the group.
func (g *group) fork(attr *syscall.ProcAttr, start func() error) error {
	if g == nil {
		return start()
	}
	if g.v2 {
		fd, err := unix.Open(g.dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, fd
		return start()
	}
	// Version 1 knows threads: a process begins in the group of the one it is made by.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	self := strconv.Itoa(unix.Gettid())
	if err := write(g.dir, "tasks", self); err != nil {
		return err
	}
	err := start()
	return errors.Join(err, write(g.own, "tasks", self))
}

// kill kills all in the group and reports whether it is empty.
func (g *group) kill() bool {
	if g == nil {
		return true
	}
	procs, err := processes(g.dir)
	if err != nil || len(procs) == 0 {
		return true
	}
	if g.v2 && write(g.dir, "cgroup.kill", "1") == nil { // since Linux 5.14
		return false
	}
	for _, pid := range procs {
		if s, ok := readStat(pid); ok {
			if now, err := processes(g.dir); err == nil && slices.Contains(now, pid) {
				_ = s.kill(unix.SIGKILL) // what is left will be seen
			}
		}
	}
	return false
}

// read adds to an exit what the group knows about it.
func (g *group) read(x *Exit) {
	if g == nil {
		return
	}
	files := [...]string{"memory.oom_control", "memory.max_usage_in_bytes", "total_cache", "total_shmem"}
	if g.v2 {
		files = [...]string{"memory.events", "memory.peak", "file", "shmem"}
	}
	x.OutOfMemory = keyed(g.dir, files[0], "oom_kill") > 0
	// The peak counts cached files, which the system takes back when it needs to:
	// what is left of these at the end was not in use.
	b, _ := os.ReadFile(filepath.Join(g.dir, files[1])) // version 2 has it since Linux 5.19
	peak, _ := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	x.MaxRSS = max(x.MaxRSS, peak-keyed(g.dir, "memory.stat", files[2])+keyed(g.dir, "memory.stat", files[3]))
}

// remove removes the group, which is empty.
func (g *group) remove() {
	if g != nil {
		removeGroup(g.dir)
	}
}

// remove removes the run's group.
func (l *limits) remove() {
	if l != nil {
		removeGroup(l.dir)
	}
}

// removeGroup waits a moment for what has just ended to be gone.
func removeGroup(dir string) {
	for range 20 {
		if err := os.Remove(dir); !errors.Is(err, unix.EBUSY) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// inGroups returns the processes in a run's group and those of its attempts.
func inGroups(dir string) map[int]bool {
	in := map[int]bool{}
	if dir == "" {
		return in
	}
	groups := []string{dir}
	entries, _ := os.ReadDir(dir) // none: it is gone
	for _, e := range entries {
		if e.IsDir() && strings.Count(e.Name(), ".") == 2 {
			groups = append(groups, filepath.Join(dir, e.Name()))
		}
	}
	for _, group := range groups {
		procs, _ := processes(group)
		for _, pid := range procs {
			in[pid] = true
		}
	}
	return in
}

// removeGroups removes a predecessor's group and those below it, which are empty.
func removeGroups(dir string) {
	if dir == "" {
		return
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			removeGroup(filepath.Join(dir, e.Name()))
		}
	}
	removeGroup(dir)
}
