package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// What Explain says of a job that waits is so, whatever the policy said: each
// sentence is compared with what a policy can see at that moment.
func TestExplainTellsTheTruth(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(400) {
		r := rng(seed)
		e := newEngine(t, config(randomInstance(r), &chaos{}, knowledge(seed), seed))
		d := newDriver(t, e, r, nil)
		d.each = func(e *Engine) {
			for j := range e.st.in.Jobs {
				id := sched.JobID(j)
				if e.st.jobs[j].state == policy.JobActive && e.st.jobs[j].running == 0 {
					said := strings.TrimPrefix(e.Explain(id), e.st.in.Jobs[j].Name+" ")
					class := claim(said)
					seen[class]++
					if why := lie(e, id, class, said); why != "" {
						t.Fatalf("seed %d at %v: %q, but %s", seed, e.now, e.Explain(id), why)
					}
				}
			}
		}
		d.run()
	}
	for _, class := range []string{"ready", "behind", "reserved", "plan", "slot", "pins", "room", "input", "down", "ports", "ends", "delayed"} {
		if seen[class] < 5 {
			t.Errorf("%q was said %d times: the test tests little", class, seen[class])
		}
	}
}

// claim sorts what Explain says of a job that waits.
func claim(said string) string {
	for _, c := range [][2]string{
		{"is ready to start", "ready"},
		{"where it is expected", "reserved"},
		{"first plan", "plan"},
		{"no slot is free on the", "pins"},
		{"no slot is free", "slot"},
		{"slots are free, but", "room"},
		{"waits for input", "input"},
		{"every machine", "down"},
		{"the ports", "ports"},
		{"that its flows need are down", "ends"},
		{"is queued behind", "behind"},
		{"before attempt", "delayed"},
	} {
		if strings.Contains(said, c[0]) {
			return c[1]
		}
	}
	return said
}

// lie says what is wrong about what is said of a job of which nothing runs.
func lie(e *Engine, j sched.JobID, class, said string) string {
	v, x := policy.View((*view)(e.st)), e.st.x
	in := x.Instance
	able, fits, idle, pinnedIdle, room, portsUp, portsFree := false, false, false, false, false, false, false
	pending, delayed := 0, false
	arriving := map[string]sched.Time{}
	for m := range sched.MachineID(len(in.Machines)) {
		idle = idle || v.Machine(m).Up && v.Machine(m).FreeSlots > 0
	}
	for s, end := x.JobStages(j); s < end; s++ {
		for t, end := x.StageTasks(s); t < end; t++ {
			delayed = delayed || v.Task(t) == policy.TaskDelayed
		}
		if v.Stage(s).Pending == 0 {
			continue
		}
		pending++
		first, last := x.StageFlows(s)
		for f := first; f < last; f++ {
			fl := x.Stage(s).Flows[f-first]
			if v.Flow(f) == policy.TaskPending {
				portsFree = portsFree || v.PortsFree(f)
				portsUp = portsUp || v.Machine(fl.From).Up && v.Machine(fl.To).Up
			}
		}
		for m := range sched.MachineID(len(in.Machines)) {
			pins := x.Stage(s).Machines
			if x.Stage(s).Count == 0 || !v.Machine(m).Up || pins != nil && !slices.Contains(pins, m) {
				continue
			}
			fits = fits || v.Fits(s, m)
			able = able || in.MayRun(x.Stage(s), m)
			if v.Machine(m).FreeSlots == 0 {
				continue
			}
			pinnedIdle = true
			short := false
			for d, n := range x.Stage(s).Needs {
				short = short || n > v.Free(m, d)
			}
			if !short {
				room = true
				arriving[in.Machines[m].Name] = v.InputReady(s, m)
			}
		}
	}
	startable := fits || portsFree
	blocked := map[string]bool{
		"down": !able && !portsUp, "ends": !able && !portsUp, "ports": !able && portsUp && !portsFree,
		"slot": able && !pinnedIdle && !startable, "pins": able && !pinnedIdle && idle && !startable,
		"room": able && pinnedIdle && !room && !startable, "input": room && !startable,
		"ready": startable, "behind": startable, "reserved": pinnedIdle || portsFree, "plan": pinnedIdle || portsFree,
		"delayed": pending == 0 && delayed,
	}
	if is, known := blocked[class]; !known || !is {
		return "that is not so"
	}
	words := strings.Fields(said)
	name := words[len(words)-1]
	switch class {
	case "delayed":
		at, err := parseTime(words[2])
		if err != nil || !slices.ContainsFunc(e.st.delayed, func(d delayedTask) bool { return d.until == at }) {
			return "no task is to be repeated then"
		}
	case "slot":
		if idle && !strings.Contains(said, "may run on") {
			return "some slot is free"
		}
	case "input":
		if at, ok := arriving[name]; !ok || at <= e.now {
			return "not there"
		}
		for _, at := range arriving {
			if at < arriving[name] {
				return "it arrives somewhere else before"
			}
		}
	case "room":
		if !slices.ContainsFunc(in.Resources, func(r string) bool { return strings.Contains(said, r) }) {
			return "no resource is named"
		}
	case "reserved":
		m := slices.IndexFunc(in.Machines, func(m sched.Machine) bool { return strings.Contains(said, "machine "+m.Name+",") })
		if !v.Machine(sched.MachineID(m)).Up {
			return "that machine is down"
		}
	case "behind":
		k := slices.IndexFunc(in.Jobs, func(k sched.Job) bool { return k.Name == name })
		if v.Job(sched.JobID(k)) != policy.JobActive {
			return "that job is not there"
		}
	}
	return ""
}
