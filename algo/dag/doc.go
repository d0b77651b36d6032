// Package dag schedules jobs that are DAGs of compute stages on machines of
// different speeds, minimising the total weighted completion time, by the S-PC
// algorithm of V. Aggarwal, T. Lan, S. Subramaniam and M. Xu, "On the
// Approximability of Related Machine Scheduling under Arbitrary Precedence", IEEE
// TNSM 2021: solve a linear relaxation, then place the tasks stage by stage in the
// order of the stages' completion times in it, each where it finishes first.
//
// # The problem as the algorithm sees it
//
// A unit is one slot of a machine: a machine of speed v with s slots is s units of
// speed v_l = v. Units are numbered by falling speed, then by machine, then by slot:
// v_1 ≥ … ≥ v_m, with μ = Σ v_l. A node j is a stage with tasks p_j1 ≥ p_j2 ≥ …,
// p_j = Σ_t p_jt, or the sink of a job that has several last stages: a node without
// tasks after them, since the job completes when all of them have. The job's weight
// is on its only last stage or on its sink, and is zero elsewhere. Arcs are the
// precedence relation: among the stages of a job, from last stages to the sink, and,
// where a job comes after another, from the end of the other to each stage without
// predecessors. A job's release holds for all its nodes.
//
// # The relaxation lp
//
// With μ_j the speed of the min(t_j, m) fastest units, t_j the number of tasks, and
// h_j = max(p_j/μ_j, p_j1/v_1):
//
//	(S1)  min Σ w_j C_j
//	(S2)  Σ_{j∈S} p_j C_j ≥ ½[ (Σ_S p_j)²/μ + Σ_S p_j²/μ_j ]   for every set S of stages
//	(S3)  C_j ≥ r_j + h_j
//	(S4)  C_k ≥ C_j + h_k                                      for arcs (j, k)
//
// (S2) holds for every schedule, preemptive ones included: at any time the units
// give job j a speed of at most μ_j and all jobs μ, so the work of S is centred no
// earlier than P(S)/(2μ), and what is left of a job after the centre of its work
// takes p_j/(2μ_j) more on average. Pins, needs and input only shrink the set of
// schedules, so the relaxation ignores them and stays valid.
//
// # The relaxation lp-strong
//
// More holds for every schedule, preemptive ones included. The tasks of a stage are
// worked on by one unit each, so the h largest get a speed of at most v_1+…+v_h: with
// q_j = min(t_j, m), a stage takes at least
//
//	h_j = max( max_{h<q_j} (p_j1+…+p_jh)/(v_1+…+v_h), p_j/μ_j ),
//
// the time that preemptive schedules of the stage alone need (E. Horvath, S. Lam and
// R. Sethi, J. ACM 24, 1977), and in the last s seconds before its end at most
//
//	G_j(s) = min( p_j, μ_j s, min_{h<q_j} ((v_1+…+v_h) s + p_j,h+1 + p_j,h+2 + …) )
//
// of its work is done; so the middle of its work is at least A_j/p_j before its end,
// A_j = ∫ (p_j − G_j(s)) ds over [0, h_j]. No stage starts before its head,
// r̂_j = max(r_j, max_{(i,j)} r̂_i + h_i). On one machine of speed μ the work of S then
// takes from r̂(S) = min_{j∈S} r̂_j on, at the earliest. With these h_j:
//
//	(S2+)  Σ_{j∈S} p_j C_j ≥ r̂(S) P(S) + P(S)²/(2μ) + Σ_S A_j   for every set S of stages
//	(S3+)  C_j ≥ r̂_j + h_j
//	(S4+)  C_k ≥ C_j + h_k                                      for arcs (j, k)
//
// All three are at least as strong as their counterparts, so what is proved about
// solutions of those holds for solutions of these. Heads are for sizes that are known:
// of random sizes and their means, (S2+) need not hold even on average, since a policy
// may choose what to do next by what it has seen.
//
// # What is guaranteed
//
// Let σ be the order of C, any solution of (S2)–(S4). List placement gives every
// node a completion time
//
//	Ĉ_σ(k) ≤ max_{i≤k} r_σ(i) + Σ_{i≤k} (p_σ(i) + (m−1) p_σ(i)1)/μ,
//
// since the unit chosen for a task finishes it no later than the average, weighted
// by speed, of all units would. By (S2) for the first k stages, Σ_{i≤k} p_σ(i) ≤
// 2μ C_σ(k); so Ĉ ≤ (2(1+(m−1)/D) + [1 with releases]) C with D = min_j p_j/p_j1.
// [Problem.Apriori] evaluates the first inequality on the instance, and
// [Problem.Published] the second. Times in schedules are whole nanoseconds, rounded
// up per task, so both may be exceeded by a nanosecond per task placed.
package dag
