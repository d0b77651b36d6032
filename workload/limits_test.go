package workload

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const head = "apiVersion: fairlead.dev/v1alpha1\nkind: Workload\n"

// Files made to exhaust memory or time are refused, with the limit.
func TestLimits(t *testing.T) {
	oneJob := func(stages string) string { return head + "jobs: [{name: a, stages: " + stages + "}]\n" }
	laughs := "x0: &x0 [1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
	for i := range 9 {
		laughs += fmt.Sprintf("x%d: &x%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*x%d, ", i), 9))
	}
	sizes := strings.Repeat("1,", 100_000)
	shared := oneJob("[{name: s0, sizes: &z [" + sizes + "]}" + func() string {
		var b strings.Builder
		for i := range 100 {
			fmt.Fprintf(&b, ", {name: s%d, sizes: *z}", i+1)
		}
		return b.String()
	}() + "]")
	var cpus, pins strings.Builder
	for i := range 200 {
		fmt.Fprintf(&cpus, "  - {name: m%d, cpus: 0-8191}\n", i)
		fmt.Fprintf(&pins, "  - {name: s%d, machines: [m, x%d]}\n", i, i)
	}
	pins.WriteString("cluster:\n  machines:\n  - {name: m, count: 99000}\n")
	for i := range 200 {
		fmt.Fprintf(&pins, "  - {name: x%d}\n", i)
	}
	for name, c := range map[string]struct{ text, want string }{
		"bytes":           {strings.Repeat("#", MaxBytes+1), "at most 67108864 bytes in a file"},
		"values":          {oneJob("[{name: s, sizes: [" + strings.Repeat("1,", MaxValues) + "]}]"), "at most 2000000; tasks of equal size can share one entry with `count`"},
		"flow nesting":    {strings.Repeat("[", 1_000_000), "at most 10000"},
		"block nesting":   {strings.Repeat("- ", 1_000_000), "at most 10000"},
		"key nesting":     {strings.Repeat("? ", 1_000_000), "at most 10000"},
		"billion laughs":  {head + laughs + "jobs: *x9\n", "one of the fields of a workload"},
		"aliased lists":   {shared, "at most 4000000"},
		"tasks":           {oneJob("[{name: s, count: 5000000}, {name: t}]"), "at most 5000000 tasks in a workload"},
		"machines":        {head + "cluster: {machines: [{name: m, count: 100000}, {name: n}]}\njobs: [{name: a, stages: [{name: s}]}]\n", "at most 100000"},
		"slots":           {head + "cluster: {machines: [{name: m, count: 100000, slots: 1000000}]}\njobs: [{name: a, stages: [{name: s}]}]\n", "at most 1000000 on all machines together"},
		"processors":      {head + "cluster:\n  machines:\n" + cpus.String() + "jobs: [{name: a, stages: [{name: s}]}]\n", "at most 1000000 in all lists"},
		"pinned machines": {head + "jobs:\n- name: a\n  stages:\n" + pins.String(), "at most 10000000, groups expanded"},
	} {
		_, err := Parse(name, []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.300s", name, fmt.Sprint(err))
		}
	}
}

// At the limits, not beyond.
func TestJustWithinLimits(t *testing.T) {
	for name, text := range map[string]string{
		"tasks":    head + "jobs: [{name: a, stages: [{name: s, count: 5000000}]}]\n",
		"machines": head + "cluster: {machines: [{name: m, count: 100000, slots: 10}]}\njobs: [{name: a, stages: [{name: s, machines: [m]}]}]\n",
	} {
		f, err := Parse(name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Instance(here); err != nil {
			t.Fatal(err)
		}
	}
}

// Many stages that name one large group share its expansion.
func TestPinsAreShared(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(head + "cluster: {machines: [{name: m, count: 100000}]}\njobs:\n- name: a\n  stages:\n")
	for i := range 200 {
		fmt.Fprintf(&b, "  - {name: s%d, machines: [m]}\n", i)
	}
	f, err := Parse("f", b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	in, err := f.Instance(nil)
	if err != nil {
		t.Fatal(err)
	}
	st := in.Jobs[0].Stages
	if len(st[199].Machines) != 100_000 || &st[0].Machines[0] != &st[199].Machines[0] {
		t.Error("expanded more than once")
	}
}

// panicking is a reader that panics, as the YAML library does on what it did not
// foresee.
type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("unforeseen") }

func TestPanicsOfTheLibraryAreErrors(t *testing.T) {
	if _, err := decodeDocument(yaml.NewDecoder(panicking{})); err == nil || !strings.Contains(err.Error(), "unforeseen") {
		t.Errorf("%v", err)
	}
}

// When checking the order of stages takes too long the file says how to help.
func TestSearchIsBounded(t *testing.T) {
	stages := "[{name: a}, {name: b, after: [a]}, {name: c, after: [b], input: {a: 1}}, {name: d, after: [c], input: {c: 1}}]"
	f, err := Parse("f", []byte(head+"jobs: [{name: j, stages: "+stages+"}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	x := expander{file: f, steps: maxSteps + 1}
	x.expand()
	want := `f:3:91: jobs[0].stages[2].input.a: found "a", too many stages away to check, expected the two stages linked directly by ` + "`after`"
	if err := x.located(); err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %v", err, want)
	}
}
