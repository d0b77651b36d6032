package main

import (
	"bufio"
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-project/fairlead/algo/dag"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
	"github.com/fairlead-project/fairlead/workload"
)

func text(write func(w *bufio.Writer)) []byte {
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	write(w)
	w.Flush()
	return b.Bytes()
}

func instance(t *testing.T, write func(w *bufio.Writer)) *sched.Instance {
	t.Helper()
	f, err := workload.Parse("w", text(write))
	if err != nil {
		t.Fatal(err)
	}
	in, err := f.Instance(nil)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// The workloads are accepted, are what they say, and are the same every time.
func TestWorkloads(t *testing.T) {
	for name, c := range map[string]struct {
		write                  func(w *bufio.Writer)
		machines, jobs, st, ta int
	}{
		"wide":    {wide(1000, 8), 8, 10, 20, 1000},
		"equal":   {equal(1000, 8), 8, 10, 20, 1000},
		"layered": {layered(600), 1, 600, 600, 0},
		"sizes":   {manySizes(500), 100, 1, 1, 500},
		"stages":  {manyStages(500), 100, 1, 500, 500},
		"tasks":   {manyTasks, 100_000, 1, 1, 5_000_000},
	} {
		in := instance(t, c.write)
		x := sched.NewIndex(in)
		if len(in.Machines) != c.machines || len(in.Jobs) != c.jobs || x.Stages() != c.st || c.ta > 0 && x.Tasks() != c.ta {
			t.Errorf("%s: %d machines, %d jobs, %d stages, %d tasks", name, len(in.Machines), len(in.Jobs), x.Stages(), x.Tasks())
		}
		if !bytes.Equal(text(c.write), text(c.write)) {
			t.Errorf("%s: differs from one time to the next", name)
		}
	}
}

// The DAGs are those that the solver was designed for: about three arcs per stage,
// each to the layer before, and one, two or four tasks in equal parts.
func TestLayered(t *testing.T) {
	const n = 6000
	in := instance(t, layered(n))
	arcs := 0
	tasks := map[int]int{}
	for j := range in.Jobs {
		tasks[in.Jobs[j].Stages[0].Count]++
		arcs += len(in.Jobs[j].After)
		for _, a := range in.Jobs[j].After {
			if 6*int(a)/n != 6*j/n-1 {
				t.Fatalf("job %d waits for %d", j, a)
			}
		}
	}
	if arcs < 2.8*n || arcs > 3*n {
		t.Errorf("%d arcs for %d stages", arcs, n)
	}
	for _, k := range []int{1, 2, 4} {
		if tasks[k] < n/4 {
			t.Errorf("%d stages of %d tasks, of %d", tasks[k], k, n)
		}
	}
	if len(tasks) != 3 {
		t.Errorf("numbers of tasks: %v", tasks)
	}
}

// A task that has to wait anyway waits for the fast machine.
func TestPlainList(t *testing.T) {
	const doc = header + `
cluster: {machines: [{name: slow, speed: 1}, {name: fast, speed: 10}]}
jobs:
- {name: a, stages: [{name: s, sizes: [5, 10]}, {name: t, after: [s], size: 1}]}
- {name: b, stages: [{name: s, size: 0.5}]}
`
	in := instance(t, func(w *bufio.Writer) { w.WriteString(doc) })
	x := sched.NewIndex(in)
	z, err := sim.Means(x)
	if err != nil {
		t.Fatal(err)
	}
	p, err := dag.NewProblem(x, z, nil)
	if err != nil {
		t.Fatal(err)
	}
	order := []int32{0, 1, 2}
	ns := sched.FromSeconds
	want := []sched.Placement{ // fast is machine 1
		{Task: 1, Machine: 1, Start: 0, Finish: ns(1)},
		{Task: 3, Machine: 0, Start: 0, Finish: ns(0.5)},
		{Task: 0, Machine: 1, Start: ns(1), Finish: ns(1.5)},
		{Task: 2, Machine: 1, Start: ns(1.5), Finish: ns(1.6)},
	}
	if got := plainList(p, z, order); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	plan, err := p.List(order, 0)
	if err != nil || !slices.Equal(plan.Schedule.Tasks, want) {
		t.Errorf("List: %v, %v", plan, err)
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		atLeast bool
		runs    []float64
		want    verdict
	}{
		{false, []float64{9, 10, 99}, met},
		{false, []float64{11, 10, 99}, noise},
		{false, []float64{11, 12, 13}, missed},
		{true, []float64{10, 11, 1}, met},
		{true, []float64{9, 1, 10}, noise},
		{true, []float64{9, 8, 7}, missed},
	} {
		if got := (&claim{target: 10, atLeast: c.atLeast, runs: c.runs}).verdict(); got != c.want {
			t.Errorf("%v, at least %v: %q, want %q", c.runs, c.atLeast, got, c.want)
		}
	}
}

func TestDocument(t *testing.T) {
	b := &bench{
		runs: 3,
		claims: []claim{
			{what: "speed", show: perSecond, target: 500_000, atLeast: true, runs: []float64{2_345_678, 1e6, 600_000}},
			{what: "time", show: seconds, target: 10, runs: []float64{12, 13, 14.25}},
		},
		tables: []table{{title: "T", head: []string{"a", "b"}, rows: [][]string{{"x", "1"}}}},
	}
	var out strings.Builder
	bad, err := b.write(&out)
	if err != nil || bad != 1 {
		t.Errorf("%d targets missed, %v", bad, err)
	}
	for _, line := range []string{
		"| speed | 1,000,000 events/s | 2,350,000 events/s, 1,000,000 events/s, 600,000 events/s | ≥ 500,000 events/s | yes |",
		"| time | 13.0 s | 12.0 s, 13.0 s, 14.2 s | ≤ 10.0 s | **no** |",
		"## T\n\n| a | b |\n|---|---:|\n| x | 1 |\n",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("no %q in\n%s", line, out.String())
		}
	}
}

func TestNumbers(t *testing.T) {
	for want, got := range map[string]string{
		"1,234,567": grouped(1_234_567),
		"999":       grouped(999),
		"2,020,000": rounded(2_019_813),
		"28,500":    rounded(28_523),
		"0":         rounded(0.2),
		"12.3 s":    seconds(12.34),
		"0.10 s":    seconds(0.1),
		"49.7 ms":   seconds(0.0497),
		"841 µs":    seconds(841e-6),
		"1e-4":      showGap(1e-4),
		"2048 MiB":  memory(2 << 30),
		"0.2 kB":    fileSize(180),
		"12.3 MB":   fileSize(12_345_678),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
