package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// Config is what an engine is made of. Instance and Policy are required.
type Config struct {
	Instance *sched.Instance
	Policy   policy.Policy
	// Knowledge limits what the policy sees.
	Knowledge policy.Knowledge
	// Estimates are the sizes shown to a policy that may know sizes: the
	// realised ones for SizesExact, means for SizesDistribution. Nil: none.
	Estimates *sched.Sizes
	// Seed of the policy's generator.
	Seed uint64
	// KeepGoing continues a job after a failed task with all that does not
	// depend on it. Otherwise nothing more of the job is started.
	KeepGoing bool
	// Backoff delays the repetition of failed tasks.
	Backoff Backoff
}

// maxRounds is how many decisions in one instant may lead to nothing but
// solutions before the policy is taken to be in a loop.
const maxRounds = 10_000

// policyStream numbers the policy's random stream among those of a seed.
const policyStream = 1

// Engine is the state machine. Not safe for concurrent use.
type Engine struct {
	cfg Config
	st  *state
	rng *rand.Rand

	now      sched.Time
	nextWake sched.Time
	rounds   int // decisions at this instant
	actions  []Action
	digest   digest
	stats    Stats
	broken   error
}

// Stats counts what an engine has done.
type Stats struct {
	Events    int64 // calls of Step, with those that changed nothing
	Decisions int64
	Starts    int64
	Solves    int64
	Fallbacks int64 // solves that were cut short, or late so that another order was used
}

// New checks the instance and returns an engine at time 0, before any event.
// The driver must deliver a JobArrived per job, at its release.
func New(cfg Config) (*Engine, error) {
	if cfg.Instance == nil || cfg.Policy == nil {
		return nil, errors.New("engine: need an instance and a policy")
	}
	if err := cfg.Instance.Validate(); err != nil {
		return nil, err
	}
	for j := range cfg.Instance.Jobs {
		job := &cfg.Instance.Jobs[j]
		for s := range job.Stages {
			if job.Stages[s].Shuffle != nil {
				return nil, fmt.Errorf("engine: stage %s/%s is a shuffle, which must be expanded into flows first", job.Name, job.Stages[s].Name)
			}
		}
	}
	if err := cfg.Backoff.Validate(); err != nil {
		return nil, err
	}
	if cfg.Knowledge.Sizes == policy.SizesUnknown {
		cfg.Estimates = nil
	}
	e := &Engine{
		cfg:      cfg,
		st:       newState(cfg),
		rng:      rand.New(rand.NewPCG(cfg.Seed, policyStream)),
		nextWake: sched.Never,
	}
	return e, nil
}

// Step brings the engine to time now and takes in one event. The returned
// actions are valid until the next call. Times must not go back, and all other
// events of an instant must come before its Wake. An error means that the event
// or the policy broke the rules; the engine is then of no further use.
func (e *Engine) Step(now sched.Time, ev Event) ([]Action, error) {
	if e.broken != nil {
		return nil, e.broken
	}
	if now < e.now {
		return nil, e.fail(fmt.Errorf("engine: time went back from %v to %v", e.now, now))
	}
	if now > sched.MaxTime {
		return nil, e.fail(fmt.Errorf("engine: time %v is later than any instance may reach", now))
	}
	if now > e.now {
		e.now, e.rounds = now, 0
	}
	e.actions = e.actions[:0]
	e.digest.event(now, ev)
	e.stats.Events++
	if ev.Kind == Wake {
		if now >= e.nextWake {
			if err := e.decide(); err != nil {
				return nil, e.fail(err)
			}
		}
	} else {
		changed, err := e.st.apply(now, ev)
		if err != nil {
			return nil, e.fail(err)
		}
		if changed {
			switch {
			case ev.Kind != Solved:
				e.rounds = 0 // the policy may go on as long as something happens
			case ev.Solution.Fallback:
				e.stats.Fallbacks++
			}
			e.wakeAt(now)
		}
	}
	for i := range e.actions {
		e.digest.action(&e.actions[i])
	}
	return e.actions, nil
}

func (e *Engine) fail(err error) error {
	e.broken = err
	return err
}

// wakeAt asks the driver for a Wake at t unless an earlier one is due anyway;
// that one will ask again.
func (e *Engine) wakeAt(t sched.Time) {
	if t < e.nextWake {
		e.nextWake = t
		e.actions = append(e.actions, Action{Kind: WakeAt, At: t})
	}
}

func (e *Engine) decide() error {
	e.nextWake = sched.Never
	if e.rounds++; e.rounds > maxRounds {
		return fmt.Errorf("engine: the policy asked for more than %d decisions at time %v", maxRounds, e.now)
	}
	e.stats.Decisions++
	e.st.retry(e.now)
	e.st.beginRound(e.now)
	d, err := e.cfg.Policy.Decide(e.now, (*view)(e.st), e.rng)
	if err != nil {
		return fmt.Errorf("engine: policy at time %v: %w", e.now, err)
	}
	e.st.endRound()
	if err := e.carryOut(&d); err != nil {
		return fmt.Errorf("engine: policy at time %v: %w", e.now, err)
	}
	if d.Wake > e.now {
		e.wakeAt(d.Wake)
	}
	if t := min(e.st.nextInput(e.now), e.st.nextRetry()); t != sched.Never {
		e.wakeAt(t)
	}
	return nil
}

func (e *Engine) carryOut(d *policy.Decision) error {
	for _, s := range d.Start {
		slot, attempt, err := e.st.start(e.now, s)
		if err != nil {
			return err
		}
		e.stats.Starts++
		e.actions = append(e.actions, Action{Kind: StartTask, Task: s.Task, Attempt: attempt, Machine: s.Machine, Slot: slot, Flow: sched.None})
	}
	for _, f := range d.Flows {
		if err := e.st.startFlow(f); err != nil {
			return err
		}
		e.stats.Starts++
		e.actions = append(e.actions, Action{Kind: StartFlow, Flow: f, Task: sched.None})
	}
	for _, j := range d.Join {
		attempt, err := e.st.join(e.now, j)
		if err != nil {
			return err
		}
		e.actions = append(e.actions, Action{Kind: JoinGroup, Task: j.Activity.Task, Attempt: attempt, Flow: j.Activity.Flow, Group: j.Group, Value: j.Share})
	}
	for _, r := range d.Rates {
		if err := e.st.setRate(e.now, r); err != nil {
			return err
		}
		e.actions = append(e.actions, Action{Kind: SetRate, Group: r.Group, Value: r.Rate, Task: sched.None, Flow: sched.None})
	}
	for _, r := range d.Reasons {
		if err := e.st.explained(r); err != nil {
			return err
		}
	}
	if d.Fallback {
		e.stats.Fallbacks++
	}
	if d.Solve != nil {
		e.stats.Solves++
		e.actions = append(e.actions, Action{Kind: Solve, Request: d.Solve})
	}
	return nil
}

// Done reports whether nothing is left to happen: every job has completed,
// failed or cannot run, and nothing runs.
func (e *Engine) Done() bool { return e.st.unresolved == 0 && e.st.running == 0 }

// Running is the number of tasks and flows that run now.
func (e *Engine) Running() int { return e.st.running }

// Job returns where a job stands, and its completion time (Never unless done).
func (e *Engine) Job(j sched.JobID) (policy.JobState, sched.Time) {
	return e.st.jobs[j].state, e.st.jobs[j].completion
}

// Arrived reports whether job j has been released.
func (e *Engine) Arrived(j sched.JobID) bool { return e.st.jobs[j].arrived }

// Task returns where a task stands.
func (e *Engine) Task(t sched.TaskID) policy.TaskState { return (*view)(e.st).Task(t) }

// TaskStage returns the stage of t. Cost: O(1).
func (e *Engine) TaskStage(t sched.TaskID) sched.StageID { return e.st.taskStage[t] }

// Index numbers the instance's stages and tasks.
func (e *Engine) Index() *sched.Index { return e.st.x }

// Stats returns the counters.
func (e *Engine) Stats() Stats { return e.stats }

// Digest condenses all events and actions so far. Two engines of the same
// configuration that took the same events have the same digest.
func (e *Engine) Digest() uint64 { return uint64(e.digest) }

// Blocked names, when the engine has come to rest unfinished, the jobs that
// wait, with reasons.
func (e *Engine) Blocked() []string {
	var out []string
	for j := range e.st.jobs {
		if s := e.st.jobs[j].state; s == policy.JobWaiting || s == policy.JobActive {
			out = append(out, e.Explain(sched.JobID(j)))
		}
	}
	slices.Sort(out)
	return out
}
