// Package report turns what a run, a simulation or a plan did into what people
// read: costs, ratios to the lower bound, statistics of completion and flow times
// ([Run]), and the record of every attempt ([Timeline]) as a picture ([WriteSVG],
// [WriteHTML]) or in formats of other tools ([WriteTrace], [WriteJobs],
// [WriteTasks], [WriteJoblog]).
//
// Whoever writes a workload chooses the names in it, and a task what it prints: all
// text is escaped for the format it goes to, and what is no UTF-8, or no character
// that the format allows, becomes U+FFFD. The same timeline gives the same bytes.
package report
