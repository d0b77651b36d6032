package trace

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/fairlead-project/fairlead/workload"
)

// never stands where WfFormat wants a time at which something has happened.
const never = "1970-01-01T00:00:00Z"

// maxEdges is how many pairs of tasks a writer names.
const maxEdges = 5_000_000

// WriteWfFormat writes one job in WfFormat 1.5: a task per task, those of a stage
// waiting for all of those of the stages before. What each pair of tasks passes on is
// a file of its own, in whole bytes, rounded up. Nothing has been executed, so the
// makespan is written as 0 and the times as 1970. Tasks without a size have no runtime;
// if none has one, there is no execution.
func WriteWfFormat(w io.Writer, f *workload.File) ([]string, error) {
	if err := oneJob(f); err != nil {
		return nil, err
	}
	notes := left{weights: true, releases: true, tenants: true, speeds: true, ports: true, commands: true, pins: true, retries: true}.of(f)
	job := &f.Jobs[0]
	x := wfWriter{job: job, index: map[string]int{}, names: newNamer()}
	if err := x.tasks(); err != nil {
		return nil, err
	}
	if err := x.edges(); err != nil {
		return nil, err
	}
	name := f.Metadata.Name
	if name == "" {
		name = job.Name
	}
	out := wfFile{Name: name, CreatedAt: never, SchemaVersion: "1.5", Workflow: &wfWorkflow{Specification: &x.spec}}
	if x.timed {
		out.Workflow.Execution = &wfExecution{ExecutedAt: never, Tasks: x.measured, Machines: wfMachines(f.Cluster)}
	}
	if x.other {
		notes = append(notes, "needs other than cpu and memory left out: the format has no place for that")
	}
	if x.unneeded {
		notes = append(notes, "needs of tasks without a size left out: the format has them beside runtimes")
	}
	if x.rounded {
		notes = append(notes, "amounts of data and memory are rounded up to whole bytes")
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return notes, enc.Encode(out)
}

type wfWriter struct {
	job      *workload.Job
	index    map[string]int // of stages
	first    []int          // task of each stage, and the number of all
	names    *namer
	spec     wfSpecification
	measured []wfMeasured
	timed    bool
	other    bool
	rounded  bool
	unneeded bool
}

// tasks names the tasks and says how long they take.
func (x *wfWriter) tasks() error {
	stages := x.job.Stages
	total := 0
	for s := range stages {
		st := &stages[s]
		x.index[st.Name] = s
		if st.Tasks() == 1 {
			x.names.taken[st.Name] = true // which others must not take
		}
		if total += st.Tasks(); total > MaxTasks {
			return fmt.Errorf("it has more than %d tasks: %w", MaxTasks, ErrCannotHold)
		}
	}
	for s := range stages {
		st := &stages[s]
		measured := st.Size != nil || st.Sizes != nil
		sizes := make([]float64, st.Tasks())
		if measured || st.Tasks() == 0 {
			var err error
			if sizes, err = known(st); err != nil {
				return err
			}
		}
		x.timed = x.timed || measured
		x.unneeded = x.unneeded || !measured && st.Needs != nil
		x.first = append(x.first, len(x.spec.Tasks))
		var m wfMeasured
		for _, q := range st.Needs {
			amount := math.Ceil(q.Amount)
			switch q.Name {
			case "cpu":
				amount = max(1, amount)
				m.Cores = &amount
			case "memory":
				m.Memory = &amount
			default:
				x.other = true
			}
			x.rounded = x.rounded || amount != q.Amount
		}
		for k := range sizes {
			id := st.Name
			if len(sizes) > 1 {
				id = x.names.name(st.Name + "-" + strconv.Itoa(k))
			}
			x.spec.Tasks = append(x.spec.Tasks, wfTask{Name: st.Name, ID: id, Parents: []string{}, Children: []string{}})
			if measured {
				m.ID, m.Runtime = id, &sizes[k]
				x.measured = append(x.measured, m)
			}
		}
	}
	x.first = append(x.first, len(x.spec.Tasks))
	return nil
}

// edges links the tasks.
func (x *wfWriter) edges() error {
	edges := 0
	for s := range x.job.Stages {
		st := &x.job.Stages[s]
		read := map[string]float64{}
		for _, in := range st.Input {
			if !slices.Contains(st.After, in.From) {
				return fmt.Errorf("stage %s reads from %s, which is not in its after: %w", st.Name, in.From, ErrCannotHold)
			}
			read[in.From] += in.Bytes
		}
		for _, a := range st.After {
			from := x.index[a]
			pairs := (x.first[from+1] - x.first[from]) * st.Tasks()
			if edges += pairs; edges > maxEdges {
				return fmt.Errorf("more than %d pairs of tasks wait for each other: %w", maxEdges, ErrCannotHold)
			}
			share := read[a] / float64(pairs)
			bytes := math.Ceil(share)
			x.rounded = x.rounded || bytes != share
			for p := x.first[from]; p < x.first[from+1]; p++ {
				for t := x.first[s]; t < x.first[s+1]; t++ {
					parent, child := &x.spec.Tasks[p], &x.spec.Tasks[t]
					parent.Children = append(parent.Children, child.ID)
					child.Parents = append(child.Parents, parent.ID)
					if bytes > 0 {
						file := wfFileSize{"data-" + strconv.Itoa(len(x.spec.Files)), bytes}
						x.spec.Files = append(x.spec.Files, file)
						parent.OutputFiles = append(parent.OutputFiles, file.ID)
						child.InputFiles = append(child.InputFiles, file.ID)
					}
				}
			}
		}
	}
	return nil
}

// wfMachines names the machines of a cluster one by one.
func wfMachines(c *workload.Cluster) (out []wfMachine) {
	if c == nil {
		return nil
	}
	for _, m := range c.Machines {
		for k := range max(1, m.Count) {
			w := wfMachine{Name: m.Name}
			if m.Count > 0 {
				w.Name += "-" + strconv.Itoa(k)
			}
			if cores := float64(m.Slots); m.Slots > 0 {
				w.CPU.Cores = &cores
			}
			for _, r := range m.Resources {
				if memory := math.Floor(r.Amount); r.Name == "memory" && memory > 0 {
					w.Memory = &memory
				}
			}
			out = append(out, w)
		}
	}
	return out
}
