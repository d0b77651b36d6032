package mutation

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// edit replaces old, which must occur exactly once.
type edit struct{ old, new string }

// mutations are mistakes that are easy to make and that must not pass unnoticed.
// Each test named must fail.
var mutations = []struct {
	name  string
	file  string // from the root of the module
	edits []edit
	pkg   string
	tests []string
}{
	{
		name: "list rule: the ready time is left out of the minimum over machines",
		file: "algo/dag/list.go",
		edits: []edit{
			{
				"if f := after(start, sched.Duration(size, class.speed)); f < finish {",
				"free := sched.Never\n" +
					"\t\tfor i := class.first; i < l.classEnd(c); i++ {\n" +
					"\t\t\tfree = min(free, l.machines[i].slots.t[1])\n" +
					"\t\t}\n" +
					"\t\tif f := after(free, sched.Duration(size, class.speed)); f < finish {",
			},
			{
				"class := &l.speeds[best]\n",
				"class := &l.speeds[best]\n" +
					"\tfinish = after(class.start.t[1], sched.Duration(size, class.speed))\n",
			},
		},
		pkg:   "./algo/dag",
		tests: []string{"TestPitfallReadyTimeInsideTheMinimum", "TestListAgainstSlowTwin", "TestRandomAgainstBruteForce"},
	},
	{
		name:  "insertion: a gap that is too short is taken",
		file:  "algo/dag/insert.go",
		edits: []edit{{"after(start, length) <= g[i].to", "start <= g[i].to"}},
		pkg:   "./algo/dag", tests: []string{"TestInsertAgainstSlowTwin", "TestGaps"},
	},
	{
		name:  "order of jobs: stages near the end of the job come first",
		file:  "algo/dag/order.go",
		edits: []edit{{"cmp.Compare(way[b], way[a])", "cmp.Compare(way[a], way[b])"}},
		pkg:   "./algo/dag", tests: []string{"TestJobOrder"},
	},
	{
		name:  "spc: the dearest candidate is kept",
		file:  "policy/dag/candidates.go",
		edits: []edit{{"cost < c.cost*handicap", "cost > c.cost*handicap"}},
		pkg:   "./policy/dag", tests: []string{"TestSPCIsNeverWorse"},
	},
	{
		name:  "dual: what leaves a node is subtracted from its reduced weight",
		file:  "opt/queyranne/bound.go",
		edits: []edit{{"b.reduced[q.from[k]] += x", "b.reduced[q.from[k]] -= x"}},
		pkg:   "./opt/queyranne", tests: []string{"TestExactOptimum"},
	},
	{
		name:  "dual: what enters a node is added to its reduced weight",
		file:  "opt/queyranne/bound.go",
		edits: []edit{{"float64(avail*(1-q.slack[j])) - float64(used*(1+q.slack[j]))", "float64(avail*(1-q.slack[j])) + float64(used*(1+q.slack[j]))"}},
		pkg:   "./algo/dag", tests: []string{"TestPaperRelaxation", "TestRandomAgainstBruteForce"},
	},
	{
		name:  "dual: the lower bound is rounded up",
		file:  "opt/queyranne/bound.go",
		edits: []edit{{"return value * (1 - float64", "return value * (1 + float64"}},
		pkg:   "./opt/queyranne", tests: []string{"TestRigorousBound"},
	},
	{
		name:  "gradient: the sign of a multiplier on what leaves a node",
		file:  "opt/queyranne/solve.go",
		edits: []edit{{"grad[q.from[k]] += now.arc[k]", "grad[q.from[k]] -= now.arc[k]"}},
		pkg:   "./algo/dag", tests: []string{"TestPaperRelaxation"},
	},
	{
		name:  "timeline: work is centred at its end",
		file:  "opt/queyranne/timeline.go",
		edits: []edit{{"return moment + float64(p*(t+p/(2*l.mu)))", "return moment + float64(p*(t+p/l.mu))"}},
		pkg:   "./opt/queyranne", tests: []string{"TestReleasedExactOptimum"},
	},
	{
		name:  "strong relaxation: a head does not wait for the length of what precedes",
		file:  "algo/dag/strong.go",
		edits: []edit{{"r = max(r, addDown(s.Release[i], s.Lag[i]))", "r = max(r, s.Release[i])"}},
		pkg:   "./algo/dag", tests: []string{"TestStrongAgainstSimplex", "TestHeadsNeverExceed"},
	},
	{
		name:  "strong relaxation: a head waits for the stage itself",
		file:  "algo/dag/strong.go",
		edits: []edit{{"r = max(r, addDown(s.Release[i], s.Lag[i]))", "r = max(r, addDown(s.Release[i], s.Lag[j]))"}},
		pkg:   "./algo/dag", tests: []string{"TestPaperStrongRelaxation", "TestStrongAgainstSimplex"},
	},
	{
		name:  "separation with releases: what comes first after an idle time does not come first",
		file:  "opt/queyranne/separate.go",
		edits: []edit{{"point = s.first[j]", "point = s.open[j]"}},
		pkg:   "./opt/queyranne", tests: []string{"TestReleasedSeparation"},
	},
	{
		name:  "separation: the key is C_j alone",
		file:  "opt/queyranne/project.go",
		edits: []edit{{"key[j] = c[j] - p.Tail[j]", "key[j] = c[j]"}},
		pkg:   "./opt/queyranne", tests: []string{"TestSeparationKey", "TestSeparationAgainstEnumeration"},
	},
	{
		name:  "projection: the key is C_j alone",
		file:  "opt/queyranne/project.go",
		edits: []edit{{"pr.key[j] = t[j] - q.tail[j]", "pr.key[j] = t[j]"}},
		pkg:   "./opt/queyranne", tests: []string{"TestProjection"},
	},
	{
		name:  "solver: it claims a percent more than its multipliers prove",
		file:  "opt/queyranne/solve.go",
		edits: []edit{{"Lower: max(0, s.lower)", "Lower: 1.01 * max(0, s.lower)"}},
		pkg:   "./internal/cli", tests: []string{"TestBoundIsProved"},
	},
}

// oneRun bounds one build and run of a mutated package, which takes some seconds;
// a mutant that hangs counts as an error here, not as caught.
const oneRun = 2 * time.Minute

func TestMutationsAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("builds packages and runs their tests: skipped with -short")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			file := filepath.Join(root, filepath.FromSlash(m.file))
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			mutated := string(source)
			for _, e := range m.edits {
				if n := strings.Count(mutated, e.old); n != 1 {
					t.Fatalf("%s has the text to mutate %d times, not once; if the code changed, change this test with it:\n%s", m.file, n, e.old)
				}
				mutated = strings.Replace(mutated, e.old, e.new, 1)
			}
			mutant := filepath.Join(t.TempDir(), "mutant.go")
			write(t, mutant, []byte(mutated))
			overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{file: mutant}})
			if err != nil {
				t.Fatal(err)
			}
			list := filepath.Join(t.TempDir(), "overlay.json")
			write(t, list, overlay)

			// Unchanged, the tests must exist and pass; otherwise failing says nothing.
			out, err := run(t, root, m.pkg, m.tests, "")
			for _, test := range m.tests {
				if err != nil || !result("PASS", test, out) {
					t.Fatalf("without the mutation: %v\n%s", err, out)
				}
			}
			out, err = run(t, root, m.pkg, m.tests, list)
			if err == nil || strings.Contains(out, "[build failed]") {
				t.Fatalf("the mutant must build and fail: %v\n%s", err, out)
			}
			for _, test := range m.tests {
				if !result("FAIL", test, out) {
					t.Errorf("not caught by %s:\n%s", test, out)
				}
			}
		})
	}
}

// result reports whether out says that test had the outcome.
func result(outcome, test, out string) bool {
	return strings.Contains(out, "--- "+outcome+": "+test+" (")
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs the named tests, with an overlay unless it is empty. Their short versions
// suffice, and leave less to run.
func run(t *testing.T, root, pkg string, tests []string, overlay string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), oneRun)
	defer cancel()
	args := []string{"test", "-short", "-vet=off", "-v", "-run", "^(" + strings.Join(tests, "|") + ")$"}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	return string(out), err
}
