package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fairlead-project/fairlead/internal/history"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
	"github.com/fairlead-project/fairlead/size"
	"github.com/fairlead-project/fairlead/trace"
	"github.com/fairlead-project/fairlead/workload"
)

// nameOf is how messages refer to a file.
func nameOf(path string) string {
	if path == "-" {
		return "stdin"
	}
	return path
}

// open opens a file, "-" for standard input.
func (e *env) open(path string) (name string, in io.ReadCloser, err error) {
	if path == "-" {
		if e.piped {
			return "", nil, usage("standard input (-) can be read only once: give one of them as a file")
		}
		e.piped = true
		return nameOf(path), io.NopCloser(e.stdin), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return path, nil, fail(exitUsage, err)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a directory, expected a file", path)
	}
	if err != nil {
		f.Close()
		return path, nil, fail(exitUsage, err)
	}
	e.inputs = append(e.inputs, info)
	return path, f, nil
}

// readFile reads a file, refusing more than most bytes before they fill the memory.
func (e *env) readFile(path string, most int64) (name string, data []byte, err error) {
	name, in, err := e.open(path)
	if err != nil {
		return name, nil, err
	}
	defer in.Close()
	// One byte more than allowed lets the parser see that there is too much.
	data, err = io.ReadAll(io.LimitReader(in, most+1))
	if err != nil {
		return name, nil, usage("reading %s: %w", name, err)
	}
	return name, data, nil
}

// loadFile reads and parses a workload.
func (e *env) loadFile(path string) (*workload.File, error) {
	name, data, err := e.readFile(path, workload.MaxBytes)
	if err != nil {
		return nil, err
	}
	f, err := workload.Parse(name, data)
	if err != nil {
		return nil, e.refuse(err)
	}
	return f, nil
}

// loadFrom reads a workload in another format, or in our own if from is "", and says
// what has been left out.
func (e *env) loadFrom(path, from string) (*workload.File, error) {
	if from == "" {
		return e.loadFile(path)
	}
	format, ok := trace.Lookup(from)
	if !ok {
		return nil, usage("--from %s: expected %s", from, strings.Join(trace.Names(), ", "))
	}
	name, data, err := e.readFile(path, trace.MaxBytes)
	if err != nil {
		return nil, err
	}
	f, notes, err := format.Read(name, data)
	if err != nil {
		return nil, e.refuse(err)
	}
	e.tell(name, notes)
	return f, nil
}

// moveTo gives f the cluster of another workload file. A trace then loses what it
// says of its own machines; a workload is meant as it is written.
func (e *env) moveTo(path string, f *workload.File, foreign bool) error {
	other, err := e.loadFile(path)
	if err != nil {
		return err
	}
	if other.Cluster == nil {
		return usage("--cluster %s: the file has no cluster", nameOf(path))
	}
	if foreign {
		e.tell(nameOf(path), trace.OnCluster(f, other.Cluster))
	} else {
		f.Cluster = other.Cluster
	}
	return nil
}

// tell prints notes about a file.
func (e *env) tell(name string, notes []string) {
	for _, n := range notes {
		e.say("%s: %s", name, n)
	}
}

// given is what the command line adds to a workload. The same additions make the
// same instance, so what one command writes about it another one recognises.
type given struct {
	slots   int
	assume  time.Duration
	memory  bytesFlag
	history bool   // take what the file leaves open from earlier runs
	from    string // format of the file, "" for a workload
	cluster string // workload file whose cluster counts, "" for the file's own
}

func (g *given) addTo(flags *pflag.FlagSet) {
	flags.IntVarP(&g.slots, "slots", "j", 0, "without a cluster in the file: this computer as a machine of `N` slots (default one per core)")
	flags.DurationVar(&g.assume, "assume", 0, "size of tasks that have none, a `duration` such as 10s")
	flags.Var(&g.memory, "memory", "what tasks on this computer may use together, a `size` such as 8GiB, where the file does not say (default 90 % of what there is)")
}

// addFromTo adds the flags for files that are not workloads, or bring no machines.
func (g *given) addFromTo(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&g.from, "from", "", "read FILE in another `format`: "+strings.Join(trace.Names(), ", "))
	completes(cmd, "from", trace.Names()...)
	f.StringVar(&g.cluster, "cluster", "", "take the cluster of this workload `file`, not FILE's own or this computer")
}

// addHistoryTo adds the flag for commands that know nothing of earlier runs unless told.
func (g *given) addHistoryTo(flags *pflag.FlagSet) {
	flags.BoolVar(&g.history, "history", false, "take sizes, speeds and memory that the file leaves open from earlier runs, as run does")
}

func (g *given) validate() error {
	switch {
	case g.slots < 0:
		return usage("-j %d: expected at least one slot", g.slots)
	case g.assume < 0:
		return usage("--assume %v: expected a positive duration", g.assume)
	}
	return nil
}

// loadSized reads a workload with mean sizes; random names a stage whose sizes are
// not exact, "" if there is none.
func (e *env) loadSized(path string, g given) (x *sched.Index, z *sched.Sizes, random string, err error) {
	in, err := e.load(path, g)
	if err != nil {
		return nil, nil, "", err
	}
	x = sched.NewIndex(in)
	if z, err = sim.Means(x); err != nil {
		return nil, nil, "", noSizes(path, err)
	}
	return x, z, randomStage(x), nil
}

// load reads a workload that this version can schedule, and fills in what it leaves open.
func (e *env) load(path string, g given) (*sched.Instance, error) {
	in, err := e.read(path, g)
	if err == nil && g.history {
		in, _, err = e.learn(in, path, g.budget())
	}
	if err != nil {
		return nil, err
	}
	return assume(in, g.assume), nil
}

// read reads a workload that this version can schedule, as it is written.
func (e *env) read(path string, g given) (*sched.Instance, error) {
	if err := g.validate(); err != nil {
		return nil, err
	}
	f, err := e.loadFrom(path, g.from)
	if err != nil {
		return nil, err
	}
	if g.cluster != "" {
		if err := e.moveTo(g.cluster, f, g.from != ""); err != nil {
			return nil, err
		}
	}
	if g.slots > 0 && f.Cluster != nil {
		return nil, usage("%s: -j %d is for files without a cluster: this one has its own", nameOf(path), g.slots)
	}
	in, err := f.Instance(thisComputer(f, g.slots, g.budget()))
	if err != nil {
		return nil, e.refuse(err)
	}
	if err := workload.Unsupported(in); err != nil {
		return nil, usage("%s: %w", nameOf(path), err)
	}
	if g.slots == 0 && f.Cluster == nil {
		e.say("%s has no cluster: taking this computer, with %d slots (-j)", nameOf(path), slots(in))
	}
	return in, nil
}

// refuse prints errors that carry their own positions, a line each, so that
// editors find them.
func (e *env) refuse(err error) error {
	var list workload.Errors
	if !errors.As(err, &list) {
		return fail(exitUsage, err)
	}
	for _, one := range list {
		fmt.Fprintln(e.stderr, one)
	}
	return fail(exitUsage, nil)
}

// thisComputer is the machine of a file that has none. Its name does not depend on
// the computer, so that certificates and logs can be checked on another one; nor does
// anything else, unless the file asks for CPUs or memory.
func thisComputer(f *workload.File, slots int, memory int64) []workload.Machine {
	if slots <= 0 {
		slots = runtime.NumCPU()
	}
	local := workload.Machine{Name: "local", Speed: 1, Slots: slots, Port: noPort}
	for _, r := range []workload.Quantity{{Name: "cpu", Amount: float64(slots)}, {Name: history.Memory, Amount: float64(memory)}} {
		if r.Amount > 0 && needed(f, r.Name) {
			local.Resources = append(local.Resources, r)
		}
	}
	return []workload.Machine{local}
}

// needed reports whether a stage needs some of a resource.
func needed(f *workload.File, resource string) bool {
	for j := range f.Jobs {
		for s := range f.Jobs[j].Stages {
			if slices.ContainsFunc(f.Jobs[j].Stages[s].Needs, func(q workload.Quantity) bool { return q.Name == resource }) {
				return true
			}
		}
	}
	return false
}

// assume returns the instance with the size d for stages that have none.
func assume(in *sched.Instance, d time.Duration) *sched.Instance {
	if d == 0 {
		return in
	}
	out := *in
	out.Jobs = slices.Clone(in.Jobs)
	for j := range out.Jobs {
		out.Jobs[j].Stages = slices.Clone(in.Jobs[j].Stages)
		for s := range out.Jobs[j].Stages {
			if st := &out.Jobs[j].Stages[s]; st.Count > 0 && len(st.Sizes) == 0 {
				st.Sizes = []size.Dist{size.Exact(d.Seconds())}
			}
		}
	}
	return &out
}

// noSizes explains the error for stages without sizes.
func noSizes(path string, err error) error {
	return usage("%s: %w: give each a size, or one to all with --assume 10s, or take them from earlier runs with --history", nameOf(path), err)
}

// parsePolicy makes the policy that spec describes.
func (e *env) parsePolicy(spec string) (policy.Entry, policy.Policy, error) {
	entry, p, err := e.policies.Parse(spec, "dag")
	if err != nil {
		return entry, nil, usage("%w (fairlead policies explains them)", err)
	}
	return entry, p, nil
}
