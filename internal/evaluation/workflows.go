package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/trace"
	"github.com/fairlead-project/fairlead/workload"
)

// traces is where the public traces are: FAIRLEAD_TRACES, or beside the project.
func traces() string {
	if dir := os.Getenv("FAIRLEAD_TRACES"); dir != "" {
		return dir
	}
	return filepath.Join("..", "shared", "traces")
}

// wfcommons reads all workflows, a job each.
func wfcommons(dir string) ([]sched.Job, error) {
	files, err := filepath.Glob(filepath.Join(dir, "wfcommons", "original", "*.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no workflows in %s", dir)
	}
	var jobs []sched.Job
	for _, f := range files { // sorted by Glob
		data, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		file, _, err := trace.ReadWfFormat(f, data)
		if err != nil {
			return nil, err
		}
		trace.OnCluster(file, &workload.Cluster{Machines: []workload.Machine{{Name: "any", Speed: 1, Slots: 1, Port: math.Inf(1)}}})
		in, err := file.Instance(nil)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, in.Jobs...)
	}
	return jobs, nil
}

// real is a stream of jobs drawn from a trace.
type real struct {
	name string
	jobs []sched.Job
	n    int // jobs per stream
	load float64
}

// port of every machine in bytes per second: 1 Gbit/s.
const port = 125e6

// make draws jobs with weights 1 to 10, arriving by a Poisson process, on 16 machines
// of speeds 1 to 4.
func (r real) make(seed uint64) (*sched.Instance, error) {
	rng := rand.New(rand.NewPCG(seed, 1003))
	in := &sched.Instance{Name: r.name}
	speed := 0.0
	for m := range 16 {
		v := math.Round(1000*math.Pow(4, float64(m)/15)) / 1000
		speed += v
		in.Machines = append(in.Machines, sched.Machine{Name: fmt.Sprint("m", m), Speed: v, Slots: 1, Port: port})
	}
	work := 0.0
	for k := range r.n {
		j := r.jobs[rng.IntN(len(r.jobs))]
		j.Name = fmt.Sprintf("%d-%s", k, j.Name)
		j.Weight = math.Pow(10, rng.Float64())
		for _, st := range j.Stages {
			for t := range st.Count {
				work += st.Size(t).Mean()
			}
		}
		in.Jobs = append(in.Jobs, j)
	}
	at := 0.0
	for k := range in.Jobs {
		in.Jobs[k].Release = sched.FromSeconds(at)
		at += work / float64(r.n) / (r.load * speed) * rng.ExpFloat64()
	}
	return in, in.Validate()
}

// workflows is section (c).
func (e *evaluation) workflows() error {
	flows, err := wfcommons(traces())
	if err != nil {
		return fmt.Errorf("%w: FAIRLEAD_TRACES names the folder with the traces", err)
	}
	sql, err := queries(traces())
	if err != nil {
		return fmt.Errorf("%w: FAIRLEAD_TRACES names the folder with the traces", err)
	}
	var cells, blind []*cell
	for _, r := range []real{
		{"WfCommons", flows, 20, 0.5},
		{"WfCommons", flows, 20, 0.9},
		{"TPC-H", sql, 30, 0.5},
		{"TPC-H", sql, 30, 0.9},
	} {
		name := fmt.Sprintf("%s, load %g", r.name, r.load)
		cells = append(cells, &cell{name: name, seeds: workflowSeeds, make: r.make, policies: everyone()})
		blind = append(blind, &cell{name: name + ", sizes learnt", seeds: workflowSeeds, make: r.make, policies: []string{"spc-online", "wspt"}, estimates: learnt})
	}
	if err := e.run("workflows", append(cells, blind...)); err != nil {
		return err
	}
	d := &e.out
	d.say(`## (c) Workflows and queries

Streams of %d scientific workflows (WfCommons, a stage per task, files as input over ports of 1 Gbit/s) and of %d TPC-H
queries (stages of tasks of their mean duration, at 2 to 100 GB), drawn at random, weights 1 to 10, arriving by a Poisson
process on 16 machines of speeds 1 to 4. Weighted flow time relative to `+"`spc`"+`, which knows all arrivals.`, 20, 30)
	e.factors(cells, "spc", sample.flow)
	var rows [][]string
	for _, c := range cells {
		rows = append(rows, []string{
			c.name, spread(c.of("spc", sample.ratio)), spread(c.of("spc", sample.flowRatio)), spread(c.of("spc-online", sample.flowRatio)), spread(c.of("wspt", sample.flowRatio)),
		})
	}
	d.table([]string{"Stream", "`spc` ratio", "`spc` flowRatio", "`spc-online` flowRatio", "`wspt` flowRatio"}, rows)
	d.say(`### Sizes learnt

The same streams without sizes: the history has %d earlier runs under `+"`fifo`"+`, in which every task's duration varied
(CV %g). Weighted flow time relative to `+"`spc`"+`, which knows all sizes and arrivals.`, trainingRuns, trainingCV)
	rows = nil
	var quotients []float64
	for i, c := range cells {
		var online, told, wspt []float64
		for k, s := range c.samples["spc"] {
			online = append(online, blind[i].samples["spc-online"][k].flow()/s.flow())
			wspt = append(wspt, blind[i].samples["wspt"][k].flow()/s.flow())
			told = append(told, c.samples["spc-online"][k].flow()/s.flow())
		}
		quotients = append(quotients, online...)
		rows = append(rows, []string{c.name, spread(online), spread(told), spread(wspt)})
	}
	e.claim(median(quotients), 1.15, "(c) `spc-online` with learnt sizes over `spc`, weighted flow time: median")
	d.table([]string{"Stream", "`spc-online`, learnt", "`spc-online`, told", "`wspt`, learnt"}, rows)
	return nil
}
