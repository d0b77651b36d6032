// Package history is the execution database: it keeps what every attempt of every
// task took, and learns from that how large tasks are and how fast machines.
//
// A [DB] is one SQLite file that all runs of a user share. [DB.Record] adds attempts,
// and adding one twice changes nothing. [Learn] is a pure function of attempts, and
// [Resolve] fills in with its result what an instance leaves open: sizes, speeds and
// needs of memory. What a workload states is never replaced.
//
// The history is a help, not a record that anything depends on. A run without one, or
// with one that cannot be opened, is a run that knows less; every error says what to
// do, and no file that is not understood is ever written to.
package history
