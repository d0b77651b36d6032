package workload

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-project/fairlead/sched"
)

// Limits on what a file may describe.
const (
	MaxTasks     = 5_000_000
	MaxMachines  = 100_000
	MaxSlots     = 1_000_000  // of all machines together; also entries of `cpus`
	MaxPins      = 10_000_000 // entries of all distinct lists of pinned machines, groups expanded
	MaxResources = 64
)

// expander turns a File into an Instance and notes all that is wrong with it.
type expander struct {
	file     *File
	machines []Machine // from the file or from this computer
	known    bool      // whether machines are what the workload will run on
	in       *sched.Instance
	errs     Errors
	places   []path // of errs

	refs      map[string]machineRef
	refNames  []string
	resources map[string]int
	pinned    map[string][]sched.MachineID
	pins      int
	fits      map[string]bool
	steps     int // taken by all searches in before
	tasks     int64
	work      float64 // mean sizes of all tasks
	released  float64 // the last release
	sharing   string  // the first form of sharing in the file
}

// machineRef is what a name stands for: one machine, or a group.
type machineRef struct {
	first, count int
	group        bool
}

func (x *expander) fail(at path, class Class, found, expected string) {
	if len(x.errs) < MaxErrors {
		x.errs = append(x.errs, &Error{File: x.file.name, Path: at.String(), Class: class, Msg: message(found, expected)})
		x.places = append(x.places, at)
	}
}

// located adds the positions in the file, if it was one. It is parsed once more for
// that: to keep positions at hand would cost every good file memory.
func (x *expander) located() error {
	if root, err := read(x.file.name, x.file.source); err == nil {
		for i, e := range x.errs {
			n := x.places[i].find(root)
			e.Line, e.Column = n.Line, n.Column
		}
	}
	return x.errs.sorted()
}

func (x *expander) expand() {
	f := x.file
	x.in = &sched.Instance{Name: f.Metadata.Name}
	x.refs = map[string]machineRef{}
	x.resources = map[string]int{}
	x.pinned = map[string][]sched.MachineID{}
	x.fits = map[string]bool{}
	if x.known && !x.expandMachines() {
		return // everything else would be judged by the wrong machines
	}
	jobs := x.index(path{"jobs"}, len(f.Jobs), func(j int) string { return f.Jobs[j].Name }, "job")
	x.in.Jobs = make([]sched.Job, len(f.Jobs))
	for j := range f.Jobs {
		x.expandJob(j, jobs)
	}
	x.failCycle(path{"jobs"}, sched.FindCycle(len(f.Jobs), func(j int) []sched.JobID { return x.in.Jobs[j].After }),
		func(j int) (string, []string) { return f.Jobs[j].Name, f.Jobs[j].After }, "jobs")
	slowest := math.Inf(1)
	for i := range x.in.Machines {
		slowest = min(slowest, x.in.Machines[i].Speed)
	}
	if span := x.released + x.work/slowest; !(span < sched.MaxTime.Seconds()) && x.known {
		x.fail(path{"jobs"}, TooLong, fmt.Sprintf("work for up to %.3g seconds", span), fmt.Sprintf("less than %.3g seconds, the end of time", sched.MaxTime.Seconds()))
	}
	if x.tasks > MaxTasks {
		x.fail(path{"jobs"}, OverLimit, fmt.Sprintf("%d tasks", x.tasks), fmt.Sprintf("at most %d tasks in a workload", MaxTasks))
	}
}

func (x *expander) expandMachines() (ok bool) {
	total, slots := 0, int64(0)
	for i := range x.machines {
		m := &x.machines[i]
		n := max(1, m.Count)
		total += n
		slots += int64(n) * int64(m.Slots)
		at := path{"cluster", "machines", i}
		if total > MaxMachines {
			x.fail(at, OverLimit, fmt.Sprintf("%d machines up to here", total), fmt.Sprintf("at most %d", MaxMachines))
			return false
		}
		if slots > MaxSlots {
			x.fail(at, OverLimit, fmt.Sprintf("%d slots up to here", slots), fmt.Sprintf("at most %d on all machines together", MaxSlots))
			return false
		}
		for _, q := range m.Resources {
			x.resources[q.Name] = 0
		}
	}
	x.in.Resources = slices.Sorted(maps.Keys(x.resources))
	if len(x.in.Resources) > MaxResources {
		x.fail(path{"cluster", "machines"}, OverLimit, fmt.Sprintf("%d resources", len(x.in.Resources)), fmt.Sprintf("at most %d", MaxResources))
		return false
	}
	for d, r := range x.in.Resources {
		x.resources[r] = d
	}
	x.in.Machines = make([]sched.Machine, 0, total)
	for i := range x.machines {
		x.expandMachine(i)
	}
	return len(x.errs) == 0
}

func (x *expander) expandMachine(i int) {
	m, at := &x.machines[i], path{"cluster", "machines", i}
	capacity := make([]int64, len(x.in.Resources))
	for _, q := range m.Resources {
		milli, bad := thousandths(q.Amount)
		x.failAmount(append(at, "resources", q.Name), bad, q.Amount)
		capacity[x.resources[q.Name]] = milli
	}
	x.declare(append(at, "name"), m.Name, machineRef{len(x.in.Machines), max(1, m.Count), m.Count > 0})
	for k := range max(1, m.Count) {
		name := m.Name
		if m.Count > 0 {
			name += "-" + strconv.Itoa(k)
			x.declare(append(at, "name"), name, machineRef{len(x.in.Machines), 1, false})
		}
		x.in.Machines = append(x.in.Machines, sched.Machine{
			Name: name, Speed: m.Speed, SpeedAssumed: m.SpeedAssumed, Slots: m.Slots, Capacity: capacity, Port: m.Port, CPUs: m.CPUs,
		})
	}
}

func (x *expander) failAmount(at path, bad Class, amount float64) {
	switch bad {
	case OutOfRange:
		x.fail(at, bad, formatNumber(amount), "at most "+formatNumber(maxMilli/1000))
	case TooFine:
		x.fail(at, bad, formatNumber(amount), "a multiple of a thousandth (0.001, or 1m)")
	}
}

func (x *expander) declare(at path, name string, ref machineRef) {
	if _, taken := x.refs[name]; taken {
		x.fail(at, DuplicateName, "a second machine or group named "+quoteShort(name), "distinct names; `count: 2` makes NAME-0 and NAME-1")
		return
	}
	x.refs[name] = ref
	x.refNames = append(x.refNames, name)
}

// index maps names to positions.
func (x *expander) index(at path, n int, name func(int) string, what string) map[string]int {
	m := make(map[string]int, n)
	for i := range n {
		if first, taken := m[name(i)]; taken {
			x.fail(slices.Concat(at, path{i, "name"}), DuplicateName, fmt.Sprintf("a second %s named %q", what, name(i)),
				fmt.Sprintf("distinct names; the first is %ss[%d]", what, first))
			continue
		}
		m[name(i)] = i
	}
	return m
}

// after resolves the names that something waits for.
func (x *expander) after(at path, self string, names []string, index map[string]int, what string, unknown Class, all func() []string) (ids []int) {
	if names == nil {
		return nil
	}
	ids = make([]int, 0, len(names))
	seen := make(map[string]bool, len(names))
	for k, name := range names {
		id, ok := index[name]
		here := func() path { return slices.Concat(at, path{"after", k}) }
		switch {
		case name == self:
			x.fail(here(), SelfReference, fmt.Sprintf("%q, the %s itself", name, what), "another "+what)
		case !ok:
			x.failUnknown(here(), unknown, what, name, all())
		case seen[name]:
			x.fail(here(), DuplicateEntry, quoteShort(name)+" a second time", "each "+what+" once")
		default:
			ids = append(ids, id)
		}
		seen[name] = true
	}
	return ids
}

func (x *expander) failUnknown(at path, class Class, what, name string, all []string) {
	expected := "the name of a " + what
	switch s := similar(name, all); {
	case s != "":
		expected += fmt.Sprintf("; did you mean %q?", s)
	case len(all) <= maxListed:
		expected += ": " + strings.Join(all, ", ")
	}
	x.fail(at, class, quoteShort(name), expected)
}

// maxListed is how many names a message lists.
const maxListed = 12

// failCycle reports a cycle whole, at the first entry in it. names returns the name
// of a vertex and the names it waits for.
func (x *expander) failCycle(at path, cycle []int, names func(int) (string, []string), what string) {
	if cycle == nil {
		return
	}
	chain := make([]string, len(cycle))
	for i, v := range cycle {
		chain[i], _ = names(v)
	}
	_, after := names(cycle[0])
	x.fail(slices.Concat(at, path{cycle[0], "after", slices.Index(after, chain[1])}), Cycle,
		"the cycle "+strings.Join(chain, " -> "), what+" that do not wait for each other")
}

func (x *expander) expandJob(j int, jobs map[string]int) {
	job, out, at := &x.file.Jobs[j], &x.in.Jobs[j], path{"jobs", j}
	*out = sched.Job{
		Name: job.Name, Weight: job.Weight, Release: sched.FromSeconds(job.Release), Tenant: job.Tenant,
		Stages: make([]sched.Stage, len(job.Stages)),
	}
	all := func() []string {
		names := make([]string, len(x.file.Jobs))
		for i := range names {
			names[i] = x.file.Jobs[i].Name
		}
		return names
	}
	for _, id := range x.after(at, job.Name, job.After, jobs, "job", UnknownJob, all) {
		out.After = append(out.After, sched.JobID(id))
	}
	x.released = max(x.released, job.Release)
	g := newStages(x, j)
	for s := range job.Stages {
		st := &job.Stages[s]
		out.Stages[s] = sched.Stage{
			Name: st.Name, After: x.after(g.path(s), st.Name, st.After, g.index, "stage", UnknownStage, g.names),
			Run: st.Run, Workdir: st.Workdir, Env: st.Env, Image: st.Image, Retries: st.Retries, Timeout: st.Timeout,
		}
	}
	x.failCycle(g.path(), sched.FindCycle(len(job.Stages), func(s int) []int { return out.Stages[s].After }),
		func(s int) (string, []string) { return job.Stages[s].Name, job.Stages[s].After }, "stages")
	for s := range job.Stages {
		if st := &job.Stages[s]; st.Shuffle != nil || st.Flows != nil {
			x.transfer(g, s)
		} else {
			x.compute(g, s)
		}
	}
}
