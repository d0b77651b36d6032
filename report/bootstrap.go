package report

import (
	"math/rand/v2"
	"slices"
)

// Interval is a two-sided 95 % confidence interval.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Bootstrap returns the percentile bootstrap interval of the mean of the values
// (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13).
// Given the differences of pairs it is the paired bootstrap; given the logs of
// their ratios, it is the log of the geometric mean's. The same seed gives the
// same interval. Fewer than two values have none: nil. O(resamples · n).
func Bootstrap(values []float64, resamples int, seed uint64) *Interval {
	n := len(values)
	if n < 2 || resamples < 1 {
		return nil
	}
	r := rand.New(rand.NewPCG(seed, 0))
	means := make([]float64, resamples)
	for i := range means {
		sum := 0.0
		for range n {
			sum += values[r.IntN(n)]
		}
		means[i] = sum / float64(n)
	}
	slices.Sort(means)
	tail := resamples / 40 // 2.5 % on each side
	return &Interval{means[tail], means[resamples-1-tail]}
}
