package trace_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/trace"
	"github.com/fairlead-project/fairlead/workload"
)

// What each format can hold of a workload, as random workloads.

var (
	millis  = rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(0, 1e9).Draw(t, "ms")) / 1000 })
	seconds = rapid.Map(rapid.IntRange(0, 1e6), func(n int) float64 { return float64(n) })
	names   = rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,8}`)
)

// distinct draws names that differ.
func distinct(t *rapid.T, label string) []string {
	return rapid.SliceOfNDistinct(names, 1, 6, rapid.ID[string]).Draw(t, label)
}

func exactly(x float64) *workload.Size { return &workload.Size{Value: x} }

var holds = map[string]*rapid.Generator[*workload.File]{
	// Jobs of equal tasks, whole seconds, the first one at 0, each after at most one
	// earlier one, a cluster of equal machines.
	"swf": rapid.Custom(func(t *rapid.T) *workload.File {
		f := &workload.File{}
		numbers := rapid.SliceOfNDistinct(rapid.IntRange(0, 1e6), 1, 6, rapid.ID[int]).Draw(t, "numbers")
		for j, n := range numbers {
			job := workload.Job{Name: "j" + strconv.Itoa(n), Weight: 1}
			if j > 0 {
				job.Release = seconds.Draw(t, "release")
				if rapid.Bool().Draw(t, "waits") {
					job.After = []string{f.Jobs[rapid.IntRange(0, j-1).Draw(t, "after")].Name}
				}
			}
			if rapid.Bool().Draw(t, "tenant") {
				job.Tenant = "user-" + strconv.Itoa(rapid.IntRange(0, 99).Draw(t, "user"))
			}
			st := workload.Stage{Name: "run", Size: exactly(seconds.Draw(t, "size"))}
			if n := rapid.IntRange(1, 9).Draw(t, "count"); n > 1 {
				st.Count = n
			}
			job.Stages = []workload.Stage{st}
			f.Jobs = append(f.Jobs, job)
		}
		if rapid.Bool().Draw(t, "cluster") {
			m := workload.Machine{Name: "m", Speed: 1, SpeedAssumed: true, Slots: rapid.IntRange(1, 9).Draw(t, "slots"), Port: math.Inf(1)}
			if n := rapid.IntRange(1, 9).Draw(t, "machines"); n > 1 {
				m.Count = n
			}
			f.Cluster = &workload.Cluster{Machines: []workload.Machine{m}}
		}
		return f
	}),
	// Jobs of one task, milliseconds, commands for a shell.
	"joblog": rapid.Custom(func(t *rapid.T) *workload.File {
		f := &workload.File{}
		for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(0, 1e6), 1, 6, rapid.ID[int]).Draw(t, "numbers") {
			st := workload.Stage{Name: "run", Size: exactly(millis.Draw(t, "size"))}
			if c := rapid.StringMatching(`([ -~\t]{0,20}[!-z])?`).Draw(t, "command"); c != "" {
				st.Run = &sched.Command{Shell: c}
			}
			f.Jobs = append(f.Jobs, workload.Job{Name: "seq" + strconv.Itoa(n), Weight: 1, Stages: []workload.Stage{st}})
		}
		return f
	}),
	// One job of stages of one task, milliseconds.
	"ninja": rapid.Custom(func(t *rapid.T) *workload.File {
		job := workload.Job{Name: "build", Weight: 1}
		for _, name := range distinct(t, "outputs") {
			job.Stages = append(job.Stages, workload.Stage{Name: name, Size: exactly(millis.Draw(t, "size"))})
		}
		return &workload.File{Jobs: []workload.Job{job}}
	}),
	// One job of stages of tasks, milliseconds, cpu in whole numbers, memory in bytes.
	"nextflow": rapid.Custom(func(t *rapid.T) *workload.File {
		job := workload.Job{Name: "nextflow", Weight: 1}
		parallel := rapid.Bool().Draw(t, "cores")
		for i, name := range distinct(t, "processes") {
			st := workload.Stage{Name: name}
			if sizes := rapid.SliceOfN(millis, 1, 4).Draw(t, "sizes"); len(sizes) > 1 && sizes[0] != sizes[1] {
				for _, z := range sizes {
					st.Sizes = append(st.Sizes, workload.Size{Value: z})
				}
			} else {
				st.Size, st.Count = exactly(sizes[0]), rapid.SampledFrom([]int{0, 2, 5}).Draw(t, "count")
			}
			if parallel {
				n := rapid.IntRange(1, 64).Draw(t, "cpu")
				if i == 0 {
					n++ // which makes it matter
				}
				st.Needs = append(st.Needs, workload.Quantity{Name: "cpu", Amount: float64(n)})
			}
			if n := rapid.Int64Range(0, 1<<40).Draw(t, "memory"); n > 0 {
				st.Needs = append(st.Needs, workload.Quantity{Name: "memory", Amount: float64(n)})
			}
			job.Stages = append(job.Stages, st)
		}
		return &workload.File{Jobs: []workload.Job{job}}
	}),
	// One job of stages of one task in any order of dependencies, bytes, needs of
	// memory and cores, machines without speeds.
	"wfformat": rapid.Custom(func(t *rapid.T) *workload.File {
		job := workload.Job{Name: names.Draw(t, "job"), Weight: 1}
		parallel, remembers := rapid.Bool().Draw(t, "cores"), rapid.Bool().Draw(t, "memory")
		ids := distinct(t, "tasks")
		for s, id := range ids {
			st := workload.Stage{Name: id}
			sized := s == 0 || rapid.IntRange(0, 3).Draw(t, "unknown") > 0
			if sized {
				st.Size = exactly(rapid.Float64Range(0, 1e6).Draw(t, "size"))
			}
			for p, parent := range ids[:s] {
				if rapid.Bool().Draw(t, "edge") {
					st.After = append(st.After, parent)
					if n := rapid.IntRange(0, 1e9).Draw(t, fmt.Sprint("bytes ", p)); n > 0 {
						st.Input = append(st.Input, workload.Input{From: parent, Bytes: float64(n)})
					}
				}
			}
			if parallel {
				n := 1.0
				if sized {
					n = float64(rapid.IntRange(1, 3).Draw(t, "cpu"))
				}
				if s == 0 {
					n = 4
				}
				st.Needs = append(st.Needs, workload.Quantity{Name: "cpu", Amount: n})
			}
			if remembers && sized {
				st.Needs = append(st.Needs, workload.Quantity{Name: "memory", Amount: float64(rapid.IntRange(1, 1e9).Draw(t, "bytes of memory"))})
			}
			job.Stages = append(job.Stages, st)
		}
		f := &workload.File{Metadata: workload.Metadata{Name: job.Name}, Jobs: []workload.Job{job}}
		if parallel || remembers || rapid.Bool().Draw(t, "machines") {
			f.Cluster = &workload.Cluster{}
			for _, name := range distinct(t, "nodes") {
				m := workload.Machine{Name: name, Speed: 1, SpeedAssumed: true, Slots: rapid.IntRange(4, 9).Draw(t, "slots"), Port: math.Inf(1)}
				if parallel {
					m.Resources = append(m.Resources, workload.Quantity{Name: "cpu", Amount: float64(m.Slots)})
				}
				if remembers {
					m.Resources = append(m.Resources, workload.Quantity{Name: "memory", Amount: 1e9})
				}
				f.Cluster.Machines = append(f.Cluster.Machines, m)
			}
		}
		return f
	}),
}

// What a format can hold comes back as it was, and nothing is said about it.
func TestRoundTrip(t *testing.T) {
	for _, format := range trace.Formats() {
		t.Run(format.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				f := holds[format.Name].Draw(t, "workload")
				var b bytes.Buffer
				notes, err := format.Write(&b, f)
				if err != nil {
					t.Fatal(err)
				}
				if len(notes) > 0 && format.Name != "wfformat" { // which has no needs without sizes
					t.Fatalf("notes: %q", notes)
				}
				g, _, err := format.Read("written", b.Bytes())
				if err != nil {
					t.Fatalf("%v\n%s", err, b.String())
				}
				var before, after bytes.Buffer
				f.EncodeYAML(&before)
				g.EncodeYAML(&after)
				if before.String() != after.String() {
					t.Fatalf("came back as\n%s\nfrom\n%s\nwas\n%s", after.String(), b.String(), before.String())
				}
			})
		})
	}
}

// A stage of several tasks becomes tasks that wait for the same ones and move as
// much in all.
func TestWfFormatExpandsStages(t *testing.T) {
	f, err := workload.Parse("w", []byte(`apiVersion: fairlead.dev/v1alpha1
kind: Workload
jobs:
- name: a
  stages:
  - {name: map, count: 3, size: 2}
  - {name: map-0, size: 1}
  - {name: reduce, after: [map, map-0], sizes: [4, 5], input: {map: 60, map-0: 7}}
`))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := trace.WriteWfFormat(&b, f); err != nil {
		t.Fatal(err)
	}
	g, _, err := trace.ReadWfFormat("w", b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	want := `apiVersion: fairlead.dev/v1alpha1
kind: Workload
metadata: {name: a}
jobs:
  - name: a
    stages:
      - name: map-0-2
        size: 2
      - name: map-1
        size: 2
      - name: map-2
        size: 2
      - name: map-0
        size: 1
      - name: reduce-0
        after: [map-0-2, map-1, map-2, map-0]
        size: 4
        input: {map-0-2: 10, map-1: 10, map-2: 10, map-0: 4}
      - name: reduce-1
        after: [map-0-2, map-1, map-2, map-0]
        size: 5
        input: {map-0-2: 10, map-1: 10, map-2: 10, map-0: 4}
`
	if got := yamlOf(t, g); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// fuzz checks of any text: a reader ends with an error that has a position, or with
// a workload that can be written down, expanded, and, where its format can hold it,
// comes to rest after it has been written and read again.
func fuzz(f *testing.F, name string) {
	format, _ := trace.Lookup(name)
	paths, err := filepath.Glob("testdata/*." + name)
	if err != nil {
		f.Fatal(err)
	}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		w, _, err := format.Read("fuzz", data)
		if err != nil {
			checkError(t, err)
			return
		}
		text := yamlOf(t, w)
		if _, err := workload.Parse("again", []byte(text)); err != nil {
			t.Fatalf("no workload: %v\n%s", err, text)
		}
		if in, err := w.Instance(here); err == nil {
			if err := in.Validate(); err != nil {
				t.Fatal(err)
			}
		}
		var last string
		for i := range 3 {
			var b bytes.Buffer
			if _, err := format.Write(&b, w); err != nil {
				t.Fatalf("what was read cannot be written: %v\n%s", err, text)
			}
			if i == 2 && b.String() != last {
				t.Fatalf("written again as\n%s\nafter\n%s", b.String(), last)
			}
			last = b.String()
			if w, _, err = format.Read("written", b.Bytes()); err != nil {
				t.Fatalf("what was written cannot be read: %v\n%s", err, last)
			}
		}
	})
}

func FuzzWfFormat(f *testing.F) { fuzz(f, "wfformat") }
func FuzzSWF(f *testing.F)      { fuzz(f, "swf") }
func FuzzJoblog(f *testing.F)   { fuzz(f, "joblog") }
func FuzzNinja(f *testing.F)    { fuzz(f, "ninja") }
func FuzzNextflow(f *testing.F) { fuzz(f, "nextflow") }
