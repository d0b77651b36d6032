// Package queyranne solves the linear relaxation of scheduling jobs with
// precedence constraints on machines that act as one polymatroid:
//
//	min  Σ w_j C_j
//	(lo)   C_j ≥ lo_j
//	(arc)  C_b ≥ C_a + lag_b                                          for arcs (a, b)
//	(Q)    Σ_{j∈S} p_j C_j ≥ f(S) = r(S) P(S) + P(S)²/(2μ) + Σ_{j∈S} p_j a_j   for all S
//
// with μ the speed of all machines together, P(S) = Σ_{j∈S} p_j, r(S) the first
// release in S, and a_j the time that j needs at least from the middle of its work to
// its end. Without releases (Q) is a Queyranne polyhedron (M. Queyranne, "Structure of
// a simple scheduling polyhedron", Math. Programming 58, 1993), with them that of
// mean busy times (M. Goemans, "A supermodular relaxation for scheduling with release
// dates", IPCO 1996): exponentially many rows, but a linear function is minimised over
// it by Smith's rule, preemptive where there are releases, the most violated row is
// found by one sort, and so, or nearly so, is the nearest point.
//
// [Solve] runs the primal-dual hybrid gradient method of Chambolle and Pock with
// restarted averages and the primal weight updates of PDLP (Applegate et al.,
// NeurIPS 2021). Its primal step is the projection on (Q): one sort and one pass of
// pool-adjacent-violators; with releases a few, since the order is not known but
// improved from one step to the next, and only its limit is exact. A general LP code that generates rows stops
// being practical at a few hundred nodes, since the rows are dense.
//
// # Certificates
//
// For multipliers λ ≥ 0 on arcs and ν ≥ 0 on heads (the lo_j) with
//
//	w'_j = w_j − ν_j + Σ_{(j,k)} λ_jk − Σ_{(i,j)} λ_ij ≥ 0
//
// the optimum is at least
//
//	L(λ,ν) = Σ_{(a,b)} λ_ab lag_b + Σ_j ν_j lo_j + min_{C∈Q} w'·C,
//
// the last by Smith's rule: in order of non-increasing w'_j/p_j, C_j = M_j + a_j with
// M_j the mean of the times at which one machine of speed μ works on j; without
// releases M_j = (P_before + p_j/2)/μ. At every check the method repairs its
// multipliers so that w' ≥ 0 and keeps the best L; it also lifts its primal point
// along the arcs, which keeps it in (Q), and keeps the best w·C. So a solve that
// is cut short still has a proven lower bound, and a primal point beside it.
//
// # Rounding
//
// Every term of L is nonnegative, so an error bound on L is a relative one, and
// what is returned as Lower has it subtracted. w' ≥ 0 holds with room to spare.
// Both stay true in exact rational arithmetic if the data (μ, p, a, r, lo, lag)
// are replaced by values within a relative 2^-50 of the given ones, and the
// multipliers by values within 2^-52: data may be the rounded results of a few
// operations, and multipliers may be printed in shortest decimal form.
package queyranne
