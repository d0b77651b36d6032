package queyranne

import (
	"fmt"
	"testing"
)

// BenchmarkLP brackets layered random DAGs; the gap asked for is what the size can
// have within seconds. It reports the gap reached.
func BenchmarkLP(b *testing.B) {
	for _, c := range []struct {
		n   int
		gap float64
	}{{50, 1e-6}, {1000, 1e-4}, {1000, 1e-5}, {10_000, 1e-3}, {100_000, 1e-2}} {
		b.Run(fmt.Sprintf("n=%d/gap=%.0e", c.n, c.gap), func(b *testing.B) {
			p := layered(c.n, 1)
			var r *Result
			for b.Loop() {
				var err error
				if r, err = Solve(p, Options{Tolerance: c.gap}); err != nil {
					b.Fatal(err)
				}
			}
			if r.Status != Optimal {
				b.Errorf("gap %.2e after %d iterations", r.Gap, r.Iterations)
			}
			b.ReportMetric(r.Gap, "gap")
			b.ReportMetric(float64(r.Iterations), "iterations")
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/solve")
		})
	}
}
