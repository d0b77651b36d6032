package supervise

import "time"

// Key names one start of a task: which, its attempt, and a nonce that the one who
// decided it has drawn for this start alone. A process whose key is not what the
// driver knows is one that must not run.
type Key struct {
	Task    int32 `json:"task"`
	Attempt int32 `json:"attempt"`
	Nonce   int64 `json:"nonce"`
}

// Stage is what the attempts of one stage have in common.
type Stage struct {
	ID   int32  `json:"id"`
	Dir  string `json:"dir"`  // working directory, absolute
	Logs string `json:"logs"` // directory of the outputs, absolute; made when first needed
	// Env is the environment, but for what an attempt adds. If it has FAIRLEAD_RUN,
	// which a run inside of a task inherits, the marks of the attempts extend that.
	Env []string `json:"env"`
}

// Start is a process to be started: standard input is empty, the outputs go to
// Output.out and Output.err in the stage's Logs. Those of a start that succeeded and
// wrote nothing may be removed.
type Start struct {
	Key
	Stage   int32         `json:"stage"`
	Output  string        `json:"output"` // TASK.ATTEMPT
	Argv    []string      `json:"argv"`
	Env     []string      `json:"env"` // added to the stage's; FAIRLEAD_RUN is the supervisor's own
	Machine int32         `json:"machine"`
	Timeout time.Duration `json:"timeout,omitempty"` // 0: none
	Memory  int64         `json:"memory,omitempty"`  // bytes it may use, where the system enforces it; 0: no limit
}

// Exit is how a start ended.
type Exit struct {
	Key
	// At is when it was seen to have ended, on the clock of [Now].
	At int64 `json:"at"`
	// Code is as a shell reports it: 128 + n for signal n, 127 for a command that is
	// not found, 126 for what could not be started otherwise.
	Code   int    `json:"code"`
	Signal string `json:"signal,omitempty"` // such as SIGKILL
	Err    string `json:"err,omitempty"`    // what happened; empty: it succeeded
	// Lost: how it ended is not known, since the supervisor that would have seen it
	// had died; nothing of it runs any more.
	Lost bool `json:"lost,omitempty"`
	// Stopped: it was told to end, by the driver or because the supervisor had to end,
	// so that how it ended says nothing.
	Stopped bool `json:"stopped,omitempty"`
	// OutOfMemory: the system ended it, or a process of it, for its use of memory.
	OutOfMemory bool `json:"oom,omitempty"`
	// CPU is user and system time, of it and its children; 0: unknown.
	//
	// MaxRSS is the peak use of memory in bytes: of the largest of its processes or,
	// with a control group, of all at a time, without cached files that the system
	// can take back. It is never less than what the supervisor itself used when it
	// started the process (some 15 MB), since until it becomes its command a process
	// has its parent's memory.
	CPU    time.Duration `json:"cpu,omitempty"`
	MaxRSS int64         `json:"rss,omitempty"`
}

// Config describes the supervisor of one run.
type Config struct {
	// Dir is the run's directory: journal.jsonl, the socket and supervisor.log are
	// in it.
	Dir string `json:"dir"`
	// Run is a name that no other run has, without blanks: the supervisor puts
	// RUN.TASK.ATTEMPT.NONCE into FAIRLEAD_RUN of each attempt, by which what descends
	// from it is known whatever became of its parents.
	Run string `json:"run"`
	// CPUs are the processors of each machine, nil: any. Machines are their names,
	// for notes.
	CPUs     [][]int  `json:"cpus"`
	Machines []string `json:"machines"`
	// Grace between SIGTERM and SIGKILL for a start that must end.
	Grace time.Duration `json:"grace"`
	// Memory is what all tasks together may use, in bytes, where the system
	// enforces it; 0: no limit.
	Memory int64 `json:"memory,omitempty"`
	// Command starts the supervisor, such as fairlead supervise; Dir is appended.
	Command []string `json:"-"`
}

// Found is what [Open] has found: nothing in a directory that is new.
type Found struct {
	// Exits are all that the journal has, in its order, with those of a predecessor
	// that died as Lost.
	Exits []Exit
	// Running are the starts that still run. Their exits come as events.
	Running []Key
	// Attached: a supervisor was there.
	Attached bool
	// OutOfReach: processes that leave their task's process group may run on after
	// it, since this system does not tell which these are.
	OutOfReach bool
}

// Event is what a supervisor reports: exactly one of Exit, Note, Gone is set.
type Event struct {
	Exit *Exit
	// Note is something to tell the user: limits that could not be set, processes
	// that have rights of their own.
	Note string
	// OutOfReach comes with a Note about a process that a task has left behind and
	// that runs on.
	OutOfReach bool
	// Gone: the supervisor has died or cannot be reached any more. It is the last
	// event; the channel is closed after it.
	Gone error
}
