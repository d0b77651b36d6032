package trace_test

import (
	"bytes"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/fairlead-project/fairlead/trace"
	"github.com/fairlead-project/fairlead/workload"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the expected files in testdata")

// here stands for this computer.
var here = []workload.Machine{{Name: "local", Speed: 1, Slots: 4, Port: math.Inf(1), Resources: []workload.Quantity{
	{Name: "cpu", Amount: 4}, {Name: "memory", Amount: 1e10},
}}}

func yamlOf(t testing.TB, f *workload.File) string {
	t.Helper()
	var b bytes.Buffer
	if err := f.EncodeYAML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What becomes of the examples, and what is said about it, is in testdata.
func TestExamples(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.*")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, path := range paths {
		format, ok := trace.Lookup(strings.TrimPrefix(filepath.Ext(path), "."))
		if !ok {
			continue
		}
		seen[format.Name] = true
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, notes, err := format.Read(path, data)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := f.Instance(here); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		var b strings.Builder
		for _, n := range notes {
			b.WriteString("# " + n + "\n")
		}
		b.WriteString(yamlOf(t, f))
		var written bytes.Buffer
		notes, err = format.Write(&written, f)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		b.WriteString("---\n")
		for _, n := range notes {
			b.WriteString("# " + n + "\n")
		}
		b.Write(written.Bytes())
		golden := path + ".want"
		if *rewrite {
			if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.String(); got != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
		}
	}
	for _, name := range trace.Names() {
		if !seen[name] {
			t.Errorf("no example of %s", name)
		}
	}
}

func TestOnClusterDropsWhatItLacks(t *testing.T) {
	data, err := os.ReadFile("testdata/example.wfformat")
	if err != nil {
		t.Fatal(err)
	}
	f, _, err := trace.ReadWfFormat("example", data)
	if err != nil {
		t.Fatal(err)
	}
	f.Jobs[0].Stages[0].Machines = []string{"a"}
	notes := trace.OnCluster(f, &workload.Cluster{Machines: []workload.Machine{
		{Name: "m", Count: 3, Speed: 2, Slots: 1, Port: 1e8, Resources: []workload.Quantity{{Name: "cpu", Amount: 2}}},
	}})
	in, err := f.Instance(nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(in.Machines) != 3 || !reflect.DeepEqual(in.Resources, []string{"cpu"}) {
		t.Errorf("machines %v with %v", in.Machines, in.Resources)
	}
	want := []string{
		"needs of memory are left out: no machine says how much it has",
		"1 stage may run on any machine: they were pinned to ones of another cluster",
	}
	if !reflect.DeepEqual(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
}

// What another format would turn into something else is refused, and by name.
func TestRefused(t *testing.T) {
	const head = "apiVersion: fairlead.dev/v1alpha1\nkind: Workload\ncluster: {machines: [{name: m, count: 2}]}\njobs:\n"
	for _, c := range []struct {
		formats, jobs, want string
	}{
		{"swf joblog ninja nextflow", "- {name: a, stages: [{name: s, size: 1}, {name: u, after: [s], size: 1}]}", "job a"},
		{"swf joblog", "- {name: a, stages: [{name: s, sizes: [1, 2]}]}", "job a has"},
		{"ninja", "- {name: a, stages: [{name: s, count: 2, size: 1}]}", "stage s has 2 tasks"},
		{"wfformat ninja nextflow", "- {name: a, stages: [{name: s, size: 1}]}\n- {name: b, stages: [{name: s, size: 1}]}", "2 jobs"},
		{"joblog ninja nextflow", "- {name: a, stages: [{name: s, size: 1}]}\n- {name: b, after: [a], stages: [{name: s, size: 1}]}", ""},
		{"swf", "- {name: a, stages: [{name: s, size: 1}]}\n- {name: b, stages: [{name: s, size: 1}]}\n- {name: c, after: [a, b], stages: [{name: s, size: 1}]}", "job c"},
		{"swf joblog ninja nextflow", "- {name: a, stages: [{name: s}]}", "stage s has no size"},
		{"wfformat swf joblog ninja nextflow", "- {name: a, stages: [{name: s, size: {exponential: {mean: 1}}}]}", "random"},
		{"wfformat swf joblog ninja nextflow", "- {name: a, stages: [{name: s, flows: [{from: m-0, to: m-1, size: 1}]}]}", "transfer"},
		{"wfformat", "- {name: a, stages: [{name: s, size: 1}, {name: u, after: [s], size: 1}, {name: v, after: [u], size: 1, input: {s: 1}}]}", "v reads from s"},
	} {
		f, err := workload.Parse("w", []byte(head+c.jobs))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range strings.Fields(c.formats) {
			format, _ := trace.Lookup(name)
			if _, err := format.Write(&bytes.Buffer{}, f); !errors.Is(err, trace.ErrCannotHold) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s of %s: error %v, want ErrCannotHold with %q", name, c.jobs, err, c.want)
			}
		}
	}
}

// Everything that a format has no place for is named.
func TestNotesOfWriters(t *testing.T) {
	f, err := workload.Parse("w", []byte(`apiVersion: fairlead.dev/v1alpha1
kind: Workload
cluster: {machines: [{name: m, speed: 2, slots: 2, port: 1MB/s, resources: {gpu: 2}}]}
jobs:
- {name: a, weight: 3, tenant: me, release: 0.25, stages: [{name: s, size: 1.0005, needs: {gpu: 1}, run: [ls], retries: 1, machines: [m]}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	for format, want := range map[string]string{
		"swf": "weights, speeds of machines, ports of machines, commands, needs, machines of stages, retries and time-outs, " +
			"jobs are numbered, times are rounded, tenants are numbered",
		"joblog":   "weights, tenants, the cluster, needs, machines of stages, retries and time-outs, jobs are numbered, sizes are rounded, commands that are no single line",
		"ninja":    "weights, releases, tenants, the cluster, commands, needs, machines of stages, retries and time-outs, sizes are rounded",
		"nextflow": "weights, releases, tenants, the cluster, commands, machines of stages, retries and time-outs, sizes are rounded, needs other than cpu and memory",
		"wfformat": "weights, releases, tenants, speeds of machines, ports of machines, commands, machines of stages, retries and time-outs, needs other than cpu and memory",
	} {
		x, _ := trace.Lookup(format)
		notes, err := x.Write(&bytes.Buffer{}, f)
		if err != nil {
			t.Fatal(err)
		}
		wanted := strings.Split(want, ", ")
		if len(notes) != len(wanted) {
			t.Errorf("%s: notes %q, want %q", format, notes, wanted)
			continue
		}
		for i, n := range notes {
			if !strings.HasPrefix(n, wanted[i]) {
				t.Errorf("%s: note %q, want one about %s", format, n, wanted[i])
			}
		}
	}
}
