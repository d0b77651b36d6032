package lpcheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tolerance is relative: what two solvers in floating point may differ by.
const tolerance = 1e-6

// maxGap makes the comparison worth something: a larger gap is a failure.
const maxGap = 1e-4

// solution is what solve.mjs prints.
type solution struct {
	Status    string  `json:"status"`
	Objective float64 `json:"objective"`
}

// highs solves LP files; it skips the test where node or HiGHS is missing, but
// fails it in CI.
func highs(t *testing.T, files ...string) []solution {
	t.Helper()
	missing := func(what string) {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s: CI must not go without", what)
		}
		t.Skipf("SKIPPED, no second opinion on lower bounds: %s", what)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		missing("node is not installed")
	}
	dir := os.Getenv("FAIRLEAD_HIGHS")
	if dir == "" {
		dir = "."
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "highs", "package.json")); err != nil {
		missing("HiGHS is not installed; run npm ci in internal/lpcheck, or set FAIRLEAD_HIGHS")
	}
	if dir, err = filepath.Abs(dir); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, append([]string{"solve.mjs"}, files...)...)
	cmd.Env = append(os.Environ(), "FAIRLEAD_HIGHS="+dir)
	var list []solution
	for line := range bytes.Lines(output(t, cmd)) {
		var s solution
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatalf("solve.mjs printed %q: %v", line, err)
		}
		list = append(list, s)
	}
	if len(list) != len(files) {
		t.Fatalf("%d solutions of %d programs", len(list), len(files))
	}
	return list
}

func output(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, stderr.Bytes())
	}
	return out
}

// The script itself, on programs written by hand.
func TestSolve(t *testing.T) {
	got := highs(t, "testdata/short-job.lp", "testdata/infeasible.lp")
	if s := got[0]; s.Status != "Optimal" || math.Abs(s.Objective-87./16) > tolerance {
		t.Errorf("short-job.lp: %+v, want 87/16", s)
	}
	if s := got[1]; s.Status != "Infeasible" {
		t.Errorf("infeasible.lp: %+v", s)
	}
}

// Optima known by exact arithmetic.
var exact = map[string]float64{
	"short-job.yaml": 87. / 16,
	"chain.yaml":     235. / 16,
	"branches.yaml":  143. / 8,
	"mapreduce.yaml": 91. / 6,
	"releases.yaml":  31. / 2,
}

// HiGHS' optimum of the program that "bound" writes is between the lower bound
// and what its gap allows.
func TestBoundsAgainstHiGHS(t *testing.T) {
	highs(t) // skip before building
	dir := t.TempDir()
	binary := filepath.Join(dir, "fairlead")
	build := exec.Command("go", "build", "-o", binary, "./cmd/fairlead")
	build.Dir = filepath.Join("..", "..")
	output(t, build)

	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < len(exact) {
		t.Fatalf("workloads %v, %v", files, err)
	}
	for seed := range uint64(3) {
		f := filepath.Join(dir, fmt.Sprintf("layered-%d.yaml", seed))
		if err := os.WriteFile(f, layered(seed), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	type bound struct {
		LowerBound float64 `json:"lowerBound"`
		Method     string  `json:"method"`
		Gap        float64 `json:"gap"`
	}
	var bounds []bound
	var programs []string
	for _, f := range files {
		program := filepath.Join(dir, filepath.Base(f)+".lp")
		var b bound
		out := output(t, exec.Command(binary, "bound", f, "-o", "json", "--method", "lp", "--write-lp", program))
		if err := json.Unmarshal(out, &b); err != nil || !(b.LowerBound > 0) || !(b.Gap >= 0 && b.Gap < maxGap) || b.Method != "lp" {
			t.Fatalf("%s: bound printed %s (%v)", f, out, err)
		}
		bounds, programs = append(bounds, b), append(programs, program)
	}
	for i, s := range highs(t, programs...) {
		name, b := filepath.Base(files[i]), bounds[i]
		if s.Status != "Optimal" {
			t.Errorf("%s: HiGHS says %s", name, s.Status)
			continue
		}
		// The gap is relative to the upper end of the bracket.
		if low, high := b.LowerBound*(1-tolerance), b.LowerBound/(1-b.Gap)*(1+tolerance); !(low <= s.Objective && s.Objective <= high) {
			t.Errorf("%s: HiGHS finds %.9g, outside [%.9g, %.9g], the bound %.9g with gap %.2g", name, s.Objective, low, high, b.LowerBound, b.Gap)
		}
		if want, ok := exact[name]; ok && math.Abs(s.Objective-want) > tolerance*want {
			t.Errorf("%s: HiGHS finds %.9g, but the optimum is %.9g", name, s.Objective, want)
		}
		t.Logf("%s: bound %.9g, gap %.1e, HiGHS %.9g", name, b.LowerBound, b.Gap, s.Objective)
	}
}

// layered returns a workload of 60 stages in 25 jobs, in layers, much work on few
// machines: where sets of stages bind, and not only precedence.
func layered(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	var b bytes.Buffer
	b.WriteString("apiVersion: fairlead.dev/v1alpha1\nkind: Workload\n")
	b.WriteString("cluster: {machines: [{name: fast, speed: 2, slots: 2}, {name: slow, count: 2, speed: 0.7}]}\njobs:\n")
	for j := range 25 {
		fmt.Fprintf(&b, "- name: j%d\n  weight: %.3f\n  release: %.2f\n", j, r.ExpFloat64(), 40*r.Float64())
		if layer := j / 8; layer > 0 {
			fmt.Fprintf(&b, "  after: [j%d, j%d]\n", 8*(layer-1)+r.IntN(4), 8*(layer-1)+4+r.IntN(4))
		}
		b.WriteString("  stages:\n")
		stages := 2 + (j*2/5)%2 // 2, 2, 2, 3, 3: 60 in all
		for s := range stages {
			fmt.Fprintf(&b, "  - {name: s%d, count: %d, size: %.4f", s, 1+r.IntN(50), math.Exp(r.NormFloat64()))
			if s > 0 && r.IntN(4) > 0 {
				fmt.Fprintf(&b, ", after: [s%d]", r.IntN(s))
			}
			b.WriteString("}\n")
		}
	}
	return b.Bytes()
}

// The lock file pins HiGHS and its hash, and no place to fetch it from: that is
// the installer's business.
func TestLockFile(t *testing.T) {
	data, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct {
			Version, Resolved, Integrity, License string
		}
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		t.Fatal(err)
	}
	h := lock.Packages["node_modules/highs"]
	if !strings.HasPrefix(h.Version, "1.15.") || !strings.HasPrefix(h.Integrity, "sha512-") || h.License != "MIT" {
		t.Errorf("highs is locked as %+v", h)
	}
	for name, p := range lock.Packages {
		if p.Resolved != "" {
			t.Errorf("%s: resolved to %s; install with omit-lockfile-registry-resolved", name, p.Resolved)
		}
	}
	if bytes.Contains(data, []byte("://")) {
		t.Error("the lock file names a host")
	}
}
