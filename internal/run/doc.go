// Package run is the driver for real: it carries out a workload as processes on
// this computer, behind the same engine and policies as the simulator. [Run] does
// all of it, [Resume] goes on with what was cut short, [ReadAttempts] says what
// became of it.
//
// # Who does what
//
// One goroutine, the driver, owns the engine and the event log. It sleeps until
// something is due: the end of a task, a release, a wake-up, a solution, or the end of
// the context. Every event gets a time later than the one before, goes through the
// engine and into the log, and only then are the engine's actions carried out. So a
// log always replays to the digest of the run that wrote it.
//
// Processes are not the driver's: package supervise has them, in a process of its own
// that outlives the driver, and journals how each of them ends. The driver tells it
// what to start, and hears of exits. Per solve one goroutine computes; the driver
// waits for none.
//
// # What is on the disk
//
// A run's directory has run.json and workload.json, which say what was asked for, the
// log events.jsonl, the supervisor's journal.jsonl, and the outputs of every attempt.
// Before a task is started, the event that starts it has been synced: the log names
// all that ever ran, and the outcomes that led there. A start's key is the task, the
// attempt and the time of that event, so whoever reads the log knows it.
//
// If the log cannot be written, as on a full disk, nothing more is started. What runs
// goes on, outcomes wait in memory, the user is told, and the driver tries again until
// it works or the context ends.
//
// # How a run goes on
//
// The log is replayed as far as it is valid; a damaged end is put aside. The attempts
// that are open then have an exit in the journal, which is delivered with its true
// time; or still run, and are watched; or were never started, and are, under the same
// key, which a supervisor starts at most once. Where nobody saw the end, since the
// supervisor has died too, the next supervisor first ends what is left, and the
// attempt is lost: it uses up no retry. What runs but is not in the log, for that has
// lost its end, is ended before anything starts; tasks of which such a start has
// succeeded are done (engine.TaskRecovered). A task is finished, and never repeated,
// once its success is in the journal. A supervisor that dies while the driver lives is
// replaced in the same way.
//
// The run's clock counts from its beginning, the time between interruption and
// resuming included: by the system's monotonic clock, after a restart of the computer
// by the wall clock. It never goes back, whatever the wall clock was set to.
//
// # How a run ends early
//
// If the context ends, or the first failure shall end the run, or the policy breaks
// the rules, nothing more is started and the supervisor ends what runs: SIGTERM and,
// after a grace period, SIGKILL. What ended because of that has neither failed nor
// succeeded: it is lost, and such a run can be resumed. Only a run in which nothing is
// left to be done has the end line in its log.
package run
