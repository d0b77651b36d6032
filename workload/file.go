package workload

import (
	"io"
	"math"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/fairlead-project/fairlead/sched"
)

// What every file says it is.
const (
	APIVersion = "fairlead.dev/v1alpha1"
	Kind       = "Workload"
)

// File is a workload as the file has it, defaults filled in, nothing expanded.
type File struct {
	Metadata Metadata
	Cluster  *Cluster // nil: the file has none
	Jobs     []Job

	name   string // where it was read from, for error messages
	source []byte // and what was read, to find the positions of errors
}

// Metadata identifies the workload to people and to kubectl.
type Metadata struct {
	Name string
}

// Cluster is the machines that the file brings along.
type Cluster struct {
	Machines []Machine
}

// Machine is one machine, or Count equal ones named Name-0, Name-1, ... Parse fills
// in the defaults; a Machine built in Go has what it is given.
type Machine struct {
	Name  string
	Count int     // 0: one machine named Name
	Speed float64 // work per second; default 1
	// SpeedAssumed: the file leaves Speed out, which then is 1.
	SpeedAssumed bool
	Slots        int // default: one per entry of CPUs, else 1
	Resources    []Quantity
	Port         float64 // bytes per second; default +Inf
	CPUs         []int   // processors of this computer, ascending
}

// Quantity is an amount of a named resource.
type Quantity struct {
	Name   string
	Amount float64
}

// Job is a weighted DAG of stages.
type Job struct {
	Name    string
	Weight  float64 // default 1
	Release float64 // seconds
	Tenant  string
	After   []string // names of jobs
	Stages  []Stage
}

// Stage is a compute stage, or a transfer stage if Shuffle or Flows is set.
type Stage struct {
	Name  string
	After []string // names of stages of the job

	Count    int // number of tasks; 0: one per entry of Sizes, else 1
	Size     *Size
	Sizes    []Size
	Needs    []Quantity
	Machines []string // names of machines, or of groups of them
	Input    []Input

	Run     *sched.Command
	Workdir string
	Env     []sched.EnvVar
	Image   string
	Retries int
	Timeout time.Duration // 0: none

	Shuffle *Shuffle
	Flows   []Flow

	MaxRate float64 // 0: no limit
	Gang    bool
	Rates   []Rate
	Speedup []sched.Segment
	Page    string
}

// Tasks returns the number of tasks of a compute stage, 0 for a transfer stage.
func (s *Stage) Tasks() int {
	switch {
	case s.Shuffle != nil || s.Flows != nil:
		return 0
	case s.Sizes != nil:
		return len(s.Sizes)
	}
	return max(1, s.Count)
}

// Input is what a stage reads from another one, in bytes.
type Input struct {
	From  string
	Bytes float64
}

// Shuffle moves Size bytes from all tasks of one stage to all tasks of another.
type Shuffle struct {
	From, To string
	Size     Size
}

// Flow moves Size bytes from one machine to another.
type Flow struct {
	From, To string
	Size     Size
	Run      *sched.Command
}

// Rate is the speed of a stage on a machine, or on each of a group.
type Rate struct {
	Machine string
	Rate    float64
}

// Parse reads a workload. name is how messages refer to the file. The error, if
// any, is an [Errors] with everything that is wrong, up to [MaxErrors]; what
// depends on the machines is checked only if the file has a cluster. Parse keeps
// data, which must not be changed. Cost: linear in the size of the file, plus
// O(stages²) per job where data skips stages.
func Parse(name string, data []byte) (*File, error) {
	root, e := read(name, data)
	if e != nil {
		return nil, Errors{e}
	}
	f := &File{name: name, source: data}
	d := &decoder{file: name}
	object[File]{to: f, what: "a workload", fields: fileFields}.decode(d, root)
	if d.errs != nil {
		return nil, d.errs.sorted()
	}
	x := expander{file: f}
	if f.Cluster != nil {
		x.machines, x.known = f.Cluster.Machines, true
	}
	x.expand()
	if x.errs != nil {
		return nil, x.located()
	}
	return f, nil
}

// Instance expands f. local are the machines to use if f has no cluster, normally
// this computer; without them such a file is an error.
func (f *File) Instance(local []Machine) (*sched.Instance, error) {
	x := expander{file: f, machines: local, known: true}
	if f.Cluster != nil {
		x.machines = f.Cluster.Machines
	}
	if len(x.machines) == 0 {
		x.fail(nil, NoCluster, "no cluster", "machines to schedule on: give the file a `cluster`")
	} else {
		x.expand()
	}
	if x.errs != nil {
		return nil, x.located()
	}
	if err := x.in.Validate(); err != nil {
		return nil, err
	}
	return x.in, nil
}

// EncodeYAML writes f as YAML that Parse reads back equal.
func (f *File) EncodeYAML(w io.Writer) error {
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	if err := enc.Encode(f.encode()); err != nil {
		return err
	}
	return enc.Close()
}

// EncodeJSON writes f as JSON that Parse reads back equal.
func (f *File) EncodeJSON(w io.Writer) error {
	var b strings.Builder
	writeJSON(&b, f.encode(), "\n")
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

func (f *File) encode() *yaml.Node { return object[File]{to: f, fields: fileFields}.encode() }

// noPort is the port of a machine that has no limit.
var noPort = math.Inf(1)
