package supervise

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// hierarchy is a tree of control groups with the memory controller.
type hierarchy struct {
	own string // the group that this process is in
	v2  bool
}

// mainGroup is where the driver and the supervisor are moved to below a group of
// their own: version 2 allows no processes in a group whose children have limits.
const mainGroup = "fairlead-main"

// findHierarchy finds the memory controller: of version 1, or else of version 2.
func findHierarchy(root string) (h hierarchy, err error) {
	groups, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return h, fmt.Errorf("this system has no control groups: %w", err)
	}
	mounts, err := os.ReadFile(filepath.Join(root, "proc/self/mountinfo"))
	if err != nil {
		return h, err
	}
	var unified string
	for _, line := range strings.Split(string(groups), "\n") {
		id, rest, _ := strings.Cut(line, ":")
		controllers, path, ok := strings.Cut(rest, ":")
		if !ok {
			continue
		}
		if slices.Contains(strings.Split(controllers, ","), "memory") {
			h.own, err = mounted(string(mounts), "cgroup", "memory", path)
			h.own = filepath.Join(root, h.own)
			return h, err
		}
		if id == "0" && controllers == "" {
			unified = path
		}
	}
	if unified == "" {
		return h, errors.New("the system has no memory controller")
	}
	own, err := mounted(string(mounts), "cgroup2", "", unified)
	h = hierarchy{filepath.Join(root, own), true}
	if err == nil && !lists(h.own, "cgroup.controllers", "memory") {
		err = fmt.Errorf("the control group %s has no memory controller", h.own)
	}
	return h, err
}

// mounted returns where a control group's directory is.
func mounted(mounts, kind, option, path string) (string, error) {
	for _, line := range strings.Split(mounts, "\n") {
		before, after, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 5 || len(g) < 3 || g[0] != kind || option != "" && !slices.Contains(strings.Split(g[2], ","), option) {
			continue
		}
		root, point := f[3], f[4]
		if rel, err := filepath.Rel(root, path); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			return filepath.Join(point, rel), nil
		}
	}
	return "", fmt.Errorf("the control group %s is not mounted", path)
}

// delegate lets children of a group of version 2 have limits, which its own
// processes, if they are no others than these, must leave for that.
func (h *hierarchy) delegate(pids ...int) error {
	if up := filepath.Dir(h.own); filepath.Base(h.own) == mainGroup && lists(up, "cgroup.subtree_control", "memory") {
		h.own = up // a predecessor has done it
	}
	if lists(h.own, "cgroup.subtree_control", "memory") {
		return nil
	}
	procs, err := processes(h.own)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(h.own, "cgroup.type")); err == nil && len(procs) > 0 { // the root has no type, and is exempt
		for _, pid := range procs {
			if !slices.Contains(pids, pid) {
				return fmt.Errorf("the control group %s has other processes in it: start the run in one of its own, as by systemd-run --user --scope -p Delegate=yes", h.own)
			}
		}
		leaf := filepath.Join(h.own, mainGroup)
		if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("cannot make a control group: %w", err)
		}
		for _, pid := range procs {
			if err := write(leaf, "cgroup.procs", strconv.Itoa(pid)); err != nil {
				return err
			}
		}
	}
	return write(h.own, "cgroup.subtree_control", "+memory")
}

// processes returns those in a group.
func processes(dir string) (pids []int, err error) {
	f, err := os.Open(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if pid, err := strconv.Atoi(lines.Text()); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids, lines.Err()
}

// lists reports whether a file of words has one.
func lists(dir, name, word string) bool {
	b, _ := os.ReadFile(filepath.Join(dir, name))
	return slices.Contains(strings.Fields(string(b)), word)
}

// keyed returns the value of a key in a file with one per line; 0: it has none.
func keyed(dir, name, key string) int64 {
	b, _ := os.ReadFile(filepath.Join(dir, name))
	for _, line := range strings.Split(string(b), "\n") {
		if k, v, _ := strings.Cut(line, " "); k == key {
			n, _ := strconv.ParseInt(v, 10, 64)
			return n
		}
	}
	return 0
}

// write writes to a file that there must be.
func write(dir, name, text string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
