package cert

import (
	"math/big"
	"slices"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// The slow obvious twin of relax.go and bound.go: rationals, a list of units,
// and the best of all orders instead of Smith's.

type slowNode struct {
	name       string
	w, r, p, l *big.Rat // weight, release, size, length
	mu         *big.Rat
	tail       *big.Rat // from the middle of the work to its end
	start      *big.Rat // of the work: 0 in "lp"
	preds      []int
}

func rat(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

func slowNodes(in *sched.Instance) (nodes []slowNode, mu *big.Rat) {
	var units []float64
	for _, m := range in.Machines {
		for range m.Slots {
			units = append(units, m.Speed)
		}
	}
	slices.Sort(units)
	slices.Reverse(units)
	prefix := func(k int) *big.Rat {
		v := new(big.Rat)
		for _, u := range units[:min(k, len(units))] {
			v.Add(v, rat(u))
		}
		return v
	}
	x := sched.NewIndex(in)
	terminal := make([]int, len(in.Jobs))
	for s := range x.Stages() {
		st, job := x.Stage(sched.StageID(s)), in.Jobs[x.StageJob(sched.StageID(s))]
		n := slowNode{
			name: x.StageName(sched.StageID(s)), w: new(big.Rat), p: new(big.Rat), l: new(big.Rat),
			r: big.NewRat(int64(job.Release), 1e9), mu: prefix(st.Count),
		}
		largest := new(big.Rat)
		for k := range st.Count {
			p := rat(float64(st.Size(k).(size.Exact)))
			n.p.Add(n.p, p)
			if p.Cmp(largest) > 0 {
				largest = p
			}
		}
		n.l.Quo(n.p, n.mu)
		n.tail, n.start = new(big.Rat).Quo(n.l, big.NewRat(2, 1)), new(big.Rat)
		if alone := new(big.Rat).Quo(largest, prefix(1)); alone.Cmp(n.l) > 0 {
			n.l = alone
		}
		first, _ := x.JobStages(x.StageJob(sched.StageID(s)))
		for _, a := range st.After {
			n.preds = append(n.preds, int(first)+a)
		}
		nodes = append(nodes, n)
	}
	for j, job := range in.Jobs {
		last := x.Last(sched.JobID(j))
		terminal[j] = int(last[0])
		if len(last) > 1 {
			n := slowNode{name: job.Name, r: big.NewRat(int64(job.Release), 1e9), p: new(big.Rat), l: new(big.Rat)}
			for _, s := range last {
				n.preds = append(n.preds, int(s))
			}
			terminal[j] = len(nodes)
			nodes = append(nodes, n)
		}
		nodes[terminal[j]].w = rat(job.Weight)
	}
	for j, job := range in.Jobs {
		first, end := x.JobStages(sched.JobID(j))
		for s := first; s < end; s++ {
			if len(x.Stage(s).After) == 0 {
				for _, a := range job.After {
					nodes[s].preds = append(nodes[s].preds, terminal[a])
				}
			}
		}
	}
	return nodes, prefix(len(units))
}

// strengthen replaces what the relaxation "lp-strong" has more of: lengths, tails and
// releases, by their definitions. It returns the same nodes.
func strengthen(nodes []slowNode, in *sched.Instance) []slowNode {
	x := sched.NewIndex(in)
	var speeds []float64
	for _, m := range in.Machines {
		for range m.Slots {
			speeds = append(speeds, m.Speed)
		}
	}
	slices.Sort(speeds)
	slices.Reverse(speeds)
	for j := range nodes {
		n := &nodes[j]
		if n.p.Sign() == 0 {
			continue
		}
		s := -1
		for k := range x.Stages() {
			if x.StageName(sched.StageID(k)) == n.name {
				s = k
			}
		}
		st := x.Stage(sched.StageID(s))
		var tasks []float64
		for k := range st.Count {
			tasks = append(tasks, float64(st.Size(k).(size.Exact)))
		}
		slices.Sort(tasks)
		slices.Reverse(tasks)
		// In the last s seconds the k largest tasks can do V_k s, the others all of
		// theirs; together no more than V_q s.
		type line struct{ slope, rest *big.Rat }
		lines := []line{{new(big.Rat), n.p}}
		for k := range min(len(tasks), len(speeds)) {
			top := lines[k]
			lines = append(lines, line{
				new(big.Rat).Add(top.slope, rat(speeds[k])),
				new(big.Rat).Sub(top.rest, rat(tasks[k])),
			})
		}
		lines[len(lines)-1].rest = new(big.Rat)
		n.l = new(big.Rat)
		for _, l := range lines[1:] {
			if t := new(big.Rat).Quo(new(big.Rat).Sub(n.p, l.rest), l.slope); t.Cmp(n.l) > 0 {
				n.l = t
			}
		}
		missing := func(t *big.Rat) *big.Rat {
			least := n.p
			for _, l := range lines {
				if w := new(big.Rat).Mul(l.slope, t); w.Add(w, l.rest).Cmp(least) < 0 {
					least = w
				}
			}
			return new(big.Rat).Sub(n.p, least)
		}
		at := []*big.Rat{new(big.Rat), n.l} // and where lines meet; linear in between
		for a := range lines {
			for b := range a {
				t := new(big.Rat).Quo(new(big.Rat).Sub(lines[b].rest, lines[a].rest), new(big.Rat).Sub(lines[a].slope, lines[b].slope))
				if t.Sign() > 0 && t.Cmp(n.l) < 0 {
					at = append(at, t)
				}
			}
		}
		slices.SortFunc(at, (*big.Rat).Cmp)
		area := new(big.Rat)
		for i := 1; i < len(at); i++ {
			sum := new(big.Rat).Add(missing(at[i-1]), missing(at[i]))
			area.Add(area, sum.Mul(sum, new(big.Rat).Sub(at[i], at[i-1])))
		}
		n.tail = area.Quo(area, new(big.Rat).Add(n.p, n.p))
	}
	for range nodes { // until no head moves
		for j := range nodes {
			for _, a := range nodes[j].preds {
				if end := new(big.Rat).Add(nodes[a].r, nodes[a].l); end.Cmp(nodes[j].r) > 0 {
					nodes[j].r = end
				}
			}
		}
	}
	for j := range nodes {
		nodes[j].start = nodes[j].r
	}
	return nodes
}

// slowValue returns what d proves for in; ok is false if that is nothing.
func slowValue(relaxation string, d Dual, in *sched.Instance) (value *big.Rat, ok bool) {
	nodes, mu := slowNodes(in)
	if relaxation == LPStrong {
		nodes = strengthen(nodes, in)
	}
	find := func(name string) int {
		return slices.IndexFunc(nodes, func(n slowNode) bool { return n.name == name })
	}
	left := make([]*big.Rat, len(nodes))
	for j := range nodes {
		left[j] = new(big.Rat).Set(nodes[j].w)
	}
	value = new(big.Rat)
	number := func(s string) *big.Rat {
		v, ok := new(big.Rat).SetString(s)
		if !ok || v.Sign() < 0 {
			return nil
		}
		return v
	}
	seen := map[any]bool{}
	for _, a := range d.Arcs {
		from, to, v := find(a.From), find(a.To), number(a.Value)
		if v == nil || from < 0 || to < 0 || !slices.Contains(nodes[to].preds, from) || seen[[2]int{from, to}] {
			return nil, false
		}
		seen[[2]int{from, to}] = true
		left[from].Add(left[from], v)
		left[to].Sub(left[to], v)
		value.Add(value, new(big.Rat).Mul(v, nodes[to].l))
	}
	for _, h := range d.Heads {
		j, v := find(h.Node), number(h.Value)
		if v == nil || j < 0 || seen[j] {
			return nil, false
		}
		seen[j] = true
		left[j].Sub(left[j], v)
		value.Add(value, v.Mul(v, new(big.Rat).Add(nodes[j].r, nodes[j].l)))
	}
	for _, w := range left {
		if w.Sign() < 0 {
			return nil, false
		}
	}
	return value.Add(value, slowMinimum(nodes, left, mu)), true
}

// slowMinimum returns the minimum of w.C over C >= 0 with (S2) or (S2+): the best of
// the greedy points C_j = (f(before and j) - f(before))/p_j of all n! orders, by
// dynamic programming over the set that comes first.
func slowMinimum(nodes []slowNode, w []*big.Rat, mu *big.Rat) *big.Rat {
	var sized []int
	for j := range nodes {
		if nodes[j].p.Sign() > 0 {
			sized = append(sized, j)
		}
	}
	slices.SortStableFunc(sized, func(a, b int) int { return nodes[a].start.Cmp(nodes[b].start) })
	half := big.NewRat(1, 2)
	sets := 1 << len(sized)
	f, best := make([]*big.Rat, sets), make([]*big.Rat, sets)
	for set := range sets {
		// First come, first served: the integral of time over the work of the set is the
		// same for every order that does not idle.
		f[set] = new(big.Rat)
		now := new(big.Rat)
		for i, j := range sized {
			if set>>i&1 == 1 {
				n := &nodes[j]
				if now.Cmp(n.start) < 0 {
					now = n.start
				}
				long := new(big.Rat).Quo(n.p, mu)
				middle := new(big.Rat).Add(now, new(big.Rat).Mul(long, half))
				f[set].Add(f[set], middle.Add(middle, n.tail).Mul(middle, n.p))
				now = long.Add(long, now)
			}
		}
		for i, j := range sized {
			if before := set &^ (1 << i); before != set {
				c := new(big.Rat).Sub(f[set], f[before])
				c.Mul(c.Quo(c, nodes[j].p), w[j]).Add(c, best[before])
				if best[set] == nil || c.Cmp(best[set]) < 0 {
					best[set] = c
				}
			}
		}
		if set == 0 {
			best[set] = new(big.Rat)
		}
	}
	return best[sets-1]
}

// optimum returns the cost of the best non-preemptive schedule, in floats: the
// callers use sizes and speeds that make these exact. It tries all orders of the
// tasks, each on every unit, started as early as that allows.
func optimum(in *sched.Instance) float64 {
	x := sched.NewIndex(in)
	var speeds []float64
	for _, m := range in.Machines {
		for range m.Slots {
			speeds = append(speeds, m.Speed)
		}
	}
	free := make([]float64, len(speeds))
	finish := make([]float64, x.Stages()) // so far
	missing := make([]int, x.Stages())
	for s := range missing {
		missing[s] = x.Stage(sched.StageID(s)).Count
	}
	jobFinish := func(j sched.JobID) float64 {
		first, end := x.JobStages(j)
		for s := first; s < end; s++ {
			if missing[s] > 0 {
				return -1
			}
		}
		return slices.Max(finish[first:end])
	}
	ready := func(s sched.StageID) float64 { // -1: must wait for something unscheduled
		j := x.StageJob(s)
		t := in.Jobs[j].Release.Seconds()
		for _, a := range in.Jobs[j].After {
			f := jobFinish(a)
			if f < 0 {
				return -1
			}
			t = max(t, f)
		}
		first, _ := x.JobStages(j)
		for _, a := range x.Stage(s).After {
			if missing[int(first)+a] > 0 {
				return -1
			}
			t = max(t, finish[int(first)+a])
		}
		return t
	}
	best, rest := -1.0, x.Tasks()
	var place func()
	place = func() {
		if rest == 0 {
			cost := 0.0
			for j := range in.Jobs {
				cost += in.Jobs[j].Weight * jobFinish(sched.JobID(j))
			}
			if best < 0 || cost < best {
				best = cost
			}
			return
		}
		for s := range x.Stages() {
			t := ready(sched.StageID(s))
			if missing[s] == 0 || t < 0 {
				continue
			}
			st := x.Stage(sched.StageID(s))
			p := float64(st.Size(st.Count - missing[s]).(size.Exact))
			for u := range speeds {
				oldFree, oldFinish := free[u], finish[s]
				free[u] = max(t, free[u]) + p/speeds[u]
				finish[s] = max(finish[s], free[u])
				missing[s]--
				rest--
				place()
				rest++
				missing[s]++
				free[u], finish[s] = oldFree, oldFinish
			}
		}
	}
	place()
	return best
}
