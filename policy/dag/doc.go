// Package dag holds the policies that order and place the tasks of DAG jobs on
// machines of different speeds: one file per policy, and what they share: the
// queue of stages that have tasks to start, and the account of what a decision
// has used up already.
package dag
