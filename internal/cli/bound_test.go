package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/fairlead-project/fairlead/cert"
	"github.com/fairlead-project/fairlead/report"
)

// fromYAML returns what a YAML text means, as JSON.
func fromYAML(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestBoundIsProved takes what the solver claims to the verifier, which knows
// nothing of it. A solver that claims a percent too much does not pass.
func TestBoundIsProved(t *testing.T) {
	for name, content := range map[string]string{
		"typical": typical,
		"chain": preamble + `
cluster: {machines: [{name: m, slots: 2}]}
jobs:
- {name: a, weight: 2, stages: [{name: s, size: 3}, {name: t, after: [s], size: 2}]}
- {name: b, release: 1, stages: [{name: s, count: 3, size: 1}]}
`,
		"one": preamble + `
cluster: {machines: [{name: m}]}
jobs: [{name: a, stages: [{name: s, size: 3}]}]
`,
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t, "w.yaml", content)
			for _, iterations := range []string{"0", "1"} {
				certificate := filepath.Join(t.TempDir(), "c.json")
				o := decode[boundResult](t, succeed(t, "bound", path, "--certificate", certificate, "--iterations", iterations, "-o", "json"))
				v := decode[verifyResult](t, succeed(t, "verify", certificate, path, "-o", "json"))
				if !v.Valid || v.LowerBound == nil || *v.LowerBound != o.LowerBound || !(o.LowerBound > 0) {
					t.Errorf("with %s iterations: bound %v, verified %+v", iterations, o.LowerBound, v)
				}
				costs := decode[simulateResult](t, succeed(t, "simulate", path, "--policy", "spc,wspt,fifo,random", "-o", "json"))
				for _, r := range costs.Runs {
					if r.WeightedCompletion < o.LowerBound {
						t.Errorf("%s costs %v, less than the bound %v", r.Policy, r.WeightedCompletion, o.LowerBound)
					}
				}
			}
		})
	}
}

// TestBoundsAreProvedAtEveryMoment does the same on random workloads whose numbers are
// no round ones, by both methods and after any number of iterations.
func TestBoundsAreProvedAtEveryMoment(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	stronger := 0
	for trial := range 40 {
		var b strings.Builder
		b.WriteString(preamble + "\ncluster: {machines: [{name: fast, speed: 1.7, slots: 2}, {name: slow, count: 2, speed: 0.3}]}\njobs:\n")
		for j := range 2 + rng.IntN(8) {
			fmt.Fprintf(&b, "- {name: j%d, weight: %.3f, release: %.9f, ", j, rng.ExpFloat64(), float64(rng.IntN(2))*10*rng.Float64())
			if j > 0 && rng.IntN(2) == 0 {
				fmt.Fprintf(&b, "after: [j%d], ", rng.IntN(j))
			}
			b.WriteString("stages: [")
			for s := range 1 + rng.IntN(3) {
				fmt.Fprintf(&b, "{name: s%d, sizes: [", s)
				for range 1 + rng.IntN(7) {
					fmt.Fprintf(&b, "%.6f,", rng.ExpFloat64())
				}
				b.WriteString("]")
				if s > 0 && rng.IntN(2) == 0 {
					fmt.Fprintf(&b, ", after: [s%d]", s-1)
				}
				b.WriteString("},")
			}
			b.WriteString("]}\n")
		}
		path := file(t, "w.yaml", b.String())
		certificate := filepath.Join(t.TempDir(), "c.json")
		for _, iterations := range []string{"1", fmt.Sprint(2 + rng.IntN(100)), "0"} {
			var bounds []float64
			for _, method := range []string{cert.LP, cert.LPStrong} {
				o := decode[boundResult](t, succeed(t, "bound", path, "--method", method, "--certificate", certificate, "--iterations", iterations, "-o", "json"))
				v := decode[verifyResult](t, succeed(t, "verify", certificate, path, "-o", "json"))
				if o.Method != method || !v.Valid || *v.LowerBound != o.LowerBound || o.Upper < o.LowerBound {
					t.Errorf("trial %d, %s, %s iterations: bound %+v, verified %+v", trial, method, iterations, o, v)
				}
				bounds = append(bounds, o.LowerBound)
			}
			if bounds[1] < bounds[0] {
				t.Errorf("trial %d: lp proves %v, lp-strong %v", trial, bounds[0], bounds[1])
			}
			if bounds[1] > bounds[0]*1.001 {
				stronger++
			}
		}
	}
	if stronger < 40 {
		t.Errorf("lp-strong proves more in %d of 120 cases only", stronger)
	}
}

// A certificate with one number made better than it is proves nothing.
func TestAlteredCertificate(t *testing.T) {
	path := file(t, "w.yaml", typical)
	certificate := filepath.Join(t.TempDir(), "c.json")
	succeed(t, "bound", path, "--certificate", certificate)
	data, err := os.ReadFile(certificate)
	if err != nil {
		t.Fatal(err)
	}
	for name, alter := range map[string]func(*cert.Certificate){
		"bound":        func(c *cert.Certificate) { c.LowerBound = times(t, c.LowerBound, 101, 100) },
		"bound by 1e9": func(c *cert.Certificate) { c.LowerBound = times(t, c.LowerBound, 1_000_000_001, 1_000_000_000) },
		"arc":          func(c *cert.Certificate) { c.Dual.Arcs[0].Value = times(t, c.Dual.Arcs[0].Value, 2, 1) },
		"head":         func(c *cert.Certificate) { c.Dual.Heads[0].Value = "1000" },
		"sign":         func(c *cert.Certificate) { c.Dual.Arcs[0].Value = "-" + c.Dual.Arcs[0].Value },
		"node":         func(c *cert.Certificate) { c.Dual.Heads[0].Node = "etl/nosuch" },
		"class":        func(c *cert.Certificate) { c.Class = "any" },
	} {
		t.Run(name, func(t *testing.T) {
			c, err := cert.Read(strings.NewReader(string(data)))
			if err != nil {
				t.Fatal(err)
			}
			alter(c)
			var b strings.Builder
			if err := c.Write(&b); err != nil {
				t.Fatal(err)
			}
			o := fairlead(t, t.Context(), "verify", file(t, "altered.json", b.String()), path)
			if o.code != exitInvalid || o.stdout != "" || !strings.Contains(o.stderr, "is not a proof for") {
				t.Errorf("exit code %d, want %d\n%s%s", o.code, exitInvalid, o.stdout, o.stderr)
			}
		})
	}
}

// times multiplies a decimal string by a fraction, exactly.
func times(t *testing.T, s string, num, den int64) string {
	t.Helper()
	x, ok := new(big.Rat).SetString(s)
	if !ok {
		t.Fatalf("%q is no number", s)
	}
	x.Mul(x, big.NewRat(num, den))
	return x.FloatString(80)
}

// Interrupted, a solve gives the bound it has, with its proof; a simulation gives
// nothing, and leaves nothing.
func TestInterrupted(t *testing.T) {
	path := file(t, "w.yaml", typical)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	certificate := filepath.Join(dir, "c.json")
	o := fairlead(t, ctx, "bound", path, "--certificate", certificate, "-o", "json")
	if o.code != exitInterrupted || !strings.Contains(o.stderr, "the bound is valid") {
		t.Fatalf("exit code %d\n%s", o.code, o.stderr)
	}
	b := decode[boundResult](t, o.stdout)
	v := decode[verifyResult](t, succeed(t, "verify", certificate, path, "-o", "json"))
	if b.Converged || !v.Valid || *v.LowerBound != b.LowerBound {
		t.Errorf("bound %+v, verified %+v", b, v)
	}
	if err := os.Remove(certificate); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"simulate", path},
		{"simulate", path, "--policy", "fifo", "--log", filepath.Join(dir, "log.jsonl")},
		{"plan", path, "--certificate", certificate},
	} {
		o := fairlead(t, ctx, args...)
		if o.code != exitInterrupted || o.stdout != "" || o.stderr != "fairlead: interrupted\n" {
			t.Errorf("%v: exit code %d\n%s%s", args, o.code, o.stdout, o.stderr)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// On one slot without releases the relaxation is exact and Smith's rule optimal:
// weights 1, 2, 3 on sizes 3, 2, 1 cost 3·1 + 2·3 + 1·6 = 15.
func TestBoundByHand(t *testing.T) {
	path := file(t, "w.yaml", preamble+`
cluster: {machines: [{name: m}]}
jobs:
- {name: a, weight: 1, stages: [{name: s, size: 3}]}
- {name: b, weight: 2, stages: [{name: s, size: 2}]}
- {name: c, weight: 3, stages: [{name: s, size: 1}]}
`)
	runs := decode[struct{ Runs []report.Run }](t, succeed(t, "simulate", path, "-o", "json")).Runs
	for _, r := range runs {
		want := 15.
		if r.Policy == "fifo" { // a, b, c: 1·3 + 2·5 + 3·6
			want = 31
		}
		if r.WeightedCompletion != want {
			t.Errorf("%s costs %v, want %v", r.Policy, r.WeightedCompletion, want)
		}
		if *r.LowerBound > 15 || *r.LowerBound < 15*(1-2*looseTolerance) {
			t.Errorf("the bound %v is not just below 15", *r.LowerBound)
		}
	}
}
