package run

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-project/fairlead/sched"
)

// watched runs and returns copies of all the progress reported.
func (r *trial) watched() (res *Result, seen []Progress) {
	r.t.Helper()
	r.cfg.Progress = func(p Progress) {
		p.Jobs, p.Running = slices.Clone(p.Jobs), slices.Clone(p.Running)
		seen = append(seen, p)
	}
	res = r.run(r.t.Context())
	return res, seen
}

func TestProgress(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 2}", `
- {name: a, stages: [{name: s, count: 3, run: 'sleep 0.02'}]}
- {name: b, after: [a], stages: [{name: s, run: 'exit 1'}]}
`)
	_, seen := r.watched()
	most := 0
	var now sched.Time
	for _, p := range seen {
		running := 0
		for _, j := range p.Jobs {
			running += j.Running
			if j.Done+j.Running+j.Failed > j.Total {
				t.Errorf("counts do not add up: %+v", j)
			}
		}
		if running != len(p.Running) || p.Now < now {
			t.Errorf("running %d, but %v; now %v after %v", running, p.Running, p.Now, now)
		}
		most, now = max(most, running), p.Now
	}
	equal(t, "most at a time", most, 2)
	equal(t, "last", fmt.Sprint(seen[len(seen)-1].Jobs), "[{done 3 3 0 0 0} {failed 1 0 0 1 0}]")
}

// The end is shown however early it comes.
func TestProgressOfShortRun(t *testing.T) {
	r := newTrial(t, "{name: m}", "- {name: a, stages: [{name: s, run: ['true']}]}\n")
	_, seen := r.watched()
	equal(t, "last", fmt.Sprint(seen[len(seen)-1].Jobs), "[{done 1 1 0 0 0}]")
}

// Many events do not mean many calls, and what changes between two calls is shown
// although no event comes after it.
func TestProgressIsPaced(t *testing.T) {
	r := newTrial(t, "{name: m, slots: 2}", `
- {name: many, stages: [{name: s, count: 100, run: ['true']}]}
- {name: quick, after: [many], stages: [{name: s, run: ['true']}]}
- {name: long, after: [many], stages: [{name: s, run: 'sleep 0.5'}]}
`)
	res, seen := r.watched()
	if most := 2 + int(res.Wall/time.Duration(showEvery)); len(seen) > most {
		t.Errorf("%d calls in %v, want at most %d", len(seen), res.Wall, most)
	}
	if !slices.ContainsFunc(seen, func(p Progress) bool { return p.Jobs[1].Done == 1 && p.Jobs[2].Running == 1 }) {
		t.Error("that quick was done was not shown while long ran")
	}
}
