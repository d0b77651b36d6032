package run

import (
	"os"
	"strings"
	"testing"

	"github.com/fairlead-project/fairlead/sched"
)

// More processes than can be watched are refused before anything is made.
func TestTooManyAtATime(t *testing.T) {
	refused := func(tasks int, slots ...int) string {
		in := many(tasks)
		in.Machines = nil
		for _, n := range slots {
			in.Machines = append(in.Machines, sched.Machine{Name: strings.Repeat("m", len(in.Machines)+1), Speed: 1, Slots: n, Port: 1})
		}
		if err := bounded(in, 1<<20); err != nil {
			return err.Error()
		}
		return ""
	}
	const advice = " tasks would run at the same time, but at most 4000 can: give the machines fewer slots in total (`slots`, or -j)"
	equal(t, "many slots, few tasks", refused(10, 1<<20, 1<<20), "")
	equal(t, "one slot for each, twice", refused(3000, 3000, 3000), "")
	equal(t, "many tasks, few slots", refused(1<<20, 1000, 3000), "")
	equal(t, "many of both", refused(1<<20, 1000, 3001), "up to 4001"+advice)
	equal(t, "all at once", refused(20000, 1<<20), "up to 20000"+advice)

	in := many(200)
	in.Machines[0].Slots = 100
	if err := bounded(in, 164); err != nil {
		t.Error(err)
	}
	if err := bounded(in, 163); err == nil || !strings.HasPrefix(err.Error(), "up to 100 tasks would run at the same time, which takes 164 open files, but the limit is 163: raise it (ulimit -n)") {
		t.Errorf("got %v", err)
	}
	if n := openFiles(); n < 100 || n > 1<<62 && n != 1<<63-1 && n != 1<<64-1 {
		t.Errorf("%d open files", n)
	}

	r := newTrial(t, "{name: m, slots: 20000}", "- {name: a, stages: [{name: s, count: 20000, run: 'touch wrong'}]}\n")
	res, err := Run(t.Context(), r.cfg)
	if res != nil || err == nil || err.Error() != "run: up to 20000"+advice {
		t.Errorf("got %v, %v", res, err)
	}
	if _, err := os.Stat(r.cfg.Dir); !os.IsNotExist(err) {
		t.Errorf("the run's directory: %v", err)
	}
}
