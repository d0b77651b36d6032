package cli

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// TestRunByHand recomputes what a run reports from its event log: three jobs on
// one slot, whose order under any policy determines everything.
func TestRunByHand(t *testing.T) {
	path := file(t, "w.yaml", preamble+`
cluster: {machines: [{name: m, speed: 2}]}
jobs:
- {name: a, weight: 1, stages: [{name: s, size: 0.2, run: [sleep, "0.1"]}]}
- {name: b, weight: 8, stages: [{name: s, size: 0.1, run: [sleep, "0.05"]}]}
- {name: c, weight: 40, stages: [{name: s, size: 0.04, run: [sleep, "0.02"]}]}
`)
	weight := map[string]float64{"a": 1, "b": 8, "c": 40}
	dir := filepath.Join(t.TempDir(), "run")
	r := decode[runResult](t, succeed(t, "run", path, "--dir", dir, "-o", "json"))
	start, finish := logged(t, filepath.Join(dir, "events.jsonl"))
	cost := 0.
	for job, w := range weight {
		cost += w * finish[job]
	}
	// in adds up the same durations in another order, without a pause.
	in := func(order ...string) (sum float64) {
		end := 0.
		for _, job := range order {
			end += finish[job] - start[job]
			sum += weight[job] * end
		}
		return sum
	}
	smith, fifo := in("c", "b", "a"), in("a", "b", "c")
	run := r.Runs[0]
	// Times are whole nanoseconds, and their sums have 16 digits.
	same := func(name string, got, want, relative float64) {
		t.Helper()
		if math.Abs(got-want) > relative*want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	same("cost", run.WeightedCompletion, cost, 1e-9)
	same("flow cost", run.WeightedFlowTime, cost, 1e-9)
	same("bound", *run.LowerBound, smith, 2*looseTolerance)
	same("ratio", *run.Ratio, cost / *run.LowerBound, 1e-9)
	same("flow ratio", *run.FlowRatio, cost / *run.LowerBound, 1e-9)
	if len(r.Simulated) != 2 || r.Simulated[0].Policy != "spc-online" || r.Simulated[1].Policy != "fifo" {
		t.Fatalf("simulated: %+v", r.Simulated)
	}
	same("simulated spc-online", r.Simulated[0].WeightedCompletion, smith, 1e-6)
	same("simulated fifo", r.Simulated[1].WeightedCompletion, fifo, 1e-6)
	if *run.LowerBound > smith || cost < smith {
		t.Errorf("bound %v, simulated %v, observed %v: out of order", *run.LowerBound, smith, cost)
	}
}

// logged returns when each job's task started and finished, in seconds.
func logged(t *testing.T, path string) (start, finish map[string]float64) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	start, finish = map[string]float64{}, map[string]float64{}
	for s := bufio.NewScanner(f); s.Scan(); {
		var line struct {
			T       float64
			Event   string
			Job     string
			Actions []struct{ Do, Job string }
		}
		if err := json.Unmarshal(s.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line.Event == "taskFinished" {
			finish[line.Job] = line.T / 1e9
		}
		for _, a := range line.Actions {
			if a.Do == "startTask" {
				start[a.Job] = line.T / 1e9
			}
		}
	}
	if len(finish) != 3 || len(start) != 3 {
		t.Fatalf("started %v, finished %v", start, finish)
	}
	return start, finish
}
