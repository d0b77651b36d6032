// Package run is the driver for real: it carries out a workload as processes on
// this computer, behind the same engine and policies as the simulator. [Run] does
// all of it.
//
// # Who does what
//
// One goroutine, the driver, owns the engine, the event log and all processes. It
// sleeps until something is due: the end of a process, a time-out, a release, a
// wake-up, a solution, or the end of the context. Every event gets a time later
// than the one before (nanoseconds of the monotonic clock since the run began),
// goes through the engine and into the log, and only then are the engine's actions
// carried out. So a log always replays to the digest of the run that wrote it. Per
// running process one more goroutine waits for its exit, per solve one computes;
// the driver waits for neither.
//
// # A task is a process group
//
// Every attempt at a task is a process in a process group of its own, with
// /dev/null as its standard input and files as standard output and error. It ends
// when that process exits; whatever is left of the group is then killed before the
// exit status is collected, so the group's number cannot have passed to strangers.
// What cannot be started (no such command, no such directory) is a failed attempt
// like any other, with the exit code that a shell gives: 127 or 126.
//
// A process that leaves its group (setsid, job control of an interactive shell)
// is out of reach.
//
// # How a run ends early
//
// If the context ends, or the first failure shall end the run, or the log cannot be
// written, nothing more is started, every group gets SIGTERM and, after a grace
// period, SIGKILL. From the SIGTERM on, the engine hears nothing more: what the
// driver stopped did not fail, and the log ends with it running.
package run
