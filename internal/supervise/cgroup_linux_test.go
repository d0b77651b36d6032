package supervise

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// tree makes files; a name that ends in / is a directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const (
	mountsV2 = "30 23 0:26 / /cg rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
	mountsV1 = "24 23 0:21 / /sys rw - sysfs sysfs rw\n25 24 0:22 /docker/x /mem rw - cgroup cgroup rw,memory\n26 24 0:23 / /cpu rw - cgroup cgroup rw,cpu\n" + mountsV2
)

func TestFindHierarchy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, groups, mounts string
		want                 string
	}{
		{"version 2", "0::/user/a\n", mountsV2, "/cg/user/a true"},
		{"version 1, seen from a container", "5:memory:/docker/x/y\n4:cpu:/z\n0::/\n", mountsV1, "/mem/y false"},
		{"two controllers in one", "5:cpu,memory:/a\n", "25 24 0:22 / /both rw - cgroup cgroup rw,cpu,memory\n", "/both/a false"},
		{"outside of what is mounted", "5:memory:/docker/z\n", mountsV1, "the control group /docker/z is not mounted"},
		{"no memory", "4:cpu:/z\n", mountsV1, "the system has no memory controller"},
		{"no memory in version 2", "0::/user/b\n", mountsV2, "the control group /cg/user/b has no memory controller"},
	} {
		root := tree(t, map[string]string{
			"proc/self/cgroup": c.groups, "proc/self/mountinfo": c.mounts,
			"cg/user/a/cgroup.controllers": "cpu memory pids\n", "cg/user/b/cgroup.controllers": "cpu pids\n",
		})
		h, err := findHierarchy(root)
		got := fmt.Sprint(strings.TrimPrefix(h.own, root), " ", h.v2)
		if err != nil {
			got = strings.ReplaceAll(err.Error(), root, "")
		}
		equal(t, c.name, got, c.want)
	}
	if _, err := findHierarchy(t.TempDir()); err == nil || !strings.HasPrefix(err.Error(), "this system has no control groups: ") {
		t.Errorf("got %v", err)
	}
}

// What is written to which file of version 2. The files of a real tree come with
// the directories; here they have to be there before.
func TestVersion2(t *testing.T) {
	t.Parallel()
	const self, driver = 71, 72
	own := func(files map[string]string) string {
		all := map[string]string{
			"proc/self/cgroup": "0::/u\n", "proc/self/mountinfo": mountsV2,
			"cg/u/cgroup.controllers": "memory\n", "cg/u/cgroup.type": "domain\n", "cg/u/cgroup.subtree_control": "", "cg/u/cgroup.procs": "",
			"cg/u/fairlead-main/cgroup.procs":           "",
			"cg/u/fairlead-r/cgroup.subtree_control":    "",
			"cg/u/fairlead-r/memory.max":                "max",
			"cg/u/fairlead-r/memory.swap.max":           "max",
			"cg/u/fairlead-r/cgroup.procs":              "",
			"cg/u/fairlead-r/3.1.1003/cgroup.procs":     "",
			"cg/u/fairlead-r/3.1.1003/memory.max":       "max",
			"cg/u/fairlead-r/3.1.1003/memory.swap.max":  "max",
			"cg/u/fairlead-r/3.1.1003/memory.oom.group": "0",
		}
		for name, text := range files {
			all[name] = text
		}
		return tree(t, all)
	}
	is := func(root, name, want string) {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(root, "cg/u", name))
		if err != nil {
			t.Fatal(err)
		}
		equal(t, name, string(b), want)
	}

	root := own(map[string]string{"cg/u/cgroup.procs": fmt.Sprintf("%d\n%d\n", self, driver)})
	h, err := findHierarchy(root)
	if err == nil {
		err = h.delegate(self, driver)
	}
	if err != nil {
		t.Fatal(err)
	}
	is(root, "fairlead-main/cgroup.procs", strconv.Itoa(driver)) // a real one would now have both
	is(root, "cgroup.subtree_control", "+memory")

	root = own(map[string]string{"cg/u/cgroup.procs": fmt.Sprintf("%d\n%d\n", self, 99)})
	h, err = findHierarchy(root)
	if err == nil {
		err = h.delegate(self, driver)
	}
	if err == nil || !strings.Contains(err.Error(), "has other processes in it: start the run in one of its own, as by systemd-run --user --scope -p Delegate=yes") {
		t.Errorf("got %v", err)
	}
	is(root, "cgroup.subtree_control", "")

	// A successor finds itself in the group for main processes.
	root = own(map[string]string{"cg/u/cgroup.subtree_control": "memory\n", "cg/u/fairlead-main/cgroup.controllers": "memory\n", "proc/self/cgroup": "0::/u/fairlead-main\n"})
	l, err := newLimits(root, "r", 1<<30, driver)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "the run's group", l.dir, filepath.Join(root, "cg/u/fairlead-r"))
	is(root, "fairlead-r/memory.max", "1073741824")
	is(root, "fairlead-r/memory.swap.max", "0")
	is(root, "fairlead-r/cgroup.subtree_control", "+memory")
	if _, err := l.attempt(key(3), 5<<20); err == nil { // it exists
		t.Error("an attempt's group was made twice")
	}
	g := &group{l.hierarchy, filepath.Join(l.dir, "3.1.1003")}
	if err := l.limit(g.dir, 5<<20); err != nil {
		t.Fatal(err)
	}
	is(root, "fairlead-r/3.1.1003/memory.max", "5242880")
	equal(t, "empty", g.kill(), true)

	for name, text := range map[string]string{
		"memory.events": "low 0\noom 3\noom_kill 2\n", "memory.peak": "10000000\n", "memory.stat": "anon 5\nfile 3000000\nshmem 1000000\n",
		"cgroup.procs": "1073741824\n", "cgroup.kill": "",
	} {
		if err := os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	x := Exit{MaxRSS: 7}
	g.read(&x)
	equal(t, "read", fmt.Sprint(x.OutOfMemory, x.MaxRSS), "true 8000000")
	equal(t, "in the groups", fmt.Sprint(inGroups(l.dir)), "map[1073741824:true]")
	equal(t, "empty", g.kill(), false)
	is(root, "fairlead-r/3.1.1003/cgroup.kill", "1")
}

// limited skips a test where memory cannot be limited.
func limited(t *testing.T) {
	t.Helper()
	l, err := newLimits("/", fmt.Sprintf("test-%d", os.Getpid()), 0, os.Getpid())
	if err != nil {
		t.Skip("memory cannot be limited here: ", err)
	}
	l.remove()
}

const mib = 1 << 20

// eating is a command that needs so many MiB of memory, as tail keeps what it may
// have to print.
func eating(n int) string {
	return fmt.Sprintf("head -c %d /dev/zero | tail -c %[1]d >/dev/null", n*mib)
}

// A start that needs more memory than it may is ended, and that is why.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	limited(t)
	r := newTrial(t)
	r.open()
	begin := func(task int, memory int64, script string) {
		r.ok(r.c.Start(Start{Key: key(task), Output: fmt.Sprint(task), Argv: []string{"sh", "-c", script}, Memory: memory}))
	}
	begin(0, 50*mib, eating(200))
	begin(1, 50*mib, eating(20))
	begin(2, 50*mib, "("+eating(200)+") & wait $!; exit 3")
	begin(3, 50*mib, "head -c 150000000 /dev/zero >file; sync file")
	begin(4, 0, eating(90))
	x := r.byTask(5)
	equal(t, "beyond", fmt.Sprint(x[0].OutOfMemory, " ", x[0].Code), "true 137")
	if !strings.HasPrefix(x[0].Err, "out of memory, of which it may use 50 MiB (") { // all of it is killed by version 2, tail by version 1
		t.Errorf("beyond: %s", x[0].Err)
	}
	equal(t, "within", fmt.Sprint(x[1].OutOfMemory, " ", x[1].Err), "false ")
	if rss := x[1].MaxRSS; rss < 20*mib || rss > 50*mib {
		t.Errorf("its peak is %d", rss)
	}
	if x[2].Err == "" || !x[2].OutOfMemory {
		t.Errorf("a child beyond: %+v", *x[2])
	}
	equal(t, "file cache is not beyond", x[3].Err, "")
	if rss := x[3].MaxRSS; rss > 45*mib {
		t.Errorf("the peak of one that writes a file is %d", rss)
	}
	equal(t, "without a limit", x[4].Err, "")
	r.close()
	equal(t, "notes", strings.Join(r.notes, "\n"), "")
	r.noGroup()
}

// noGroup checks that the run's control group is gone.
func (r *trial) noGroup() {
	r.t.Helper()
	h, err := findHierarchy("/")
	r.ok(err)
	if _, err := os.Stat(filepath.Join(h.own, "fairlead-"+r.cfg.Run)); !os.IsNotExist(err) {
		r.t.Errorf("the run's control group is left: %v", err)
	}
}

// What all tasks together may use is a limit too.
func TestOutOfMemoryTogether(t *testing.T) {
	t.Parallel()
	limited(t)
	r := newTrial(t)
	r.cfg.Memory = 60 * mib
	r.open()
	r.sh(0, eating(30))
	equal(t, "within", r.next().Err, "")
	r.sh(1, eating(200))
	if x := r.next(); !x.OutOfMemory || !strings.HasPrefix(x.Err, "out of memory, of which it may use 60 MiB") {
		t.Errorf("beyond: %+v", x)
	}
	r.close()
	r.noGroup()
}

// With a group of its own, a start is known in all disguises, also to a successor.
func TestGroupHoldsAll(t *testing.T) {
	t.Parallel()
	limited(t)
	r := newTrial(t)
	r.cfg.Memory = 200 * mib
	r.open()
	const disguised = `(env -i setsid sh -c 'echo $$ >>%s; sleep 71; true' &); until test -s %[1]s; do sleep 0.01; done; %s`
	r.sh(0, fmt.Sprintf(disguised, "pids", "true"))
	equal(t, "error", r.next().Err, "")
	r.ended("pids")
	r.sh(1, fmt.Sprintf(disguised, "pids2", "echo $$ >>pids2; sleep 72"))
	r.lines("pids2", 2)
	r.kill(r.supervisor())
	_, _ = r.gone()
	r.open()
	r.ended("pids2")
	r.sh(2, "true")
	equal(t, "error", r.next().Err, "")
	r.close()
	r.noGroup()
}

// Where memory cannot be limited, a note says so once, and tasks run without.
func TestLimitsNote(t *testing.T) {
	t.Parallel()
	s := &supervisor{root: t.TempDir()}
	for range 2 {
		if g, err := s.limit(&Start{Key: key(1), Memory: 5}); g != nil || err != nil {
			t.Errorf("got %v, %v", g, err)
		}
	}
	if len(s.notes) != 1 || !strings.HasPrefix(s.notes[0].Text, "limits of memory are not enforced: this system has no control groups") {
		t.Errorf("noted %v", s.notes)
	}
}

// Names of groups may hold what a pattern would take for its own.
func TestInGroupsWithSpecialNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), `app-gnome\x2dterminal[1].scope`)
	for name, procs := range map[string]string{"": "11\n", "3.1.99": "12\n13\n", "other": "14\n"} {
		group := filepath.Join(dir, name)
		if err := os.MkdirAll(group, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(procs), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got := inGroups(dir); len(got) != 3 || !got[11] || !got[12] || !got[13] {
		t.Errorf("found %v, want 11, 12 and 13", got)
	}
}
