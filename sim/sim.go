package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// Config describes one simulation. Instance and Policy are required.
type Config struct {
	Instance  *sched.Instance
	Policy    policy.Policy
	Knowledge policy.Knowledge
	// Seed of the sizes and of the policy's generator.
	Seed uint64
	// Sizes are the realised sizes; nil: drawn from the instance.
	Sizes *sched.Sizes
	// Estimates are what the policy is shown; nil: Estimates of Knowledge.
	Estimates *sched.Sizes
	// Fails says which attempts (from 1) of a task fail; nil: none.
	Fails func(t sched.TaskID, attempt int32) bool
	// Machines that are lost or come back.
	Outages []Outage
	// KeepGoing as in engine.Config.
	KeepGoing bool
	// Backoff as in engine.Config.
	Backoff engine.Backoff
	// SolveTime charges a solve virtual time; nil: none.
	SolveTime func(policy.Request) sched.Time
	// Stop interrupts the run and its solves when it reports true; nil: never.
	Stop func() bool
	// Observe sees every event and the actions it led to; nil: nobody.
	Observe func(now sched.Time, ev engine.Event, actions []engine.Action) error
}

// Outage is a machine that is lost at a time, or joins again.
type Outage struct {
	At      sched.Time
	Machine sched.MachineID
	Joins   bool
}

// ErrInterrupted is returned when Config.Stop ended the run.
var ErrInterrupted = errors.New("sim: interrupted")

// Result is what happened.
type Result struct {
	Schedule sched.Schedule
	// States holds where each job ended.
	States []policy.JobState
	Sizes  *sched.Sizes
	// Solution is the policy's last one, if it solves.
	Solution *policy.Solution
	Digest   uint64
	Stats    engine.Stats
}

// stopEvery is how many events pass between two looks at Config.Stop.
const stopEvery = 1 << 14

type simulation struct {
	cfg   Config
	e     *engine.Engine
	x     *sched.Index
	sizes *sched.Sizes
	flows []float64 // sizes

	arrivals []sched.JobID // by release; those before next have arrived
	next     int
	outages  []Outage
	queue    heap[sched.Time] // future events
	wakes    wakes
	groups   []fluid
	memberOf []membership       // by activity; nil until the first joins a group
	memberAt []int32            // by activity: its position in its group's heap; -1: in none
	solved   []*policy.Solution // nil once delivered
	out      Result
	placed   []int32 // per task: index in out.Schedule.Tasks of its latest start
	sent     []int32 // per flow: the same for transmissions
}

// maxIdle is how many wake-ups may follow one another when nothing else can
// happen any more, before the policy is taken to be asking for them for ever. At
// most one per stage and machine is the engine's own, for input that arrives.
const maxIdle = 1_000_000

// Run simulates until every job has ended. Cost: O(log running) per event, action
// and group whose rate changes, plus what the policy takes. Memory: O(tasks).
func Run(cfg Config) (*Result, error) {
	s, err := newSimulation(cfg)
	if err != nil {
		return nil, err
	}
	if err := s.run(); err != nil {
		return nil, err
	}
	return s.result(), nil
}

func newSimulation(cfg Config) (*simulation, error) {
	if cfg.Instance == nil || cfg.Policy == nil {
		return nil, errors.New("sim: need an instance and a policy")
	}
	if err := cfg.Instance.Validate(); err != nil {
		return nil, err
	}
	x := sched.NewIndex(cfg.Instance)
	z := cfg.Sizes
	if z == nil {
		var err error
		if z, err = Realise(x, cfg.Seed); err != nil {
			return nil, err
		}
	}
	if cfg.Estimates == nil {
		cfg.Estimates = Estimates(x, cfg.Knowledge, z)
	}
	e, err := engine.New(engine.Config{
		Instance: cfg.Instance, Policy: cfg.Policy, Knowledge: cfg.Knowledge,
		Estimates: cfg.Estimates, Seed: cfg.Seed, KeepGoing: cfg.KeepGoing,
		Backoff: cfg.Backoff,
	})
	if err != nil {
		return nil, err
	}
	s := &simulation{
		cfg: cfg, e: e, x: x, sizes: z, flows: flowSizes(x, cfg.Seed),
		arrivals: cfg.Instance.ByRelease(),
		outages:  slices.Clone(cfg.Outages),
		placed:   make([]int32, x.Tasks()),
		sent:     make([]int32, x.Flows()),
		queue:    heap[sched.Time]{follow: groupNext},
	}
	slices.SortStableFunc(s.outages, func(a, b Outage) int { return cmp.Compare(a.At, b.At) })
	s.out.Schedule.Tasks = make([]sched.Placement, 0, x.Tasks())
	s.out.Sizes = z
	return s, nil
}

func (s *simulation) run() error {
	idle := 0
	for n := 1; !s.e.Done(); n++ {
		if s.cfg.Stop != nil && n%stopEvery == 0 && s.cfg.Stop() {
			return ErrInterrupted
		}
		if idle++; s.next < len(s.arrivals) || len(s.outages) > 0 || len(s.queue.entries) > 0 {
			idle = 0
		}
		now, ev := s.pop()
		if ev.Kind == 0 || idle > maxIdle {
			return fmt.Errorf("sim: nothing more can happen, but jobs are left:\n  %s", strings.Join(s.e.Blocked(), "\n  "))
		}
		if err := s.step(now, ev); err != nil {
			return err
		}
	}
	return nil
}

// pop takes the next event in order of time and, within an instant, of kind:
// arrivals, outages, ends, solutions, and the wake-up last. Kind 0: none left.
func (s *simulation) pop() (sched.Time, engine.Event) {
	now := s.wakes.first()
	arrival, outage, end := sched.Never, sched.Never, sched.Never
	if s.next < len(s.arrivals) {
		arrival = s.cfg.Instance.Jobs[s.arrivals[s.next]].Release
	}
	if len(s.outages) > 0 {
		outage = s.outages[0].At
	}
	if len(s.queue.entries) > 0 {
		end = s.queue.entries[0].key
	}
	switch now = min(now, arrival, outage, end); now {
	case sched.Never:
		return 0, engine.Event{}
	case arrival:
		s.next++
		return now, engine.Arrived(s.arrivals[s.next-1])
	case outage:
		o := s.outages[0]
		s.outages = s.outages[1:]
		if o.Joins {
			return now, engine.Event{Kind: engine.MachineJoined, Machine: o.Machine}
		}
		return now, engine.Event{Kind: engine.MachineLost, Machine: o.Machine}
	case end:
		return now, s.ended(now)
	default:
		s.wakes.pop()
		return now, engine.Event{Kind: engine.Wake}
	}
}

// ended takes the first entry of the queue as an event.
func (s *simulation) ended(now sched.Time) engine.Event {
	if first := &s.queue.entries[0]; first.what == groupNext {
		return s.nextOfGroup(now, policy.GroupID(first.id)) // which moves the entry
	}
	e := s.queue.pop()
	switch e.what {
	case flowEnds:
		s.out.Schedule.Flows[s.sent[e.id]].Finish = now
		return engine.Event{Kind: engine.FlowFinished, Flow: sched.FlowID(e.id)}
	case solveEnds:
		sol := s.solved[e.id]
		s.solved[e.id] = nil
		s.out.Solution = sol
		return engine.Event{Kind: engine.Solved, Solution: sol}
	}
	return s.taskEnded(sched.TaskID(e.id), e.attempt)
}

func (s *simulation) taskEnded(t sched.TaskID, attempt int32) engine.Event {
	if s.cfg.Fails != nil && s.cfg.Fails(t, attempt) {
		return engine.Failed(t, attempt)
	}
	return engine.Finished(t, attempt)
}

func (s *simulation) step(now sched.Time, ev engine.Event) error {
	actions, err := s.e.Step(now, ev)
	if err != nil {
		return err
	}
	if s.cfg.Observe != nil {
		if err := s.cfg.Observe(now, ev, actions); err != nil {
			return err
		}
	}
	for i := range actions {
		if err := s.carryOut(now, &actions[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *simulation) carryOut(now sched.Time, a *engine.Action) error {
	switch a.Kind {
	case engine.StartTask:
		stage := s.e.TaskStage(a.Task)
		end := now + sched.Duration(s.sizes.Of(stage, a.Task), s.cfg.Instance.Machines[a.Machine].Speed)
		s.placed[a.Task] = int32(len(s.out.Schedule.Tasks))
		s.out.Schedule.Tasks = append(s.out.Schedule.Tasks, sched.Placement{
			Task: a.Task, Machine: a.Machine, Slot: a.Slot, Start: now, Finish: end,
		})
		s.queue.push(entry[sched.Time]{key: end, what: taskEnds, id: int32(a.Task), attempt: a.Attempt})
	case engine.StartFlow:
		stage := s.x.FlowStage(a.Flow)
		first, _ := s.x.StageFlows(stage)
		f := s.x.Stage(stage).Flows[a.Flow-first]
		rate := min(s.cfg.Instance.Machines[f.From].Port, s.cfg.Instance.Machines[f.To].Port)
		s.sent[a.Flow] = int32(len(s.out.Schedule.Flows))
		s.out.Schedule.Flows = append(s.out.Schedule.Flows, sched.Transmission{Flow: a.Flow, Start: now})
		s.queue.push(entry[sched.Time]{key: now + sched.Duration(s.flows[a.Flow], rate), what: flowEnds, id: int32(a.Flow)})
	case engine.JoinGroup:
		s.join(now, a)
	case engine.SetRate:
		s.setRate(now, a)
	case engine.WakeAt:
		s.wakes.push(a.At)
	case engine.Solve:
		return s.solve(now, a.Request)
	}
	return nil
}

func (s *simulation) solve(now sched.Time, r *policy.Request) error {
	solver, ok := s.cfg.Policy.(policy.Solver)
	if !ok {
		return errors.New("sim: the policy asks to solve but is no Solver")
	}
	stop := s.cfg.Stop
	if stop == nil {
		stop = func() bool { return false }
	}
	sol, err := solver.Solve(*r, stop)
	if err != nil {
		return err
	}
	at := now
	if s.cfg.SolveTime != nil {
		at += s.cfg.SolveTime(*r)
	}
	s.queue.push(entry[sched.Time]{key: at, what: solveEnds, id: int32(len(s.solved))})
	s.solved = append(s.solved, sol)
	return nil
}

func (s *simulation) result() *Result {
	r := &s.out
	r.Digest, r.Stats = s.e.Digest(), s.e.Stats()
	r.States = make([]policy.JobState, len(s.cfg.Instance.Jobs))
	r.Schedule.Completion = make([]sched.Time, len(s.cfg.Instance.Jobs))
	for j := range r.States {
		r.States[j], r.Schedule.Completion[j] = s.e.Job(sched.JobID(j))
	}
	// Attempts that failed or were lost are not part of the schedule.
	kept := r.Schedule.Tasks[:0]
	for i, p := range r.Schedule.Tasks {
		if s.placed[p.Task] == int32(i) && s.e.Task(p.Task) == policy.TaskDone {
			kept = append(kept, p)
		}
	}
	slices.SortFunc(kept, func(a, b sched.Placement) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Task, b.Task))
	})
	r.Schedule.Tasks = kept
	return r
}

// wakes is a small ascending list of wake-up times.
type wakes []sched.Time

func (w wakes) first() sched.Time {
	if len(w) == 0 {
		return sched.Never
	}
	return w[0]
}

func (w *wakes) push(t sched.Time) {
	i, found := slices.BinarySearch(*w, t)
	if !found {
		*w = slices.Insert(*w, i, t)
	}
}

func (w *wakes) pop() { *w = slices.Delete(*w, 0, 1) }
