package dag

import (
	"fmt"
	"math"
	"slices"

	"github.com/fairlead-project/fairlead/opt/queyranne"
	"github.com/fairlead-project/fairlead/sched"
)

// RelaxStrong brackets the optimum of (S1) and (S2+)–(S4+), which is at least that of
// (S1)–(S4). It solves the latter first, which serves as a start, so Lower is never
// less than that of [Problem.Relax], and by default takes about as long again.
// MaxIterations bounds each of the two solves. Whatever the Status, Lower and C are valid. An error
// means that a number is out of range.
func (p *Problem) RelaxStrong(o queyranne.Options) (*Relaxation, error) {
	weak, err := p.Relax(o)
	if err != nil {
		return nil, err
	}
	lp, same := p.strengthen(weak.lp)
	if same {
		return weak, nil
	}
	o.Start = weak.Result
	if o.MaxWork == 0 && o.MaxIterations == 0 {
		o.MaxWork = max(weak.Work, strongWork)
	}
	r, err := queyranne.Solve(lp, o)
	if err != nil {
		return nil, fmt.Errorf("dag: strong relaxation: %w", err)
	}
	if r.Lower < weak.Lower { // by rounding: the same multipliers prove at least as much here
		r.Lower, r.Arc, r.Head, r.Order, r.Reduced = weak.Lower, weak.Arc, weak.Head, weak.Order, weak.Reduced
		r.Gap = max(0, (r.Primal-r.Lower)/r.Primal)
	}
	r.Iterations += weak.Iterations
	r.Work += weak.Work
	return &Relaxation{Result: r, p: p, lp: lp, weak: weak}, nil
}

// Weak returns the relaxation (S1)–(S4) that r was found from, r itself if it is that.
func (r *Relaxation) Weak() *Relaxation {
	if r.weak != nil {
		return r.weak
	}
	return r
}

// strongWork is what the stronger relaxation may cost even where the weaker one was
// solved at once: about half a second.
const strongWork = 20_000_000

// strengthen returns (S2+)–(S4+), and whether it is the same as lp.
func (p *Problem) strengthen(lp *queyranne.Problem) (strong *queyranne.Problem, same bool) {
	n := len(p.Nodes)
	s := *lp
	s.Tail, s.Lag, s.Lo, s.Release = slices.Clone(lp.Tail), slices.Clone(lp.Lag), make([]float64, n), make([]float64, n)
	same = true
	for _, j := range p.Order(make([]float64, n)) { // predecessors first
		node := p.Nodes[j]
		if h, area := p.spread(node); area > 0 {
			// Both are at least their weaker counterparts, up to rounding.
			s.Lag[j], s.Tail[j] = max(s.Lag[j], h), max(s.Tail[j], area/node.Size)
		}
		r := node.Release.Seconds()
		for _, i := range p.preds[j] {
			r = max(r, addDown(s.Release[i], s.Lag[i]))
		}
		s.Release[j], s.Lo[j] = r, r+s.Lag[j]
		if node.Size > 0 && (r > 0 || s.Tail[j] > lp.Tail[j]) || s.Lo[j] > lp.Lo[j] || s.Lag[j] > lp.Lag[j] {
			same = false
		}
	}
	return &s, same
}

// spread returns h_j and A_j of a stage with different tasks, 0 if its tasks are alike:
// then they are p_j/μ_j and p_j²/(2μ_j).
//
// Let the i-th largest task run on the i-th fastest unit, and everything that is left
// on the last. Where units are done later than those before them, let them and their
// tasks share: this is the level algorithm of E. Horvath, S. Lam and R. Sethi, "A level
// algorithm for preemptive scheduling", J. ACM 24, 1977. The shares of work W_b and
// speed V_b that remain are the linear pieces of the upper concave hull of the points
// (V_h, work of the h largest tasks), so h_j = W_1/V_1 and A_j = ½ Σ W_b²/V_b.
func (p *Problem) spread(n Node) (h, area float64) {
	if n.Stage == sched.None || n.Tasks == 1 {
		return 0, 0
	}
	if _, uniform := p.z.Uniform(n.Stage); uniform {
		return 0, 0
	}
	first, end := p.x.StageTasks(n.Stage)
	tasks := make([]float64, 0, n.Tasks)
	for t := first; t < end; t++ {
		tasks = append(tasks, -p.z.Of(n.Stage, t))
	}
	slices.Sort(tasks)
	// Rounded so that neither result is too large: the lower bound's proof allows for
	// the rounding of a few operations only.
	units := min(n.Tasks, len(p.Units))
	type share struct{ work, speed float64 }
	shares := make([]share, 0, units)
	for i := range units {
		s := share{-tasks[i], p.speed(i)}
		if i == units-1 {
			for _, t := range tasks[units:] {
				s.work = addDown(s.work, -t)
			}
		}
		for top := len(shares) - 1; top >= 0 && shares[top].work*s.speed <= s.work*shares[top].speed; top-- {
			s = share{addDown(shares[top].work, s.work), addUp(shares[top].speed, s.speed)}
			shares = shares[:top]
		}
		shares = append(shares, s)
	}
	for _, s := range shares {
		area = addDown(area, float64(s.work*(s.work/s.speed)))
	}
	return shares[0].work / shares[0].speed, area / 2
}

// addDown returns a + b, never above the exact sum; a, b ≥ 0.
func addDown(a, b float64) float64 {
	s := a + b
	if lost(a, b, s) < 0 {
		return math.Nextafter(s, 0)
	}
	return s
}

// addUp returns a + b, never below the exact sum; a, b ≥ 0.
func addUp(a, b float64) float64 {
	s := a + b
	if lost(a, b, s) > 0 {
		return math.Nextafter(s, math.Inf(1))
	}
	return s
}

// lost returns a + b − s, exactly, for s the rounded sum (Knuth's TwoSum).
func lost(a, b, s float64) float64 {
	bb := s - a
	return (a - (s - bb)) + (b - bb)
}
