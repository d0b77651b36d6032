// Package trace reads workloads from the formats in which others keep theirs, and
// writes them where a format can hold what a workload says: WfFormat (WfCommons),
// the Standard Workload Format, GNU parallel's joblog, ninja's log, Nextflow's trace.
//
// A reader returns, besides the workload, notes on what it has left out or assumed.
// Times become seconds, amounts of data bytes. A duration that was observed is taken
// for the size of the task, that is for its duration on a machine of speed 1. Bad input is an
// [workload.Errors] with line and column. Readers take time and memory linear in the input.
//
// A writer refuses, with [ErrCannotHold], what would mean something else when read
// again; its notes name what the format has no place for. docs/formats/traces.md has
// the details per format.
package trace
