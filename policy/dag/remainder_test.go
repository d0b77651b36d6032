package dag

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	algo "github.com/fairlead-project/fairlead/algo/dag"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
)

// rounding of durations to nanoseconds, at the speeds that occur.
const rounding = 1e-8

// checked compares every request with what is left according to the View.
type checked struct {
	*online
	t        *testing.T
	requests int
	partial  int // stages of which some tasks run or have ended
}

func (c *checked) Decide(now sched.Time, v policy.View, r *rand.Rand) (policy.Decision, error) {
	d, err := c.online.Decide(now, v, r)
	if d.Solve != nil {
		c.requests++
		c.check(now, v, d.Solve.Problem.(*remainder))
	}
	return d, err
}

func (c *checked) check(now sched.Time, v policy.View, rest *remainder) {
	c.t.Helper()
	x := v.Index()
	in := rest.problem.Instance()
	up := 0
	for m := range x.Instance.Machines {
		if v.Machine(sched.MachineID(m)).Up {
			up++
		}
	}
	if len(in.Machines) != up {
		c.t.Errorf("at %v: %d machines in the problem, %d are up", now, len(in.Machines), up)
	}
	// Per stage of the instance, its place in the problem: job and position.
	place := map[sched.StageID][2]int{}
	i := 0
	for j, job := range in.Jobs {
		for k := range job.Stages {
			place[rest.stages[i]] = [2]int{j, k}
			i++
		}
	}
	if i != len(rest.stages) || len(place) != i {
		c.t.Fatalf("at %v: %d stages in the problem, %d named", now, i, len(place))
	}
	px := sched.NewIndex(in)
	seen := 0
	for _, j := range v.Known() {
		if over(v.Job(j)) {
			continue
		}
		job := &x.Instance.Jobs[j]
		first, end := x.JobStages(j)
		for s := first; s < end; s++ {
			work, tasks, ended, running := c.left(now, v, s)
			at, there := place[s]
			if there != (tasks > 0) {
				c.t.Fatalf("at %v: stage %s has %d tasks left, in the problem: %v", now, x.StageName(s), tasks, there)
			}
			if !there {
				continue
			}
			seen++
			if ended > 0 || running > 0 {
				c.partial++
			}
			pj := &in.Jobs[at[0]]
			ps := &pj.Stages[at[1]]
			base, _ := px.JobStages(sched.JobID(at[0]))
			node := slices.IndexFunc(rest.problem.Nodes, func(n algo.Node) bool { return n.Stage == base+sched.StageID(at[1]) })
			if got := rest.problem.Nodes[node]; got.Tasks != tasks || math.Abs(got.Size-work) > rounding*float64(tasks) {
				c.t.Errorf("at %v: stage %s has %d tasks of size %v left, the problem says %d of %v", now, x.StageName(s), tasks, work, got.Tasks, got.Size)
			}
			if ps.Name != x.Stage(s).Name || pj.Weight != job.Weight || pj.Release != max(0, job.Release-now) {
				c.t.Errorf("at %v: stage %s is described as %+v of %+v", now, x.StageName(s), ps, pj)
			}
			var after []sched.StageID
			for _, a := range x.Stage(s).After {
				if _, there := place[first+sched.StageID(a)]; there {
					after = append(after, first+sched.StageID(a))
				}
			}
			var got []sched.StageID
			for _, a := range ps.After {
				got = append(got, rest.stages[int(base)+a])
			}
			if !slices.Equal(got, after) {
				c.t.Errorf("at %v: stage %s comes after %v, not %v", now, x.StageName(s), got, after)
			}
		}
	}
	if seen != len(place) {
		c.t.Errorf("at %v: the problem has %d stages, %d have tasks left", now, len(place), seen)
	}
	for i, job := range in.Jobs {
		base, _ := px.JobStages(sched.JobID(i))
		src := x.Instance.Jobs[x.StageJob(rest.stages[base])]
		n := 0
		for _, a := range src.After {
			if slices.Contains(v.Known(), a) && !over(v.Job(a)) {
				n++
			}
		}
		if len(job.After) != n {
			c.t.Errorf("at %v: job %s waits for %d jobs, not %d", now, job.Name, len(job.After), n)
		}
	}
}

// left adds up what is left of a stage, the slow way: by looking into every slot.
func (c *checked) left(now sched.Time, v policy.View, s sched.StageID) (work float64, tasks, ended, running int) {
	x := v.Index()
	for t, end := x.StageTasks(s); t < end; t++ {
		size := v.Estimates().Of(s, t) * c.factor[s]
		switch v.Task(t) {
		case policy.TaskBlocked, policy.TaskPending, policy.TaskDelayed:
			work += size
			tasks++
		case policy.TaskRunning:
			running++
			tasks++
			for m := range x.Instance.Machines {
				for k := range int32(x.Instance.Machines[m].Slots) {
					if u, since := v.Slot(sched.MachineID(m), k); u == t {
						speed := x.Instance.Machines[m].Speed
						left := size/speed - (now - since).Seconds()
						if left <= 1e-9 {
							left = overdue * (now - since).Seconds()
						}
						work += left * speed
					}
				}
			}
		default:
			ended++
		}
	}
	return work, tasks, ended, running
}

// What goes into a solve is what is left, whatever has happened.
func TestRemainder(t *testing.T) {
	requests, partial := 0, 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 12))
		in := simpleInstance(r)
		for j := range in.Jobs {
			for a := range j {
				if r.IntN(4) == 0 {
					in.Jobs[j].After = append(in.Jobs[j].After, sched.JobID(a))
				}
			}
			for s := range in.Jobs[j].Stages {
				in.Jobs[j].Stages[s].Retries = r.IntN(3)
			}
		}
		x := sched.NewIndex(in)
		est, err := sim.Means(x)
		if err != nil {
			t.Fatal(err)
		}
		real := sched.NewSizes(x)
		for s := range sched.StageID(x.Stages()) {
			each := make([]float64, x.Stage(s).Count)
			for k := range each {
				each[k] = 5 * r.ExpFloat64()
			}
			real.SetEach(s, each)
		}
		p, err := NewSPCOnline(OnlineParams{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := &checked{online: p.(*online), t: t}
		cfg := sim.Config{
			Instance: in, Policy: c, Sizes: real, Estimates: est, KeepGoing: seed%2 == 0, Seed: seed,
			Knowledge: policy.Knowledge{Sizes: policy.SizesDistribution, Arrivals: policy.Arrivals(seed % 3 / 2)},
			Fails:     func(t sched.TaskID, attempt int32) bool { return (uint64(t)+uint64(attempt)+seed)%7 == 0 },
		}
		cfg.Backoff.Base = sched.Second
		for m := range in.Machines {
			at := sched.FromSeconds(10 * r.Float64())
			cfg.Outages = append(cfg.Outages, sim.Outage{At: at, Machine: sched.MachineID(m)}, sim.Outage{At: at + sched.Second, Machine: sched.MachineID(m), Joins: true})
		}
		if _, err := sim.Run(cfg); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if t.Failed() {
			t.Fatalf("at seed %d", seed)
		}
		requests, partial = requests+c.requests, partial+c.partial
	}
	if requests < 500 || partial < 500 {
		t.Errorf("only %d requests, with %d stages partly done: the test tests little", requests, partial)
	}
}

// The order is by the job's end, then by the longest way to it, which is found a
// second way: over all paths.
func TestRemainderOrder(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 13))
		in := simpleInstance(r)
		for j := range in.Jobs { // stages that several follow, at different distances
			job := &in.Jobs[j]
			for len(job.Stages) < 6 {
				st := job.Stages[r.IntN(len(job.Stages))]
				st.Name, st.After = fmt.Sprint("s", len(job.Stages)), nil
				for a := range job.Stages {
					if r.IntN(2) == 0 {
						st.After = append(st.After, a)
					}
				}
				job.Stages = append(job.Stages, st)
			}
		}
		p, err := NewSPCOnline(OnlineParams{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		o := p.(*online)
		var rest *remainder
		var sol *policy.Solution
		_, err = sim.Run(sim.Config{
			Instance: in, Policy: &intercept{o, func(q policy.Request, s *policy.Solution) {
				if rest == nil {
					rest, sol = q.Problem.(*remainder), s
				}
			}},
			Knowledge: policy.Knowledge{Sizes: policy.SizesDistribution, Arrivals: policy.Offline},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(sol.Order) != len(rest.stages) {
			t.Fatalf("seed %d: %d of %d stages ordered", seed, len(sol.Order), len(rest.stages))
		}
		way := map[sched.StageID]float64{}
		for i, n := range rest.problem.Nodes {
			if n.Stage != sched.None {
				way[rest.stages[n.Stage]] = longest(rest, int32(i))
			}
		}
		x := sched.NewIndex(in)
		for i := 1; i < len(sol.Order); i++ {
			a, b := sol.Order[i-1], sol.Order[i]
			if x.StageJob(a) == x.StageJob(b) && way[a] < way[b]-1e-9 {
				t.Errorf("seed %d: stage %s, %v from the end, comes before %s, %v", seed, x.StageName(a), way[a], x.StageName(b), way[b])
			}
		}
		done := map[sched.JobID]bool{}
		for i, s := range sol.Order {
			if j := x.StageJob(s); i > 0 && x.StageJob(sol.Order[i-1]) != j {
				if done[j] {
					t.Errorf("seed %d: the stages of a job do not stand together: %v", seed, sol.Order)
				}
				done[j] = true
			} else {
				done[j] = true
			}
		}
	}
}

type intercept struct {
	*online
	see func(policy.Request, *policy.Solution)
}

func (p *intercept) Solve(req policy.Request, stop func() bool) (*policy.Solution, error) {
	sol, err := p.online.Solve(req, stop)
	p.see(req, sol)
	return sol, err
}

// longest tries all ways from a node to the end of its job.
func longest(r *remainder, i int32) float64 {
	p := r.problem
	best := 0.0
	for _, a := range p.Arcs {
		if a.From == i && p.Nodes[a.To].Job == p.Nodes[i].Job {
			best = max(best, longest(r, a.To))
		}
	}
	n := p.Nodes[i]
	if n.Tasks == 0 {
		return best
	}
	rate := 0.0
	for l := range min(n.Tasks, len(p.Units)) {
		rate += p.Instance().Machines[p.Units[l].Machine].Speed
	}
	return best + max(n.Size/rate, n.Longest/p.Instance().Machines[p.Units[0].Machine].Speed)
}

func TestFactor(t *testing.T) {
	of := func(more []float64, ratios ...float64) float64 {
		o := &observed{}
		for _, r := range ratios {
			o.add(r)
		}
		return o.factor(more)
	}
	many := slices.Repeat([]float64{2}, 1000)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"nothing", of(nil), 1},
		{"one of two", of(nil, 2), 6. / 5},
		{"four of two", of(nil, 2, 2, 2, 2), 12. / 8},
		{"a straggler counts three times the median", of(nil, 1, 1, 100), (4 + 5.) / 7},
		{"one that found nothing to do, a third", of(nil, 3, 3, 0), (4 + 7.) / 7},
		{"the mean, not the median", of(nil, 1, 1, 1, 2, 2), (4 + 7.) / 9},
		{"running ones too", of([]float64{3}, 3), 10. / 6},
		{"only running ones", of([]float64{3}), 7. / 5},
		{"all that were seen count, not only the kept", of(nil, many...), (4 + 2000.) / 1004},
		{"the latest are kept", of(nil, append(slices.Repeat([]float64{9}, 100), many...)...), (4 + 2200.) / 1104},
		{"estimates of nothing say nothing", of(nil, math.Inf(1), math.NaN()), 1},
	} {
		if math.Abs(c.got-c.want) > 1e-12 {
			t.Errorf("%s: factor %v, want %v", c.name, c.got, c.want)
		}
	}
}

// A running task says something only if it is far over its estimate, or reports
// progress; its stage's other tasks are then expected to be like it.
func TestMovedByRunningTasks(t *testing.T) {
	in := &sched.Instance{}
	in.Machines = []sched.Machine{{Name: "m", Speed: 2, Slots: 2, Port: math.Inf(1)}}
	for j := range 2 {
		in.Jobs = append(in.Jobs, sched.Job{Name: fmt.Sprint("j", j), Weight: 1, Stages: []sched.Stage{{Name: "s", Count: 11}}})
	}
	x := sched.NewIndex(in)
	z := sched.NewSizes(x)
	z.SetAll(0, 20) // 10 s
	z.SetAll(1, 20)
	at := func(s float64) sched.Time { return sched.FromSeconds(s) }
	for _, c := range []struct {
		name   string
		now    float64
		marks  [2]policy.Mark
		moved  float64
		factor float64
	}{
		{"on time", 9, [2]policy.Mark{}, 0, 1},
		{"a little late", 14, [2]policy.Mark{}, 0, 1},
		// 16 s and a quarter more: size 40, twice the estimate. The factor becomes
		// (4 + 2)/5, not far enough from 1 for the ten that are pending to count.
		{"late", 16, [2]policy.Mark{}, 20, 1.2},
		// 2 s, and 0.1 per second from then on: 11 s, size 22.
		{"progress as expected", 4, [2]policy.Mark{{At: at(2), Value: 0.1}, {At: at(3), Value: 0.2}}, 0, 1.02},
		// 0.01 per second from 1 s on: 2 s + 98 s, size 200 instead of 20, clipped by
		// nothing since it is the only one: factor (4 + 10)/5 = 2.8, so 180 and 10·20·1.8.
		{"slow progress", 4, [2]policy.Mark{{At: at(2), Value: 0.02}, {At: at(3), Value: 0.03}}, 180 + 360, 2.8},
	} {
		b := &book{}
		v := &sight{x: x, z: z, marks: c.marks}
		b.init(v)
		b.started(0, v, []policy.Start{{Task: 0, Machine: 0}})
		if got := b.moved(at(c.now), v); math.Abs(got-c.moved) > 1e-6 || math.Abs(b.factor[0]-c.factor) > 1e-6 || b.factor[1] != 1 {
			t.Errorf("%s: moved %v, factors %v; want %v, %v", c.name, got, b.factor, c.moved, c.factor)
		}
		b.solved(at(c.now), v)
		if got := b.moved(at(c.now), v); got != 0 {
			t.Errorf("%s: %v moved since a solve at this instant", c.name, got)
		}
	}
}

// sight shows one running task of stage 0, ten pending ones, and its progress.
type sight struct {
	policy.View
	x     *sched.Index
	z     *sched.Sizes
	marks [2]policy.Mark
}

func (v *sight) Index() *sched.Index                  { return v.x }
func (v *sight) Estimates() *sched.Sizes              { return v.z }
func (v *sight) Task(t sched.TaskID) policy.TaskState { return policy.TaskRunning }
func (v *sight) Stage(s sched.StageID) policy.StageState {
	return policy.StageState{Ready: true, Pending: 10}
}

func (v *sight) Progress(sched.TaskID) (a, b policy.Mark, ok bool) {
	return v.marks[0], v.marks[1], v.marks[0].Value > 0
}
