package trace

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-project/fairlead/workload"
)

// Limits on what readers take.
const (
	MaxBytes = workload.MaxBytes
	MaxTasks = 500_000 // jobs or tasks of a trace, but for the processors of jobs in SWF
)

// ErrCannotHold is the reason for which a writer refuses a workload.
var ErrCannotHold = errors.New("the format cannot hold the workload")

// Format is one of those that workloads are read from and written to.
type Format struct {
	Name, Title string
	Read        func(name string, data []byte) (f *workload.File, notes []string, err error)
	Write       func(w io.Writer, f *workload.File) (notes []string, err error)
}

// Formats returns all formats, in the order in which they are shown.
func Formats() []Format {
	return []Format{
		{"wfformat", "WfFormat 1.5 of WfCommons; reads 1.3, 1.4 and 1.6 as well", ReadWfFormat, WriteWfFormat},
		{"swf", "Standard Workload Format of the Parallel Workloads Archive", ReadSWF, WriteSWF},
		{"joblog", "GNU parallel's --joblog", ReadJoblog, WriteJoblog},
		{"ninja", "ninja's .ninja_log, versions 5 to 7", ReadNinja, WriteNinja},
		{"nextflow", "Nextflow's trace.txt", ReadNextflow, WriteNextflow},
	}
}

// Lookup finds a format by its name.
func Lookup(name string) (Format, bool) {
	all := Formats()
	i := slices.IndexFunc(all, func(f Format) bool { return f.Name == name })
	if i < 0 {
		return Format{}, false
	}
	return all[i], true
}

// Names returns the names of all formats.
func Names() (out []string) {
	for _, f := range Formats() {
		out = append(out, f.Name)
	}
	return out
}

// OnCluster has f run on another cluster, or on the computer that reads it if c is
// nil: what it needs of resources that no machine of c has is left out, as are the
// machines that stages are pinned to.
func OnCluster(f *workload.File, c *workload.Cluster) (notes []string) {
	has := map[string]bool{}
	if c != nil {
		for _, m := range c.Machines {
			for _, r := range m.Resources {
				has[r.Name] = true
			}
		}
	}
	f.Cluster = c
	var lost []string
	pinned := 0
	for j := range f.Jobs {
		for s := range f.Jobs[j].Stages {
			st := &f.Jobs[j].Stages[s]
			if st.Machines != nil {
				st.Machines = nil
				pinned++
			}
			st.Needs = slices.DeleteFunc(st.Needs, func(q workload.Quantity) bool {
				if has[q.Name] {
					return false
				}
				if !slices.Contains(lost, q.Name) {
					lost = append(lost, q.Name)
				}
				return true
			})
			if len(st.Needs) == 0 {
				st.Needs = nil
			}
		}
	}
	if lost != nil {
		notes = append(notes, "needs of "+strings.Join(lost, " and ")+" are left out: no machine says how much it has")
	}
	if pinned > 0 {
		notes = append(notes, fmt.Sprintf("%s may run on any machine: they were pinned to ones of another cluster", plural(pinned, "stage")))
	}
	return notes
}

// bad is the error for one mistake.
func bad(name string, line, column int, class workload.Class, found, expected string) error {
	return workload.Errors{{File: name, Line: line, Column: column, Class: class, Msg: "found " + found + ", expected " + expected}}
}

// checkSize refuses what would take too much memory.
func checkSize(name string, data []byte) error {
	if len(data) > MaxBytes {
		return bad(name, 0, 0, workload.OverLimit, fmt.Sprintf("%d bytes", len(data)), fmt.Sprintf("at most %d", MaxBytes))
	}
	return nil
}

// maxName is how long a name may be in a workload; names made here are cut earlier,
// to leave room for a number.
const maxName = 200

// namer makes names that a workload may have out of those that a trace has.
type namer struct {
	taken   map[string]bool
	next    map[string]int // number to try for a base that was taken
	changed int
}

func newNamer() *namer { return &namer{taken: map[string]bool{}, next: map[string]int{}} }

// name returns s with what is not allowed replaced by "-", and numbered if that is
// taken.
func (n *namer) name(s string) string {
	out := clean(s)
	if n.taken[out] {
		base := out
		for n.taken[out] {
			n.next[base]++
			out = base + "-" + strconv.Itoa(n.next[base]+1)
		}
	}
	if out != s {
		n.changed++
	}
	n.taken[out] = true
	return out
}

func clean(s string) string {
	b := make([]byte, 0, min(len(s), maxName))
	for i := 0; i < len(s) && len(b) < maxName; i++ {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		switch {
		case letter, len(b) > 0 && (c == '.' || c == '_' || c == '-'):
			b = append(b, c)
		case len(b) > 0 && c < 0x80:
			b = append(b, '-')
		}
	}
	if len(b) == 0 {
		return "x"
	}
	return string(b)
}

// note tells of changed names, if there are.
func (n *namer) note(notes []string, what string) []string {
	if n.changed == 0 {
		return notes
	}
	return append(notes, fmt.Sprintf("%s renamed: names have only letters, digits, \".\", \"_\" and \"-\", and each is there once", plural(n.changed, what)))
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// quote shows some of a text from a file in a message.
func quote(s string) string {
	const most = 60
	if len(s) > most {
		s = s[:most] + "..."
	}
	return strconv.Quote(s)
}

// validSeconds is what a duration may be, far below the end of time.
func validSeconds(x float64) bool { return x >= 0 && x <= maxSeconds }

const maxSeconds = 1e9

const secondsExpected = "0 to 1e9 seconds"

// known returns the size of every task of a stage where each is an exact number.
func known(st *workload.Stage) ([]float64, error) {
	if st.Tasks() == 0 {
		return nil, fmt.Errorf("stage %s is a transfer: %w", st.Name, ErrCannotHold)
	}
	sizes := st.Sizes
	if st.Size != nil {
		sizes = []workload.Size{*st.Size}
	}
	if len(sizes) == 0 {
		return nil, fmt.Errorf("stage %s has no size: %w", st.Name, ErrCannotHold)
	}
	out := make([]float64, st.Tasks())
	for k := range out {
		z := sizes[min(k, len(sizes)-1)]
		if z.Random != nil {
			return nil, fmt.Errorf("stage %s has random sizes: %w", st.Name, ErrCannotHold)
		}
		out[k] = z.Value
	}
	return out, nil
}

// left lists what a writer has no place for.
type left struct {
	weights, releases, tenants, clusters, speeds, ports, commands, inputs, needs, pins, retries bool
}

func (l left) of(f *workload.File) (notes []string) {
	var has left
	if f.Cluster != nil {
		has.clusters = true
		for _, m := range f.Cluster.Machines {
			has.speeds = has.speeds || m.Speed != 1
			has.ports = has.ports || !math.IsInf(m.Port, 1)
		}
	}
	for j := range f.Jobs {
		job := &f.Jobs[j]
		has.weights = has.weights || job.Weight != 1
		has.releases = has.releases || job.Release != 0
		has.tenants = has.tenants || job.Tenant != ""
		for s := range job.Stages {
			st := &job.Stages[s]
			has.commands = has.commands || st.Run != nil || st.Env != nil || st.Workdir != "" || st.Image != ""
			has.inputs = has.inputs || st.Input != nil
			has.needs = has.needs || st.Needs != nil
			has.pins = has.pins || st.Machines != nil
			has.retries = has.retries || st.Retries != 0 || st.Timeout != 0
		}
	}
	for _, x := range []struct {
		has, lost bool
		what      string
	}{
		{has.weights, l.weights, "weights"},
		{has.releases, l.releases, "releases"},
		{has.tenants, l.tenants, "tenants"},
		{has.clusters, l.clusters, "the cluster"},
		{has.speeds, l.speeds && !l.clusters, "speeds of machines"},
		{has.ports, l.ports && !l.clusters, "ports of machines"},
		{has.commands, l.commands, "commands"},
		{has.inputs, l.inputs, "input"},
		{has.needs, l.needs, "needs"},
		{has.pins, l.pins, "machines of stages"},
		{has.retries, l.retries, "retries and time-outs"},
	} {
		if x.has && x.lost {
			notes = append(notes, x.what+" left out: the format has no place for that")
		}
	}
	return notes
}
