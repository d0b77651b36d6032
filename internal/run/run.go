package run

import (
	"context"
	"sync"
	"time"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// DefaultGrace is how long a task that must end has between SIGTERM and SIGKILL.
const DefaultGrace = 5 * time.Second

// Config describes a run. Instance, Policy and Dir are required.
type Config struct {
	// Instance must have machines, a command for every stage, and neither
	// transfers nor rate sharing. At most 4,000 tasks may run at the same time
	// (slots in total, or tasks if there are fewer), less if that exceeds the
	// limit of open files.
	Instance  *sched.Instance
	Policy    policy.Policy
	Knowledge policy.Knowledge
	// Seed of the policy's generator.
	Seed uint64
	// Estimates are the sizes that the policy is shown; nil: none.
	Estimates *sched.Sizes
	// BaseDir is what a stage's relative workdir is relative to, and the
	// working directory where it has none. "": the current directory.
	BaseDir string
	// Dir is the run's own directory, made if need be. It gets events.jsonl,
	// which must not exist yet, and the outputs of every attempt as
	// logs/JOB/STAGE/TASK.ATTEMPT.out and .err.
	Dir string
	// Env is the environment that tasks inherit. Nil: that of this process.
	Env []string
	// KeepGoing continues a job after a failed task with all that does not
	// depend on it. Otherwise nothing more of the job is started.
	KeepGoing bool
	// FailFast stops the whole run at the first task that fails for good.
	FailFast bool
	// Grace between SIGTERM and SIGKILL. 0: DefaultGrace; negative: none.
	Grace time.Duration
	// Header is the first line of the event log.
	Header engine.LogHeader
	// Progress, if not nil, is called when something has changed, at most every
	// 50 ms, and at the end. The driver waits for it.
	Progress func(Progress)
}

// Result is what happened.
type Result struct {
	// Schedule as observed: a task starts when the engine decides so and
	// finishes when the driver has seen its process exit.
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
	// children as far as they waited for them, or on Linux the driver had to.
	TaskCPU time.Duration
	Wall    time.Duration
	Digest  uint64
	Stats   engine.Stats
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
}

// Running is a task that runs.
type Running struct {
	Task    sched.TaskID
	Attempt int32
	Machine sched.MachineID
	Slot    int32
	Since   sched.Time
}

// one is held by the run that has the process's subreaper setting and its orphans.
var one sync.Mutex

// Run carries out the instance and returns when all that can run has ended, or,
// after ctx has ended, when all that was started has been stopped, which takes
// little longer than Grace. Failed tasks are no error: see Result.Failures. An error
// with a nil Result means that nothing was started; with a Result, that the run had
// to stop: the log could not be written, or the policy broke the rules. A second
// Run at the same time waits for the first.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	one.Lock()
	defer one.Unlock()
	d, err := newDriver(cfg)
	if err != nil {
		return nil, err
	}
	return d.run(ctx)
}
