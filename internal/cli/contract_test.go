package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"sort"
	"testing"
)

// A shape says what a JSON value must look like. Programs rely on these: a key may
// be added here, none may go or change its type.
type shape interface{ check(at string, v any) error }

type (
	object map[string]shape
	list   struct{ of shape }
	null   struct{ or shape }
	is     string // text that is always the same
	kind   string
)

const (
	aNumber kind = "float64"
	aText   kind = "string"
	aBool   kind = "bool"
)

func (k kind) check(at string, v any) error {
	if got := fmt.Sprintf("%T", v); got != string(k) {
		return fmt.Errorf("%s is %v, want a %s", at, v, k)
	}
	return nil
}

func (s is) check(at string, v any) error {
	if v != string(s) {
		return fmt.Errorf("%s is %v, want %q", at, v, s)
	}
	return nil
}

func (n null) check(at string, v any) error {
	if v == nil {
		return nil
	}
	return n.or.check(at, v)
}

func (l list) check(at string, v any) error {
	items, ok := v.([]any)
	if !ok {
		return fmt.Errorf("%s is %v, want a list", at, v)
	}
	for i, item := range items {
		if err := l.of.check(fmt.Sprintf("%s[%d]", at, i), item); err != nil {
			return err
		}
	}
	return nil
}

func (o object) check(at string, v any) error {
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%s is %v, want an object", at, v)
	}
	var keys []string
	for key := range o {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		if _, ok := m[key]; !ok {
			return fmt.Errorf("%s lacks %s", at, key)
		}
		if err := o[key].check(at+"."+key, m[key]); err != nil {
			return err
		}
	}
	for key := range m {
		if o[key] == nil {
			return fmt.Errorf("%s.%s is not documented", at, key)
		}
	}
	return nil
}

var runShape = object{
	"policy": aText, "seed": aNumber, "weightedCompletion": aNumber, "weightedFlowTime": aNumber, "makespan": aNumber,
	"meanCompletion": null{aNumber}, "meanFlowTime": null{aNumber}, "p95FlowTime": null{aNumber},
	"lowerBound": null{aNumber}, "ratio": null{aNumber}, "flowRatio": null{aNumber},
	"jobs": list{object{"name": aText, "release": aNumber, "completion": null{aNumber}, "weight": aNumber, "state": aText}},
}

func result(kind string, more object) object {
	o := object{"apiVersion": is("fairlead.dev/v1alpha1"), "kind": is(kind)}
	for key, s := range more {
		o[key] = s
	}
	return o
}

var planned = object{"job": aText, "stage": aText, "task": aNumber, "machine": aText, "slot": aNumber, "start": aNumber, "finish": aNumber}

var failure = object{
	"job": aText, "stage": aText, "task": aNumber, "attempt": aNumber, "machine": aText,
	"exitCode": aNumber, "signal": aText, "error": aText, "stdout": aText, "stderr": aText,
}

var runResultShape = result("RunList", object{
	"runs": list{runShape}, "simulated": list{runShape}, "failures": list{failure}, "notes": list{aText},
	"utilisation": aNumber, "cpuSeconds": aNumber, "wallSeconds": aNumber, "slots": aNumber, "dir": aText,
	"predicted": null{object{"makespan": aNumber, "low": aNumber, "high": aNumber}}, "resumed": aBool,
})

func TestContract(t *testing.T) {
	dir := t.TempDir()
	certificate := filepath.Join(dir, "c.json")
	log := filepath.Join(dir, "log.jsonl")
	good := file(t, "w.yaml", typical)
	succeed(t, "bound", good, "--certificate", certificate)
	succeed(t, "simulate", good, "--policy", "fifo", "--log", log)
	other := file(t, "other.yaml", preamble+`
cluster: {machines: [{name: m, slots: 2}]}
jobs:
- {name: a, stages: [{name: s, size: {uniform: [0.01, 0.02]}, run: "echo no >&2; exit 1"}]}
- {name: b, after: [a], weight: 0, stages: [{name: s, size: 1, run: "true"}]}
`)
	for _, c := range []struct {
		name string
		args []string
		code int
		want shape
	}{
		{"simulate", []string{"simulate", good}, exitOK, result("SimulationList", object{"runs": list{runShape}})},
		{"simulate random", []string{"simulate", other}, exitOK, result("SimulationList", object{"runs": list{runShape}})},
		{"replay", []string{"simulate", good, "--replay", log}, exitOK, result("Replay", object{
			"policy": aText, "seed": aNumber, "events": aNumber, "digest": aText,
		})},
		{"run", []string{"run", good, "--dir", filepath.Join(dir, "run")}, exitOK, runResultShape},
		{"run failed", []string{"run", other, "--dir", filepath.Join(dir, "failed")}, exitFailed, runResultShape},
		{"plan", []string{"plan", good}, exitOK, result("Plan", object{
			"runs": list{runShape}, "order": list{aText}, "tasks": list{planned}, "flows": list{object{}},
		})},
		{"bound", []string{"bound", good}, exitOK, result("Bound", object{
			"lowerBound": aNumber, "method": is("lp-strong"), "class": is("preemptive"), "converged": aBool, "gap": aNumber, "seconds": aNumber,
			"relaxationUpper": aNumber, "iterations": aNumber, "guarantee": null{aNumber},
		})},
		{"verify", []string{"verify", certificate, good}, exitOK, result("Verification", object{"valid": aBool, "lowerBound": aNumber})},
		{"verify refused", []string{"verify", certificate, other}, exitInvalid, result("Verification", object{"valid": aBool, "error": aText})},
		{"version", []string{"version"}, exitOK, result("Version", object{"version": aText, "go": aText, "os": aText, "arch": aText})},
		{"policies", []string{"policies"}, exitOK, result("PolicyList", object{"policies": list{object{
			"name": aText, "family": aText, "summary": aText, "problem": aText, "guarantee": aText, "source": aText,
			"sizes": aText, "arrivals": aText, "parameters": list{object{"name": aText, "meaning": aText}},
		}}})},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := fairlead(t, t.Context(), append(c.args, "-o", "json")...)
			if o.code != c.code {
				t.Fatalf("exit code %d, want %d\n%s", o.code, c.code, o.stderr)
			}
			if err := c.want.check("result", decode[any](t, o.stdout)); err != nil {
				t.Errorf("%v in\n%s", err, o.stdout)
			}
		})
	}
}

// Numbers that do not exist are null, never 0 or missing.
func TestNulls(t *testing.T) {
	path := file(t, "w.yaml", preamble+`
cluster: {machines: [{name: m}]}
jobs:
- {name: a, weight: 0, release: 5, stages: [{name: s, size: 3}]}
`)
	o := decode[map[string]any](t, succeed(t, "simulate", path, "--policy", "fifo", "-o", "json"))
	run := o["runs"].([]any)[0].(map[string]any)
	for key, want := range map[string]any{"weightedCompletion": 0., "lowerBound": 0., "ratio": nil, "flowRatio": nil, "meanCompletion": 8., "makespan": 8.} {
		if got, ok := run[key]; !ok || got != want {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
	}
}

// A name that looks like something else to a YAML reader stays a name.
func TestYAMLQuotes(t *testing.T) {
	path := file(t, "w.yaml", preamble+`
cluster: {machines: [{name: "1e5"}]}
jobs:
- {name: "yes", stages: [{name: "0x10", size: 3}]}
- {name: "null", stages: [{name: "07", size: 3}]}
`)
	got := succeed(t, "plan", path, "-o", "yaml")
	want, err := json.Marshal(decode[any](t, succeed(t, "plan", path, "-o", "json")))
	if err != nil {
		t.Fatal(err)
	}
	if again := fromYAML(t, got); again != string(want) {
		t.Errorf("as YAML\n%s\nas JSON\n%s", again, want)
	}
}
