// Package size describes how large a task or a flow is when that is known only
// as a distribution: mean, survival function, sampling, and the distribution of
// what is left once some of it is done.
//
// Sizes are non-negative: seconds at speed 1 for tasks, bytes for flows.
package size
