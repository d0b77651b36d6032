package cert

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// layered returns n single-stage jobs in six layers with about three
// predecessors each, and multipliers as a solver would find them: floats of full
// precision that leave w' positive.
func layered(n int) (*sched.Instance, []Multiplier, []Multiplier) {
	r := rand.New(rand.NewPCG(1, 2))
	in := &sched.Instance{Name: "layered"}
	for m, v := range []float64{1.3, 1.1, 0.9, 0.7} {
		in.Machines = append(in.Machines, sched.Machine{Name: fmt.Sprint("m", m), Speed: v, Slots: 25, Port: math.Inf(1)})
	}
	layer := n / 6
	for j := range n {
		job := sched.Job{
			Name: fmt.Sprint("j", j), Weight: r.ExpFloat64(), Release: sched.Time(r.Int64N(1e12)),
			Stages: []sched.Stage{{Name: "s", Count: 1 + r.IntN(200), Sizes: []size.Dist{size.Exact(math.Exp(r.NormFloat64()))}}},
		}
		if first := (j / layer) * layer; first > 0 {
			for a := range 3 {
				job.After = append(job.After, sched.JobID(first-layer+(j+a*a*7)%layer))
			}
		}
		in.Jobs = append(in.Jobs, job)
	}
	left := make([]float64, n)
	var arcs, heads []Multiplier
	for j := n - 1; j >= 0; j-- {
		job := &in.Jobs[j]
		left[j] += job.Weight
		take := func() float64 { x := left[j] * r.Float64() * 0.3; left[j] -= x; return x }
		heads = append(heads, Multiplier{"", job.Name + "/s", take()})
		for _, a := range job.After {
			x := take()
			left[a] += x * (1 - 1e-9)
			arcs = append(arcs, Multiplier{in.Jobs[a].Name + "/s", job.Name + "/s", x})
		}
	}
	return in, arcs, heads
}

// BenchmarkVerify reads and verifies a certificate of the given number of stages.
func BenchmarkVerify(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			in, arcs, heads := layered(n)
			c, err := New(in, LP, arcs, heads, 1)
			if err != nil {
				b.Fatal(err)
			}
			value, err := Value(LP, c.Dual, in)
			if err != nil {
				b.Fatal(err)
			}
			if c, err = New(in, LP, arcs, heads, value); err != nil {
				b.Fatal(err)
			}
			var text bytes.Buffer
			if err := c.Write(&text); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(text.Len()))
			b.ReportAllocs()
			for b.Loop() {
				c, err := Read(bytes.NewReader(text.Bytes()))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := Verify(c, in); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(arcs)), "arcs")
		})
	}
}
