package workload

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-project/fairlead/sched"
)

// group returns the machines that a name stands for, none if they are not known yet.
func (x *expander) group(at path, name string) []sched.MachineID {
	if !x.known {
		return nil
	}
	ref, ok := x.refs[name]
	if !ok {
		x.failUnknown(at, UnknownMachine, "machine", name, x.refNames)
		return nil
	}
	if x.pins += ref.count; x.pins > MaxPins {
		x.fail(at, OverLimit, "more machines in lists than that", fmt.Sprintf("at most %d, groups expanded", MaxPins))
		return nil
	}
	ids := make([]sched.MachineID, ref.count)
	for k := range ids {
		ids[k] = sched.MachineID(ref.first + k)
	}
	return ids
}

// oneMachine resolves a name that must be that of a single machine.
func (x *expander) oneMachine(at path, name string) sched.MachineID {
	if ref := x.refs[name]; ref.group {
		x.fail(at, GroupForOne, fmt.Sprintf("%q, a group of machines", name), fmt.Sprintf("one machine, such as %s-0", name))
		return 0
	}
	if ids := x.group(at, name); ids != nil {
		return ids[0]
	}
	return 0
}

// pin resolves a list of machines. Equal lists share their expansion, so that a
// large group named by many stages costs nothing.
func (x *expander) pin(at path, names []string) []sched.MachineID {
	if names == nil || !x.known {
		return nil
	}
	key := strings.Join(names, " ") // names have no spaces
	if ids, ok := x.pinned[key]; ok {
		return ids
	}
	before := len(x.errs)
	ids := []sched.MachineID{}
	seen := map[sched.MachineID]bool{}
	for k, name := range names {
		here := slices.Concat(at, path{k})
		for _, m := range x.group(here, name) {
			if seen[m] {
				x.fail(here, DuplicateEntry, fmt.Sprintf("machine %q a second time", x.in.Machines[m].Name), "each machine once")
				break
			}
			seen[m] = true
			ids = append(ids, m)
		}
	}
	slices.Sort(ids)
	if len(x.errs) == before {
		x.pinned[key] = ids
	}
	return ids
}

// fit reports a task that no machine can run, and why. Stages with equal needs and
// pins are examined once.
func (x *expander) fit(g *stages, s int) {
	st, out := &g.in[s], &g.out[s]
	key := []byte(strings.Join(st.Machines, " ") + "\n")
	for _, n := range out.Needs {
		key = binary.AppendVarint(key, n)
	}
	if x.fits[string(key)] {
		return
	}
	machines, where := out.Machines, "machine that it may use"
	if st.Machines == nil {
		where = "machine"
		machines = make([]sched.MachineID, len(x.in.Machines))
		for m := range machines {
			machines[m] = sched.MachineID(m)
		}
	}
	largest := make([]int64, len(x.in.Resources))
	usable := false
	for _, m := range machines {
		mach := &x.in.Machines[m]
		if mach.Slots == 0 {
			continue
		}
		usable = true
		all := true
		for d, c := range mach.Capacity {
			largest[d] = max(largest[d], c)
			all = all && (out.Needs == nil || out.Needs[d] <= c)
		}
		if all {
			x.fits[string(key)] = true
			return
		}
	}
	if !usable {
		at := g.path(s)
		if st.Machines != nil {
			at = g.path(s, "machines")
		}
		x.fail(at, NoMachineFits, "no "+where+" with a slot", "at least one slot for its tasks")
		return
	}
	var list []string
	for _, q := range st.Needs {
		d := x.resources[q.Name]
		if out.Needs[d] > largest[d] {
			x.fail(g.path(s, "needs", q.Name), NoMachineFits, formatBytes(q.Amount, ""),
				fmt.Sprintf("at most %s: no %s has more %s", formatBytes(float64(largest[d])/1000, ""), where, q.Name))
			return
		}
		list = append(list, q.Name+" "+formatBytes(q.Amount, ""))
	}
	x.fail(g.path(s, keyOf("needs")), NoMachineFits, strings.Join(list, ", "), "less of one of them: no "+where+" has all of this")
}
