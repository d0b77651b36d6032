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
// carried out. So a log always replays to the digest of the run that wrote it.
// Before a process starts, the log's file has the event that starts it: whatever
// becomes of this program, the log names all that ever ran. (It is written, not
// synced: a loss of power may take its end.)
//
// Per running process one more goroutine waits for its exit, as a rule without a
// thread; per solve one computes; the driver waits for neither. How many processes
// may run at the same time is limited, so that watching them cannot fail.
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
// # Processes that leave their group
//
// setsid, coreutils' timeout and job control make groups of their own, a daemon also
// loses its parent. On Linux they end with their task all the same: the driver is a
// child subreaper (prctl(2)) during the run, so whatever descends from a task stays
// below the driver. A task that must end is signalled with all that descends from
// it; what is left when its process has exited gets SIGKILL. That goes for a daemon
// started on purpose, too: what shall outlive its task, a task cannot start.
//
// An orphan's task is the one whose FAIRLEAD_RUN it has in its environment. Without
// that (env -i, a rewritten title) it ends with the run. Not reached are processes
// with rights that the driver has not, and what other programs start for a task
// (systemd-run, docker, at): these never descended from it. Elsewhere than on Linux
// only the group is reached. [Result.OutOfReach] says so.
//
// Being a subreaper is a property of the whole process, and so there is at most one
// run at a time in it. While it lasts, other parts of the program may start children,
// but not in groups of their own; if there were children before, orphans without
// FAIRLEAD_RUN are left alone.
//
// # How a run ends early
//
// If the context ends, or the first failure shall end the run, or the log cannot be
// written, nothing more is started, every group gets SIGTERM and, after a grace
// period, SIGKILL. From the SIGTERM on, the engine hears nothing more: what the
// driver stopped did not fail, and the log ends with it running.
package run
