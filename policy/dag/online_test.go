package dag_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/policy/dag"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
	"github.com/fairlead-project/fairlead/size"
)

func spcOnline(t testing.TB, p dag.OnlineParams) policy.Policy {
	t.Helper()
	pol, err := dag.NewSPCOnline(p, simulate)
	if err != nil {
		t.Fatal(err)
	}
	return pol
}

// stream returns jobs that arrive at the given load (0: all at once) on machines of
// three speeds: half of them map and reduce, half layered DAGs, with 4 and more
// tasks per stage if wide, 1 to 4 otherwise. The sizes of a stage's tasks have the
// given coefficient of variation.
func stream(seed uint64, jobs int, load float64, wide bool, cv float64) *sched.Instance {
	r := rand.New(rand.NewPCG(seed, 77))
	in := &sched.Instance{}
	mu, work := 0.0, 0.0
	for range 4 + r.IntN(5) {
		v := []float64{1, 1, 2, 3}[r.IntN(4)]
		mu += v
		in.Machines = append(in.Machines, machines(v)...)
	}
	stage := func(s int, after ...int) sched.Stage {
		st := sched.Stage{Name: fmt.Sprint("s", s), Count: 1 + r.IntN(4), After: after}
		if wide {
			st.Count = 4 + r.IntN(2*len(in.Machines))
		}
		mean := 10 * math.Exp(0.8*r.NormFloat64())
		work += float64(st.Count) * mean
		st.Sizes = []size.Dist{size.Exact(mean)}
		if cv > 0 {
			d, err := size.NewLognormal(mean, cv)
			if err != nil {
				panic(err)
			}
			st.Sizes = []size.Dist{d}
		}
		return st
	}
	for j := range jobs {
		job := sched.Job{Name: fmt.Sprint("j", j), Weight: math.Pow(10, r.Float64()), Stages: []sched.Stage{stage(0)}}
		if j%2 == 0 {
			job.Stages = append(job.Stages, stage(1, 0))
		} else {
			for s := 1; s < 3+r.IntN(5); s++ {
				after := []int{r.IntN(s)}
				if a := r.IntN(s); a > after[0] {
					after = append(after, a)
				}
				job.Stages = append(job.Stages, stage(s, after...))
			}
		}
		in.Jobs = append(in.Jobs, job)
	}
	if load > 0 {
		at := 0.0
		for j := range in.Jobs {
			in.Jobs[j].Release = sched.FromSeconds(at)
			at += work / float64(jobs) / mu / load * r.ExpFloat64()
		}
	}
	return in
}

// weightedFlow is Σ w (C − r), in seconds.
func weightedFlow(in *sched.Instance, r *sim.Result) float64 {
	sum := 0.0
	for j, c := range r.Schedule.Completion {
		sum += in.Jobs[j].Weight * (c - in.Jobs[j].Release).Seconds()
	}
	return sum
}

// Where durations differ from their estimates, fixed queues lose much, and planning
// again as things change is at least as good as what does not plan: weighted flow
// time in the median of streams.
func TestOnlineAgainstOthers(t *testing.T) {
	others := []struct {
		name string
		k    policy.Knowledge
		new  func() policy.Policy
		// most is the largest median of ratios allowed, per load.
		most map[float64]float64
	}{
		{"plain", offline, func() policy.Policy { return spc(t, dag.SPCParams{Plain: true}) }, map[float64]float64{0: 0.8, 0.5: 0.75, 0.9: 0.5}},
		{"wspt", online, dag.NewWSPT, map[float64]float64{0: 1.02, 0.5: 1.03, 0.9: 1.03}},
		{"spc", offline, func() policy.Policy { // without candidates and search, which take long
			p, err := dag.NewSPC(dag.SPCParams{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}, map[float64]float64{0: 1.01, 0.5: 1.02, 0.9: 0.94}},
		{"fifo", blind, dag.NewFIFO, map[float64]float64{0: 0.7, 0.5: 0.95, 0.9: 0.85}},
	}
	const seeds = 10
	for _, load := range []float64{0, 0.5, 0.9} {
		ratios := map[string][]float64{}
		for seed := range uint64(seeds) {
			in := stream(seed, 50, load, seed%2 == 0, 0.5)
			mine := weightedFlow(in, run(t, sim.Config{Instance: in, Policy: spcOnline(t, dag.OnlineParams{}), Knowledge: online, Seed: seed}))
			for _, o := range others {
				cost := weightedFlow(in, run(t, sim.Config{Instance: in, Policy: o.new(), Knowledge: o.k, Seed: seed}))
				ratios[o.name] = append(ratios[o.name], mine/cost)
			}
		}
		for _, o := range others {
			slices.Sort(ratios[o.name])
			median := (ratios[o.name][seeds/2-1] + ratios[o.name][seeds/2]) / 2
			t.Logf("load %v: %.3f of %s in the median, %.3f to %.3f", load, median, o.name, ratios[o.name][0], ratios[o.name][seeds-1])
			if median > o.most[load] {
				t.Errorf("load %v: %.3f of the cost of %s in the median, want at most %v", load, median, o.name, o.most[load])
			}
		}
	}
}

// Where jobs wait for others and weights are skewed, a plan is worth more than any
// rule that looks at one job: wspt serves what a heavy job waits for by its own weight.
func TestOnlineSeesWhatWaits(t *testing.T) {
	var ratios []float64
	for seed := range uint64(11) {
		in := stream(seed, 40, 0, seed%2 == 0, 0.5)
		r := rand.New(rand.NewPCG(seed, 78))
		for j := range in.Jobs {
			in.Jobs[j].Weight = math.Pow(100, r.Float64())
			if j > 0 && r.IntN(2) == 0 {
				in.Jobs[j].After = []sched.JobID{sched.JobID(r.IntN(j))}
			}
		}
		mine := weightedFlow(in, run(t, sim.Config{Instance: in, Policy: spcOnline(t, dag.OnlineParams{}), Knowledge: online, Seed: seed}))
		wspt := weightedFlow(in, run(t, sim.Config{Instance: in, Policy: dag.NewWSPT(), Knowledge: online, Seed: seed}))
		ratios = append(ratios, mine/wspt)
	}
	slices.Sort(ratios)
	t.Logf("%.3f of wspt in the median, %.3f to %.3f", ratios[5], ratios[0], ratios[10])
	if ratios[5] > 0.92 || ratios[10] > 1 {
		t.Errorf("%.3f of the cost of wspt in the median, at most %.3f; want at most 0.92 and 1", ratios[5], ratios[10])
	}
}

// counted returns an observer that counts solves, and fails if two are ever under
// way at once.
func counted(t *testing.T, solves *int) func(sched.Time, engine.Event, []engine.Action) error {
	flying := 0
	return func(now sched.Time, ev engine.Event, actions []engine.Action) error {
		if ev.Kind == engine.Solved {
			flying--
		}
		for _, a := range actions {
			if a.Kind == engine.Solve {
				*solves++
				flying++
			}
		}
		if flying > 1 {
			t.Errorf("at %v %d solves are under way", now, flying)
		}
		return nil
	}
}

// Noise leads to no solve but those for arrivals, of which there is one per instant.
func TestOnlineIgnoresNoise(t *testing.T) {
	for seed := range uint64(10) {
		in := stream(seed, 40, []float64{0, 0.7}[seed%2], seed%4 < 2, 0.1)
		arrivals := map[sched.Time]bool{}
		for _, job := range in.Jobs {
			arrivals[job.Release] = true
		}
		solves := 0
		run(t, sim.Config{
			Instance: in, Policy: spcOnline(t, dag.OnlineParams{}), Knowledge: online, Seed: seed, Observe: counted(t, &solves),
		})
		if solves != len(arrivals) {
			t.Errorf("seed %d: %d solves for %d arrivals", seed, solves, len(arrivals))
		}
	}
}

// A thousand tasks that all drift, each stage by a factor of its own, lead to few
// solves, but to some.
func TestOnlineBoundsTheStampede(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		unit := []float64{10, 0.3}[seed%2]
		in := &sched.Instance{Machines: machines(1, 1, 1, 1, 2, 2, 3, 3)}
		for j := range 20 {
			in.Jobs = append(in.Jobs, job(fmt.Sprint("j", j), 1+r.Float64(), 0, slices.Repeat([]float64{unit}, 50)...))
		}
		x := sched.NewIndex(in)
		real := sched.NewSizes(x)
		for s := range sched.StageID(x.Stages()) {
			each := make([]float64, 50)
			f := math.Exp(2 * r.NormFloat64())
			for k := range each {
				each[k] = unit * f * (0.8 + 0.4*r.Float64())
			}
			real.SetEach(s, each)
		}
		est, err := sim.Means(x)
		if err != nil {
			t.Fatal(err)
		}
		for _, slow := range []sched.Time{0, 2 * sched.Second} {
			solves := 0
			count, last := counted(t, &solves), sched.Time(-sched.Second)
			res := run(t, sim.Config{
				Instance: in, Policy: spcOnline(t, dag.OnlineParams{}), Knowledge: online, Sizes: real, Estimates: est,
				SolveTime: func(policy.Request) sched.Time { return slow },
				Observe: func(now sched.Time, ev engine.Event, actions []engine.Action) error {
					before := solves
					err := count(now, ev, actions)
					if solves > before {
						if now-last < sched.Second { // nothing but drift happens
							t.Errorf("seed %d: solves at %v and %v", seed, last, now)
						}
						last = now
					}
					return err
				},
			})
			if len(res.Schedule.Tasks) != 1000 {
				t.Fatalf("%d tasks ran", len(res.Schedule.Tasks))
			}
			// Each look at drift is a twentieth of what is left after the last: some 100
			// looks down to a second, of which few see anything new.
			if solves < 3 || solves > 60 {
				t.Errorf("seed %d: %d solves for 1000 drifting tasks", seed, solves)
			}
		}
	}
}

// The whole of what makes it solve again, one by one: a single stream of one job,
// and something that happens to it at 5 s.
func TestOnlineSolvesWhenThingsChange(t *testing.T) {
	base := func() *sched.Instance {
		in := &sched.Instance{Machines: machines(1, 1), Jobs: []sched.Job{
			job("a", 1, 0, 4, 4, 4, 4, 4, 4), job("b", 1, 0, 5, 5, 5, 5, 5, 5),
		}}
		in.Jobs[0].Stages[0].Retries, in.Jobs[1].Stages[0].Retries = 1, 1
		return in
	}
	for _, c := range []struct {
		name   string
		more   int // solves beyond the first
		change func(*sched.Instance, *sim.Config)
	}{
		{"nothing", 0, func(*sched.Instance, *sim.Config) {}},
		{"an arrival", 1, func(in *sched.Instance, _ *sim.Config) {
			in.Jobs = append(in.Jobs, job("late", 1, 5*sched.Second, 1))
		}},
		{"two arrivals at once", 1, func(in *sched.Instance, _ *sim.Config) {
			in.Jobs = append(in.Jobs, job("late", 1, 5*sched.Second, 1), job("too", 1, 5*sched.Second, 1))
		}},
		{"a machine lost", 1, func(_ *sched.Instance, c *sim.Config) {
			c.Outages = []sim.Outage{{At: 5 * sched.Second, Machine: 1}}
		}},
		{"a machine lost and back", 2, func(_ *sched.Instance, c *sim.Config) {
			c.Outages = []sim.Outage{{At: 5 * sched.Second, Machine: 1}, {At: 7 * sched.Second, Machine: 1, Joins: true}}
		}},
		{"a failure that matters", 1, func(_ *sched.Instance, c *sim.Config) {
			c.Fails = func(t sched.TaskID, attempt int32) bool { return t == 1 && attempt == 1 }
		}},
		{"a failure that does not", 0, func(in *sched.Instance, c *sim.Config) {
			in.Jobs[1] = job("b", 1, 0, slices.Repeat([]float64{5}, 40)...)
			c.Fails = func(t sched.TaskID, attempt int32) bool { return t == 1 && attempt == 1 }
		}},
	} {
		in := base()
		solves := 0
		cfg := sim.Config{Policy: spcOnline(t, dag.OnlineParams{}), Knowledge: online, Observe: counted(t, &solves)}
		c.change(in, &cfg)
		cfg.Instance = in
		r := run(t, cfg)
		if solves != 1+c.more {
			t.Errorf("%s: %d solves, want %d", c.name, solves, 1+c.more)
		}
		for j, s := range r.States {
			if s != policy.JobDone {
				t.Errorf("%s: job %d is %v", c.name, j, s)
			}
		}
	}
}

// Estimates that prove wrong for the first tasks of a stage are corrected for the
// others: the job that was thought long turns out short, and goes first.
func TestOnlineLearnsFromFinishedTasks(t *testing.T) {
	in := &sched.Instance{Machines: machines(1), Jobs: []sched.Job{
		job("short", 1.1, 0, slices.Repeat([]float64{10}, 20)...),
		job("long", 1, 0, slices.Repeat([]float64{10}, 20)...),
	}}
	x := sched.NewIndex(in)
	est, err := sim.Means(x)
	if err != nil {
		t.Fatal(err)
	}
	real := sched.NewSizes(x)
	real.SetAll(0, 60) // six times as long as thought
	real.SetAll(1, 10)
	r := run(t, sim.Config{Instance: in, Policy: spcOnline(t, dag.OnlineParams{}), Knowledge: online, Sizes: real, Estimates: est})
	c := completions(r)
	// It goes first, by weight, until its first tasks have ended; then the other is done.
	if c[1] > 5*60+200 || c[0] != 20*60+200 {
		t.Errorf("completions %v: the order was not revised", c)
	}
}

// Until the solution is there, the earlier order goes on, and a job that arrives
// meanwhile stands where Smith's rule puts it.
func TestOnlineGoesOnWhileItSolves(t *testing.T) {
	in := &sched.Instance{Machines: machines(1)}
	for i := range 6 {
		in.Jobs = append(in.Jobs, job(fmt.Sprint("j", i), float64(6-i), 0, 1))
	}
	// At 2.5 s: j3 to j5, of weights 3 to 1, are left. The new ones stand before j3,
	// and between j4 and j5.
	in.Jobs = append(in.Jobs, job("first", 4, sched.FromSeconds(2.5), 1), job("fifth", 1.5, sched.FromSeconds(2.5), 1))
	// This one arrives during that solve, and goes into the next.
	in.Jobs = append(in.Jobs, job("urgent", 9, sched.FromSeconds(3.5), 1))
	for _, slow := range []sched.Time{0, 10 * sched.Second} {
		var starts []string
		solves := 0
		count, list := counted(t, &solves), names(in, &starts)
		first := true
		run(t, sim.Config{
			Instance: in, Policy: spcOnline(t, dag.OnlineParams{}), Knowledge: online,
			SolveTime: func(policy.Request) sched.Time {
				if first { // the first plan comes in time
					first = false
					return 0
				}
				return slow
			},
			Observe: func(now sched.Time, ev engine.Event, actions []engine.Action) error {
				return errors.Join(list(now, ev, actions), count(now, ev, actions))
			},
		})
		want := "j0@0 j1@1 j2@2 first@3 urgent@4 j3@5 j4@6 fifth@7 j5@8"
		if got := strings.Join(starts, " "); got != want {
			t.Errorf("solves of %v: starts %s, want %s", slow, got, want)
		}
		if want := map[sched.Time]int{0: 3, 10 * sched.Second: 2}[slow]; solves != want {
			t.Errorf("solves of %v: %d solves, want %d", slow, solves, want)
		}
	}
}

// names returns an observer that lists the jobs of one task in the order they start.
func names(in *sched.Instance, starts *[]string) func(sched.Time, engine.Event, []engine.Action) error {
	return func(now sched.Time, _ engine.Event, actions []engine.Action) error {
		for _, a := range actions {
			if a.Kind == engine.StartTask {
				*starts = append(*starts, fmt.Sprintf("%s@%v", in.Jobs[a.Task].Name, now.Seconds()))
			}
		}
		return nil
	}
}

// A late solution takes over from Smith's order, for what is in the queue by then.
func TestOnlineLateSolutionTakesOver(t *testing.T) {
	in := &sched.Instance{Machines: machines(1)}
	for i := range 6 {
		in.Jobs = append(in.Jobs, job(fmt.Sprint("j", i), float64(i+1), 0, 1))
	}
	// Its job is worth serving the lightest for, which Smith's rule serves last.
	in.Jobs = append(in.Jobs, job("heavy", 1000, 0, 1))
	in.Jobs[6].After = []sched.JobID{0}
	var starts []string
	run(t, sim.Config{
		Instance: in, Policy: spcOnline(t, dag.OnlineParams{}), Knowledge: online, Observe: names(in, &starts),
		SolveTime: func(policy.Request) sched.Time { return sched.FromSeconds(2.5) },
	})
	if got, want := strings.Join(starts, " "), "j5@1 j4@2 j0@3 heavy@4 j3@5 j2@6 j1@7"; got != want {
		t.Errorf("starts %s, want %s", got, want)
	}
}

// A job that arrives during a solve has a place in the order that the solve gives
// too, until the next one.
func TestOnlineArrivalDuringSolve(t *testing.T) {
	in := &sched.Instance{Machines: machines(1)}
	for i := range 8 {
		in.Jobs = append(in.Jobs, job(fmt.Sprint("j", i), float64(16-2*i), 0, 1))
	}
	// At 4.5 s the second solve begins, for j5 to j7, of weights 6 to 2, and x. When
	// it ends, at 5.5 s, y must stand between j5 and j6 of its order.
	in.Jobs = append(in.Jobs, job("x", 1, sched.FromSeconds(4.5), 1), job("y", 5, sched.FromSeconds(5.2), 1))
	var starts []string
	slow := sched.Time(0)
	run(t, sim.Config{
		Instance: in, Policy: spcOnline(t, dag.OnlineParams{}), Knowledge: online, Observe: names(in, &starts),
		SolveTime: func(policy.Request) sched.Time {
			now := slow
			slow = sched.Second
			return now
		},
	})
	if got, want := strings.Join(starts, " "), "j0@0 j1@1 j2@2 j3@3 j4@4 j5@5 y@6 j6@7 j7@8 x@9"; got != want {
		t.Errorf("starts %s, want %s", got, want)
	}
}

// A job that is over does not hold a place: x stands before j2, not where the light
// job was.
func TestOnlineInsertsAmongWhatIsLeft(t *testing.T) {
	in := &sched.Instance{Machines: machines(1), Jobs: []sched.Job{
		job("light", 0.01, 0, 1), job("heavy", 1000, 0, 1), job("j1", 6, 0, 1), job("j1b", 5, 0, 1), job("j2", 1, 0, 1),
		job("x", 2, sched.FromSeconds(1.2), 1),
	}}
	in.Jobs[1].After = []sched.JobID{0}
	var starts []string
	slow := sched.Time(0)
	run(t, sim.Config{
		Instance: in, Policy: spcOnline(t, dag.OnlineParams{}), Knowledge: online, Observe: names(in, &starts),
		Fails: func(t sched.TaskID, _ int32) bool { return t == 0 },
		SolveTime: func(policy.Request) sched.Time {
			now := slow
			slow = 100 * sched.Second
			return now
		},
	})
	if got, want := strings.Join(starts, " "), "light@0 j1@1 j1b@2 x@3 j2@4"; got != want {
		t.Errorf("starts %s, want %s", got, want)
	}
}

// Without the first plan in time tasks start in Smith's order, and that is counted.
func TestOnlinePatience(t *testing.T) {
	in := &sched.Instance{Machines: machines(1), Jobs: []sched.Job{job("a", 1, 0, 1), job("b", 2, 0, 1)}}
	none := 0.0
	for _, c := range []struct {
		params    dag.OnlineParams
		slow      sched.Time
		fallbacks int64
		want      []float64
	}{
		{dag.OnlineParams{}, 0, 0, []float64{2, 1}},
		{dag.OnlineParams{}, sched.Second / 2, 0, []float64{2.5, 1.5}},
		{dag.OnlineParams{}, 10 * sched.Second, 1, []float64{3, 2}},
		{dag.OnlineParams{Patience: &none}, 10 * sched.Second, 1, []float64{2, 1}},
	} {
		r := run(t, sim.Config{
			Instance: in, Policy: spcOnline(t, c.params), Knowledge: online,
			SolveTime: func(policy.Request) sched.Time { return c.slow },
		})
		if got := completions(r); !slices.Equal(got, c.want) || r.Stats.Fallbacks != c.fallbacks {
			t.Errorf("%+v, solve of %v: completions %v, %d fallbacks; want %v, %d", c.params, c.slow, got, r.Stats.Fallbacks, c.want, c.fallbacks)
		}
	}
}

// A solution computed while the engine goes on is the one that would have been
// computed at once: the request shares nothing with the View. Under the race
// detector this is a proof of more.
func TestOnlineRequestIsASnapshot(t *testing.T) {
	in := stream(3, 30, 0.9, true, 0.5)
	p := spcOnline(t, dag.OnlineParams{})
	type pending struct {
		req policy.Request
		sol chan *policy.Solution
	}
	var all []pending
	solver := p.(policy.Solver)
	never := func() bool { return false }
	var log bytes.Buffer
	w, err := engine.NewLogWriter(&log, sched.NewIndex(in), engine.LogHeader{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[int32]*policy.Solution{}
	release := make(chan struct{})
	run(t, sim.Config{
		Instance: in, Policy: p, Knowledge: online,
		Observe: func(now sched.Time, ev engine.Event, actions []engine.Action) error {
			if ev.Kind == engine.Solved {
				want[ev.Solution.ID] = ev.Solution
			}
			for _, a := range actions {
				if a.Kind == engine.Solve {
					d := pending{*a.Request, make(chan *policy.Solution, 1)}
					all = append(all, d)
					late := len(all)%2 == 0 // some at once, others when all is over
					go func() {
						if late {
							<-release
						}
						sol, err := solver.Solve(d.req, never)
						if err != nil {
							t.Error(err)
						}
						d.sol <- sol
					}()
				}
			}
			return w.Event(now, ev, actions)
		},
	})
	close(release)
	if len(all) < 30 {
		t.Errorf("only %d requests", len(all))
	}
	for _, d := range all {
		sol := <-d.sol
		if other := want[d.req.ID]; sol == nil || !slices.Equal(sol.Order, other.Order) {
			t.Errorf("request %d: solved later %v, at once %v", d.req.ID, sol, other)
		}
	}
}

// A task waits for the fast machine, unless what runs there is seen to progress
// slowly.
func TestDispatchUsesProgress(t *testing.T) {
	in := &sched.Instance{Machines: machines(2, 1), Jobs: []sched.Job{job("a", 10, 0, 40), job("b", 1, 10*sched.Second, 8)}}
	x := sched.NewIndex(in)
	est, err := sim.Means(x)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		marks   []policy.Mark
		machine sched.MachineID
	}{
		// a is expected to end at 20 s, so that b would end at 24 on m0, at 18 on m1.
		{"as estimated", nil, 1},
		// It has done nine tenths: it ends at 10.5 s.
		{"fast", []policy.Mark{{At: 5 * sched.Second, Value: 0.2}, {At: 9500 * sched.Second / 1000, Value: 0.83}}, 0},
		{"too little to tell", []policy.Mark{{At: 9 * sched.Second, Value: 0.9}}, 1},
		{"slow", []policy.Mark{{At: 5 * sched.Second, Value: 0.1}, {At: 9 * sched.Second, Value: 0.12}}, 1},
	} {
		for name, p := range map[string]policy.Policy{"wspt": dag.NewWSPT(), "spc-online": spcOnline(t, dag.OnlineParams{})} {
			e, err := engine.New(engine.Config{Instance: in, Policy: p, Knowledge: online, Estimates: est})
			if err != nil {
				t.Fatal(err)
			}
			var started []engine.Action
			step := func(now sched.Time, ev engine.Event) {
				t.Helper()
				for again := true; again; {
					again = false
					actions, err := e.Step(now, ev)
					if err != nil {
						t.Fatal(err)
					}
					for _, a := range actions {
						switch a.Kind {
						case engine.StartTask:
							started = append(started, a)
						case engine.Solve:
							sol, err := p.(policy.Solver).Solve(*a.Request, func() bool { return false })
							if err != nil {
								t.Fatal(err)
							}
							if _, err := e.Step(now, engine.Event{Kind: engine.Solved, Solution: sol}); err != nil {
								t.Fatal(err)
							}
							ev, again = engine.Event{Kind: engine.Wake}, true
						}
					}
				}
			}
			step(0, engine.Arrived(0))
			step(0, engine.Event{Kind: engine.Wake})
			for _, m := range c.marks {
				step(m.At, engine.Progress(0, 1, m.Value))
			}
			step(10*sched.Second, engine.Arrived(1))
			step(10*sched.Second, engine.Event{Kind: engine.Wake})
			if len(started) == 1 { // b waits for m0
				started = append(started, engine.Action{Task: 1, Machine: 0})
			}
			if b := started[1]; b.Task != 1 || b.Machine != c.machine {
				t.Errorf("%s, %s: task %d on machine %d, want b on %d", name, c.name, b.Task, b.Machine, c.machine)
			}
		}
	}
}

func TestOnlineParams(t *testing.T) {
	minus := -1.0
	for want, p := range map[string]dag.OnlineParams{
		"tolerance": {Tolerance: 2}, "iterations": {Iterations: -1}, "patience": {Patience: &minus},
	} {
		if _, err := dag.NewSPCOnline(p, simulate); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v does not speak of %s", p, err, want)
		}
	}
	in := &sched.Instance{Machines: machines(1), Jobs: []sched.Job{job("a", 1, 0, 1)}}
	if _, err := sim.Run(sim.Config{Instance: in, Policy: spcOnline(t, dag.OnlineParams{}), Knowledge: blind}); err == nil || !strings.Contains(err.Error(), "needs to know") {
		t.Errorf("without sizes: %v", err)
	}
}

// A solve that is interrupted at once gives an order of all that is left, and says
// that it was.
func TestOnlineInterruptedSolve(t *testing.T) {
	in := stream(1, 20, 0, true, 0)
	p := spcOnline(t, dag.OnlineParams{})
	var sol *policy.Solution
	run(t, sim.Config{
		Instance: in, Policy: p, Knowledge: online,
		Observe: func(_ sched.Time, _ engine.Event, actions []engine.Action) (err error) {
			for _, a := range actions {
				if a.Kind == engine.Solve && sol == nil {
					sol, err = p.(policy.Solver).Solve(*a.Request, func() bool { return true })
				}
			}
			return err
		},
	})
	x := sched.NewIndex(in)
	if !sol.Fallback || sol.Note == "" || len(sol.Order) != x.Stages() {
		t.Errorf("an interrupted solve: %+v", sol)
	}
	stages := slices.Clone(sol.Order)
	slices.Sort(stages)
	if len(slices.Compact(stages)) != x.Stages() {
		t.Error("some stage is ordered twice")
	}
}
