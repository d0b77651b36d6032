package run

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
	"github.com/fairlead-project/fairlead/workload"
)

// EncodeInstance writes an instance that is [runnable] as a workload file, with
// all that it was resolved to: machines, learnt sizes, needs. A random size is
// written as its mean, which is what policies see of it. It is an error if reading
// the file gives another instance.
func EncodeInstance(in *sched.Instance) ([]byte, error) {
	var b, again bytes.Buffer
	if err := fileOf(in).EncodeJSON(&b); err != nil {
		return nil, err
	}
	decoded, err := decodeInstance("workload.json", b.Bytes())
	if err == nil {
		err = fileOf(decoded).EncodeJSON(&again)
	}
	if err == nil && !bytes.Equal(b.Bytes(), again.Bytes()) {
		err = errors.New("it reads back as another one")
	}
	if err != nil {
		return nil, fmt.Errorf("the workload cannot be written as a file: %w", err)
	}
	return b.Bytes(), nil
}

// AsRecorded returns the instance as a run's directory keeps it: random sizes have
// become their means. A run of it, resumed, is a run of the same instance.
func AsRecorded(in *sched.Instance) (*sched.Instance, error) {
	text, err := EncodeInstance(in)
	if err != nil {
		return nil, err
	}
	return decodeInstance(workloadName, text)
}

func decodeInstance(name string, data []byte) (*sched.Instance, error) {
	f, err := workload.Parse(name, data)
	if err != nil {
		return nil, err
	}
	return f.Instance(nil)
}

// fileOf is the inverse of [workload.File.Instance], up to random sizes.
func fileOf(in *sched.Instance) *workload.File {
	f := &workload.File{Metadata: workload.Metadata{Name: in.Name}, Cluster: &workload.Cluster{}}
	machines := make([]string, len(in.Machines))
	for i := range in.Machines {
		m := &in.Machines[i]
		machines[i] = m.Name
		f.Cluster.Machines = append(f.Cluster.Machines, workload.Machine{
			Name: m.Name, Speed: m.Speed, Slots: m.Slots, Port: m.Port, CPUs: m.CPUs,
			Resources: quantities(in.Resources, m.Capacity, true),
		})
	}
	jobs := make([]string, len(in.Jobs))
	for j := range in.Jobs {
		jobs[j] = in.Jobs[j].Name
	}
	for j := range in.Jobs {
		src := &in.Jobs[j]
		job := workload.Job{
			Name: src.Name, Weight: src.Weight, Release: src.Release.Seconds(), Tenant: src.Tenant,
			After: named(src.After, jobs), Stages: make([]workload.Stage, len(src.Stages)),
		}
		stages := make([]string, len(src.Stages))
		for s := range src.Stages {
			stages[s] = src.Stages[s].Name
		}
		for s := range src.Stages {
			job.Stages[s] = stageOf(&src.Stages[s], stages, machines, in.Resources)
		}
		f.Jobs = append(f.Jobs, job)
	}
	return f
}

func stageOf(src *sched.Stage, stages, machines, resources []string) workload.Stage {
	st := workload.Stage{
		Name: src.Name, After: named(src.After, stages), Count: src.Count,
		Needs: quantities(resources, src.Needs, false), Machines: named(src.Machines, machines),
		Run: src.Run, Workdir: src.Workdir, Env: src.Env, Image: src.Image, Retries: src.Retries, Timeout: src.Timeout,
	}
	for _, i := range src.Input {
		st.Input = append(st.Input, workload.Input{From: stages[i.From], Bytes: i.Bytes})
	}
	switch p, exact := uniform(src); {
	case len(src.Sizes) == 0:
	case exact:
		st.Size = &workload.Size{Value: p}
	default:
		st.Count = 0
		for k := range src.Count {
			st.Sizes = append(st.Sizes, workload.Size{Value: src.Size(k).Mean()})
		}
	}
	return st
}

// uniform returns the size of all tasks if it is one. Means of equal distributions
// do not count: the engine sums them up in another way, and a resumed run must not
// differ in the last bit.
func uniform(st *sched.Stage) (p float64, ok bool) {
	if len(st.Sizes) != 1 {
		return 0, false
	}
	if st.Count == 1 {
		return st.Sizes[0].Mean(), true
	}
	return size.Value(st.Sizes[0])
}

// named replaces identifiers by names.
func named[V ~int | ~int32](ids []V, names []string) (out []string) {
	for _, id := range ids {
		out = append(out, names[id])
	}
	return out
}

// quantities lists amounts of resources by name, as thousandths of units.
func quantities(names []string, milli []int64, zeros bool) (out []workload.Quantity) {
	for d, n := range milli {
		if n != 0 || zeros {
			out = append(out, workload.Quantity{Name: names[d], Amount: float64(n) / 1000})
		}
	}
	slices.SortFunc(out, func(a, b workload.Quantity) int { return strings.Compare(a.Name, b.Name) })
	return out
}
