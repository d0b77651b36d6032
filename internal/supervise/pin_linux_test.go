package supervise

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Machines are bound to their processors where there are such, and only they.
func TestPins(t *testing.T) {
	t.Parallel()
	var own unix.CPUSet
	if err := unix.SchedGetaffinity(0, &own); err != nil {
		t.Fatal(err)
	}
	first := 0
	for !own.IsSet(first) {
		first++
	}
	r := newTrial(t)
	r.cfg.CPUs = [][]int{{first}, nil, {5000}, {first, 900}}
	r.cfg.Machines = []string{"pinned", "free", "absent", "half"}
	r.open()
	for m := range r.cfg.CPUs {
		r.ok(r.c.Start(Start{Key: key(m), Output: strconv.Itoa(m), Machine: int32(m), Argv: []string{"sh", "-c", "grep Cpus_allowed_list /proc/self/status; nproc"}}))
	}
	for _, x := range r.byTask(4) {
		equal(t, "error", x.Err, "")
	}
	equal(t, "bound", strings.Fields(r.read("run/logs/0.out"))[1], strconv.Itoa(first))
	for _, m := range []string{"1", "2", "3"} {
		equal(t, "processors of "+m, strings.Fields(r.read("run/logs/" + m + ".out"))[2], strconv.Itoa(own.Count()))
	}
	equal(t, "notes", strings.Join(r.notes, "\n"), "tasks of machine absent are not bound to its CPUs: CPU 5000 does not exist or may not be used\n"+
		"tasks of machine half are not bound to its CPUs: CPU 900 does not exist or may not be used")
	r.close()
	if _, err := os.Stat(filepath.Join(r.cfg.Dir, logName)); !os.IsNotExist(err) {
		t.Errorf("a log without a word is left: %v", err)
	}
}
