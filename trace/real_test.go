package trace_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-project/fairlead/trace"
	"github.com/fairlead-project/fairlead/workload"
)

// traces returns the directory of other people's traces, which are not part of this
// repository: FAIRLEAD_TRACES, or ../shared/traces from the repository's root.
func traces(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("FAIRLEAD_TRACES")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "traces")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no traces: %v (FAIRLEAD_TRACES names their directory)", err)
	}
	return dir
}

// compact is a workflow as another program has read it.
type compact struct {
	Source string
	Stats  struct {
		Tasks, Edges int
		SumRuntime   float64 `json:"sum_runtime_s"`
		Path         float64 `json:"critical_path_s"`
	}
	Machines []struct{ Cores int }
	Tasks    []struct {
		ID      string
		Runtime *float64 `json:"runtime_s"`
		Parents [][2]float64
	}
}

// Published workflows have the tasks, edges, bytes, runtimes and critical paths that
// an independent program found in them, and come back the same when written.
func TestPublishedWorkflows(t *testing.T) {
	dir := filepath.Join(traces(t), "wfcommons")
	paths, err := filepath.Glob(filepath.Join(dir, "compact", "*.compact.json"))
	if err != nil || len(paths) == 0 {
		t.Skipf("no workflows in %s", dir)
	}
	read := 0
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var want compact
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(want.Source)
		data, err = os.ReadFile(filepath.Join(dir, "original", name))
		if err != nil {
			continue // only the compact form is there
		}
		read++
		f, notes, err := trace.ReadWfFormat(name, data)
		if err != nil {
			t.Error(err)
			continue
		}
		t.Logf("%s: %s", name, strings.Join(notes, "; "))
		in, err := f.Instance(here)
		if err != nil {
			t.Error(err)
			continue
		}
		stages := in.Jobs[0].Stages
		edges, runtime, path := 0, 0.0, 0.0
		finish := make([]float64, len(stages))
		index := map[string]int{}
		for i := range want.Tasks {
			index[f.Jobs[0].Stages[i].Name] = i
		}
		for _, s := range topological(t, f.Jobs[0].Stages, index) {
			st := &stages[s]
			edges += len(st.After)
			start := 0.0
			for _, p := range st.After {
				start = max(start, finish[p])
			}
			if size := st.Size(0); size != nil {
				runtime += size.Mean()
				start += size.Mean()
			}
			finish[s] = start
			path = max(path, start)
		}
		near := func(a, b float64) bool { return math.Abs(a-b) <= 0.01+1e-6*b }
		if len(stages) != want.Stats.Tasks || edges != want.Stats.Edges || !near(runtime, want.Stats.SumRuntime) || !near(path, want.Stats.Path) {
			t.Errorf("%s: %d tasks, %d edges, %v s in all, %v s on the longest path; want %+v", name, len(stages), edges, runtime, path, want.Stats)
			continue
		}
		for s, task := range want.Tasks {
			moved := map[int]float64{}
			for _, i := range stages[s].Input {
				moved[i.From] += i.Bytes
			}
			for _, p := range task.Parents {
				if got := moved[int(p[0])]; got != p[1] {
					t.Errorf("%s: task %s reads %v bytes from parent %v, want %v", name, task.ID, got, p[0], p[1])
				}
			}
			if len(task.Parents) != len(stages[s].After) {
				t.Errorf("%s: task %s has %d parents, want %d", name, task.ID, len(stages[s].After), len(task.Parents))
			}
		}
		var b bytes.Buffer
		if _, err := trace.WriteWfFormat(&b, f); err != nil {
			t.Error(err)
		} else if g, _, err := trace.ReadWfFormat("written", b.Bytes()); err != nil {
			t.Error(err)
		} else if yamlOf(t, f) != yamlOf(t, g) {
			t.Errorf("%s: comes back as another workload", name)
		}
		if len(in.Machines) != len(want.Machines) {
			t.Errorf("%s: %d machines, want %d", name, len(in.Machines), len(want.Machines))
		}
	}
	if read == 0 {
		t.Skipf("no originals in %s", dir)
	}
}

// topological orders stages so that those waited for come first.
func topological(t *testing.T, stages []workload.Stage, index map[string]int) (order []int) {
	t.Helper()
	done := make([]bool, len(stages))
	var visit func(s int)
	visit = func(s int) {
		if done[s] {
			return
		}
		done[s] = true
		for _, a := range stages[s].After {
			visit(index[a])
		}
		order = append(order, s)
	}
	for s := range stages {
		visit(s)
	}
	return order
}

// A published log of a cluster is read as awk counts it.
func TestPublishedLog(t *testing.T) {
	path := filepath.Join(traces(t), "swf", "wagap-2013-first4000.swf")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Skip(err)
	}
	f, notes, err := trace.ReadSWF(path, data)
	if err != nil {
		t.Fatal(err)
	}
	procs, seconds := 0, 0.0
	for j := range f.Jobs {
		procs += f.Jobs[j].Stages[0].Tasks()
		seconds += f.Jobs[j].Stages[0].Size.Value
	}
	if len(f.Jobs) != 4000 || procs != wantProcs || seconds != wantSeconds {
		t.Errorf("%d jobs, %d processors, %.0f s; notes %q", len(f.Jobs), procs, seconds, notes)
	}
	if r := f.Jobs[1].Release; r != 548 {
		t.Errorf("the second job is released at %v, want 548", r)
	}
	if !strings.HasPrefix(notes[0], "field 17") {
		t.Errorf("notes %q do not say that the field of preceding jobs is a filler", notes)
	}
}

const (
	wantProcs   = 50_293
	wantSeconds = 263_658_252
)
