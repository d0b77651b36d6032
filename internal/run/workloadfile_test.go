package run

import (
	"reflect"
	"strings"
	"testing"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
	"github.com/fairlead-project/fairlead/size"
	"github.com/fairlead-project/fairlead/workload"
)

const everything = `
apiVersion: fairlead.dev/v1alpha1
kind: Workload
metadata: {name: everything}
cluster:
  machines:
  - {name: fast, count: 2, speed: 0.1, slots: 3, resources: {memory: 32Gi, cpu: 1500m, gpu: 0}, cpus: "0-3,8"}
  - {name: slow, speed: 3, resources: {memory: 1}, port: 10Gbps}
jobs:
- name: first
  weight: 0.3
  release: 1234567.890123457
  tenant: sales
  stages:
  - {name: s, count: 3, size: 0.1, needs: {memory: 0.5, cpu: 1}, machines: [fast], run: "a \"b\" 'c'\n\tü $X {x} # y", retries: 4, timeout: 1h0m0.5s, image: "x:1"}
  - {name: t, after: [s], sizes: [1, 0.1, 1e-9], input: {s: 12345}, run: [prog, "{{.Task}}", "", "{{printf \"%03d\" .Task}}", " "], workdir: "a dir/ü", env: {A: "", B: "x=y\nz", C: "$A"}}
  - {name: u, after: [s, t], run: ["true"], machines: [slow, fast-1]}
- {name: second, after: [first], release: 1ns, stages: [{name: s, run: "true"}]}
`

// The file of a run gives the instance that it was made from, to the last bit.
func TestInstanceRoundTrip(t *testing.T) {
	f := must[*workload.File](t)(workload.Parse("x", []byte(everything)))
	in := must[*sched.Instance](t)(f.Instance(nil))
	b := must[[]byte](t)(EncodeInstance(in))
	out := must[*sched.Instance](t)(decodeInstance("y", b))
	for _, x := range []*sched.Instance{in, out} { // which speeds were learnt is kept elsewhere
		for m := range x.Machines {
			x.Machines[m].SpeedAssumed = false
		}
	}
	if !reflect.DeepEqual(in, out) {
		t.Errorf("got\n%+v\nwant\n%+v\nfrom\n%s", out, in, b)
	}
	equal(t, "release", out.Jobs[1].Release, 1)
}

// Random sizes become their means, and policies are shown the same.
func TestRandomSizesRoundTrip(t *testing.T) {
	in := newTrial(t, "{name: m}", "- {name: a, stages: [{name: s, count: 3, run: 'true'}, {name: t, run: 'true'}, {name: u, count: 2, run: 'true'}]}\n").cfg.Instance
	st := in.Jobs[0].Stages
	st[0].Sizes = []size.Dist{must[size.Lognormal](t)(size.NewLognormal(1.0/3, 0.7))}
	st[1].Sizes = []size.Dist{must[size.Discrete](t)(size.NewEmpirical([]float64{0.1, 0.2, 0.7}))}
	st[2].Sizes = []size.Dist{must[size.Exponential](t)(size.NewExponential(0.1)), size.Exact(3)}
	out := must[*sched.Instance](t)(decodeInstance("y", must[[]byte](t)(EncodeInstance(in))))
	before, after := sim.MeansWhereKnown(sched.NewIndex(in)), sim.MeansWhereKnown(sched.NewIndex(out))
	for s := range sched.StageID(3) {
		_, was := before.Uniform(s)
		_, is := after.Uniform(s)
		if s != 1 { // of one task, both are the same
			equal(t, "uniform", is, was)
		}
		for k := range sched.TaskID(6) {
			if first := []sched.TaskID{0, 3, 4}[s]; k >= first && int(k-first) < st[s].Count {
				equal(t, "estimate", after.Of(s, k), before.Of(s, k))
			}
		}
	}
}

// What no file can say is refused before anything is made.
func TestInstanceThatNoFileHas(t *testing.T) {
	for name, change := range map[string]func(*sched.Stage){
		"variable": func(st *sched.Stage) { st.Env = []sched.EnvVar{{Name: "FAIRLEAD_JOB", Value: "x"}} },
		"program":  func(st *sched.Stage) { st.Run = &sched.Command{Argv: []string{""}} },
		"text":     func(st *sched.Stage) { st.Run = &sched.Command{Shell: "a\x00b"} },
	} {
		r := newTrial(t, "{name: m}", "- {name: a, stages: [{name: s, run: 'true'}]}\n")
		change(&r.cfg.Instance.Jobs[0].Stages[0])
		res, err := Run(t.Context(), r.cfg)
		if res != nil || err == nil || !strings.HasPrefix(err.Error(), "run: the workload cannot be written as a file: ") {
			t.Errorf("%s: got %v", name, err)
		}
		equal(t, name+": the directory", exists(r.cfg.Dir), false)
	}
}
