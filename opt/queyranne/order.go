package queyranne

import "math"

// orderer keeps a permutation sorted by keys that change a little from one call to
// the next, as they do from one iteration to the next. Sorting dominates the
// method, and a comparison sort is several times slower than this.
type orderer struct {
	ord  []int32
	keys []uint64 // keys in the order of ord
	ord2 []int32
	key2 []uint64
	hist [passes][1 << digit]int32
}

const (
	digit  = 11 // bits per pass
	passes = 6  // 6·11 ≥ 64

	// smallSort is where insertion beats the fixed cost of a radix pass;
	// insertionMoves is how many moves per element insertion may cost before it
	// is given up.
	smallSort      = 128
	insertionMoves = 4
)

// newOrderer returns the order of the given elements as they are.
func newOrderer(elements []int32) *orderer {
	n := len(elements)
	return &orderer{
		ord: append([]int32(nil), elements...), keys: make([]uint64, n),
		ord2: make([]int32, n), key2: make([]uint64, n),
	}
}

// sort orders the elements by key, non-decreasing. Stable with respect to the
// previous order.
func (o *orderer) sort(key []float64) []int32 {
	for i, j := range o.ord {
		o.keys[i] = sortable(key[j])
	}
	if !o.insertion() {
		o.radix()
	}
	return o.ord
}

// sortable maps floats to integers in the same order, −0 = +0.
func sortable(x float64) uint64 {
	b := math.Float64bits(x + 0)
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// insertion sorts unless that would take too many moves.
func (o *orderer) insertion() bool {
	keys, ord := o.keys, o.ord
	budget := insertionMoves * len(keys)
	if len(keys) <= smallSort {
		budget = len(keys) * len(keys)
	}
	for i := 1; i < len(keys); i++ {
		k, v := keys[i], ord[i]
		at := i
		for at > 0 && keys[at-1] > k {
			keys[at], ord[at] = keys[at-1], ord[at-1]
			at--
		}
		keys[at], ord[at] = k, v
		if budget -= i - at; budget < 0 {
			return false
		}
	}
	return true
}

func (o *orderer) radix() {
	clear(o.hist[:])
	for _, k := range o.keys {
		for d := range passes {
			o.hist[d][k>>(d*digit)&(1<<digit-1)]++
		}
	}
	for d := range passes {
		h := &o.hist[d]
		if h[o.keys[0]>>(d*digit)&(1<<digit-1)] == int32(len(o.keys)) {
			continue // all keys agree in this digit
		}
		sum := int32(0)
		for b, c := range h {
			h[b] = sum
			sum += c
		}
		for i, k := range o.keys {
			at := &h[k>>(d*digit)&(1<<digit-1)]
			o.key2[*at], o.ord2[*at] = k, o.ord[i]
			*at++
		}
		o.keys, o.key2 = o.key2, o.keys
		o.ord, o.ord2 = o.ord2, o.ord
	}
}
