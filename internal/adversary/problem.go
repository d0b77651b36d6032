package adversary

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/workload"
)

// problem is a small workload in whole numbers. Jobs and stages wait for earlier ones
// only, so that there are no cycles.
type problem struct {
	speeds []int
	jobs   []job
}

type job struct {
	weight, release int
	after           []int
	stages          []stage
}

type stage struct {
	after []int
	sizes []int
}

func (p *problem) clone() *problem {
	q := &problem{slices.Clone(p.speeds), slices.Clone(p.jobs)}
	for j := range q.jobs {
		q.jobs[j].after = slices.Clone(q.jobs[j].after)
		q.jobs[j].stages = slices.Clone(q.jobs[j].stages)
		for s := range q.jobs[j].stages {
			st := &q.jobs[j].stages[s]
			st.after, st.sizes = slices.Clone(st.after), slices.Clone(st.sizes)
		}
	}
	return q
}

// file returns the problem as a workload.
func (p *problem) file(name string) *workload.File {
	f := &workload.File{Metadata: workload.Metadata{Name: name}, Cluster: &workload.Cluster{}}
	for m, v := range p.speeds {
		f.Cluster.Machines = append(f.Cluster.Machines, workload.Machine{
			Name: fmt.Sprint("m", m), Speed: float64(v), Slots: 1, Port: math.Inf(1),
		})
	}
	for j := range p.jobs {
		src := &p.jobs[j]
		out := workload.Job{Name: fmt.Sprint("j", j), Weight: float64(src.weight), Release: float64(src.release)}
		for _, a := range src.after {
			out.After = append(out.After, fmt.Sprint("j", a))
		}
		for s := range src.stages {
			st := workload.Stage{Name: fmt.Sprint("s", s)}
			for _, a := range src.stages[s].after {
				st.After = append(st.After, fmt.Sprint("s", a))
			}
			for _, p := range src.stages[s].sizes {
				st.Sizes = append(st.Sizes, workload.Size{Value: float64(p)})
			}
			out.Stages = append(out.Stages, st)
		}
		f.Jobs = append(f.Jobs, out)
	}
	return f
}

func (p *problem) instance() (*sched.Instance, error) { return p.file("").Instance(nil) }

// tasks returns the number of tasks.
func (p *problem) tasks() int {
	n := 0
	for j := range p.jobs {
		for s := range p.jobs[j].stages {
			n += len(p.jobs[j].stages[s].sizes)
		}
	}
	return n
}

// random returns a problem to start from.
func random(o *Options, r *rand.Rand) *problem {
	p := &problem{}
	for range 1 + r.IntN(o.Machines) {
		p.speeds = append(p.speeds, 1+r.IntN(o.Speed))
	}
	for range 1 + r.IntN(o.Jobs) {
		p.jobs = append(p.jobs, o.job(r))
	}
	return p
}

func (o *Options) job(r *rand.Rand) job {
	return job{weight: 1 + r.IntN(o.Weight), stages: []stage{{sizes: []int{1 + r.IntN(o.Size)}}}}
}

// move changes p in one place, and reports whether it could.
func (o *Options) move(p *problem, r *rand.Rand) bool {
	j := r.IntN(len(p.jobs))
	jb := &p.jobs[j]
	s := r.IntN(len(jb.stages))
	st := &jb.stages[s]
	k := r.IntN(len(st.sizes))
	switch r.IntN(13) {
	case 0, 1:
		st.sizes[k] = scaled(r, st.sizes[k], 1, o.Size)
	case 2:
		jb.weight = scaled(r, jb.weight, 0, o.Weight)
	case 3:
		jb.release = scaled(r, jb.release, 0, o.Size)
	case 4:
		m := r.IntN(len(p.speeds))
		p.speeds[m] = scaled(r, p.speeds[m], 1, o.Speed)
	case 5:
		if len(p.speeds) == o.Machines {
			return false
		}
		p.speeds = append(p.speeds, 1+r.IntN(o.Speed))
	case 6:
		if len(p.speeds) == 1 {
			return false
		}
		p.speeds = slices.Delete(p.speeds, 0, 1)
	case 7:
		if len(p.jobs) == o.Jobs {
			return false
		}
		p.jobs = append(p.jobs, o.job(r))
	case 8:
		if len(p.jobs) == 1 {
			return false
		}
		p.jobs = slices.Delete(p.jobs, j, j+1)
		for i := range p.jobs {
			p.jobs[i].after = without(p.jobs[i].after, j)
		}
	case 9:
		if len(jb.stages) == o.Stages {
			return false
		}
		jb.stages = append(jb.stages, stage{sizes: []int{1 + r.IntN(o.Size)}})
		if n := len(jb.stages) - 1; r.IntN(2) == 0 {
			jb.stages[n].after = []int{r.IntN(n)}
		}
	case 10:
		switch {
		case len(st.sizes) > 1:
			st.sizes = slices.Delete(st.sizes, k, k+1)
		case len(jb.stages) > 1:
			jb.stages = slices.Delete(jb.stages, s, s+1)
			for i := range jb.stages {
				jb.stages[i].after = without(jb.stages[i].after, s)
			}
		default:
			return false
		}
	case 11:
		if len(st.sizes) == o.Tasks {
			return false
		}
		st.sizes = append(st.sizes, st.sizes[k])
	case 12:
		if r.IntN(2) == 0 && j > 0 {
			jb.after = toggled(jb.after, r.IntN(j))
		} else if s > 0 {
			st.after = toggled(st.after, r.IntN(s))
		} else {
			return false
		}
	}
	return true
}

// scaled returns x changed by one or by a factor, within [low, high].
func scaled(r *rand.Rand, x, low, high int) int {
	y := x
	switch r.IntN(4) {
	case 0:
		y = x + 1
	case 1:
		y = x - 1
	case 2:
		y = 2*x + r.IntN(2)
	case 3:
		y = x / 2
	}
	return min(high, max(low, y))
}

// toggled adds x, or removes it.
func toggled(list []int, x int) []int {
	if i := slices.Index(list, x); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	list = append(list, x)
	slices.Sort(list)
	return list
}

// without removes x, and counts down what is larger.
func without(list []int, x int) []int {
	out := list[:0]
	for _, a := range list {
		switch {
		case a < x:
			out = append(out, a)
		case a > x:
			out = append(out, a-1)
		}
	}
	return out
}
