// Package generate makes random workloads for experiments: MapReduce mixes, layered
// DAGs and DAG jobs after the distributions of Alibaba's trace of 2018.
//
// The same options give the same workload everywhere. Every purpose has a stream of
// random numbers of its own per job: other arrivals, weights or machines leave the
// jobs as they are, and more jobs leave the first ones as they are.
//
// Times are seconds, sizes seconds at speed 1, data bytes.
package generate
