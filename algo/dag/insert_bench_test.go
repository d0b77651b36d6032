package dag

import (
	"fmt"
	"testing"
)

// BenchmarkInsert places tasks, 50 to a stage, with insertion, as the local search does.
func BenchmarkInsert(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		for _, m := range []int{16, 256} {
			b.Run(fmt.Sprintf("tasks=%d/units=%d", n, m), func(b *testing.B) {
				p := wide(n, m)
				order := p.JobOrder(make([]float64, len(p.Nodes)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := p.InsertCost(order); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/task")
			})
		}
	}
}
