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
// # The relaxation "lp-strong"
//
// It has the same nodes, arcs and weights, and uses that a task runs on one unit at a
// time. For a node of tasks p_1 >= p_2 >= ..., t of them, with q = min(t,m), let
//
//	l = max( max_{h<q} (p_1 + ... + p_h)/V_h, p/mu_j )
//	G(s) = min( p, mu_j s, min_{h<q} (V_h s + p_{h+1} + p_{h+2} + ...) )
//	A = integral over 0 <= s <= l of p - G(s)
//
// l is the least time that preemptive schedules of the stage alone take (Horvath, Lam
// and Sethi: A level algorithm for preemptive scheduling, J. ACM 24, 1977), G(s) bounds
// the work done on it in its last s seconds, so its work is centred at least A/p
// before its end. Heads are releases that precedence implies,
// R_b = max(r_b, max over arcs (a,b) of R_a + l_a):
//
//	(S2+) sum_{j in S} p_j C_j >= min_{j in S} R_j P + P²/(2 mu) + sum_S A_j,  P = sum_S p_j
//	(S3+) C_j >= R_j + l_j
//	(S4+) C_b >= C_a + l_b                                              for all arcs (a,b)
//
// (S2+) is what work that is released at R_j takes on one machine of speed mu, and
// then the tails A.
//
// # The certificate
//
// It names the relaxation and holds multipliers lambda >= 0 on arcs (S4) and nu >= 0
// on heads (S3), such that w'_j = w_j - nu_j + sum_out lambda - sum_in lambda >= 0 at
// every node. Let Q be the points C >= 0 that satisfy (S2). By weak duality
//
//	L = sum_{(a,b)} lambda_ab l_b + sum_j nu_j (r_j + l_j) + min_{C in Q} sum_j w'_j C_j
//
// is at most the value of the relaxation, so at most the cost of every schedule.
// The minimum is attained by Smith's order, w'_j/p_j non-increasing, at
// C_j = (P_before + p_j/2)/mu + p_j/(2 mu_j) (Queyranne's polyhedron); nodes
// with p_j = 0 contribute 0.
//
// For "lp-strong" the same holds with (S2+) to (S4+): R_j for r_j, and the minimum is
// attained at C_j = M_j + A_j/p_j, where M_j is the mean of the times at which a
// machine of speed mu works on j if it always works on the largest w'_j/p_j of what is
// released, preemptively (Goemans: A supermodular relaxation for scheduling with
// release dates, IPCO 1996).
//
// Arithmetic is exact for "lp": a float64 and a decimal string are both
// decimal fractions, so w' and everything else but the divisions by V_h are
// integers over a common power of ten, and the divisions are made last. For
// "lp-strong" they cannot wait, since heads add up lengths of many denominators. Its
// times are whole ticks of a clock on which releases and sizes are exact; what is not,
// lengths, A/p and M, is rounded down, by less than one part in 2^60. L does not
// decrease in any of them, nor in R, so what is verified is proved.
package cert
