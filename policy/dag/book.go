package dag

import (
	"math"
	"slices"

	"github.com/fairlead-project/fairlead/algo/progress"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// book keeps what was observed of tasks against what was expected, and what follows
// for the tasks that are left: one factor per stage, by which its estimates are
// multiplied, since what makes one task of a stage longer than thought, more
// data or a slower program, makes the others so as a rule.
type book struct {
	x      *sched.Index
	speed  float64   // of all slots together
	factor []float64 // per stage
	stages []observed
	busy   []sched.StageID // with running tasks
	// touched are the stages of which something was observed since the last solve.
	touched  []sched.StageID
	repeated float64 // work that must be done again since the last solve
}

// observed is what is known of the tasks of one stage.
type observed struct {
	running []launch
	// ratios of observed to estimated sizes of the latest tasks to finish; n of all.
	ratios []float64
	n      int
	mean   float64 // estimated size of a task
	solved float64 // factor at the last solve
	isBusy bool
	listed bool // in touched
}

// launch is a running task.
type launch struct {
	task     sched.TaskID
	machine  sched.MachineID
	since    sched.Time
	expected float64 // size, at the last solve or later launch
}

const (
	// keptRatios bounds the memory per stage; the mean of so many varies by less than
	// a tenth where sizes vary by a factor of two.
	keptRatios = 63
	// prior is how many observations of ratio 1 the estimate itself is worth: one task
	// that takes twice as long as thought says little where sizes vary, five say much.
	prior = 4
	// clip bounds ratios to the median times or by this: a straggler or a task that
	// found nothing to do is not what the others will be.
	clip = 3
	// drifted: an estimate that has changed by less, either way, is noise.
	drifted = 1.25
	// far: a running task is taken to be unlike its estimate when it has run, or by its
	// progress will run, longer or shorter by this. At sizes that vary by a tenth none
	// is.
	far = 1.5
)

func (b *book) init(v policy.View) {
	b.x = v.Index()
	b.stages = make([]observed, b.x.Stages())
	b.factor = make([]float64, b.x.Stages())
	for s := range b.factor {
		b.factor[s], b.stages[s].solved = 1, 1
	}
	for m := range b.x.Instance.Machines {
		mach := &b.x.Instance.Machines[m]
		b.speed += float64(float64(mach.Slots) * mach.Speed)
	}
}

// started notes the tasks that a decision starts.
func (b *book) started(now sched.Time, v policy.View, starts []policy.Start) {
	for _, st := range starts {
		s := b.x.TaskStage(st.Task)
		o := &b.stages[s]
		if !o.isBusy {
			o.isBusy = true
			b.busy = append(b.busy, s)
		}
		o.running = append(o.running, launch{st.Task, st.Machine, now, v.Estimates().Of(s, st.Task) * b.factor[s]})
	}
}

// observe takes in what has become of running tasks in stages that have changed.
func (b *book) observe(v policy.View) {
	for _, s := range v.Changed() {
		o := &b.stages[s]
		n := o.n
		o.running = slices.DeleteFunc(o.running, func(l launch) bool {
			switch v.Task(l.task) {
			case policy.TaskRunning:
				return false
			case policy.TaskDone:
				if size, ok := v.Observed(l.task); ok {
					o.add(size / v.Estimates().Of(s, l.task))
				}
			default:
				b.repeated += float64(v.Estimates().Of(s, l.task) * b.factor[s])
			}
			return true
		})
		if o.n > n {
			b.factor[s] = o.factor(nil)
			b.touch(s)
		}
	}
}

func (b *book) touch(s sched.StageID) {
	if !b.stages[s].listed {
		b.stages[s].listed = true
		b.touched = append(b.touched, s)
	}
}

// add keeps the ratio of a task that has finished.
func (o *observed) add(ratio float64) {
	if math.IsNaN(ratio) || math.IsInf(ratio, 0) { // estimated at nothing
		return
	}
	if len(o.ratios) < keptRatios {
		o.ratios = append(o.ratios, ratio)
	} else {
		o.ratios[o.n%keptRatios] = ratio
	}
	o.n++
}

// factor is the mean ratio, of the tasks that have finished and of more, without the
// weight of outliers, drawn towards 1 where there are few.
func (o *observed) factor(more []float64) float64 {
	r := append(slices.Clone(o.ratios), more...)
	if len(r) == 0 {
		return 1
	}
	slices.Sort(r)
	median := r[len(r)/2]
	sum := 0.0
	for _, x := range r {
		sum += min(max(x, median/clip), median*clip)
	}
	n := float64(max(o.n, len(r)))
	return (prior + n*sum/float64(len(r))) / (prior + n)
}

// predict returns the size that a running task is expected to turn out to have, and
// whether that follows from how it runs, not from its estimate.
func (b *book) predict(now sched.Time, v policy.View, s sched.StageID, l launch) (size float64, seen bool) {
	speed := b.x.Instance.Machines[l.machine].Speed
	estimated := sched.Duration(v.Estimates().Of(s, l.task)*b.factor[s], speed)
	size = (expectedEnd(now, v, l.task, l.since, estimated) - l.since).Seconds() * speed
	if first, last, ok := v.Progress(l.task); ok {
		if _, seen = progress.Estimate(l.since, progress.Mark(first), progress.Mark(last)); seen {
			return size, true
		}
	}
	return size, float64(now-l.since) > far*float64(estimated)
}

// moved revises the factors by how running tasks do, and returns the work that is
// expected now and was not at the last solve, or the other way round.
func (b *book) moved(now sched.Time, v policy.View) (work float64) {
	b.busy = slices.DeleteFunc(b.busy, func(s sched.StageID) bool {
		o := &b.stages[s]
		o.isBusy = len(o.running) > 0
		return !o.isBusy
	})
	var more []float64
	for _, s := range b.busy {
		more = more[:0]
		for _, l := range b.stages[s].running {
			size, seen := b.predict(now, v, s, l)
			if !seen {
				continue
			}
			if estimated := v.Estimates().Of(s, l.task); estimated > 0 {
				more = append(more, size/estimated)
			}
			if size > far*l.expected || size < l.expected/far {
				work += math.Abs(size - l.expected)
			}
		}
		if len(more) > 0 {
			b.factor[s] = b.stages[s].factor(more)
			b.touch(s)
		}
	}
	for _, s := range b.touched {
		o := &b.stages[s]
		if f := b.factor[s] / o.solved; f > drifted || f < 1/drifted {
			work += float64(math.Abs(b.factor[s]-o.solved) * o.size(v, s) * float64(v.Stage(s).Pending))
		}
	}
	return work
}

// size returns the mean of the estimated sizes of s.
func (o *observed) size(v policy.View, s sched.StageID) float64 {
	if o.mean == 0 {
		t, end := v.Index().StageTasks(s)
		n := float64(end - t)
		for ; t < end; t++ {
			o.mean += v.Estimates().Of(s, t) / n
		}
	}
	return o.mean
}

// solved notes that all that is known now goes into a solve.
func (b *book) solved(now sched.Time, v policy.View) {
	b.repeated = 0
	for _, s := range b.touched {
		b.stages[s].solved, b.stages[s].listed = b.factor[s], false
	}
	b.touched = b.touched[:0]
	for _, s := range b.busy {
		for i := range b.stages[s].running {
			l := &b.stages[s].running[i]
			l.expected, _ = b.predict(now, v, s, *l)
		}
	}
}
