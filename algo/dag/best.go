package dag

import (
	"fmt"
	"math/bits"

	"github.com/fairlead-project/fairlead/sched"
)

// Best places the stages in the given order on the m' fastest units for several m'
// and returns the cheapest plan, ties to the larger m'. Few fast units serve short
// chains better than many slow ones. All m are always tried, so the plan costs no
// more than [Problem.List] on all units and has its guarantee; on m' units alone
// the published ratio is 2(μ/V)(1+(m'−1)/D), V their speed together, and 1 more
// with releases.
//
// Tried are, while a budget of about a second lasts: m; the ends of the speed
// classes, slowest first; m/2, m/4, …; then all others, largest first. Left out are
// the m' on which some stage fits nowhere.
func (p *Problem) Best(order []int32) (*Plan, error) {
	least, err := p.leastUnits()
	if err != nil {
		return nil, err
	}
	best, cost := 0, 0.0
	for _, m := range p.unitCounts(least) {
		l, err := p.list(order, m, false)
		if err != nil {
			return nil, err
		}
		if c := l.cost(); best == 0 || c < cost || c == cost && m > best {
			best, cost = m, c
		}
	}
	return p.List(order, best)
}

// listBudget is, in elementary steps of List, what Best may spend.
const listBudget = 1e8

// unitCounts returns the numbers of units for Best to try.
func (p *Problem) unitCounts(least int) []int {
	m := len(p.Units)
	classes, tasks := 1, 0
	for l := 1; l < m; l++ {
		if p.speed(l) != p.speed(l-1) {
			classes++
		}
	}
	for _, n := range p.Nodes {
		tasks += n.Tasks
	}
	// An upper estimate: machines ≤ m, and fewer on fewer units.
	work := float64(tasks)*float64(classes+bits.Len(uint(m))) + float64(len(p.Nodes))*float64(m)
	left := int(min(max(1, listBudget/work), float64(m)))
	var counts []int
	seen := make([]bool, m+1)
	try := func(n int) {
		if n >= least && left > 0 && !seen[n] {
			seen[n] = true
			left--
			counts = append(counts, n)
		}
	}
	try(m)
	for n := m - 1; n >= least; n-- {
		if p.speed(n) != p.speed(n-1) {
			try(n)
		}
	}
	for n := m / 2; n >= least; n /= 2 {
		try(n)
	}
	for n := m - 1; n >= least && left > 0; n-- {
		try(n)
	}
	return counts
}

// leastUnits returns the smallest number of units on which every stage fits.
func (p *Problem) leastUnits() (int, error) {
	least := 1
	for i, n := range p.Nodes {
		if n.Stage == sched.None {
			continue
		}
		st, l := p.x.Stage(n.Stage), 0
		for l < len(p.Units) && !p.x.Instance.MayRun(st, p.Units[l].Machine) {
			l++
		}
		if l == len(p.Units) {
			return 0, fmt.Errorf("%w: the tasks of stage %s fit on no machine", ErrProblem, p.Name(int32(i)))
		}
		least = max(least, l+1)
	}
	return least, nil
}
