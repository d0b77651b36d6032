package cert

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/big"
	"slices"

	"pgregory.net/rapid"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// Every run draws the same; -rapid.seed=0 draws anew.
func init() {
	if err := errors.Join(flag.Set("rapid.seed", "1"), flag.Set("rapid.checks", "500")); err != nil {
		panic(err)
	}
}

// shape bounds drawn instances.
type shape struct {
	jobs, stages, count int
	sizes, speeds       []float64
	slots               int
}

var (
	// small has numbers that no arithmetic but exact gets right.
	small = shape{
		jobs: 3, stages: 3, count: 3, slots: 2,
		sizes:  []float64{0, 1, 2, 0.1, 1.0 / 3, 7.25, 1e-9, 12345.678},
		speeds: []float64{1, 2, 0.1, 3, 1.0 / 7},
	}
	// tiny has a brute-force optimum, exact in floats.
	tiny = shape{jobs: 3, stages: 2, count: 1, slots: 1, sizes: []float64{0, 1, 2, 3, 4}, speeds: []float64{1, 2, 4}}
)

func (sh shape) draw(t *rapid.T) *sched.Instance {
	in := &sched.Instance{Name: "drawn", Resources: []string{"cpu"}}
	for i := range rapid.IntRange(1, 2).Draw(t, "machines") {
		in.Machines = append(in.Machines, sched.Machine{
			Name: fmt.Sprint("m", i), Speed: rapid.SampledFrom(sh.speeds).Draw(t, "speed"),
			Slots: rapid.IntRange(1, sh.slots).Draw(t, "slots"), Capacity: []int64{4000}, Port: 1e6,
		})
	}
	chance := rapid.IntRange(0, 1)
	const stages = 7 // in all: the oracle tries all sets
	left := stages
	for j := range rapid.IntRange(1, sh.jobs).Draw(t, "jobs") {
		job := sched.Job{
			Name:    string(rune('a' + j)),
			Weight:  rapid.SampledFrom([]float64{0, 1, 2, 3, 0.1}).Draw(t, "weight"),
			Release: sched.Time(rapid.SampledFrom([]int64{0, 0, 1e9, 2e9, 500_000_000}).Draw(t, "release")),
		}
		for a := j - 1; a >= 0; a-- {
			if chance.Draw(t, "after") == 1 {
				job.After = append(job.After, sched.JobID(a))
			}
		}
		n := rapid.IntRange(1, min(sh.stages, left-(sh.jobs-1-j))).Draw(t, "stages")
		left -= n
		for s := range n {
			st := sched.Stage{Name: fmt.Sprint("s", s), Count: rapid.IntRange(1, sh.count).Draw(t, "count"), Needs: []int64{1000}}
			n := 1
			if chance.Draw(t, "each") == 1 {
				n = st.Count
			}
			for range n {
				st.Sizes = append(st.Sizes, size.Exact(rapid.SampledFrom(sh.sizes).Draw(t, "size")))
			}
			for a := s - 1; a >= 0; a-- {
				if chance.Draw(t, "stage after") == 1 {
					st.After = append(st.After, a)
				}
			}
			job.Stages = append(job.Stages, st)
		}
		in.Jobs = append(in.Jobs, job)
	}
	return in
}

// drawDual draws a feasible dual vector: nodes from last to first pass on a part
// of the weight that they have left, an exact decimal.
func drawDual(t *rapid.T, in *sched.Instance) Dual {
	d := Dual{Arcs: []Arc{}, Heads: []Head{}}
	nodes, _ := slowNodes(in)
	left := make([]*big.Rat, len(nodes))
	for j := range nodes {
		left[j] = new(big.Rat).Set(nodes[j].w)
	}
	part := rapid.SampledFrom([]int64{0, 0, 1, 3, 7, 10, 10})
	take := func(j int) (*big.Rat, string) {
		v := new(big.Rat).Mul(left[j], big.NewRat(part.Draw(t, "part"), 10))
		left[j].Sub(left[j], v)
		f, _ := v.FloatPrec()
		return v, v.FloatString(f)
	}
	for _, j := range reverseTopological(nodes) {
		if v, s := take(j); v.Sign() > 0 {
			d.Heads = append(d.Heads, Head{nodes[j].name, s})
		}
		for _, a := range nodes[j].preds {
			if v, s := take(j); v.Sign() > 0 {
				left[a].Add(left[a], v)
				d.Arcs = append(d.Arcs, Arc{nodes[a].name, nodes[j].name, s})
			}
		}
	}
	return d
}

func reverseTopological(nodes []slowNode) []int {
	var order []int
	done := make([]bool, len(nodes))
	var visit func(j int)
	visit = func(j int) {
		if done[j] {
			return
		}
		done[j] = true
		for _, a := range nodes[j].preds {
			visit(a)
		}
		order = append(order, j)
	}
	for j := range nodes {
		visit(j)
	}
	slices.Reverse(order)
	return order
}

// certify writes a certificate of in that claims the given decimal.
func certify(in *sched.Instance, d Dual, claim string) *Certificate {
	c, err := New(in, LP, nil, nil, 0)
	if err != nil {
		panic(err)
	}
	c.Dual, c.LowerBound = d, claim
	return c
}

// roundDown returns the largest float64 not above v.
func roundDown(v *big.Rat) float64 {
	f, _ := v.Float64()
	if rat(f).Cmp(v) > 0 {
		f = math.Nextafter(f, math.Inf(-1))
	}
	return f
}
