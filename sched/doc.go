// Package sched is Fairlead's vocabulary: jobs, stages, tasks, flows, machines,
// time, instances and schedules. Every other package speaks these words, so the
// package imports nothing of Fairlead but [size].
//
// A job (weight, release) is a DAG of stages. A compute stage has tasks; a
// transfer stage has flows, from one machine's source port to another's sink
// port. A task runs on one machine, in one of its slots; it takes its size (the
// work in seconds at speed 1) divided by the machine's speed. A job completes
// when all of its stages have.
//
// Indices are positions in the instance: a [JobID] indexes Instance.Jobs, a
// [MachineID] Instance.Machines. Stages and tasks are numbered through the whole
// instance, in file order; [Index] translates.
package sched
