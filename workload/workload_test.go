package workload

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// goodFiles returns the valid files by name.
func goodFiles(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.*")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"example.yaml": []byte(Example())}
	for _, p := range paths {
		if filepath.Ext(p) == ".golden" {
			continue
		}
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(p)] = data
	}
	if len(files) < 7 {
		t.Fatalf("only %d files", len(files))
	}
	return files
}

func mustParse(t testing.TB, name, text string) *File {
	t.Helper()
	f, err := Parse(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// equal compares everything that a file says.
func equal(a, b *File) bool {
	return reflect.DeepEqual(a.Metadata, b.Metadata) && reflect.DeepEqual(a.Cluster, b.Cluster) && reflect.DeepEqual(a.Jobs, b.Jobs)
}

// here stands for this computer.
var here = []Machine{{Name: "here", Speed: 1, Slots: 2, Port: math.Inf(1), Resources: []Quantity{{"cpu", 2}}}}

// The example of the design, expanded whole.
func TestDesignExample(t *testing.T) {
	f := mustParse(t, "design.yaml", string(goodFiles(t)["design.yaml"]))
	in, err := f.Instance(nil)
	if err != nil {
		t.Fatal(err)
	}
	lognormal, err := size.NewLognormal(3e8, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	gib := size.Exact(1 << 30)
	want := &sched.Instance{
		Name:      "nightly",
		Resources: []string{"cpu", "memory"},
		Machines: []sched.Machine{
			{Name: "fast-0", Speed: 3, Slots: 4, Capacity: []int64{8000, 32 << 30 * 1000}, Port: 1.25e9},
			{Name: "fast-1", Speed: 3, Slots: 4, Capacity: []int64{8000, 32 << 30 * 1000}, Port: 1.25e9},
			{Name: "slow", Speed: 1, SpeedAssumed: true, Slots: 1, Capacity: []int64{0, 0}, Port: math.Inf(1)},
		},
		Jobs: []sched.Job{
			{Name: "import", Weight: 1, Stages: []sched.Stage{{Name: "fetch", Count: 1, Sizes: []size.Dist{size.Exact(3)}}}},
			{
				Name: "sales-report", Weight: 4, Release: 30 * sched.Second, Tenant: "sales", After: []sched.JobID{0},
				Stages: []sched.Stage{
					{
						Name: "map", Count: 16, Sizes: []size.Dist{size.Exact(12)}, Needs: []int64{1000, 2 << 30 * 1000},
						Machines: []sched.MachineID{0, 1}, Run: &sched.Command{Argv: []string{"wc-map", "{{.Task}}"}},
						Workdir: "data", Env: []sched.EnvVar{{Name: "LANG", Value: "C"}}, Image: "wc:1.4", Retries: 2, Timeout: 10 * time.Minute,
					},
					{Name: "shuffle", After: []int{0}, Shuffle: &sched.Shuffle{From: 0, To: 3, Size: 2 * gib}},
					{Name: "replicate", After: []int{0}, Flows: []sched.Flow{
						{From: 0, To: 2, Size: 2 * gib}, {From: 1, To: 2, Size: lognormal},
					}},
					{
						Name: "reduce", After: []int{1}, Count: 3, Sizes: []size.Dist{size.Exact(40), size.Exact(40), size.Exact(35)},
						Input: []sched.Input{{From: 0, Bytes: 1 << 30}}, Run: &sched.Command{Shell: "wc-reduce $FAIRLEAD_TASK"},
					},
				},
			},
		},
	}
	if !reflect.DeepEqual(in, want) {
		t.Errorf("got\n%+v\nwant\n%+v", in, want)
	}
	if err := Unsupported(in); !errors.Is(err, ErrUnsupported) || !strings.HasPrefix(err.Error(), "stage sales-report/shuffle is a transfer (shuffle)") {
		t.Errorf("the shuffle is refused with: %v", err)
	}
}

func TestFluidFields(t *testing.T) {
	files := goodFiles(t)
	in, err := mustParse(t, "fluid.yaml", string(files["fluid.yaml"])).Instance(nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"cpu", "gpu", "memory"}; !slices.Equal(in.Resources, want) {
		t.Fatalf("resources %v", in.Resources)
	}
	pcores := in.Machines[2]
	if pcores.Slots != 5 || !slices.Equal(pcores.CPUs, []int{0, 1, 2, 3, 8}) || pcores.Speed != 1.5 {
		t.Errorf("pcores: %+v", pcores)
	}
	part := in.Jobs[0].Stages[0]
	want := &sched.Fluid{Needs: []float64{0.0001, 0, 64 << 20}, MaxRate: 2.5}
	if !reflect.DeepEqual(part.Fluid, want) {
		t.Errorf("part: %+v", part.Fluid)
	}
	if !slices.Equal(part.Needs, []int64{1, 0, 64 << 20 * 1000}) { // rounded up to a thousandth
		t.Errorf("part needs %v", part.Needs)
	}
	if whole := in.Jobs[0].Stages[1].Fluid; !whole.Gang || whole.MaxRate != 3 || whole.Needs[1] != 1 {
		t.Errorf("whole: %+v", whole)
	}
	if y := in.Jobs[1].Stages[1]; y.Count != 4 || y.Sizes[0].Mean() != 2.5 || !slices.Equal(y.Machines, []sched.MachineID{0, 1, 2}) {
		t.Errorf("y: %+v", y)
	}

	in, err = mustParse(t, "rates.json", string(files["rates.json"])).Instance(nil)
	if err != nil {
		t.Fatal(err)
	}
	rates := []sched.MachineRate{{Machine: 0, Rate: 2}, {Machine: 1, Rate: 0.5}, {Machine: 2, Rate: 1}, {Machine: 3, Rate: 1}}
	if got := in.Jobs[0].Stages[0].Fluid.Rates; !slices.Equal(got, rates) {
		t.Errorf("rates %v", got)
	}
}

func TestUnsupported(t *testing.T) {
	for name, want := range map[string]string{
		"fluid.yaml":   "stage a/part shares rates (maxRate), which is not supported by this version; remove the field to run its tasks in slots",
		"rates.json":   "stage a/s shares rates (rates)",
		"speedup.yaml": "stage a/s shares rates (speedup)",
		"page.yaml":    "stage a/s shares rates (page)",
		"example.yaml": "",
	} {
		in, err := mustParse(t, name, string(goodFiles(t)[name])).Instance(here)
		if err != nil {
			t.Error(err)
			continue
		}
		got := ""
		if err := Unsupported(in); err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A file without a cluster is judged by the machines it is given.
func TestLocalMachines(t *testing.T) {
	f := mustParse(t, "nocluster.yaml", string(goodFiles(t)["nocluster.yaml"]))
	_, err := f.Instance(nil)
	var es Errors
	if !errors.As(err, &es) || es[0].Class != NoCluster {
		t.Errorf("without machines: %v", err)
	}
	_, err = f.Instance(here)
	want := `nocluster.yaml:7:23: jobs[0].stages[0].needs["nvidia.com/gpu"]: found "nvidia.com/gpu", expected the name of a resource that a machine has: cpu
nocluster.yaml:8:16: jobs[0].stages[0].machines[0]: found "somewhere", expected the name of a machine: here`
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %v", err, want)
	}
	// A file built in Go has no positions, and is checked all the same.
	built := &File{Jobs: []Job{{Name: "a", After: []string{"b"}, Stages: []Stage{{Name: "s"}}}}}
	_, err = built.Instance(here)
	if want := `jobs[0].after[0]: found "b", expected the name of a job: a`; err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %v", err, want)
	}
	built.Jobs[0].After, built.Jobs[0].Weight = nil, -1
	if _, err = built.Instance(here); !errors.Is(err, sched.ErrInstance) {
		t.Errorf("negative weight: %v", err)
	}
	built.Jobs[0].Weight = 1
	if in, err := built.Instance(here); err != nil || in.Jobs[0].Stages[0].Count != 1 {
		t.Errorf("%+v, %v", in, err)
	}
}

// encodings returns f as YAML and as JSON.
func encodings(t testing.TB, f *File) map[string]string {
	t.Helper()
	var y, j bytes.Buffer
	if err := f.EncodeYAML(&y); err != nil {
		t.Fatal(err)
	}
	if err := f.EncodeJSON(&j); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"yaml": y.String(), "json": j.String()}
}

func TestRoundTripOfFiles(t *testing.T) {
	for name, data := range goodFiles(t) {
		f := mustParse(t, name, string(data))
		for form, text := range encodings(t, f) {
			g, err := Parse(name, []byte(text))
			if err != nil {
				t.Errorf("%s as %s: %v", name, form, err)
			} else if !equal(f, g) {
				t.Errorf("%s as %s: got\n%+v\nwant\n%+v", name, form, g, f)
			}
		}
	}
}

func TestErrorsAreUsable(t *testing.T) {
	_, err := Parse("many.yaml", []byte("a: 1\nb: 2\n"))
	var one *Error
	if !errors.As(err, &one) || one.Line != 1 || one.Column != 1 || one.Class != UnknownField {
		t.Errorf("%+v", one)
	}
	var many strings.Builder
	for i := range 50 {
		many.WriteString("x" + strings.Repeat("x", i) + ": 1\n")
	}
	_, err = Parse("many.yaml", []byte(many.String()))
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != MaxErrors+1 || lines[MaxErrors] != "many.yaml: stopped after 20 errors" {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
}

// Errors come in order of position even where they are found in another order.
func TestErrorsAreSorted(t *testing.T) {
	_, err := Parse("f", []byte("apiVersion: fairlead.dev/v1alpha1\nkind: Workload\njobs:\n- {weight: x}\n- {name: b, stages: [{name: s, count: 0}]}\n"))
	var es Errors
	if !errors.As(err, &es) || len(es) != 4 {
		t.Fatalf("%v", err)
	}
	if !slices.IsSortedFunc(es, func(a, b *Error) int { return (a.Line-b.Line)*1000 + a.Column - b.Column }) {
		t.Errorf("%v", err)
	}
}

func TestByteOrderMarkAndLineEnds(t *testing.T) {
	text := "apiVersion: fairlead.dev/v1alpha1\nkind: Workload\njobs:\n- {name: a, stages: [{name: s, size: 3}]}\n"
	want := mustParse(t, "f", text)
	for _, variant := range []string{"\ufeff" + text, strings.ReplaceAll(text, "\n", "\r\n"), "# comment\n---\n" + text + "...\n"} {
		if got := mustParse(t, "f", variant); !equal(got, want) {
			t.Errorf("%q: %+v", variant, got)
		}
	}
}

// Resources do not depend on the order of machines or of fields.
func TestResourcesAreSorted(t *testing.T) {
	head := "apiVersion: fairlead.dev/v1alpha1\nkind: Workload\njobs: [{name: a, stages: [{name: s}]}]\ncluster: {machines: "
	a, err := mustParse(t, "f", head+"[{name: m, resources: {z: 1, b: 2}}, {name: n, resources: {c: 3}}]}").Instance(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.Resources, []string{"b", "c", "z"}) || !slices.Equal(a.Machines[0].Capacity, []int64{2000, 0, 1000}) {
		t.Errorf("%v %v", a.Resources, a.Machines[0].Capacity)
	}
}

func TestSimilar(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"wieght", "weight"}, {"SIZE", "size"}, {"siz", "size"}, {"colour", ""}, {"x", ""}, {"aftr", "after"},
	} {
		if got := similar(c.name, []string{"name", "weight", "size", "after"}); got != c.want {
			t.Errorf("similar(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}

// What `fairlead init` writes runs as it is, task by task, with nothing but sh.
func TestExampleRuns(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh on this computer")
	}
	in, err := mustParse(t, "example.yaml", Example()).Instance(here)
	if err != nil {
		t.Fatal(err)
	}
	tasks := 0
	for _, job := range in.Jobs {
		for _, st := range job.Stages {
			for k := range st.Count {
				argv, err := Argv(st.Run, Fields{Job: job.Name, Stage: st.Name, Task: k, Machine: "here", Attempt: 1})
				if err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command(argv[0], argv[1:]...)
				cmd.Env = append(os.Environ(), fmt.Sprintf("FAIRLEAD_TASK=%d", k))
				for _, e := range st.Env {
					cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
				}
				out, err := cmd.CombinedOutput()
				if err != nil || len(out) == 0 {
					t.Errorf("%s/%s: %v: %s", job.Name, st.Name, err, out)
				}
				tasks++
			}
		}
	}
	if tasks != 14 {
		t.Errorf("%d tasks ran", tasks)
	}
}
