package history

import (
	"cmp"
	"math"
	"slices"

	"github.com/fairlead-project/fairlead/size"
)

// sample is a list of values with weights, in any order: its methods may change it.
type sample []weighted

type weighted struct{ x, w float64 }

func (s *sample) add(x, w float64) { *s = append(*s, weighted{x, w}) }

func (s sample) weight() float64 {
	total := 0.0
	for _, v := range s {
		total += v.w
	}
	return total
}

func (s sample) mean() float64 {
	sum := 0.0
	for _, v := range s {
		sum += float64(v.x * v.w)
	}
	return sum / s.weight()
}

func (s sample) sort() {
	slices.SortFunc(s, func(a, b weighted) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.w, b.w)) })
}

// quantile returns the p-quantile, 0 of nothing. Each value stands in the middle of its
// weight, and between two of them it is interpolated, so that the median of two values
// of equal weight is their mean. Cost: O(n log n).
func (s sample) quantile(p float64) float64 {
	if len(s) == 0 {
		return 0
	}
	s.sort()
	wanted := p * s.weight()
	below, before := 0.0, 0.0 // the weight below s[i], and below the middle of s[i-1]
	for i, v := range s {
		at := below + v.w/2
		if at >= wanted {
			if i == 0 {
				return v.x
			}
			return s[i-1].x + float64((v.x-s[i-1].x)*(wanted-before)/(at-before))
		}
		below, before = below+v.w, at
	}
	return s[len(s)-1].x
}

// high returns the smallest value that at least p of the values do not exceed, 0 of
// nothing; weights are ignored.
func (s sample) high(p float64) float64 {
	if len(s) == 0 {
		return 0
	}
	s.sort()
	return s[min(len(s)-1, int(math.Ceil(p*float64(len(s))))-1)].x
}

// bins returns at most that many distinct values, with weights that sum to 1. If there
// are more, neighbours of about equal weight become their mean: the mean stays as it is.
func (s sample) bins(most int) sample {
	s.sort()
	distinct := 1
	for i := 1; i < len(s); i++ {
		if s[i].x != s[i-1].x {
			distinct++
		}
	}
	total := s.weight()
	var out sample
	for first, seen := 0, 0.0; first < len(s); {
		end := first
		for upto := float64(len(out)+1) / float64(most) * total; end < len(s); end++ {
			full := seen+s[end].w/2 > upto
			if distinct <= most {
				full = s[end].x != s[first].x
			}
			if full && end > first {
				break
			}
			seen += s[end].w
		}
		bin := s[first:end]
		out.add(bin.mean(), bin.weight()/total)
		first = end
	}
	return out
}

// dist returns the distribution of the values, of positive weights that sum to 1.
func (s sample) dist() size.Dist {
	if len(s) == 1 {
		return size.Exact(s[0].x)
	}
	x, p := make([]float64, len(s)), make([]float64, len(s))
	for i, v := range s {
		x[i], p[i] = v.x, v.w
	}
	d, err := size.NewDiscrete(x, p)
	if err != nil {
		panic(err) // values and weights are positive and finite
	}
	return d
}
