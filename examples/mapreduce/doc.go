// Command mapreduce is a small MapReduce, real in everything but its size: the
// programs that the example workload (../mapreduce.yaml) schedules.
//
// An application (wordcount, sort, terasort) reads splits, each generated from a
// seed. A map task reads one split, turns it into records and writes one sorted
// run per reducer; a reduce task merges its runs, one from every map task, into
// one part of the output. Runs travel through files: that is the shuffle. Splits
// and runs are compressed, output is not. All files of a job are in one directory:
//
//	out/JOB/job.json                  what was asked for
//	out/JOB/split-SPLIT.gz            input
//	out/JOB/cuts                      terasort: where the sampled key ranges begin
//	out/JOB/run-SPLIT-REDUCER.gz      intermediate
//	out/JOB/output/part-REDUCER       output
//
// The checker reads job.json and the output. What the output must be it derives from
// the seed, without splits or runs, and without sorting or merging anything itself.
//
// Invariants: the files depend on the flags of "generate" alone, not on the order
// or the machine in which tasks ran; a file appears whole or not at all, so that
// a task may be killed and run again at any time.
package main
