package trace

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/workload"
)

// What is read of WfFormat 1.5. Times are seconds, sizes bytes, as the names say.
type (
	wfFile struct {
		Name          string      `json:"name"`
		CreatedAt     string      `json:"createdAt,omitempty"`
		SchemaVersion string      `json:"schemaVersion"`
		Workflow      *wfWorkflow `json:"workflow"`
	}
	wfWorkflow struct {
		Specification *wfSpecification `json:"specification,omitempty"`
		Execution     *wfExecution     `json:"execution,omitempty"`
		// Up to 1.4 there was one list.
		Tasks    []wfOldTask `json:"tasks,omitempty"`
		Machines []wfMachine `json:"machines,omitempty"`
	}
	wfSpecification struct {
		Tasks []wfTask     `json:"tasks"`
		Files []wfFileSize `json:"files,omitempty"`
	}
	wfTask struct {
		Name        string   `json:"name"`
		ID          string   `json:"id"`
		Parents     []string `json:"parents"`
		Children    []string `json:"children"`
		InputFiles  []string `json:"inputFiles,omitempty"`
		OutputFiles []string `json:"outputFiles,omitempty"`
	}
	wfFileSize struct {
		ID    string  `json:"id"`
		Bytes float64 `json:"sizeInBytes"`
	}
	wfExecution struct {
		Makespan   float64      `json:"makespanInSeconds"`
		ExecutedAt string       `json:"executedAt"`
		Tasks      []wfMeasured `json:"tasks"`
		Machines   []wfMachine  `json:"machines,omitempty"`
	}
	wfMeasured struct {
		ID      string   `json:"id"`
		Runtime *float64 `json:"runtimeInSeconds,omitempty"`
		Cores   *float64 `json:"coreCount,omitempty"`
		Memory  *float64 `json:"memoryInBytes,omitempty"`
	}
	wfMachine struct {
		Name string `json:"nodeName"`
		CPU  struct {
			Cores *float64 `json:"coreCount,omitempty"`
			MHz   *float64 `json:"speedInMHz,omitempty"`
		} `json:"cpu"`
		Memory *float64 `json:"memoryInBytes,omitempty"`
	}
	// wfOldTask has what 1.3 names without a unit as well as what 1.4 names with one.
	wfOldTask struct {
		wfMeasured
		Name     string   `json:"name"`
		Parents  []string `json:"parents"`
		Children []string `json:"children"`
		Seconds  *float64 `json:"runtime"`
		OldCores *float64 `json:"cores"`
		Files    []struct {
			Link  string   `json:"link"`
			Name  string   `json:"name"`
			ID    string   `json:"id"`
			Bytes *float64 `json:"sizeInBytes"`
		} `json:"files"`
	}
)

// ReadWfFormat reads a workflow in WfFormat 1.5 (WfCommons), 1.3, 1.4 or 1.6. It
// becomes one job with a stage of one task per task, as large as its runtime was
// observed, on whatever machine that was; a task that was not run has no size.
// A task reads from a parent, as `input`, the bytes of the files that the parent writes
// and it reads. Machines become the cluster, with a slot per core, all of speed 1: the
// frequencies in such files are those of a moment. Cores and memory of tasks become
// needs where all machines say what they have.
func ReadWfFormat(name string, data []byte) (*workload.File, []string, error) {
	if err := checkSize(name, data); err != nil {
		return nil, nil, err
	}
	r := wfReader{document: document{name, data}, files: map[string]float64{}}
	var in wfFile
	if err := r.decode(&in); err != nil {
		return nil, nil, err
	}
	if err := r.normalise(&in); err != nil {
		return nil, nil, err
	}
	job := workload.Job{Name: clean(in.Name), Weight: 1, Stages: make([]workload.Stage, len(r.tasks))}
	names := newNamer()
	for i := range r.tasks {
		job.Stages[i].Name = names.name(r.tasks[i].ID)
	}
	if err := r.link(job.Stages); err != nil {
		return nil, nil, err
	}
	if err := r.read(job.Stages); err != nil {
		return nil, nil, err
	}
	if err := r.measure(job.Stages); err != nil {
		return nil, nil, err
	}
	f := &workload.File{Metadata: workload.Metadata{Name: job.Name}, Jobs: []workload.Job{job}}
	if err := r.cluster(f); err != nil {
		return nil, nil, err
	}
	return f, names.note(r.notes, "task"), nil
}

type wfReader struct {
	document
	tasks    []wfTask
	at       []any // path to the tasks
	measured map[string]wfMeasured
	where    map[string]int // of measured
	timed    []any          // path to them
	machines []wfMachine
	site     []any // path to the machines
	files    map[string]float64
	notes    []string
}

// normalise brings old versions into the form of 1.5, and checks names.
func (r *wfReader) normalise(in *wfFile) error {
	w := in.Workflow
	if w == nil {
		return r.fail(workload.MissingField, "no workflow", "a workflow in WfFormat: {\"name\": ..., \"schemaVersion\": \"1.5\", \"workflow\": {...}}")
	}
	r.measured, r.where = map[string]wfMeasured{}, map[string]int{}
	switch {
	case w.Specification != nil:
		r.at, r.tasks = []any{"workflow", "specification", "tasks"}, w.Specification.Tasks
		for i, f := range w.Specification.Files {
			if !(f.Bytes >= 0 && f.Bytes <= maxBytesMoved) {
				return r.fail(workload.OutOfRange, fmt.Sprintf("%g bytes", f.Bytes), "0 to 1e15", "workflow", "specification", "files", i, "sizeInBytes")
			}
			r.files[f.ID] = f.Bytes
		}
		if x := w.Execution; x != nil {
			r.timed, r.site = []any{"workflow", "execution", "tasks"}, []any{"workflow", "execution", "machines"}
			for i, t := range x.Tasks {
				r.measured[t.ID], r.where[t.ID] = t, i
			}
			r.machines = x.Machines
		}
	case w.Tasks != nil:
		r.at, r.timed, r.site = []any{"workflow", "tasks"}, []any{"workflow", "tasks"}, []any{"workflow", "machines"}
		r.machines = w.Machines
		if err := r.upgrade(w.Tasks); err != nil {
			return err
		}
	default:
		return r.fail(workload.MissingField, "neither specification nor tasks", "the tasks of a workflow", "workflow")
	}
	if len(r.tasks) == 0 {
		return r.fail(workload.EmptyList, "no tasks", "at least one", r.at...)
	}
	if len(r.tasks) > MaxTasks {
		return r.fail(workload.OverLimit, plural(len(r.tasks), "task"), fmt.Sprintf("at most %d", MaxTasks), r.at...)
	}
	return nil
}

// maxBytesMoved is how large files can be.
const maxBytesMoved = 1e15

// upgrade reads the tasks of versions before 1.5. Names of tasks stood for them then,
// where they had no id.
func (r *wfReader) upgrade(old []wfOldTask) error {
	ids := make(map[string]string, len(old))
	for _, t := range old {
		if t.ID != "" && t.Name != "" {
			ids[t.Name] = t.ID
		}
	}
	known := make(map[string]bool, len(old))
	for _, t := range old {
		known[t.ID] = true
	}
	translate := func(list []string) []string {
		out := make([]string, len(list))
		for i, s := range list {
			out[i] = s
			if id, ok := ids[s]; ok && !known[s] {
				out[i] = id
			}
		}
		return out
	}
	unitless := false
	for i, t := range old {
		task := wfTask{Name: t.Name, ID: t.ID, Parents: translate(t.Parents), Children: translate(t.Children)}
		if task.ID == "" {
			task.ID = t.Name
		}
		for k, f := range t.Files {
			id := f.Name
			if f.ID != "" {
				id = f.ID
			}
			switch f.Link {
			case "input":
				task.InputFiles = append(task.InputFiles, id)
			case "output":
				task.OutputFiles = append(task.OutputFiles, id)
			default:
				return r.fail(workload.WrongType, "the link "+quote(f.Link), `"input" or "output"`, "workflow", "tasks", i, "files", k, "link")
			}
			switch {
			case f.Bytes == nil:
				unitless = true
			case !(*f.Bytes >= 0 && *f.Bytes <= maxBytesMoved):
				return r.fail(workload.OutOfRange, fmt.Sprintf("%g bytes", *f.Bytes), "0 to 1e15", "workflow", "tasks", i, "files", k, "sizeInBytes")
			default:
				r.files[id] = *f.Bytes
			}
		}
		m := t.wfMeasured
		m.ID = task.ID
		if m.Runtime == nil {
			m.Runtime = t.Seconds
		}
		if m.Cores == nil {
			m.Cores = t.OldCores
		}
		r.tasks = append(r.tasks, task)
		r.measured[task.ID], r.where[task.ID] = m, i
	}
	if unitless {
		r.notes = append(r.notes, "sizes of files without sizeInBytes are left out: their unit is not certain")
	}
	return nil
}

// link sets what each stage waits for: its parents, and those whose child it is.
func (r *wfReader) link(stages []workload.Stage) error {
	index := make(map[string]int, len(r.tasks))
	for i, t := range r.tasks {
		at := func() []any { return slices.Concat(r.at, []any{i, "id"}) }
		if t.ID == "" {
			return r.fail(workload.MissingField, "a task without id", "one", at()...)
		}
		if first, taken := index[t.ID]; taken {
			return r.fail(workload.DuplicateName, "a second task "+quote(t.ID), fmt.Sprintf("distinct ids; the first is tasks[%d]", first), at()...)
		}
		index[t.ID] = i
	}
	parents := make([][]int, len(r.tasks))
	for i, t := range r.tasks {
		for _, l := range []struct {
			field string
			ids   []string
		}{{"parents", t.Parents}, {"children", t.Children}} {
			for k, id := range l.ids {
				other, ok := index[id]
				if !ok {
					return r.fail(workload.UnknownStage, "the unknown task "+quote(id), "the id of a task", slices.Concat(r.at, []any{i, l.field, k})...)
				}
				if l.field == "parents" {
					parents[i] = append(parents[i], other)
				} else {
					parents[other] = append(parents[other], i)
				}
			}
		}
	}
	for i := range parents {
		slices.Sort(parents[i])
		parents[i] = slices.Compact(parents[i])
		for _, p := range parents[i] {
			stages[i].After = append(stages[i].After, stages[p].Name)
		}
	}
	if c := sched.FindCycle(len(parents), func(i int) []int { return parents[i] }); c != nil {
		chain := make([]string, len(c))
		for i, v := range c {
			chain[i] = quote(r.tasks[v].ID)
		}
		if len(chain) > 10 {
			chain = append(chain[:10], "...")
		}
		return r.fail(workload.Cycle, "the cycle "+strings.Join(chain, " -> "), "tasks that do not wait for each other", slices.Concat(r.at, []any{c[0]})...)
	}
	return nil
}

// read sets what each stage reads from those it waits for.
func (r *wfReader) read(stages []workload.Stage) error {
	index := make(map[string]int, len(stages))
	for s := range stages {
		index[stages[s].Name] = s
	}
	writers := map[string][]int{}
	for i, t := range r.tasks {
		for _, f := range t.OutputFiles {
			if w := writers[f]; len(w) == 0 || w[len(w)-1] != i {
				writers[f] = append(w, i)
			}
		}
	}
	unknown := map[string]bool{}
	bytes := make([]float64, len(stages)) // by parent, of the current task
	parent := make([]int, len(stages))    // whose it is, plus 1
	steps := 0
	for i, t := range r.tasks {
		for _, p := range stages[i].After {
			bytes[index[p]], parent[index[p]] = 0, i+1
		}
		seen := make(map[string]bool, len(t.InputFiles))
		for _, f := range t.InputFiles {
			size, known := r.files[f]
			if seen[f] {
				continue
			}
			seen[f] = true
			for _, w := range writers[f] {
				if steps++; steps > maxSteps {
					return r.fail(workload.OverLimit, "too many tasks that write the same files", "a file to have one writer", r.at...)
				}
				if parent[w] == i+1 {
					bytes[w] += size
					if !known {
						unknown[f] = true
					}
				}
			}
		}
		for _, p := range stages[i].After {
			if b := bytes[index[p]]; b > 0 {
				stages[i].Input = append(stages[i].Input, workload.Input{From: p, Bytes: min(b, maxBytesMoved)})
			}
		}
	}
	if len(unknown) > 0 {
		r.notes = append(r.notes, plural(len(unknown), "file")+" of unknown size taken for empty")
	}
	return nil
}

// maxSteps bounds the time for finding who wrote what.
const maxSteps = 50_000_000

// measure sets sizes and, where all machines say what they have, needs.
func (r *wfReader) measure(stages []workload.Stage) error {
	unknown, parallel := 0, false
	cores, memory := len(r.machines) > 0, len(r.machines) > 0
	var mostCores, mostMemory float64
	for _, m := range r.machines {
		cores, memory = cores && m.CPU.Cores != nil, memory && m.Memory != nil
		if cores {
			mostCores = max(mostCores, *m.CPU.Cores)
		}
		if memory {
			mostMemory = max(mostMemory, *m.Memory)
		}
	}
	for i, t := range r.tasks {
		m := r.measured[t.ID]
		at := func(field string) []any { return slices.Concat(r.timed, []any{r.where[t.ID], field}) }
		for _, x := range []struct {
			field string
			value *float64
			most  float64
		}{{"runtimeInSeconds", m.Runtime, maxSeconds}, {"coreCount", m.Cores, 1e6}, {"memoryInBytes", m.Memory, 1e15}} {
			if x.value != nil && !(*x.value >= 0 && *x.value <= x.most) {
				return r.fail(workload.OutOfRange, fmt.Sprint(*x.value), fmt.Sprintf("0 to %g", x.most), at(x.field)...)
			}
		}
		if m.Runtime == nil {
			unknown++
		} else {
			stages[i].Size = &workload.Size{Value: *m.Runtime}
		}
		if m.Cores != nil {
			parallel = parallel || *m.Cores > 1
			cores = cores && math.Ceil(*m.Cores) <= mostCores
		}
		memory = memory && (m.Memory == nil || *m.Memory <= mostMemory)
	}
	if unknown > 0 {
		r.notes = append(r.notes, plural(unknown, "task")+" without a runtime")
	}
	lost := false
	for i, t := range r.tasks {
		m := r.measured[t.ID]
		if parallel && cores {
			n := 1.0
			if m.Cores != nil {
				n = max(1, math.Ceil(*m.Cores))
			}
			stages[i].Needs = append(stages[i].Needs, workload.Quantity{Name: "cpu", Amount: n})
		}
		if m.Memory != nil && *m.Memory > 0 {
			if memory {
				stages[i].Needs = append(stages[i].Needs, workload.Quantity{Name: "memory", Amount: math.Ceil(*m.Memory)})
			}
			lost = lost || !memory
		}
	}
	if lost || parallel && !cores {
		r.notes = append(r.notes, "cores or memory of tasks are left out: no machine says that it has so much")
	}
	return nil
}

// cluster makes the machines of the file.
func (r *wfReader) cluster(f *workload.File) error {
	if len(r.machines) == 0 {
		return nil
	}
	if len(r.machines) > workload.MaxMachines {
		return r.fail(workload.OverLimit, plural(len(r.machines), "machine"), fmt.Sprintf("at most %d", workload.MaxMachines), r.site...)
	}
	parallel, remembers := false, false
	for s := range f.Jobs[0].Stages {
		for _, q := range f.Jobs[0].Stages[s].Needs {
			parallel, remembers = parallel || q.Name == "cpu", remembers || q.Name == "memory"
		}
	}
	c := &workload.Cluster{}
	names := newNamer()
	mhz, slots := map[float64]bool{}, 0
	for i, m := range r.machines {
		out := workload.Machine{Name: names.name(m.Name), Speed: 1, SpeedAssumed: true, Slots: 1, Port: math.Inf(1)}
		if m.CPU.Cores != nil {
			n := *m.CPU.Cores
			if n != math.Trunc(n) || n < 1 || n > workload.MaxSlots {
				return r.fail(workload.OutOfRange, fmt.Sprintf("%g cores", n), fmt.Sprintf("1 to %d", workload.MaxSlots), slices.Concat(r.site, []any{i, "cpu", "coreCount"})...)
			}
			out.Slots = int(n)
			if parallel {
				out.Resources = append(out.Resources, workload.Quantity{Name: "cpu", Amount: n})
			}
		}
		if slots += out.Slots; slots > workload.MaxSlots {
			return r.fail(workload.OverLimit, fmt.Sprintf("%d cores up to here", slots), fmt.Sprintf("at most %d", workload.MaxSlots), slices.Concat(r.site, []any{i})...)
		}
		if m.Memory != nil {
			if !(*m.Memory >= 0 && *m.Memory <= 1e15) {
				return r.fail(workload.OutOfRange, fmt.Sprintf("%g bytes", *m.Memory), "0 to 1e15", slices.Concat(r.site, []any{i, "memoryInBytes"})...)
			}
			if remembers {
				out.Resources = append(out.Resources, workload.Quantity{Name: "memory", Amount: math.Ceil(*m.Memory)})
			}
		}
		if m.CPU.MHz != nil {
			mhz[*m.CPU.MHz] = true
		}
		c.Machines = append(c.Machines, out)
	}
	if len(mhz) > 1 {
		r.notes = append(r.notes, "speedInMHz is left out, all machines have speed 1: frequencies are those of a moment")
	}
	f.Cluster = c
	return nil
}
