// Package supervise starts, watches, ends and journals the processes of tasks. That
// happens in a process of its own, the supervisor, so that what runs goes on, and how
// it ends is known, when the driver that decides has died.
//
// [Open] gives a driver a [Client] of its run's supervisor: the one that lives, or a
// new one ([Main]). There is one per run's directory, and it serves one driver.
//
// # What is known after a death
//
// The journal, DIR/journal.jsonl, names every start before its process comes into
// being, and every end before it is reported. So of a start, which is known by its
// [Key] and never carried out twice, there is one truth: it is not in the journal and
// nothing of it has run; or it is there without an end and runs, under a supervisor
// that lives; or it is there with its [Exit].
//
// A driver that dies costs nothing: tasks run on, their time-outs hold, the next
// driver attaches and learns all. Without driver and tasks the supervisor ends after
// two seconds.
//
// When the supervisor dies, ends are no longer seen. The next one therefore kills what
// is left before it serves, and journals these starts as Lost. It finds them by number
// and time of birth (a number that has passed to a stranger costs nobody's life), by
// process group and session, by the mark in their environment, by control group, and
// what descends from any of these. After a restart of the computer there is nothing to
// kill.
//
// Records are written at once, which a death survives, and synced some 50 ms later in
// batches, for the loss of power. Damage, recognised by checksums, costs the lines that
// it is in; a torn end is cut off and kept aside. While the disk is full nothing is
// started, exits are reported all the same, and their records wait.
//
// # A start is a process group
//
// Every start is a process in a process group of its own, with /dev/null as its
// standard input and files as standard output and error. It ends when that process
// exits; whatever is left of the group is then killed before the exit status is
// collected, so the group's number cannot have passed to strangers, and the exit is
// reported when all of it is gone. What cannot be started (no such command, no such
// directory) has an exit like any other, with the code that a shell gives: 127 or 126.
//
// # Processes that leave their group
//
// setsid, coreutils' timeout and job control make groups of their own, a daemon also
// loses its parent. On Linux they end with their task all the same: the supervisor is
// a child subreaper (prctl(2)), so whatever descends from a task stays below it. A
// task that must end is signalled with all that descends from it; what is left when
// its process has exited gets SIGKILL. That goes for a daemon started on purpose, too:
// what shall outlive its task, a task cannot start.
//
// An orphan's task is the one whose mark it has in its environment, FAIRLEAD_RUN.
// Without that (env -i, a rewritten title) it ends when nothing else runs, or with its
// control group. Not reached are processes with rights that the supervisor has not,
// and what other programs start for a task (systemd-run, docker, at): these never
// descended from it. Elsewhere than on Linux only the group is reached.
// [Found.OutOfReach] and [Event.OutOfReach] say so.
//
// # Memory
//
// Limits are control groups, of version 1 or 2, one for the run and one below it per
// start, where this user may make them below the group that the supervisor is in; a
// note says where not. Version 2 allows that in a group that has no processes itself:
// driver and supervisor move to a child of it, unless others are there too. A run
// without limits makes none: each costs more than a millisecond.
//
// # How it works
//
// One goroutine owns all state, the journal and the processes. It sleeps until a
// request, a SIGCHLD, a signal or a timer; others only read and write connections and
// sync the journal, and it waits for none of them, so a driver that does not read
// holds up nobody. Children are found by waitid(2), which takes neither a thread nor a
// descriptor per process.
package supervise
