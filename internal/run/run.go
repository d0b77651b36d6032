package run

import (
	"context"
	"time"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// DefaultGrace is how long a task that must end has between SIGTERM and SIGKILL.
const DefaultGrace = 5 * time.Second

// Config describes a run. Instance, Dir and Policy (for [Run]) or NewPolicy (for
// [Resume]) are required; [Recorded.Config] gives that of a run to be resumed.
type Config struct {
	// Instance must have machines, a command for every stage, and neither
	// transfers nor rate sharing. At most 4,000 tasks may run at the same time
	// (slots in total, or tasks if there are fewer), less if that exceeds the
	// limit of open files.
	Instance *sched.Instance
	Policy   policy.Policy
	// NewPolicy makes the policy of a run that is resumed, which replays the log. It
	// is called again if the log turns out to be damaged.
	NewPolicy func() (policy.Policy, error)
	Knowledge policy.Knowledge
	// Seed of the policy's generator.
	Seed uint64
	// Estimates are the sizes that the policy is shown; nil: none.
	Estimates *sched.Sizes
	// BaseDir is what a stage's relative workdir is relative to, and the
	// working directory where it has none. "": the current directory.
	BaseDir string
	// Dir is the run's own directory, made if need be. It gets run.json, which must
	// not exist yet, workload.json, events.jsonl, what the supervisor keeps, and the
	// outputs of every attempt as logs/JOB/STAGE/TASK.ATTEMPT.out and .err.
	Dir string
	// Path of the file that the workload was read from, and Version of this program,
	// for the record.
	Path, Version string
	// Env is the environment that tasks inherit. Nil: that of this process.
	Env []string
	// KeepGoing continues a job after a failed task with all that does not
	// depend on it. Otherwise nothing more of the job is started.
	KeepGoing bool
	// FailFast stops the whole run at the first task that fails for good.
	FailFast bool
	// Grace between SIGTERM and SIGKILL. 0: DefaultGrace; negative: none.
	Grace time.Duration
	// Backoff delays the repetition of failed tasks.
	Backoff engine.Backoff
	// MemoryLimits are bytes that an attempt may use, by StageID, 0: any number; and
	// MemoryBudget is what all may use together; where the system enforces that. A
	// limit is for needs that were declared: what was only learnt may be exceeded.
	MemoryLimits []int64
	MemoryBudget int64
	// Supervisor is the command that starts a supervisor when the run's directory is
	// appended, see [supervise.Main]. Nil: this program with the argument supervise.
	Supervisor []string
	// Header is the first line of the event log; only Policy and SHA256 are taken
	// from it, the rest follows from the other fields.
	Header engine.LogHeader
	// Notify, if not nil, is called at once with what the user should know while
	// the run goes on, such as that the disk is full. The driver waits for it.
	Notify func(string)
	// Record, if not nil, is called with attempts that have ended, about every
	// second and at the end; when a run is resumed, with all of them again. The
	// driver waits for it.
	Record func([]Attempt)
	// Progress, if not nil, is called when something has changed, at most every
	// 50 ms, and at the end. The driver waits for it.
	Progress func(Progress)
}

// Result is what happened.
type Result struct {
	// Schedule as observed: a task starts when the engine decides so and
	// finishes when its process was seen to exit. Tasks of which only the success is
	// known are missing.
	Schedule sched.Schedule
	// States holds where each job stood at the end.
	States []policy.JobState
	// Sizes holds observed duration × speed of the stages whose tasks have all
	// completed: simulating with them gives the observed durations. Other
	// stages are not Known.
	Sizes *sched.Sizes
	// Solution is the policy's last one; nil if it has none.
	Solution *policy.Solution
	// Failures lists the failed attempts in order of time.
	Failures []Failure
	// Explain has a sentence for each job that is not done.
	Explain []string
	// Notes lists what went otherwise than asked without being a failure.
	Notes []string
	// OutOfReach says that processes which have left their task's process group
	// may run on: the system does not tell which these are, or they have rights
	// that this process has not (then there is a note).
	OutOfReach bool
	// Interrupted says that the context ended the run.
	Interrupted bool
	// TaskCPU is the user and system time of all attempts, with that of their
	// children as far as they waited for them, or on Linux the supervisor had to.
	TaskCPU time.Duration
	// Wall is how long the run took, with the time between interruption and resuming.
	Wall   time.Duration
	Digest uint64
	Stats  engine.Stats
	// Log is the path of the event log.
	Log string
}

// Failure is one failed attempt.
type Failure struct {
	Task    sched.TaskID
	Attempt int32 // from 1
	Machine sched.MachineID
	// Final says that there are no more retries: the task has failed.
	Final bool
	// ExitCode as a shell reports it: 128 + n for signal n, 127 for a command
	// that is not found, 126 for what could not be started otherwise.
	ExitCode int
	Signal   string // such as SIGKILL; empty if none ended it
	Err      string // what happened, such as "exit status 2" or "timed out after 10m"
	// Stdout and Stderr are paths of the attempt's outputs.
	Stdout, Stderr string
	// Tail holds the last lines of standard error.
	Tail []string
}

// Progress is where a run stands. Its slices are valid during the call only.
type Progress struct {
	Now     sched.Time
	Jobs    []JobProgress // by JobID
	Running []Running     // in order of start
}

// JobProgress counts a job's tasks.
type JobProgress struct {
	State                        policy.JobState
	Total, Done, Running, Failed int // Failed: for good
	// Partial is the sum of what its running tasks have reported of their progress:
	// so many tasks' worth of them is done.
	Partial float64
}

// Running is a task that runs.
type Running struct {
	Task    sched.TaskID
	Attempt int32
	Machine sched.MachineID
	Slot    int32
	Since   sched.Time
	// Progress is what it has reported of itself, in 0..1.
	Progress float64
}

// Run carries out the instance and returns when all that can run has ended, or,
// after ctx has ended, when all that was started has been stopped, which takes
// little longer than Grace. Failed tasks are no error: see Result.Failures. An error
// with a nil Result means that nothing was started; with a Result, that the run had
// to stop: the log could not be written, or the policy broke the rules.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	d, err := newDriver(cfg)
	if err != nil {
		return nil, err
	}
	if err := d.begin(); err != nil {
		return nil, err
	}
	return d.run(ctx)
}

// Resume goes on with the run in cfg.Dir, however it was cut short: what finished is
// not repeated, what still runs is watched again, all else is done as if nothing had
// happened. Otherwise it is like Run; of a run that has ended it returns the Result.
// An error that wraps [ErrBusy] means that another process drives it.
func Resume(ctx context.Context, cfg Config) (*Result, error) {
	d, err := newDriver(cfg)
	if err != nil {
		return nil, err
	}
	if err := d.restore(); err != nil {
		return nil, err
	}
	return d.run(ctx)
}
