// Package check verifies schedules: that what is claimed to have run could have
// run, and what it cost. It is independent of the engine and the algorithms; it
// knows only the instance, the realised sizes and the physics:
//
//   - Every task of a completed job runs exactly once, without interruption, on a
//     machine it is pinned to, in one of its slots, which it shares with nobody.
//   - It takes its size divided by the machine's speed, to the nanosecond.
//   - Tasks running on a machine at the same time need no more than its
//     capacities.
//   - Nothing starts before its job's release, before the stages it follows, or
//     before the jobs its job follows, have finished.
//   - A task that reads input may start on a machine only when each predecessor
//     task's share has come: its finish, plus (bytes / pairs of tasks) at the
//     lower of the two machines' port rates; at once on the same machine.
//   - A flow holds the source port of its sender and the sink port of its
//     receiver whole, and takes its size at the lower of the two rates.
//   - C_j is when the last task or flow of job j finishes.
//
// Intervals are half open: what ends at t does not disturb what starts at t.
// Something that takes no time disturbs nothing, but needs a free slot (and
// capacity, and ports) at its instant.
//
// Times are compared as the integers that they are; there are no tolerances.
package check
