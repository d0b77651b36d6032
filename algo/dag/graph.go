package dag

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"slices"
)

// Graph is a DAG of tasks on unrelated processors with communication, as the classical
// heuristics for one workflow's makespan see it. Times are seconds.
type Graph struct {
	// Cost holds, per task and processor, how long it runs there; +Inf: it cannot.
	Cost [][]float64
	// In holds the edges into each task.
	In [][]Edge
	// Machine is where each processor is: data does not move within a machine. Nil:
	// every processor is its own.
	Machine []int
	// Transfer returns how long one unit of an edge's data takes between two machines.
	// Nil: 1.
	Transfer func(from, to int) float64
	// Mean is the mean of Transfer over pairs of different machines; ignored without.
	Mean float64
}

// Edge is data that a task reads from another one.
type Edge struct {
	From int32
	Data float64
}

// Slot is where and when a task runs.
type Slot struct {
	Task          int32
	Proc          int
	Start, Finish float64
}

// Busy is what the processors are already taken for: per processor, disjoint intervals,
// ascending. Plans are made around it, and added to it.
type Busy [][]Interval

// Interval is [From, To).
type Interval struct{ From, To float64 }

// mean communication cost of an edge.
func (g *Graph) mean(e Edge) float64 {
	if g.Transfer == nil {
		return e.Data
	}
	return e.Data * g.Mean
}

func (g *Graph) machine(p int) int {
	if g.Machine == nil {
		return p
	}
	return g.Machine[p]
}

// comm is how long the data of e takes from processor p to q.
func (g *Graph) comm(e Edge, p, q int) float64 {
	switch a, b := g.machine(p), g.machine(q); {
	case a == b || e.Data == 0:
		return 0
	case g.Transfer == nil:
		return e.Data
	default:
		return e.Data * g.Transfer(a, b)
	}
}

// out returns the edges out of each task, and the tasks in topological order, smaller
// ones first among those that are ready together.
func (g *Graph) out() (out [][]Edge, order []int32, err error) {
	n := len(g.Cost)
	out, missing := make([][]Edge, n), make([]int, n)
	for t, in := range g.In {
		missing[t] = len(in)
		for _, e := range in {
			out[e.From] = append(out[e.From], Edge{int32(t), e.Data})
		}
	}
	for t := range n {
		if missing[t] == 0 {
			order = append(order, int32(t))
		}
	}
	for i := 0; i < len(order); i++ {
		for _, e := range out[order[i]] {
			if missing[e.From]--; missing[e.From] == 0 {
				order = append(order, e.From)
			}
		}
	}
	if len(order) < n {
		return nil, nil, fmt.Errorf("%w: the tasks wait for each other in a cycle", ErrProblem)
	}
	return out, order, nil
}

// average of the finite costs of t.
func (g *Graph) average(t int32) float64 {
	sum, n := 0.0, 0
	for _, c := range g.Cost[t] {
		if !math.IsInf(c, 1) {
			sum += c
			n++
		}
	}
	return sum / float64(max(1, n))
}

// UpwardRanks returns rank_u of HEFT: the longest way from the start of each task to the
// end, by mean costs of tasks and edges.
func (g *Graph) UpwardRanks() ([]float64, error) {
	out, order, err := g.out()
	if err != nil {
		return nil, err
	}
	return g.upward(out, order), nil
}

func (g *Graph) upward(out [][]Edge, order []int32) []float64 {
	rank := make([]float64, len(g.Cost))
	for _, t := range slices.Backward(order) {
		for _, e := range out[t] {
			rank[t] = max(rank[t], g.mean(e)+rank[e.From])
		}
		rank[t] += g.average(t)
	}
	return rank
}

// HEFT schedules the graph from a time on, around what is busy, to which the result is
// added: tasks by falling upward rank, each on the processor where it finishes first,
// in a gap if one is long enough. Ties go to the task with fewer tasks on the way to it,
// then to the smaller one; to the smaller processor. The result is in the order of
// placement.
// Problem: R|prec,comm|C_max. Guarantee: none. Source: Topcuoglu, Hariri, Wu,
// "Performance-effective and low-complexity task scheduling for heterogeneous
// computing", IEEE TPDS 13(3), 2002. Departures: none; where the paper breaks ties at
// random, see above. Cost: O((edges + tasks · log busy) · processors).
func (g *Graph) HEFT(from float64, busy Busy) ([]Slot, error) {
	out, order, err := g.out()
	if err != nil {
		return nil, err
	}
	rank := g.upward(out, order)
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(rank[b], rank[a]) })
	pl := newPlacer(g, from, busy)
	for _, t := range order {
		if err := pl.place(t, func(finish float64, _ int) float64 { return finish }); err != nil {
			return nil, err
		}
	}
	return pl.slots, nil
}

// OCT returns the optimistic cost table of PEFT: per task and processor the longest of
// the shortest ways from there to the end, if all other processors were idle.
func (g *Graph) OCT() ([][]float64, error) {
	out, order, err := g.out()
	if err != nil {
		return nil, err
	}
	return g.oct(out, order), nil
}

func (g *Graph) oct(out [][]Edge, order []int32) [][]float64 {
	oct := make([][]float64, len(g.Cost))
	least := make([]float64, len(g.Cost)) // min over q of OCT + cost
	for _, t := range slices.Backward(order) {
		oct[t] = make([]float64, len(g.Cost[t]))
		for p := range oct[t] {
			for _, e := range out[t] {
				// On p itself nothing is sent. That least may be on p does not matter.
				way := min(oct[e.From][p]+g.Cost[e.From][p], least[e.From]+g.mean(e))
				oct[t][p] = max(oct[t][p], way)
			}
		}
		least[t] = math.Inf(1)
		for p := range oct[t] {
			least[t] = min(least[t], oct[t][p]+g.Cost[t][p])
		}
	}
	return oct
}

// PEFT schedules the graph from a time on, around what is busy, to which the result is
// added: of the tasks that are ready, the one with the greatest mean OCT, on the
// processor with the least sum of finish time and OCT, in a gap if one is long enough.
// Ties go to the smaller task and processor. The result is in the order of placement.
// Problem: R|prec,comm|C_max. Guarantee: none. Source: Arabnejad, Barbosa, "List
// scheduling algorithm for heterogeneous systems by an optimistic cost table", IEEE TPDS
// 25(3), 2014. Departures: none. Cost: O((edges + tasks · log busy) · processors).
func (g *Graph) PEFT(from float64, busy Busy) ([]Slot, error) {
	out, order, err := g.out()
	if err != nil {
		return nil, err
	}
	oct := g.oct(out, order)
	rank := make([]float64, len(g.Cost))
	for t := range rank {
		for _, x := range oct[t] {
			rank[t] += x / float64(len(oct[t]))
		}
	}
	ready := &readyTasks{rank: rank}
	missing := make([]int, len(g.Cost))
	for t, in := range g.In {
		if missing[t] = len(in); len(in) == 0 {
			heap.Push(ready, int32(t))
		}
	}
	pl := newPlacer(g, from, busy)
	for len(ready.tasks) > 0 {
		t := heap.Pop(ready).(int32)
		if err := pl.place(t, func(finish float64, p int) float64 { return finish + oct[t][p] }); err != nil {
			return nil, err
		}
		for _, e := range out[t] {
			if missing[e.From]--; missing[e.From] == 0 {
				heap.Push(ready, e.From)
			}
		}
	}
	return pl.slots, nil
}

// readyTasks is a heap of tasks by falling rank, then number. It implements
// heap.Interface.
type readyTasks struct {
	rank  []float64
	tasks []int32
}

func (h *readyTasks) Len() int { return len(h.tasks) }
func (h *readyTasks) Less(i, j int) bool {
	a, b := h.tasks[i], h.tasks[j]
	return h.rank[a] > h.rank[b] || h.rank[a] == h.rank[b] && a < b
}
func (h *readyTasks) Swap(i, j int) { h.tasks[i], h.tasks[j] = h.tasks[j], h.tasks[i] }
func (h *readyTasks) Push(x any)    { h.tasks = append(h.tasks, x.(int32)) }
func (h *readyTasks) Pop() any {
	last := len(h.tasks) - 1
	t := h.tasks[last]
	h.tasks = h.tasks[:last]
	return t
}

// placer places tasks one after the other.
type placer struct {
	g     *Graph
	from  float64
	busy  Busy
	at    []Slot // by task
	slots []Slot
}

func newPlacer(g *Graph, from float64, busy Busy) *placer {
	return &placer{g: g, from: from, busy: busy, at: make([]Slot, len(g.Cost)), slots: make([]Slot, 0, len(g.Cost))}
}

// place puts t where value, of its finish time and the processor, is least.
func (pl *placer) place(t int32, value func(finish float64, proc int) float64) error {
	best, least := Slot{Proc: -1}, math.Inf(1)
	position := 0
	for p, cost := range pl.g.Cost[t] {
		if math.IsInf(cost, 1) {
			continue
		}
		ready := pl.from
		for _, e := range pl.g.In[t] {
			f := &pl.at[e.From]
			ready = max(ready, f.Finish+pl.g.comm(e, f.Proc, p))
		}
		start, i := fit(pl.busy[p], ready, cost)
		if v := value(start+cost, p); v < least {
			best, least, position = Slot{t, p, start, start + cost}, v, i
		}
	}
	if best.Proc < 0 {
		return fmt.Errorf("%w: task %d can run nowhere", ErrProblem, t)
	}
	if best.Finish > best.Start {
		b := &pl.busy[best.Proc]
		*b = slices.Insert(*b, position, Interval{best.Start, best.Finish})
	}
	pl.at[t] = best
	pl.slots = append(pl.slots, best)
	return nil
}

// fit returns the earliest start at or after ready of so long a time that nothing is
// busy, and the position of what is busy next.
func fit(busy []Interval, ready, length float64) (start float64, i int) {
	i, _ = slices.BinarySearchFunc(busy, ready, func(b Interval, t float64) int {
		if b.To <= t {
			return -1
		}
		return 1
	})
	start = ready
	for ; i < len(busy) && start+length > busy[i].From; i++ {
		start = max(start, busy[i].To)
	}
	return start, i
}
