package history

import (
	"cmp"
	"iter"
	"math"
	"slices"
)

// The model: a task of size p takes p/v seconds on a machine of speed v, times noise,
//
//	log seconds = log size(stage) + effect(task) − log speed(machine) + noise,
//
// a two-way layout with many missing cells. Stages are free; the effects of a stage's
// tasks are random, with a variance that is estimated: no repeated tasks, no effects.
// So one run, in which every task ran on one machine only, says how fast machines are
// by the means of many tasks, and further runs by tasks that changed machines. Huber's
// loss keeps attempts that took ten times as long from mattering more than others.
const (
	// huber is the usual constant: 95 % efficiency where the noise is normal.
	huber = 1.345
	// polishSweeps of Tukey's median polish give a start that outliers do not move.
	polishSweeps = 5
	// scaleRounds re-estimate how noisy stages are from better and better residuals.
	scaleRounds = 4
	// maxSweeps bounds the iterations between two of them, and fitTolerance, in
	// logarithms, is far below what any history can tell.
	maxSweeps    = 100
	fitTolerance = 1e-7
	// minScale: durations that differ by 1 % are as good as equal. Without it a stage
	// without noise would outvote all others.
	minScale = 0.01
	// fewRows is below what a stage's own noise can be estimated from.
	fewRows = 8
	// Standard deviations of the normal distribution, by the mean and the median of
	// |x|, and by the median of |x − y|.
	sdByMean   = 1.2533
	sdByMedian = 1.4826
	sdByDiff   = 1.0483
)

// observation is one successful attempt. Task numbers are distinct over all stages.
type observation struct {
	stage, task, machine int
	y                    float64 // log seconds
	weight               float64
}

// fit holds the model. Where no machine of a component is fixed its speeds and sizes
// are known up to a common factor.
type fit struct {
	obs      []observation // by stage, then task, then as given
	starts   []int         // of each stage in obs; one more entry at the end
	on       [][]int       // per machine: its observations
	fixed    []bool
	speed    []float64 // log, per machine
	location []float64 // log size, per stage
	effect   []float64 // per task
	between  []float64 // per stage: standard deviation of the effects
	within   []float64 // and of the noise; NaN: no task was seen twice
	scale    []float64 // per stage: noise, for the loss
	u        []float64 // weights of the observations in the present iteration
}

// newFit solves the model. speeds holds the logarithms of known speeds, NaN for those
// to be found. Deterministic. Cost: O(observations) per sweep, some hundred sweeps at
// most.
func newFit(obs []observation, stages, tasks int, speeds []float64) *fit {
	f := &fit{
		obs: slices.Clone(obs), starts: make([]int, stages+1), on: make([][]int, len(speeds)),
		fixed: make([]bool, len(speeds)), speed: make([]float64, len(speeds)),
		location: make([]float64, stages), effect: make([]float64, tasks),
		between: make([]float64, stages), within: make([]float64, stages), scale: make([]float64, stages),
		u: make([]float64, len(obs)),
	}
	slices.SortStableFunc(f.obs, func(a, b observation) int {
		return cmp.Or(cmp.Compare(a.stage, b.stage), cmp.Compare(a.task, b.task))
	})
	for r, o := range f.obs {
		f.starts[o.stage+1]++
		f.on[o.machine] = append(f.on[o.machine], r)
	}
	for k := range stages {
		f.starts[k+1] += f.starts[k]
	}
	for m, v := range speeds {
		if f.fixed[m] = !math.IsNaN(v); f.fixed[m] {
			f.speed[m] = v
		}
	}
	f.polish()
	for range scaleRounds {
		f.measure()
		for range maxSweeps {
			if f.sweep() < fitTolerance {
				break
			}
		}
	}
	return f
}

// polish alternates medians of stages and machines.
func (f *fit) polish() {
	var s sample
	for range polishSweeps {
		for k := range f.location {
			s = s[:0]
			for r := f.starts[k]; r < f.starts[k+1]; r++ {
				s.add(f.obs[r].y+f.speed[f.obs[r].machine], f.obs[r].weight)
			}
			f.location[k] = s.quantile(0.5)
		}
		for m, on := range f.on {
			if f.fixed[m] || len(on) == 0 {
				continue
			}
			s = s[:0]
			for _, r := range on {
				s.add(f.location[f.obs[r].stage]-f.obs[r].y, f.obs[r].weight)
			}
			f.speed[m] = s.quantile(0.5)
		}
	}
}

// residual returns what the model does not explain of observation r.
func (f *fit) residual(r int) float64 {
	o := &f.obs[r]
	return o.y + f.speed[o.machine] - f.location[o.stage] - f.effect[o.task]
}

// measure estimates, per stage, how much tasks differ from each other and attempts of
// the same task among themselves.
func (f *fit) measure() {
	var pooled sample
	rough := make([]float64, len(f.location)) // noise by the residuals
	for k := range f.location {
		var all, abs, diffs sample
		for r := f.starts[k]; r < f.starts[k+1]; r++ {
			o := &f.obs[r]
			all.add(o.y+f.speed[o.machine], 1)
			abs.add(math.Abs(f.residual(r)), 1)
			pooled.add(math.Abs(f.residual(r)), 1)
			if p := r - 1; p >= f.starts[k] && f.obs[p].task == o.task {
				diffs.add(math.Abs(o.y+f.speed[o.machine]-f.obs[p].y-f.speed[f.obs[p].machine]), 1)
			}
		}
		f.between[k], f.within[k] = 0, math.NaN()
		if n := f.starts[k+1] - f.starts[k]; n >= fewRows {
			rough[k] = sdByMedian * abs.quantile(0.5)
		}
		if len(diffs) == 0 {
			continue
		}
		// Means, not medians: that one task of many is larger than the others is a
		// systematic difference. Outliers count on both sides.
		centre, total := all.quantile(0.5), 0.0
		for _, v := range all {
			total += math.Abs(v.x-centre) / float64(len(all))
		}
		total, own := total*sdByMean, diffs.mean()/math.Sqrt2*sdByMean
		f.within[k] = own
		if f.obs[f.starts[k]].task != f.obs[f.starts[k+1]-1].task && total > own {
			f.between[k] = math.Sqrt(total*total - own*own)
			rough[k] = sdByDiff * diffs.quantile(0.5) // residuals are too small: each task has its own effect
		}
	}
	usual := sdByMedian * pooled.quantile(0.5)
	for k := range f.scale {
		if f.scale[k] = rough[k]; f.starts[k+1]-f.starts[k] < fewRows {
			f.scale[k] = max(f.scale[k], usual)
		}
		f.scale[k] = max(f.scale[k], minScale)
	}
}

// sweep improves stages and effects given the speeds, which has a closed form, and then
// the speeds, and returns by how much these changed.
func (f *fit) sweep() float64 {
	for r := range f.obs {
		k := f.obs[r].stage
		f.u[r] = f.obs[r].weight / (f.scale[k] * f.scale[k])
		if e := math.Abs(f.residual(r)); e > huber*f.scale[k] {
			f.u[r] *= huber * f.scale[k] / e
		}
	}
	for k := range f.location {
		f.locate(k)
	}
	change := 0.0
	for m, on := range f.on {
		if f.fixed[m] || len(on) == 0 {
			continue
		}
		sum, total := 0.0, 0.0
		for _, r := range on {
			sum += float64(f.u[r] * -f.residual(r))
			total += f.u[r]
		}
		step := sum / total
		f.speed[m] += step
		change = max(change, math.Abs(step))
	}
	return change
}

// locate solves for one stage: the location is the generalised least squares mean, in
// which a task counts by what is known of it, and effects are shrunk towards it.
func (f *fit) locate(k int) {
	precision := 1 / (f.between[k] * f.between[k]) // of an effect; +Inf: there are none
	sum, total := 0.0, 0.0
	for t := range f.tasks(k) {
		w := t.weight / (1 + t.weight/precision)
		sum += float64(w * t.mean)
		total += w
	}
	f.location[k] = sum / total
	for t := range f.tasks(k) {
		f.effect[t.task] = (t.mean - f.location[k]) * t.weight / (t.weight + precision)
	}
}

// taskMean is the mean log size of a task by its own observations.
type taskMean struct {
	task         int
	weight, mean float64
}

// tasks ranges over the tasks of stage k.
func (f *fit) tasks(k int) iter.Seq[taskMean] {
	return func(yield func(taskMean) bool) {
		for r := f.starts[k]; r < f.starts[k+1]; {
			t := taskMean{task: f.obs[r].task}
			for ; r < f.starts[k+1] && f.obs[r].task == t.task; r++ {
				t.weight += f.u[r]
				t.mean += float64(f.u[r] * (f.obs[r].y + f.speed[f.obs[r].machine]))
			}
			t.mean /= t.weight
			if !yield(t) {
				return
			}
		}
	}
}

// components numbers the groups of machines that stages compare with each other: within
// one, and only there, speeds are relative to each other. A machine without
// observations is one by itself.
func (f *fit) components() []int {
	group := make([]int, len(f.speed))
	for m := range group {
		group[m] = m
	}
	find := func(m int) int {
		for group[m] != m {
			group[m] = group[group[m]]
			m = group[m]
		}
		return m
	}
	for k := range f.location {
		for r := f.starts[k] + 1; r < f.starts[k+1]; r++ {
			a, b := find(f.obs[r-1].machine), find(f.obs[r].machine)
			group[max(a, b)] = min(a, b)
		}
	}
	for m := range group {
		group[m] = find(m)
	}
	return group
}
