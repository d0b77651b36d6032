package report

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestBootstrapCoversTheMean(t *testing.T) {
	for name, c := range map[string]struct {
		draw func(*rand.Rand) float64
		mean float64
	}{
		"normal": {(*rand.Rand).NormFloat64, 0},
		"skewed": {(*rand.Rand).ExpFloat64, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			values, covered := make([]float64, 60), 0
			for i := range 1000 {
				for j := range values {
					values[j] = c.draw(r)
				}
				if b := Bootstrap(values, 400, uint64(i)); b.Low <= c.mean && c.mean <= b.High {
					covered++
				}
			}
			if covered < 920 || covered > 970 {
				t.Errorf("covered %d of 1000, want 920 to 970", covered)
			}
		})
	}
}

func TestBootstrapDegenerate(t *testing.T) {
	if b := Bootstrap([]float64{3}, 100, 0); b != nil {
		t.Errorf("one value: %v, want none", *b)
	}
	if b := Bootstrap([]float64{2, 2, 2}, 100, 0); b == nil || math.Abs(b.Low-2) > 0 || b.High != b.Low {
		t.Errorf("equal values: %v, want 2 to 2", b)
	}
}
