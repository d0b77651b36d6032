package sim_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
	"github.com/fairlead-project/fairlead/size"
)

// Toy policies for flows that hold ports and for activities that share rates,
// each against a plain simulation of its own.

// fluidTolerance is how far a completion in a fluid schedule may be from its
// exact value: times are rounded up to a nanosecond at every change of rate, of
// which there are some dozens, and each shift is passed on to those who wait.
const fluidTolerance = 1000 // ns

// coflows returns random jobs of one or two transfer stages on m machines.
func coflows(r *rand.Rand, m int, port func() float64) *sched.Instance {
	in := &sched.Instance{}
	for i := range m {
		in.Machines = append(in.Machines, sched.Machine{Name: fmt.Sprint("m", i), Speed: 1, Port: port()})
	}
	for j := range 1 + r.IntN(6) {
		jb := sched.Job{Name: fmt.Sprint("j", j), Weight: 1, Release: sched.Time(r.IntN(12)) * sched.Second}
		for s := range 1 + r.IntN(2) {
			st := sched.Stage{Name: fmt.Sprint("s", s)}
			if s > 0 {
				st.After = []int{s - 1}
			}
			for range 1 + r.IntN(5) {
				st.Flows = append(st.Flows, sched.Flow{
					From: sched.MachineID(r.IntN(m)), To: sched.MachineID(r.IntN(m)), Size: size.Exact(2 * (1 + r.IntN(4))),
				})
			}
			jb.Stages = append(jb.Stages, st)
		}
		in.Jobs = append(in.Jobs, jb)
	}
	return in
}

// holdPorts starts flows in order of JobID, then FlowID, whenever both their
// ports are free.
func holdPorts(_ sched.Time, v policy.View) (d policy.Decision) {
	x := v.Index()
	source, sink := map[sched.MachineID]bool{}, map[sched.MachineID]bool{}
	for s := range sched.StageID(x.Stages()) {
		first, end := x.StageFlows(s)
		for f := first; f < end; f++ {
			fl := x.Stage(s).Flows[f-first]
			if v.Flow(f) == policy.TaskPending && v.PortsFree(f) && !source[fl.From] && !sink[fl.To] {
				source[fl.From], sink[fl.To] = true, true
				d.Flows = append(d.Flows, f)
			}
		}
	}
	return d
}

// Non-preemptive flows hold both ports whole, for their size over the slower
// port's rate: against a simulation second by second.
func TestFlowsHoldPorts(t *testing.T) {
	busiest := 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 1))
		in := coflows(r, 1+r.IntN(4), func() float64 { return float64(1 + r.IntN(2)) })
		res := run(t, sim.Config{Instance: in, Policy: policyFunc(holdPorts)})
		x := sched.NewIndex(in)
		got := map[sched.FlowID]sched.Transmission{}
		for _, tr := range res.Schedule.Flows {
			if _, twice := got[tr.Flow]; twice {
				t.Fatalf("seed %d: flow %d sent twice", seed, tr.Flow)
			}
			got[tr.Flow] = tr
		}
		want := secondBySecond(in, x)
		if len(got) != len(want) {
			t.Fatalf("seed %d: %d flows sent, not %d", seed, len(got), len(want))
		}
		for f, tr := range want {
			if got[f] != tr {
				t.Errorf("seed %d: flow %d sent %+v, want %+v", seed, f, got[f], tr)
			}
		}
		busiest = max(busiest, len(want))
	}
	if busiest < 20 {
		t.Errorf("at most %d flows: the test tests little", busiest)
	}
}

func secondBySecond(in *sched.Instance, x *sched.Index) map[sched.FlowID]sched.Transmission {
	sent := map[sched.FlowID]sched.Transmission{}
	stageDone := func(s sched.StageID, now sched.Time) bool {
		first, end := x.StageFlows(s)
		for f := first; f < end; f++ {
			if tr, ok := sent[f]; !ok || tr.Finish > now {
				return false
			}
		}
		return true
	}
	for now := sched.Time(0); len(sent) < x.Flows(); now += sched.Second {
		for s := range sched.StageID(x.Stages()) {
			jobFirst, _ := x.JobStages(x.StageJob(s))
			ready := in.Jobs[x.StageJob(s)].Release <= now
			for _, a := range x.Stage(s).After {
				ready = ready && stageDone(jobFirst+sched.StageID(a), now)
			}
			first, end := x.StageFlows(s)
			for f := first; ready && f < end; f++ {
				if _, ok := sent[f]; ok {
					continue
				}
				fl := x.Stage(s).Flows[f-first]
				free := true
				for g, tr := range sent {
					gs := x.FlowStage(g)
					gFirst, _ := x.StageFlows(gs)
					other := x.Stage(gs).Flows[g-gFirst]
					if tr.Finish > now && (other.From == fl.From || other.To == fl.To) {
						free = false
					}
				}
				if free {
					p, _ := size.Value(fl.Size)
					sent[f] = sched.Transmission{Flow: f, Start: now, Finish: now + sched.Time(p/min(in.Machines[fl.From].Port, in.Machines[fl.To].Port))*sched.Second}
				}
			}
		}
	}
	return sent
}

// madd gives, in order of StageID, every transfer stage the rate at which its
// slowest port ends (minimum allocation for desired duration, as in Varys, without
// backfilling): one group per coflow, shares proportional to sizes.
type madd struct{ joined map[sched.StageID]bool }

func (p *madd) Decide(_ sched.Time, v policy.View, _ *rand.Rand) (d policy.Decision, err error) {
	x := v.Index()
	m := x.Instance.Machines
	left := make([]float64, 2*len(m)) // source ports, then sink ports
	for i := range m {
		left[i], left[len(m)+i] = m[i].Port, m[i].Port
	}
	for s := range sched.StageID(x.Stages()) {
		state := v.Stage(s)
		if !state.Ready || state.Pending+state.Running == 0 {
			continue
		}
		load := make([]float64, 2*len(m))
		first, end := x.StageFlows(s)
		for f := first; f < end; f++ {
			fl := x.Stage(s).Flows[f-first]
			b, _ := size.Value(fl.Size)
			load[fl.From] += b
			load[len(m)+int(fl.To)] += b
			if !p.joined[s] {
				d.Join = append(d.Join, policy.Join{Activity: policy.Activity{Task: sched.None, Flow: f}, Group: policy.GroupID(s), Share: b})
			}
		}
		p.joined[s] = true
		rate := math.Inf(1)
		for i := range left {
			if load[i] > 0 {
				rate = min(rate, left[i]/load[i])
			}
		}
		if rate < portDust {
			rate = 0
		}
		for i := range left {
			left[i] -= rate * load[i]
		}
		d.Rates = append(d.Rates, policy.GroupRate{Group: policy.GroupID(s), Rate: rate})
	}
	return d, nil
}

// portDust is what subtracting rates may leave of a port that is full; the
// smallest true rest in these instances is above 1e-3.
const portDust = 1e-9

func TestMADDAlone(t *testing.T) {
	// Source port of 0 carries 6, sink port of 2 carries 10: it takes 10 s.
	in := &sched.Instance{Jobs: []sched.Job{job(1, sched.Stage{Name: "c", Flows: []sched.Flow{
		{From: 0, To: 1, Size: size.Exact(2)}, {From: 0, To: 2, Size: size.Exact(4)}, {From: 1, To: 2, Size: size.Exact(6)},
	}})}}
	for range 3 {
		in.Machines = append(in.Machines, sched.Machine{Speed: 1, Port: 1})
	}
	r, err := sim.Run(sim.Config{Instance: in, Policy: &madd{map[sched.StageID]bool{}}, Knowledge: policy.Knowledge{Sizes: policy.SizesExact}})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "alone", r.Schedule.Completion[0], big.NewRat(11, 1))
}

// MADD on random coflows, against exact rational arithmetic.
func TestMADD(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 2))
		in := coflows(r, 1+r.IntN(4), func() float64 { return float64(1 + r.IntN(3)) })
		res, err := sim.Run(sim.Config{Instance: in, Policy: &madd{map[sched.StageID]bool{}}, Knowledge: policy.Knowledge{Sizes: policy.SizesExact}})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		want := exactFlows(in, exactMADD)
		for j := range in.Jobs {
			near(t, fmt.Sprintf("seed %d, job %d", seed, j), res.Schedule.Completion[j], want[j])
		}
	}
}

// fairPairs gives every flow an equal part of each of its ports, the smaller one
// counts: one group per pair of ports, whose rate is that of each of its flows.
type fairPairs struct{ joined map[sched.FlowID]bool }

func (p *fairPairs) Decide(_ sched.Time, v policy.View, _ *rand.Rand) (d policy.Decision, err error) {
	x := v.Index()
	m := x.Instance.Machines
	out, in := make([]int, len(m)), make([]int, len(m))
	pairs := map[policy.GroupID][2]sched.MachineID{}
	for f := range sched.FlowID(x.Flows()) {
		if got := v.Flow(f); got != policy.TaskPending && got != policy.TaskRunning {
			continue
		}
		s := x.FlowStage(f)
		first, _ := x.StageFlows(s)
		fl := x.Stage(s).Flows[f-first]
		out[fl.From]++
		in[fl.To]++
		g := policy.GroupID(int(fl.From)*len(m) + int(fl.To))
		pairs[g] = [2]sched.MachineID{fl.From, fl.To}
		if !p.joined[f] {
			p.joined[f] = true
			d.Join = append(d.Join, policy.Join{Activity: policy.Activity{Task: sched.None, Flow: f}, Group: g, Share: 1})
		}
	}
	for g := range policy.GroupID(len(m) * len(m)) {
		if pair, ok := pairs[g]; ok {
			rate := min(m[pair[0]].Port/float64(out[pair[0]]), m[pair[1]].Port/float64(in[pair[1]]))
			d.Rates = append(d.Rates, policy.GroupRate{Group: g, Rate: rate})
		}
	}
	return d, nil
}

func TestFairPairs(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 3))
		in := coflows(r, 1+r.IntN(4), func() float64 { return float64(1 + r.IntN(3)) })
		res, err := sim.Run(sim.Config{Instance: in, Policy: &fairPairs{map[sched.FlowID]bool{}}})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		want := exactFlows(in, exactFair)
		for j := range in.Jobs {
			near(t, fmt.Sprintf("seed %d, job %d", seed, j), res.Schedule.Completion[j], want[j])
		}
	}
}

func near(t *testing.T, what string, got sched.Time, want *big.Rat) {
	t.Helper()
	ns, _ := new(big.Rat).Mul(want, big.NewRat(1e9, 1)).Float64()
	if math.Abs(float64(got)-ns) > fluidTolerance {
		t.Errorf("%s: completed at %v, exactly %v s", what, got, want.FloatString(12))
	}
}

// liveFlow is a flow in the exact simulation.
type liveFlow struct {
	stage    sched.StageID
	from, to int
	size     *big.Rat
	left     *big.Rat
	rate     *big.Rat
}

// exactFlows simulates fluid flows in rational arithmetic: rates sets those of the
// flows that are present, which then hold until one ends or a job arrives. It
// returns completion times in seconds.
func exactFlows(in *sched.Instance, rates func(in *sched.Instance, live []*liveFlow)) []*big.Rat {
	x := sched.NewIndex(in)
	now := new(big.Rat)
	done := make([]*big.Rat, len(in.Jobs))
	next := make([]int, len(in.Jobs)) // stage of the chain that comes next
	var live []*liveFlow
	for {
		for j := range in.Jobs {
			first, end := x.JobStages(sched.JobID(j))
			release := new(big.Rat).SetFrac64(int64(in.Jobs[j].Release), 1e9)
			present := slices.ContainsFunc(live, func(f *liveFlow) bool { return x.StageJob(f.stage) == sched.JobID(j) })
			if done[j] != nil || present || release.Cmp(now) > 0 {
				continue
			}
			s := first + sched.StageID(next[j])
			if next[j]++; s == end {
				done[j] = new(big.Rat).Set(now)
				continue
			}
			for _, f := range x.Stage(s).Flows {
				p, _ := size.Value(f.Size)
				b := new(big.Rat).SetFloat64(p)
				live = append(live, &liveFlow{s, int(f.From), int(f.To), b, new(big.Rat).Set(b), nil})
			}
		}
		slices.SortStableFunc(live, func(a, b *liveFlow) int { return int(a.stage) - int(b.stage) })
		rates(in, live)
		var dt *big.Rat
		earlier := func(t *big.Rat) {
			if dt == nil || t.Cmp(dt) < 0 {
				dt = t
			}
		}
		for _, f := range live {
			if f.rate.Sign() > 0 {
				earlier(new(big.Rat).Quo(f.left, f.rate))
			}
		}
		for j := range in.Jobs {
			if wait := new(big.Rat).Sub(new(big.Rat).SetFrac64(int64(in.Jobs[j].Release), 1e9), now); wait.Sign() > 0 {
				earlier(wait)
			}
		}
		if dt == nil {
			return done
		}
		now = new(big.Rat).Add(now, dt)
		for _, f := range live {
			f.left.Sub(f.left, new(big.Rat).Mul(f.rate, dt))
		}
		live = slices.DeleteFunc(live, func(f *liveFlow) bool { return f.left.Sign() == 0 })
	}
}

func ports(in *sched.Instance) []*big.Rat {
	var left []*big.Rat
	for range 2 {
		for i := range in.Machines {
			left = append(left, new(big.Rat).SetFloat64(in.Machines[i].Port))
		}
	}
	return left
}

func exactMADD(in *sched.Instance, live []*liveFlow) {
	left := ports(in)
	for i := 0; i < len(live); {
		end := i
		load := make([]*big.Rat, len(left))
		for ; end < len(live) && live[end].stage == live[i].stage; end++ {
			for _, p := range []int{live[end].from, len(in.Machines) + live[end].to} {
				if load[p] == nil {
					load[p] = new(big.Rat)
				}
				load[p].Add(load[p], live[end].size)
			}
		}
		var rate *big.Rat
		for p := range left {
			if load[p] != nil {
				if q := new(big.Rat).Quo(left[p], load[p]); rate == nil || q.Cmp(rate) < 0 {
					rate = q
				}
			}
		}
		for p := range left {
			if load[p] != nil {
				left[p].Sub(left[p], new(big.Rat).Mul(rate, load[p]))
			}
		}
		for ; i < end; i++ {
			live[i].rate = new(big.Rat).Mul(rate, live[i].size)
		}
	}
}

func exactFair(in *sched.Instance, live []*liveFlow) {
	port := ports(in)
	count := make([]int64, len(port))
	for _, f := range live {
		count[f.from]++
		count[len(in.Machines)+f.to]++
	}
	for _, f := range live {
		a := new(big.Rat).Mul(port[f.from], big.NewRat(1, count[f.from]))
		b := new(big.Rat).Mul(port[len(in.Machines)+f.to], big.NewRat(1, count[len(in.Machines)+f.to]))
		if f.rate = a; b.Cmp(a) < 0 {
			f.rate = b
		}
	}
}

// processorSharing lets n jobs of one task each share the machines equally, at
// most one machine each: one group for all.
func processorSharing(_ sched.Time, v policy.View) (d policy.Decision) {
	n := 0
	for t := range sched.TaskID(v.Index().Tasks()) {
		switch v.Task(t) {
		case policy.TaskPending:
			d.Join = append(d.Join, policy.Join{Activity: policy.Activity{Task: t, Flow: sched.None}, Share: 1})
			n++
		case policy.TaskRunning:
			n++
		}
	}
	if n > 0 {
		rate := min(1, float64(len(v.Index().Instance.Machines))/float64(n))
		d.Rates = []policy.GroupRate{{Rate: rate}}
	}
	return d
}

func TestProcessorSharing(t *testing.T) {
	type jobs [][2]float64 // release, size
	for _, c := range []struct {
		machines int
		jobs     jobs
		want     []float64
	}{
		{1, jobs{{0, 1}, {0, 2}, {0, 3}}, []float64{3, 5, 6}},
		{2, jobs{{0, 1}, {0, 2}, {0, 3}}, []float64{1.5, 2.5, 3.5}},
		{3, jobs{{0, 1}, {0, 2}, {0, 3}}, []float64{1, 2, 3}},
		{1, jobs{{0, 3}, {1, 1}}, []float64{4, 3}},
		{1, jobs{{0, 2}, {2, 2}, {3, 1}}, []float64{2, 5, 5}},
		{1, jobs{{1, 0}, {1, 1}}, []float64{1, 2}},
		{1, jobs{{0, 1}, {0, 1}, {0, 1}}, []float64{3, 3, 3}},
	} {
		in := &sched.Instance{}
		for range c.machines {
			in.Machines = append(in.Machines, machine("m", 1, 1))
		}
		for _, j := range c.jobs {
			in.Jobs = append(in.Jobs, job(j[0], stage(j[1])))
		}
		r, err := sim.Run(sim.Config{Instance: in, Policy: policyFunc(processorSharing)})
		if err != nil {
			t.Fatal(err)
		}
		for j, want := range c.want {
			near(t, fmt.Sprintf("%d machines, %v, job %d", c.machines, c.jobs, j), r.Schedule.Completion[j], new(big.Rat).SetFloat64(want))
		}
	}
}

// Many jobs on one server: n equal jobs at once take n times as long, and the
// k-th smallest of distinct ones ends at the sum of all, none counted above it.
func TestProcessorSharingOfMany(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const n = 300
	in := &sched.Instance{Machines: []sched.Machine{machine("m", 1, 1)}}
	p := make([]int64, n)
	for j := range p {
		p[j] = int64(1 + r.IntN(1000))
		in.Jobs = append(in.Jobs, job(0, stage(float64(p[j])/64)))
	}
	res, err := sim.Run(sim.Config{Instance: in, Policy: policyFunc(processorSharing)})
	if err != nil {
		t.Fatal(err)
	}
	for j := range p {
		sum := int64(0)
		for _, q := range p {
			sum += min(q, p[j])
		}
		near(t, fmt.Sprint("job ", j), res.Schedule.Completion[j], big.NewRat(sum, 64))
	}
}

// An attempt that shares a rate can fail too; the next begins from nothing.
func TestSharedAttemptFails(t *testing.T) {
	st := stage(2)
	st.Retries = 1
	in := &sched.Instance{Machines: []sched.Machine{machine("m", 1, 1)}, Jobs: []sched.Job{job(0, st), job(1, stage(2))}}
	r, err := sim.Run(sim.Config{
		Instance: in, Policy: policyFunc(processorSharing),
		Fails: func(t sched.TaskID, attempt int32) bool { return t == 0 && attempt == 1 },
	})
	if err != nil {
		t.Fatal(err)
	}
	// 0-1 s alone, 1-3 s shared: fails at 3 s. Job 1 has 1 left, takes until 5 s.
	near(t, "job 0", r.Schedule.Completion[0], big.NewRat(6, 1))
	near(t, "job 1", r.Schedule.Completion[1], big.NewRat(5, 1))
	if len(r.Schedule.Tasks) != 0 {
		t.Errorf("tasks without a slot are in the schedule: %+v", r.Schedule.Tasks)
	}
}

// A task that fails in a slot and then succeeds as an activity has no slot in the
// schedule.
func TestFromSlotToGroup(t *testing.T) {
	st := stage(2)
	st.Retries = 1
	in := &sched.Instance{Machines: []sched.Machine{machine("m", 1, 1)}, Jobs: []sched.Job{job(0, st)}}
	r, err := sim.Run(sim.Config{
		Instance: in, Fails: func(_ sched.TaskID, attempt int32) bool { return attempt == 1 },
		Policy: policyFunc(func(now sched.Time, v policy.View) policy.Decision {
			if now == 0 {
				return policy.Decision{Start: []policy.Start{{Slot: sched.None}}}
			}
			return processorSharing(now, v)
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "job", r.Schedule.Completion[0], big.NewRat(4, 1))
	if len(r.Schedule.Tasks) != 0 {
		t.Errorf("the failed attempt is in the schedule: %+v", r.Schedule.Tasks)
	}
}

// twoLevels serves jobs that have attained less than the threshold first, and
// moves the others to a group of lower priority (as D-CLAS and multi-level
// feedback do); within a group, processor sharing.
type twoLevels struct {
	threshold float64
	level     map[sched.TaskID]policy.GroupID
}

// attainedDust forgives the rounding of the wake-up to a whole nanosecond.
const attainedDust = 1e-7

func (p *twoLevels) Decide(now sched.Time, v policy.View, _ *rand.Rand) (d policy.Decision, err error) {
	var count [2]int
	first := math.Inf(1) // least work to the threshold
	for t := range sched.TaskID(v.Index().Tasks()) {
		act := policy.Activity{Task: t, Flow: sched.None}
		switch v.Task(t) {
		case policy.TaskPending:
			p.level[t] = 0
			d.Join = append(d.Join, policy.Join{Activity: act, Group: 0, Share: 1})
		case policy.TaskRunning:
			if p.level[t] == 0 && v.Attained(act) >= p.threshold-attainedDust {
				p.level[t] = 1
				d.Join = append(d.Join, policy.Join{Activity: act, Group: 1, Share: 1})
			}
		default:
			continue
		}
		count[p.level[t]]++
		if p.level[t] == 0 {
			first = min(first, p.threshold-v.Attained(act))
		}
	}
	switch {
	case count[0] > 0:
		d.Rates = append(d.Rates, policy.GroupRate{Group: 0, Rate: 1 / float64(count[0])})
		if count[1] > 0 {
			d.Rates = append(d.Rates, policy.GroupRate{Group: 1, Rate: 0})
		}
		d.Wake = now + sched.Duration(first*float64(count[0]), 1)
	case count[1] > 0:
		d.Rates = append(d.Rates, policy.GroupRate{Group: 1, Rate: 1 / float64(count[1])})
	}
	return d, nil
}

func TestMovingBetweenLevels(t *testing.T) {
	for _, c := range []struct {
		threshold float64
		jobs      [][2]float64 // release, size
		want      []float64
	}{
		// Alone to 2 s, then low; b preempts it from 3 to 4 s.
		{2, [][2]float64{{0, 5}, {3, 1}}, []float64{6, 4}},
		// Both reach the threshold of 2 at 4 s, then share: 3 and 1 left.
		{2, [][2]float64{{0, 5}, {0, 3}}, []float64{8, 6}},
		// a is low from 1 s with 3 left, alone to 2 s; b high 2-3 s, both low:
		// a has 2, b 1 left: b ends at 5 s, a at 6 s.
		{1, [][2]float64{{0, 4}, {2, 2}}, []float64{6, 5}},
		// Nobody reaches the threshold: processor sharing.
		{100, [][2]float64{{0, 1}, {0, 2}, {0, 3}}, []float64{3, 5, 6}},
	} {
		in := &sched.Instance{Machines: []sched.Machine{machine("m", 1, 1)}}
		for _, j := range c.jobs {
			in.Jobs = append(in.Jobs, job(j[0], stage(j[1])))
		}
		r, err := sim.Run(sim.Config{Instance: in, Policy: &twoLevels{c.threshold, map[sched.TaskID]policy.GroupID{}}})
		if err != nil {
			t.Fatal(err)
		}
		for j, want := range c.want {
			near(t, fmt.Sprintf("threshold %v, %v, job %d", c.threshold, c.jobs, j), r.Schedule.Completion[j], new(big.Rat).SetFloat64(want))
		}
	}
}

// hoppers move between groups at random moments, with shares and rates such that
// every activity always progresses at rate 1: each takes exactly its size.
type hoppers struct{}

func (hoppers) Decide(now sched.Time, v policy.View, r *rand.Rand) (d policy.Decision, err error) {
	hop := func(a policy.Activity, s policy.TaskState) {
		if s == policy.TaskPending || s == policy.TaskRunning && r.IntN(2) == 0 {
			g := policy.GroupID(r.IntN(4))
			d.Join = append(d.Join, policy.Join{Activity: a, Group: g, Share: math.Ldexp(1, int(g))})
			d.Rates = append(d.Rates, policy.GroupRate{Group: g, Rate: math.Ldexp(1, -int(g))})
		}
	}
	for t := range sched.TaskID(v.Index().Tasks()) {
		hop(policy.Activity{Task: t, Flow: sched.None}, v.Task(t))
	}
	for f := range sched.FlowID(v.Index().Flows()) {
		hop(policy.Activity{Task: sched.None, Flow: f}, v.Flow(f))
	}
	d.Wake = now + sched.Time(r.Int64N(int64(sched.Second)))
	return d, nil
}

func TestHopping(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 4))
		in := coflows(r, 3, func() float64 { return 1 })
		for range 4 {
			in.Jobs = append(in.Jobs, job(float64(r.IntN(5)), stage(1+4*r.Float64())))
		}
		for i := range in.Machines {
			in.Machines[i].Slots = 1
		}
		res, err := sim.Run(sim.Config{Instance: in, Policy: hoppers{}, Seed: seed})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for j := range in.Jobs {
			want := new(big.Rat).SetFloat64(in.Jobs[j].Release.Seconds())
			for _, st := range in.Jobs[j].Stages {
				longest := 0.0
				for _, f := range st.Flows {
					p, _ := size.Value(f.Size)
					longest = max(longest, p)
				}
				for _, d := range st.Sizes {
					p, _ := size.Value(d)
					longest = max(longest, p)
				}
				want.Add(want, new(big.Rat).SetFloat64(longest))
			}
			near(t, fmt.Sprintf("seed %d, job %d", seed, j), res.Schedule.Completion[j], want)
		}
		if res.Stats.Decisions < 20 {
			t.Errorf("seed %d: only %d decisions", seed, res.Stats.Decisions)
		}
	}
}
