package cert

import (
	"cmp"
	"container/heap"
	"math/big"
	"slices"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// The clock of "lp-strong" ticks so fast that releases, and times at which the machine
// of speed mu has done a whole number of units of work, are whole numbers of ticks.
// What is not, lengths, tails and mean busy times, is rounded down: each lowers the
// bound. clockBits more bits than needed make that a matter of one part in 2^clockBits,
// far below the rounding errors that a solver in floating point must allow for.
const clockBits = 64

// tick returns the number of ticks in which the machine of speed mu does one unit of
// work.
func (r *relaxation) tick() *big.Int {
	return new(big.Int).Lsh(r.sizes.power(r.speeds.digits+nano), clockBits)
}

// spread sets h_j and A_j/p_j by sharing: the i-th largest task on the i-th fastest
// unit, all that is left on the last, and units that would be done later than those
// before them share with them. With the shares' work W_b and speed V_b,
// h_j = W_1/V_1 and A_j = ½ sum_b W_b²/V_b.
func (r *relaxation) spread(n *node, st *sched.Stage) {
	n.length, n.tail = new(big.Int), new(big.Int)
	if n.work.Sign() == 0 {
		return
	}
	type share struct{ work, speed *big.Int }
	shares := []share{{n.work, r.speed(n.units)}} // tasks of one size: all share
	if len(st.Sizes) > 1 {
		shares = shares[:0]
		tasks := make([]float64, len(st.Sizes))
		for i, d := range st.Sizes {
			tasks[i], _ = size.Value(d)
		}
		slices.SortFunc(tasks, func(a, b float64) int { return cmp.Compare(b, a) })
		class, left := 0, new(big.Int).Set(n.work)
		for i := range n.units {
			for r.machines[class].slots <= i {
				class++
			}
			s := share{r.sizes.float(tasks[i]), r.machines[class].speed}
			if i == n.units-1 {
				s.work = left
			} else {
				left.Sub(left, s.work)
			}
			for len(shares) > 0 {
				top := shares[len(shares)-1]
				if new(big.Int).Mul(top.work, s.speed).Cmp(new(big.Int).Mul(s.work, top.speed)) > 0 {
					break
				}
				s = share{new(big.Int).Add(top.work, s.work), new(big.Int).Add(top.speed, s.speed)}
				shares = shares[:len(shares)-1]
			}
			shares = append(shares, s)
		}
	}
	scale := new(big.Int).Mul(r.tick(), r.speed(r.units))
	x, y := new(big.Int), new(big.Int)
	n.length.Div(x.Mul(scale, shares[0].work), shares[0].speed)
	for _, s := range shares {
		x.Mul(s.work, s.work)
		y.Lsh(y.Mul(s.speed, n.work), 1)
		n.tail.Add(n.tail, x.Div(x.Mul(x, scale), y))
	}
}

// heads sets the releases that follow from those of jobs and from predecessors.
func (r *relaxation) heads() {
	perNano := new(big.Int).Lsh(new(big.Int).Mul(r.speed(r.units), r.sizes.unit()), clockBits)
	after := make([][]int32, len(r.nodes))
	missing := make([]int, len(r.nodes))
	var ready []int32
	for j := range r.nodes {
		n := &r.nodes[j]
		if n.work == nil {
			n.length, n.tail = new(big.Int), new(big.Int)
		}
		n.start = new(big.Int).Mul(perNano, big.NewInt(int64(n.release)))
		missing[j] = len(n.preds)
		if len(n.preds) == 0 {
			ready = append(ready, int32(j))
		}
		for _, a := range n.preds {
			after[a] = append(after[a], int32(j))
		}
	}
	end := new(big.Int)
	for len(ready) > 0 { // a valid instance has no cycle
		a := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		end.Add(r.nodes[a].start, r.nodes[a].length)
		for _, b := range after[a] {
			if start := r.nodes[b].start; start.Cmp(end) < 0 {
				start.Set(end)
			}
			if missing[b]--; missing[b] == 0 {
				ready = append(ready, b)
			}
		}
	}
}

// strongValue returns L of the package comment for "lp-strong", rounded down.
func (r *relaxation) strongValue(m *multipliers) fraction {
	total, x := new(big.Int), new(big.Int)
	for j := range r.nodes {
		n := &r.nodes[j]
		total.Add(total, x.Mul(m.heads[j], n.start))
		total.Add(total, x.Mul(m.into[j], n.length))
		total.Add(total, x.Mul(m.left[j], n.tail))
	}
	order := r.smithOrder(m.left)
	for k, mean := range r.busyTimes(order) {
		total.Add(total, x.Mul(m.left[order[k]], mean))
	}
	den := new(big.Int).Mul(r.speed(r.units), r.sizes.power(r.sizes.digits+nano+m.digits))
	return fraction{total, den.Lsh(den, clockBits)}
}

// busyTimes returns the mean of the times at which each node is worked on, in ticks and
// rounded down, if one machine of speed mu always works on the first in order that has
// been released and is not done.
func (r *relaxation) busyTimes(order []int32) []*big.Int {
	n := len(order)
	left, twice := make([]*big.Int, n), make([]*big.Int, n) // ticks to go; twice the integral of time so far
	released := make([]int, n)
	tick := r.tick()
	for k, j := range order {
		left[k], twice[k], released[k] = new(big.Int).Mul(r.nodes[j].work, tick), new(big.Int), k
	}
	start := func(k int) *big.Int { return r.nodes[order[k]].start }
	slices.SortStableFunc(released, func(a, b int) int { return start(a).Cmp(start(b)) })
	now, step, x := new(big.Int), new(big.Int), new(big.Int)
	var waiting ranks
	for next := 0; next < n || len(waiting) > 0; {
		if len(waiting) == 0 && now.Cmp(start(released[next])) < 0 {
			now.Set(start(released[next]))
		}
		for ; next < n && start(released[next]).Cmp(now) <= 0; next++ {
			heap.Push(&waiting, released[next])
		}
		k := waiting[0]
		step.Set(left[k])
		if next < n {
			if x.Sub(start(released[next]), now); x.Cmp(step) < 0 {
				step.Set(x)
			}
		}
		x.Add(x.Lsh(now, 1), step)
		twice[k].Add(twice[k], x.Mul(x, step))
		now.Add(now, step)
		if left[k].Sub(left[k], step).Sign() == 0 {
			heap.Pop(&waiting)
		}
	}
	for k, j := range order {
		x.Lsh(x.Mul(r.nodes[j].work, tick), 1)
		twice[k].Div(twice[k], x)
	}
	return twice
}

// ranks is a heap of positions in an order.
type ranks []int

func (h ranks) Len() int           { return len(h) }
func (h ranks) Less(a, b int) bool { return h[a] < h[b] }
func (h ranks) Swap(a, b int)      { h[a], h[b] = h[b], h[a] }
func (h *ranks) Push(x any)        { *h = append(*h, x.(int)) }

func (h *ranks) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
