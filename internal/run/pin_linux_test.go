package run

import (
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func allowed(t *testing.T) unix.CPUSet {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var own unix.CPUSet
	if err := unix.SchedGetaffinity(0, &own); err != nil {
		t.Fatal(err)
	}
	return own
}

func TestPins(t *testing.T) {
	own := allowed(t)
	first := 0
	for !own.IsSet(first) {
		first++
	}
	r := newTrial(t, "{name: pinned, cpus: '"+strconv.Itoa(first)+"'}, {name: free}, {name: absent, cpus: '5000'}, {name: half, cpus: '"+strconv.Itoa(first)+",900'}", `
- {name: j, stages: [{name: s, machines: [pinned], run: 'grep Cpus_allowed_list /proc/self/status; nproc'}]}
- {name: k, stages: [{name: s, machines: [free], run: 'nproc'}]}
- {name: l, stages: [{name: s, machines: [absent], run: 'nproc'}]}
- {name: m, stages: [{name: s, machines: [half], run: 'nproc'}]}
`)
	res := r.run(t.Context())
	equal(t, "states", r.states(res), "j:done k:done l:done m:done")
	equal(t, "bound", strings.Fields(r.read("run/logs/j/s/0.1.out"))[1], strconv.Itoa(first))
	all := strconv.Itoa(own.Count()) + "\n"
	for _, job := range []string{"k", "l", "m"} {
		equal(t, "processors of "+job, r.read("run/logs/"+job+"/s/0.1.out"), all)
	}
	equal(t, "notes", strings.Join(res.Notes, "\n"), "tasks of machine absent are not bound to its CPUs: CPU 5000 does not exist or may not be used\n"+
		"tasks of machine half are not bound to its CPUs: CPU 900 does not exist or may not be used")
	if now := allowed(t); now != own {
		t.Errorf("this thread may use %v now, %v before", now, own)
	}
}
