package generate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/workload"
)

// Instance returns what [File] returns, expanded.
func Instance(o Options) (*sched.Instance, error) {
	f, err := File(o)
	if err != nil {
		return nil, err
	}
	return f.Instance(nil)
}

// File returns a random workload with its cluster. Sizes, weights and releases are
// rounded to thousandths, which keeps files readable. Cost: linear in the result.
func File(o Options) (*workload.File, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	g := generator{Options: o.withDefaults()}
	if g.Kind == Alibaba || g.Arrivals == Intervals {
		g.quantiles = alibaba()
	}
	f := &workload.File{
		Metadata: workload.Metadata{Name: g.Kind + "-" + strconv.FormatUint(g.Seed, 10)},
		Cluster:  &workload.Cluster{Machines: g.machines()},
		Jobs:     make([]workload.Job, g.Jobs),
	}
	tasks := 0
	for j := range f.Jobs {
		f.Jobs[j] = g.job(j)
		for s := range f.Jobs[j].Stages {
			tasks += f.Jobs[j].Stages[s].Tasks()
		}
		if tasks > workload.MaxTasks {
			return nil, fmt.Errorf("generate: %d jobs have more than %d tasks, the most a workload can have", g.Jobs, workload.MaxTasks)
		}
	}
	g.arrive(f.Jobs)
	return f, nil
}

// generator has its defaults filled in.
type generator struct {
	Options
	quantiles *distributions // of Alibaba's trace, nil if not needed
}

// A purpose has a stream of random numbers per job.
type purpose uint64

const (
	shapes purpose = iota + 1
	sizes
	weights
	arrivals
	waits
	inputs
	needs
)

// stream returns the random numbers of a purpose for one job.
func (g *generator) stream(p purpose, job int) *rand.Rand {
	return rand.New(rand.NewPCG(g.Seed, uint64(p)<<32|uint64(job)))
}

func (g *generator) machines() []workload.Machine {
	m := workload.Machine{Name: "m", Count: g.Machines, Speed: 1, Slots: g.Slots, Port: g.Port}
	if g.Needs {
		m.Resources = []workload.Quantity{{Name: "cpu", Amount: float64(g.Slots)}, {Name: "memory", Amount: float64(g.Slots) * gib}}
	}
	if g.SpeedSkew == 1 || g.Machines == 1 {
		return []workload.Machine{m}
	}
	out := make([]workload.Machine, g.Machines)
	for i := range out {
		out[i] = m
		out[i].Name, out[i].Count = "m"+strconv.Itoa(i), 0
		out[i].Speed = round(math.Pow(g.SpeedSkew, float64(i)/float64(g.Machines-1)))
	}
	return out
}

// job makes a job that is there from the beginning.
func (g *generator) job(j int) workload.Job {
	job := workload.Job{Name: "j" + strconv.Itoa(j), Weight: g.weight(j)}
	shape, size := g.stream(shapes, j), g.stream(sizes, j)
	switch {
	case g.Kind == Alibaba:
		job.Stages = g.alibabaJob(shape, size)
	case g.Kind == Layered, g.Kind == Mixed && j%2 == 1:
		job.Stages = g.layeredJob(shape, size)
	default:
		job.Stages = g.mapReduceJob(shape, size)
	}
	if g.CCR > 0 {
		g.read(job.Stages, g.stream(inputs, j))
	}
	if g.Needs {
		r := g.stream(needs, j)
		for s := range job.Stages {
			job.Stages[s].Needs = g.needs(r)
		}
	}
	if r := g.stream(waits, j); j > 0 && r.Float64() < g.After {
		job.After = []string{"j" + strconv.Itoa(j-1-r.IntN(min(j, recent)))}
	}
	return job
}

// recent is how many of the jobs before it a job may wait for: pipelines depend on
// what was submitted shortly before.
const recent = 8

func (g *generator) weight(j int) float64 {
	u := g.stream(weights, j).Float64()
	switch g.Weights {
	case Uniform:
		return round(1 + float64(u*(g.WeightSkew-1)))
	case Skewed:
		return round(math.Pow(g.WeightSkew, u))
	}
	return 1
}

// class is a kind of MapReduce job: how large its tasks are, as multiples of the
// mean, and how many reduce tasks it has per map task.
type class struct {
	mapSize, reduceSize, reducers float64
}

// classes after the three jobs that the evaluation of S-PC ran on Hadoop: counting
// words shrinks the data in the map stage, Sort moves all of it through both, and
// TeraSort spends most of its time in the reduce stage.
var classes = []class{
	{mapSize: 1.4, reduceSize: 0.4, reducers: 0.25}, // WordCount: map-heavy
	{mapSize: 1, reduceSize: 1, reducers: 0.5},      // Sort: in balance
	{mapSize: 0.6, reduceSize: 1.4, reducers: 1},    // TeraSort: reduce-heavy
}

func (g *generator) mapReduceJob(shape, size *rand.Rand) []workload.Stage {
	c := classes[shape.IntN(len(classes))]
	maps := g.width(shape)
	reduces := max(g.MinTasks, int(math.Round(float64(g.width(shape))*c.reducers)))
	// One draw per job: what takes long to read takes long to reduce.
	mean := g.TaskSeconds * lognormal(size, g.StageCV)
	out := []workload.Stage{{Name: "map"}, {Name: "reduce", After: []string{"map"}}}
	g.fill(&out[0], maps, mean*c.mapSize, size)
	g.fill(&out[1], reduces, mean*c.reduceSize, size)
	return out
}

func (g *generator) layeredJob(shape, size *rand.Rand) []workload.Stage {
	var out, last []workload.Stage
	for l := range 2 + shape.IntN(g.Layers-1) {
		layer := make([]workload.Stage, 1+shape.IntN(g.Width))
		for s := range layer {
			layer[s].Name = fmt.Sprintf("l%d-%d", l, s)
			if l > 0 {
				always := shape.IntN(len(last))
				for p := range last {
					if edge := shape.Float64() < g.EdgeProb; edge || p == always {
						layer[s].After = append(layer[s].After, last[p].Name)
					}
				}
			}
			g.fill(&layer[s], g.width(shape), g.TaskSeconds*lognormal(size, g.StageCV), size)
		}
		out, last = append(out, layer...), layer
	}
	return out
}

// width draws the number of tasks of a stage.
func (g *generator) width(r *rand.Rand) int { return g.MinTasks + r.IntN(g.MaxTasks-g.MinTasks+1) }

// fill gives a stage n tasks of the given mean size.
func (g *generator) fill(st *workload.Stage, n int, mean float64, r *rand.Rand) {
	if n > 1 {
		st.Count = n
	}
	if g.TaskCV == 0 || n == 1 {
		s := g.size(mean)
		st.Size = &s
		return
	}
	st.Count = 0
	st.Sizes = make([]workload.Size, n)
	for k := range st.Sizes {
		st.Sizes[k] = g.size(mean * lognormal(r, g.TaskCV))
	}
}

func (g *generator) size(mean float64) workload.Size {
	mean = max(shortest, round(mean))
	if g.SizeCV == 0 {
		return workload.Size{Value: mean}
	}
	s, err := workload.Lognormal(mean, g.SizeCV)
	if err != nil {
		panic(err) // Validate has seen to it
	}
	return s
}

// shortest is the least size in seconds that rounding leaves.
const shortest = 0.001

// read lets every stage read from those before it, in all CCR times what a task
// computes, half more or less.
func (g *generator) read(stages []workload.Stage, r *rand.Rand) {
	for s := range stages {
		st := &stages[s]
		n := float64(len(st.After))
		for _, from := range st.After {
			seconds := g.CCR * work(st) / n * (0.5 + r.Float64())
			st.Input = append(st.Input, workload.Input{From: from, Bytes: math.Round(seconds * g.Port)})
		}
	}
}

const (
	gib = 1 << 30
	mib = 1 << 20
)

// needs draws what each task of a stage needs. A machine of the trace has 96 cores
// and all memory is counted in hundredths of its own.
func (g *generator) needs(r *rand.Rand) []workload.Quantity {
	var cpu, memory float64 // cores, GiB
	if g.Kind == Alibaba {
		cpu = g.quantiles.cpu.draw(r) / 100
		memory = g.quantiles.memory.draw(r) * 96 / 100
	} else {
		cpu = math.Pow(4, float64(2*r.Float64())-1)
		memory = math.Pow(4, float64(2*r.Float64())-1)
	}
	most := float64(g.Slots)
	return []workload.Quantity{
		{Name: "cpu", Amount: min(most, max(0.01, math.Round(cpu*100)/100))},
		{Name: "memory", Amount: min(most*gib, max(mib, math.Round(memory*gib/mib)*mib))},
	}
}

// work returns the mean size of all tasks of a compute stage together.
func work(st *workload.Stage) float64 {
	if st.Size != nil {
		return float64(st.Tasks()) * st.Size.Dist().Mean()
	}
	total := 0.0
	for _, s := range st.Sizes {
		total += s.Dist().Mean()
	}
	return total
}

// arrive sets the releases.
func (g *generator) arrive(jobs []workload.Job) {
	if g.Arrivals == "" && g.Gaps == nil {
		return
	}
	gaps := make([]float64, len(jobs)) // gaps[0] is not used: the first job opens the run
	total := 0.0
	for j := 1; j < len(jobs); j++ {
		switch {
		case g.Gaps != nil:
			gaps[j] = g.Gaps[(j-1)%len(g.Gaps)]
		case g.Arrivals == Intervals:
			gaps[j] = math.Ceil(max(0, g.quantiles.interval.draw(g.stream(arrivals, j))))
		default:
			gaps[j] = g.stream(arrivals, j).ExpFloat64()
		}
		total += gaps[j]
	}
	scale := 1.0
	if g.Load > 0 {
		all, speed := 0.0, 0.0
		for j := range jobs {
			for s := range jobs[j].Stages {
				all += work(&jobs[j].Stages[s])
			}
		}
		for _, m := range g.machines() {
			speed += m.Speed * float64(max(1, m.Count)*m.Slots)
		}
		scale = all / float64(len(jobs)) / (g.Load * speed)
		if g.Arrivals != Poisson && total > 0 { // whose gaps have mean 1
			scale *= float64(len(jobs)-1) / total
		}
	}
	at := 0.0
	for j := range jobs {
		at += float64(gaps[j] * scale)
		jobs[j].Release = round(at)
	}
}

// lognormal draws with mean 1.
func lognormal(r *rand.Rand, cv float64) float64 {
	s2 := math.Log1p(float64(cv * cv))
	return math.Exp(float64(math.Sqrt(s2)*r.NormFloat64()) - s2/2)
}

// round rounds to thousandths.
func round(x float64) float64 { return math.Round(x*1000) / 1000 }
