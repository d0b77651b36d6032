package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/spf13/pflag"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
	"github.com/fairlead-project/fairlead/size"
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

// given is what the command line adds to a workload. The same additions make the
// same instance, so what one command writes about it another one recognises.
type given struct {
	slots  int
	assume time.Duration
}

func (g *given) addTo(flags *pflag.FlagSet) {
	flags.IntVarP(&g.slots, "slots", "j", 0, "without a cluster in the file: this computer as a machine of `N` slots (default one per core)")
	flags.DurationVar(&g.assume, "assume", 0, "size of tasks that have none, a `duration` such as 10s")
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

// load reads a workload that this version can schedule.
func (e *env) load(path string, g given) (*sched.Instance, error) {
	if err := g.validate(); err != nil {
		return nil, err
	}
	f, err := e.loadFile(path)
	if err != nil {
		return nil, err
	}
	if g.slots > 0 && f.Cluster != nil {
		return nil, usage("%s: -j %d is for files without a cluster: this one has its own", nameOf(path), g.slots)
	}
	in, err := f.Instance(thisComputer(g.slots))
	if err != nil {
		return nil, e.refuse(err)
	}
	if err := workload.Unsupported(in); err != nil {
		return nil, usage("%s: %w", nameOf(path), err)
	}
	if g.slots == 0 && f.Cluster == nil {
		e.say("%s has no cluster: taking this computer, with %d slots (-j)", nameOf(path), slots(in))
	}
	assume(in, g.assume)
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
// the computer, so that certificates and logs can be checked on another one.
func thisComputer(slots int) []workload.Machine {
	if slots <= 0 {
		slots = runtime.NumCPU()
	}
	return []workload.Machine{{Name: "local", Speed: 1, Slots: slots, Port: noPort}}
}

// assume gives stages without sizes the size d.
func assume(in *sched.Instance, d time.Duration) {
	if d == 0 {
		return
	}
	for j := range in.Jobs {
		for s := range in.Jobs[j].Stages {
			if st := &in.Jobs[j].Stages[s]; st.Count > 0 && len(st.Sizes) == 0 {
				st.Sizes = []size.Dist{size.Exact(d.Seconds())}
			}
		}
	}
}

// noSizes explains the error for stages without sizes.
func noSizes(path string, err error) error {
	return usage("%s: %w: give each a size, or one to all with --assume 10s", nameOf(path), err)
}

// parsePolicy makes the policy that spec describes.
func (e *env) parsePolicy(spec string) (policy.Entry, policy.Policy, error) {
	entry, p, err := e.policies.Parse(spec, "dag")
	if err != nil {
		return entry, nil, usage("%w (fairlead policies explains them)", err)
	}
	return entry, p, nil
}
