// Package engine is the deterministic state machine that the simulator and the
// drivers of real processes share: events in, actions out.
//
//	actions, err := e.Step(now, event)
//
// It has no clock, does no I/O, starts no goroutine and draws random numbers
// only from the seeded generator that it hands to the policy. What a driver
// does is deliver events in order of time and carry out the actions; a log of
// (now, event) replays to the same actions, and so to the same [Engine.Digest].
//
// Events only update state. Decisions are made in rounds: the first event of an
// instant asks for a Wake at that instant, the driver delivers it after all
// other events of the instant, and only then is the policy asked. So the order
// of simultaneous events does not matter, unless they contradict each other: what
// ends on a machine at the instant the machine is lost counts only if it is told
// first, and of two solutions the later one holds.
//
// The physics, checked for every start that a policy asks for: a task holds one
// slot and its needs from start to end; a flow holds its source port and its
// sink port whole; an activity that has joined a group progresses at its share
// of the group's rate and holds nothing. A task may start on a machine only
// when its input has arrived there. A lost machine starts nothing, and what ran in
// its slots is pending again; flows under way and activities of groups go on.
//
// A task that fails is repeated as often as its stage allows, after a wait if there is
// a [Backoff]. An attempt of which nobody knows how it ended, or whose machine was
// lost, counts for nothing. What is known to have succeeded outside of the engine's
// sight is recovered. With these three a driver that was killed goes on from its log,
// see [Resume], and from what else it finds: no attempt is counted twice.
package engine
