// Package cert verifies certificates of lower bounds. A certificate names an
// instance by its hash, carries multipliers found by some solver, and claims a
// bound; [Verify] recomputes the bound from the instance and the multipliers
// alone, exactly, and accepts the claim only if it is not above it. The package
// shares no code with the solvers: it builds the relaxation a second time.
//
// # The relaxation "lp"
//
// It is the linear program of S-PC (Aggarwal, Lan, Subramaniam, Xu: On the
// approximability of related machine scheduling under arbitrary precedence,
// IEEE TNSM 2021). Its nodes are the compute stages; a job with several last
// stages (no other stage of the job follows them) gets a sink of size zero after
// them. The job's weight is on its single last stage or on its sink, other nodes
// have weight 0; its release holds for all its nodes. Arcs: a stage's
// predecessors before it, last stages before the sink, and where one job waits
// for another, the earlier job's last stage or sink before each stage of the
// later job without predecessors of its own.
//
// A machine of speed v with s slots is s units of speed v. With unit speeds
// v_1 >= ... >= v_m, V_h = v_1 + ... + v_h, mu = V_m, and for a node of t tasks
// that sum to p and of which the largest is p_1, mu_j = V_min(t,m) and
// l = max(p/mu_j, p_1/v_1); all zero for a sink:
//
//	(S1) min  sum_j w_j C_j
//	(S2) sum_{j in S} p_j C_j >= ½[(sum_S p_j)²/mu + sum_S p_j²/mu_j]   for all sets S of nodes
//	(S3) C_j >= r_j + l_j
//	(S4) C_b >= C_a + l_b                                              for all arcs (a,b)
//
// Every schedule satisfies (S2) to (S4), preemptive ones too: needs, pins and
// input only restrict it further.
//
// # The certificate
//
// It holds multipliers lambda >= 0 on arcs (S4) and nu >= 0 on heads (S3), such
// that w'_j = w_j - nu_j + sum_out lambda - sum_in lambda >= 0 at every node. Let
// Q be the points C >= 0 that satisfy (S2). By weak duality
//
//	L = sum_{(a,b)} lambda_ab l_b + sum_j nu_j (r_j + l_j) + min_{C in Q} sum_j w'_j C_j
//
// is at most the value of the relaxation, so at most the cost of every schedule.
// The minimum is attained by Smith's order, w'_j/p_j non-increasing, at
// C_j = (P_before + p_j/2)/mu + p_j/(2 mu_j) (Queyranne's polyhedron); nodes
// with p_j = 0 contribute 0.
//
// Arithmetic is exact throughout: a float64 and a decimal string are both
// decimal fractions, so w' and everything else but the divisions by V_h are
// integers over a common power of ten, and the divisions are made last.
package cert
