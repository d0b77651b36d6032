package history

import (
	"maps"
	"math"
	"slices"

	"github.com/fairlead-project/fairlead/size"
)

// learner is one call of Learn.
type learner struct {
	attempts []Attempt
	runs     int
	stages   []Key // ascending
	machines []string
	of       [][]int // per stage: its attempts
	ages     []int   // per attempt: later runs of the stage
	shapes   []Shape
	known    []float64 // per machine: log speed, NaN if not stated
	assumed  []float64 // per machine: log speed at its latest attempt
	unit     []bool    // per machine: whether it counts for the unit
	source   []Source
	obs      []observation // by stage
	back     []int         // per observation: its attempt
	first    []int         // per stage: its first observation; one more entry at the end
	numbers  []map[int]int // per stage: numbers of its tasks that are as they are now
	tasks    int
	fit      *fit
}

func newLearner(attempts []Attempt, o Options) *learner {
	l := &learner{attempts: attempts, ages: make([]int, len(attempts))}
	stageOf, machineOf, runOf := map[Key]int{}, map[string]int{}, map[string]bool{}
	for i := range attempts {
		a := &attempts[i]
		stageOf[Key{a.Job, a.Stage}], machineOf[a.Machine], runOf[a.Run] = 0, 0, true
	}
	l.runs = len(runOf)
	l.stages = slices.SortedFunc(maps.Keys(stageOf), Key.compare)
	l.machines = slices.Sorted(maps.Keys(machineOf))
	for k, key := range l.stages {
		stageOf[key] = k
	}
	for m, name := range l.machines {
		machineOf[name] = m
	}
	l.of = make([][]int, len(l.stages))
	for i := range attempts {
		k := stageOf[Key{attempts[i].Job, attempts[i].Stage}]
		l.of[k] = append(l.of[k], i)
	}
	l.shape(o)
	l.speeds(o, machineOf)
	for k := range l.stages {
		l.first = append(l.first, len(l.obs))
		l.observe(k, machineOf)
	}
	l.first = append(l.first, len(l.obs))
	return l
}

func (l *learner) shape(o Options) {
	for k, key := range l.stages {
		latest := &l.attempts[l.of[k][len(l.of[k])-1]]
		shape, ok := o.Stages[key]
		if !ok {
			shape = Shape{latest.Tasks, latest.Input}
		}
		l.shapes = append(l.shapes, shape)
	}
}

func (l *learner) speeds(o Options, machineOf map[string]int) {
	n := len(l.machines)
	l.known, l.assumed, l.unit, l.source = make([]float64, n), make([]float64, n), make([]bool, n), make([]Source, n)
	stated := make([]bool, n)
	for i := range l.attempts {
		a := &l.attempts[i]
		m := machineOf[a.Machine]
		l.assumed[m], stated[m] = math.Log(a.Speed), !a.SpeedAssumed
	}
	for m, name := range l.machines {
		l.source[m], l.known[m], l.unit[m] = Assumed, math.NaN(), o.Machines == nil || slices.Contains(o.Machines, name)
		v, ok := o.Speeds[name]
		switch {
		case ok:
			l.known[m], l.source[m] = math.Log(v), Stated
		case o.Speeds == nil && stated[m]:
			l.known[m], l.source[m] = l.assumed[m], Stated
		}
	}
}

// observe makes observations of a stage's successful attempts, at its present input,
// without the time until work began.
func (l *learner) observe(k int, machineOf map[string]int) {
	last := map[string]int{} // of each run: its position among the stage's
	for _, i := range l.of[k] {
		if _, ok := last[l.attempts[i].Run]; !ok {
			last[l.attempts[i].Run] = len(last)
		}
	}
	numbers := map[int]int{}
	l.numbers = append(l.numbers, numbers)
	for _, i := range l.of[k] {
		a := &l.attempts[i]
		l.ages[i] = len(last) - 1 - last[a.Run]
		if a.State != Done {
			continue
		}
		task, seen := numbers[a.Task]
		switch {
		case a.Tasks != l.shapes[k].Tasks: // other tasks, that happen to have the same numbers
			task = l.tasks
			l.tasks++
		case !seen:
			task = l.tasks
			numbers[a.Task] = task
			l.tasks++
		}
		work, _ := a.work()
		l.obs = append(l.obs, observation{
			stage: k, task: task, machine: machineOf[a.Machine],
			y:      math.Log(work / l.inputScale(k, a)),
			weight: weightOf(l.ages[i]),
		})
		l.back = append(l.back, i)
	}
}

func weightOf(age int) float64 { return math.Exp2(-float64(min(age, oldest)) / halfLife) }

// work returns the attempt's seconds of work and of launching, 0 if that is not known.
func (a *Attempt) work() (work, launch float64) {
	launch, _ = a.launch()
	return max(a.seconds()-launch, shortest), launch
}

// inputScale is by how much more the attempt read than a task of the stage reads now.
func (l *learner) inputScale(k int, a *Attempt) float64 {
	if now := l.shapes[k].Input; now > 0 && a.Input > 0 {
		return a.Input / now
	}
	return 1
}

// anchor sets the unit of size in every component in which no speed is stated: by the
// sizes that the workload states, or else so that the median machine has speed 1. Sizes
// follow, since they are what attempts took times these speeds.
func (l *learner) anchor() {
	f := l.fit
	group := f.components()
	stated := make([]sample, len(group)) // per component: stated size over what was seen
	for j, i := range l.back {
		if a, m := &l.attempts[i], l.obs[j].machine; a.Size > 0 {
			stated[group[m]].add(math.Log(a.Size/a.seconds())-f.speed[m], l.obs[j].weight)
		}
	}
	members := make([][]int, len(group))
	for m, g := range group {
		members[g] = append(members[g], m)
	}
	for g, list := range members {
		var unit []float64
		fixed := false
		for _, m := range list {
			fixed = fixed || f.fixed[m]
			if l.unit[m] {
				unit = append(unit, f.speed[m])
			}
		}
		shift, source := 0.0, Learnt
		switch {
		case fixed:
		case len(stated[g]) > 0:
			shift = stated[g].quantile(0.5)
		case len(list) == 1: // compared with nothing
			shift, source = l.assumed[g]-f.speed[g], Assumed
		case len(unit) > 0:
			slices.Sort(unit)
			shift = -unit[(len(unit)-1)/2] // a machine's, where there are two
		}
		for _, m := range list {
			if !f.fixed[m] {
				f.speed[m] += shift
				l.source[m] = source
			}
		}
	}
}

// stage makes the estimate of stage k.
func (l *learner) stage(k int) StageEstimate {
	e := StageEstimate{Key: l.stages[k], Attempts: len(l.of[k]), Memory: l.memory(k)}
	runs := map[string]bool{}
	for _, i := range l.of[k] {
		a := &l.attempts[i]
		runs[a.Run] = true
		if a.Launched.After(e.LastSeen) {
			e.LastSeen = a.Launched
		}
	}
	e.Runs = len(runs)
	var sizes, launches, noise sample // noise carries the unit of size
	for j := l.first[k]; j < l.first[k+1]; j++ {
		o := &l.obs[j]
		e.Done++
		_, launch := l.attempts[l.back[j]].work()
		if launch > 0 {
			launches.add(launch, o.weight)
		}
		p := o.y + l.fit.speed[o.machine]
		sizes.add(math.Exp(p)+launch, o.weight)
		noise.add(math.Exp(p-l.fit.location[k]-l.fit.effect[o.task]), o.weight)
	}
	if e.Done == 0 {
		return e
	}
	e.Sizes, e.Median, e.P90 = sizes.bins(supportPoints).dist(), sizes.quantile(0.5), sizes.quantile(0.9)
	e.Launch = launches.quantile(0.5)
	if l.fit.between[k] > systematic*l.fit.within[k] {
		e.ByTask = l.byTask(k, e.Sizes, e.Launch, noise)
	}
	return e
}

// byTask returns a distribution per task: its own size, with the noise of the stage.
// Tasks that have not been seen are like any other.
func (l *learner) byTask(k int, other size.Dist, launch float64, noise sample) []size.Dist {
	noise = noise.bins(noisePoints)
	own := make(sample, len(noise))
	each := make([]size.Dist, l.shapes[k].Tasks)
	for t := range each {
		each[t] = other
		if number, ok := l.numbers[k][t]; ok {
			typical := math.Exp(l.fit.location[k] + l.fit.effect[number])
			for i, v := range noise {
				own[i] = weighted{float64(typical*v.x) + launch, v.w}
			}
			each[t] = own.dist()
		}
	}
	return each
}

// memory returns what a task of stage k should be given.
func (l *learner) memory(k int) int64 {
	var peaks sample
	more := 0.0
	for _, i := range l.of[k] {
		a := &l.attempts[i]
		if a.Memory <= 0 || l.ages[i] >= memoryRuns {
			continue
		}
		switch peak := float64(a.Memory); {
		case a.OutOfMemory:
			more = max(more, outOfMemoryFactor*peak)
		case a.State == Done || a.State == Failed:
			peaks.add(peak, 1)
		}
	}
	need := max(more, memoryMargin*peaks.high(memoryQuantile))
	return int64(math.Ceil(need/memoryUnit)) * memoryUnit
}
