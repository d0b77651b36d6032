// Package policy defines what a scheduling policy is: it is shown a [View] of
// the cluster and answers with a [Decision]. Policies are deterministic: all
// that varies comes in (the time, the View, a seeded generator), all that
// happens goes out as the Decision. A policy may keep state between calls, but
// only state that follows from those calls, so that replaying the same calls
// gives the same decisions.
//
// A View lacks what the policy has not declared to need ([Knowledge]), so that
// no policy can use a size or an arrival that it could not know.
//
// The policies themselves are in the packages below; package all gathers them
// in a [Registry].
package policy
