// Package report turns what a run or a simulation did into what people read:
// costs, ratios to the lower bound, statistics of completion and flow times.
package report
