package dag

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// example10 is one of the papers' graphs of ten tasks, which have the same edges.
func example10(cost [][]float64, data []float64) *Graph {
	edges := [][2]int32{
		{1, 2}, {1, 3}, {1, 4}, {1, 5}, {1, 6}, {2, 8}, {2, 9}, {3, 7}, {4, 8}, {4, 9}, {5, 9}, {6, 8}, {7, 10}, {8, 10}, {9, 10},
	}
	g := &Graph{Cost: cost, In: make([][]Edge, len(cost))}
	for i, e := range edges {
		g.In[e[1]-1] = append(g.In[e[1]-1], Edge{e[0] - 1, data[i]})
	}
	return g
}

func heftExample() *Graph {
	return example10([][]float64{
		{14, 16, 9},
		{13, 19, 18},
		{11, 13, 19},
		{13, 8, 17},
		{12, 13, 10},
		{13, 16, 9},
		{7, 15, 11},
		{5, 11, 14},
		{18, 12, 20},
		{21, 7, 16},
	}, []float64{18, 12, 9, 11, 14, 19, 16, 23, 27, 23, 13, 15, 17, 11, 13})
}

func peftExample() *Graph {
	return example10([][]float64{
		{22, 21, 36},
		{22, 18, 18},
		{32, 27, 43},
		{7, 10, 4},
		{29, 27, 35},
		{26, 17, 24},
		{14, 25, 30},
		{29, 23, 36},
		{15, 21, 8},
		{13, 16, 33},
	}, []float64{17, 31, 29, 13, 7, 3, 30, 16, 11, 7, 57, 5, 9, 42, 7})
}

func makespan(slots []Slot) float64 {
	end := 0.0
	for _, s := range slots {
		end = max(end, s.Finish)
	}
	return end
}

func nearly(a, b, by float64) bool { return math.Abs(a-b) <= by }

// The example of Topcuoglu et al. 2002: Table 1 has the ranks, Figure 4 (a) the schedule,
// of length 80.
func TestHEFTPaperExample(t *testing.T) {
	g := heftExample()
	rank, err := g.UpwardRanks()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{108, 77, 80, 80, 69, 63.333, 42.667, 35.667, 44.333, 14.667} {
		if !nearly(rank[i], want, 5e-4) {
			t.Errorf("task %d has rank %v, in the paper %v", i+1, rank[i], want)
		}
	}
	slots, err := g.HEFT(0, make(Busy, 3))
	if err != nil {
		t.Fatal(err)
	}
	if makespan(slots) != 80 {
		t.Errorf("makespan %v, in the paper 80: %v", makespan(slots), slots)
	}
}

// The example of Arabnejad and Barbosa 2014: Table 1 has the mean OCT, Figure 3 the
// schedules, 122 long by PEFT and 133 by HEFT.
func TestPEFTPaperExample(t *testing.T) {
	g := peftExample()
	oct, err := g.OCT()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{72.7, 41, 37, 43.7, 31, 41.7, 17, 20.7, 16.3, 0} {
		if got := (oct[i][0] + oct[i][1] + oct[i][2]) / 3; !nearly(got, want, 0.05) {
			t.Errorf("task %d has mean OCT %v, in the paper %v: %v", i+1, got, want, oct[i])
		}
	}
	peft, err := g.PEFT(0, make(Busy, 3))
	if err != nil {
		t.Fatal(err)
	}
	heft, err := g.HEFT(0, make(Busy, 3))
	if err != nil {
		t.Fatal(err)
	}
	if makespan(peft) != 122 || makespan(heft) != 133 {
		t.Errorf("PEFT takes %v, HEFT %v; in the paper 122 and 133", makespan(peft), makespan(heft))
	}
}

// plainHEFT is HEFT as the paper describes it, without regard to time: ranks by
// recursion, gaps by looking at every pair of neighbours.
func plainHEFT(g *Graph) []Slot {
	procs := len(g.Cost[0])
	var rank func(t int) float64
	memo := map[int]float64{}
	rank = func(t int) float64 {
		if r, ok := memo[t]; ok {
			return r
		}
		best := 0.0
		for s := range g.Cost {
			for _, e := range g.In[s] {
				if int(e.From) == t {
					mean := e.Data
					if g.Transfer != nil {
						mean = e.Data * g.Mean
					}
					best = max(best, mean+rank(s))
				}
			}
		}
		sum, n := 0.0, 0
		for _, c := range g.Cost[t] {
			if !math.IsInf(c, 1) {
				sum, n = sum+c, n+1
			}
		}
		memo[t] = best + sum/float64(n)
		return memo[t]
	}
	level := make([]int, len(g.Cost)) // tasks on the longest path to it
	for range g.Cost {
		for t := range g.Cost {
			for _, e := range g.In[t] {
				level[t] = max(level[t], level[e.From]+1)
			}
		}
	}
	tasks := make([]int, len(g.Cost))
	for i := range tasks {
		tasks[i] = i
	}
	// Ranks tie only where a task and its predecessor cost nothing, or by chance.
	slices.SortFunc(tasks, func(a, b int) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(level[a], level[b]), cmp.Compare(a, b))
	})
	at := map[int32]Slot{}
	var out []Slot
	for _, t := range tasks {
		best := Slot{Proc: -1, Finish: math.Inf(1)}
		for p := range procs {
			cost := g.Cost[t][p]
			ready := 0.0
			for _, e := range g.In[t] {
				from := at[e.From]
				sent := 0.0
				if a, b := g.machine(from.Proc), g.machine(p); a != b {
					sent = e.Data
					if g.Transfer != nil {
						sent = e.Data * g.Transfer(a, b)
					}
				}
				ready = max(ready, from.Finish+sent)
			}
			var mine []Slot
			for _, s := range out {
				if s.Proc == p && s.Finish > s.Start {
					mine = append(mine, s)
				}
			}
			slices.SortFunc(mine, func(a, b Slot) int { return cmp.Compare(a.Start, b.Start) })
			start, last := math.Inf(1), 0.0
			for i := 0; i <= len(mine); i++ {
				open := math.Inf(1)
				if i < len(mine) {
					open = mine[i].Start
				}
				if s := max(ready, last); s+cost <= open {
					start = s
					break
				}
				last = mine[i].Finish
			}
			if start+cost < best.Finish {
				best = Slot{int32(t), p, start, start + cost}
			}
		}
		at[int32(t)] = best
		out = append(out, best)
	}
	return out
}

// randomGraph has up to 40 tasks on up to 5 processors on as many or fewer machines.
func randomGraph(rng *rand.Rand) *Graph {
	n, procs := 1+rng.IntN(40), 1+rng.IntN(5)
	g := &Graph{In: make([][]Edge, n)}
	for t := range n {
		row := make([]float64, procs)
		for p := range row {
			row[p] = 1 + 20*rng.Float64()
			if procs > 1 && p > 0 && rng.IntN(8) == 0 {
				row[p] = math.Inf(1)
			}
		}
		g.Cost = append(g.Cost, row)
		for from := range t {
			if rng.IntN(1+t) < 2 {
				g.In[t] = append(g.In[t], Edge{int32(from), 30 * rng.Float64() * float64(rng.IntN(3))})
			}
		}
	}
	if rng.IntN(2) == 0 {
		rate := make([]float64, procs)
		for p := range procs {
			g.Machine = append(g.Machine, rng.IntN(procs))
			rate[p] = 0.5 + rng.Float64()
		}
		g.Transfer = func(a, b int) float64 { return max(rate[a], rate[b]) }
		g.Mean = 1
	}
	return g
}

func TestHEFTAgainstPlain(t *testing.T) {
	gaps := 0
	for seed := range uint64(1000) {
		g := randomGraph(rand.New(rand.NewPCG(seed, 61)))
		got, err := g.HEFT(0, make(Busy, len(g.Cost[0])))
		if err != nil {
			t.Fatal(err)
		}
		want := plainHEFT(g)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d:\ngot  %v\nwant %v", seed, got, want)
		}
		feasibleSlots(t, g, got)
		for i, s := range got {
			for _, r := range got[:i] {
				if r.Proc == s.Proc && r.Start >= s.Finish {
					gaps++
				}
			}
		}
	}
	if gaps < 200 {
		t.Errorf("only %d tasks were inserted before others", gaps)
	}
}

// feasibleSlots checks a plan by its definition.
func feasibleSlots(t *testing.T, g *Graph, slots []Slot) {
	t.Helper()
	at := make([]*Slot, len(g.Cost))
	for i := range slots {
		s := &slots[i]
		if at[s.Task] != nil || s.Finish != s.Start+g.Cost[s.Task][s.Proc] {
			t.Fatalf("slot %+v", s)
		}
		at[s.Task] = s
		for _, r := range slots[:i] {
			if r.Proc == s.Proc && r.Start < s.Finish && s.Start < r.Finish {
				t.Fatalf("%+v and %+v overlap", r, s)
			}
		}
	}
	for task, in := range g.In {
		for _, e := range in {
			if from, to := at[e.From], at[task]; from.Finish+g.comm(e, from.Proc, to.Proc) > to.Start {
				t.Fatalf("%+v starts before the data of %+v is there", to, from)
			}
		}
	}
}

// PEFT is feasible, starts with a ready task of the greatest mean OCT, and OCT is what
// its recursion says.
func TestPEFT(t *testing.T) {
	for seed := range uint64(300) {
		g := randomGraph(rand.New(rand.NewPCG(seed, 62)))
		for task := range g.Cost { // means over processors that cannot run it say nothing
			for p, c := range g.Cost[task] {
				if math.IsInf(c, 1) {
					g.Cost[task][p] = 50
				}
			}
		}
		slots, err := g.PEFT(0, make(Busy, len(g.Cost[0])))
		if err != nil {
			t.Fatal(err)
		}
		feasibleSlots(t, g, slots)
		oct, err := g.OCT()
		if err != nil {
			t.Fatal(err)
		}
		for task := range g.Cost {
			for p := range g.Cost[task] {
				want := 0.0
				for s := range g.Cost {
					for _, e := range g.In[s] {
						if int(e.From) != task {
							continue
						}
						least := math.Inf(1)
						for q := range g.Cost[s] {
							sent := g.mean(e)
							if q == p {
								sent = 0
							}
							least = min(least, oct[s][q]+g.Cost[s][q]+sent)
						}
						want = max(want, least)
					}
				}
				if !nearly(oct[task][p], want, 1e-9) {
					t.Fatalf("seed %d: OCT of task %d on %d is %v, want %v", seed, task, p, oct[task][p], want)
				}
			}
		}
	}
}

// What is busy stays as it is, and what is planned is added.
func TestPlansAroundWhatIsBusy(t *testing.T) {
	g := heftExample()
	busy := Busy{{{10, 20}}, {}, {{0, 5}, {30, 31}}}
	for _, plan := range []func(float64, Busy) ([]Slot, error){g.HEFT, g.PEFT} {
		b := Busy{slices.Clone(busy[0]), nil, slices.Clone(busy[2])}
		slots, err := plan(7, b)
		if err != nil {
			t.Fatal(err)
		}
		feasibleSlots(t, g, slots)
		n := 0
		for p := range b {
			n += len(b[p])
			for i := 1; i < len(b[p]); i++ {
				if b[p][i].From < b[p][i-1].To {
					t.Errorf("overlap in %v", b[p])
				}
			}
		}
		for _, s := range slots {
			if s.Start < 7 {
				t.Errorf("%+v starts before 7", s)
			}
		}
		if n != 3+len(g.Cost) {
			t.Errorf("%d intervals are busy, want %d", n, 3+len(g.Cost))
		}
	}
}

func TestGraphsThatCannotBePlanned(t *testing.T) {
	cycle := &Graph{Cost: [][]float64{{1}, {1}}, In: [][]Edge{{{1, 0}}, {{0, 0}}}}
	nowhere := &Graph{Cost: [][]float64{{math.Inf(1)}}, In: make([][]Edge, 1)}
	for name, g := range map[string]*Graph{"cycle": cycle, "nowhere": nowhere} {
		for _, plan := range []func(float64, Busy) ([]Slot, error){g.HEFT, g.PEFT} {
			if _, err := plan(0, make(Busy, 1)); !errors.Is(err, ErrProblem) {
				t.Errorf("%s: error %v", name, err)
			}
		}
	}
}

// workflow is the part of a compact WfCommons file that HEFT needs.
type workflow struct {
	Tasks []struct {
		Runtime float64      `json:"runtime_s"`
		Parents [][2]float64 // index, bytes
	}
}

// workflowGraph reads a workflow for four machines of speeds 1, 1, 2 and 4 with ports of
// 125e6 bytes per second; nil if it is not there.
func workflowGraph(tb testing.TB, name string) *Graph {
	tb.Helper()
	dir := os.Getenv("FAIRLEAD_TRACES")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "traces")
	}
	data, err := os.ReadFile(filepath.Join(dir, "wfcommons", "compact", name+".compact.json"))
	if err != nil {
		tb.Skipf("no workflow: %v (FAIRLEAD_TRACES names the folder with the traces)", err)
	}
	var w workflow
	if err := json.Unmarshal(data, &w); err != nil {
		tb.Fatal(err)
	}
	const port = 125e6
	g := &Graph{Transfer: func(int, int) float64 { return 1 / port }, Mean: 1 / port}
	for _, task := range w.Tasks {
		row := make([]float64, 0, 4)
		for _, v := range []float64{1, 1, 2, 4} {
			row = append(row, task.Runtime/v)
		}
		var in []Edge
		for _, p := range task.Parents {
			in = append(in, Edge{int32(p[0]), p[1]})
		}
		g.Cost, g.In = append(g.Cost, row), append(g.In, in)
	}
	return g
}

func TestHEFTOnWorkflows(t *testing.T) {
	for _, name := range []string{
		"montage-chameleon-dss-05d-001", "epigenomics-chameleon-hep-1seq-100k-001", "soykb-chameleon-40fastq-10ch-001", "1000genome-chameleon-22ch-250k-001",
	} {
		g := workflowGraph(t, name)
		got, err := g.HEFT(0, make(Busy, 4))
		if err != nil {
			t.Fatal(err)
		}
		if want := plainHEFT(g); !slices.Equal(got, want) {
			t.Errorf("%s: makespan %v, plainly %v", name, makespan(got), makespan(want))
		}
		feasibleSlots(t, g, got)
		t.Logf("%s: %d tasks, makespan %.3f s", name, len(g.Cost), makespan(got))
	}
}

// layeredGraph is a workflow of about n tasks on four processors.
func layeredGraph(n int) *Graph {
	rng := rand.New(rand.NewPCG(uint64(n), 63))
	g := &Graph{In: make([][]Edge, n)}
	const layers = 10
	for t := range n {
		size := 1 + 100*rng.Float64()
		g.Cost = append(g.Cost, []float64{size, size, size / 2, size / 4})
		if layer := t * layers / n; layer > 0 {
			lo, hi := (layer-1)*n/layers, layer*n/layers
			for range 1 + rng.IntN(2) {
				if from := int32(lo + rng.IntN(max(1, hi-lo))); int(from) < t {
					g.In[t] = append(g.In[t], Edge{from, 10 * rng.Float64()})
				}
			}
		}
	}
	return g
}

func BenchmarkHEFT(b *testing.B) {
	for _, n := range []int{100, 1700, 20_000} {
		g := layeredGraph(n)
		for name, plan := range map[string]func(float64, Busy) ([]Slot, error){"heft": g.HEFT, "peft": g.PEFT} {
			b.Run(fmt.Sprintf("%s/tasks=%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := plan(0, make(Busy, 4)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
	b.Run("heft/epigenomics", func(b *testing.B) {
		g := workflowGraph(b, "epigenomics-chameleon-ilmn-6seq-50k-001")
		for b.Loop() {
			if _, err := g.HEFT(0, make(Busy, 4)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
