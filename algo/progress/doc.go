// Package progress predicts how long a running task takes in all from the progress
// that it has reported: the estimator of S-PC (V. Aggarwal, T. Lan, S. Subramaniam
// and M. Xu, "On the Approximability of Related Machine Scheduling under Arbitrary
// Precedence", IEEE TNSM 2021), which tells the launch of a task from its work, and
// Hadoop's, which does not, for comparison.
//
// With t_lau the time of the launch, FP the first progress reported, at t_FP, and CP
// the latest, at t_CP:
//
//	S-PC, as printed    (t_FP − t_lau) + (t_CP − t_FP)/(CP − FP)
//	S-PC, as here       (t_FP − t_lau) + (1 − FP)·(t_CP − t_FP)/(CP − FP)
//	Hadoop              (t_CP − t_lau)/CP
//
// The printed form takes the whole work to be done after t_FP, though the part FP of
// it was done before; the two agree where FP is 0. The form used here is exact for
// every task that, from its first report on, progresses at a constant rate.
//
// Functions are pure. They say when they cannot know; then the estimate from
// earlier runs is the one to use.
package progress
