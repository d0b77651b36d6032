package cert

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/fairlead-project/fairlead/sched"
)

// Value returns the bound that the multipliers prove for the instance by the
// relaxation, [LP] or [LPStrong], rounded down: it checks them as Verify does and needs no claim. Cost: O(n log n + arcs)
// operations on integers of a few machine words for n stages.
func Value(relaxation string, d Dual, in *sched.Instance) (float64, error) {
	if relaxation != LP && relaxation != LPStrong {
		return 0, fmt.Errorf("%w: relaxation %q: expected %q or %q", ErrFormat, relaxation, LP, LPStrong)
	}
	r, err := relax(in, relaxation == LPStrong)
	if err != nil {
		return 0, err
	}
	v, err := r.value(d)
	if err != nil {
		return 0, err
	}
	return v.floor(), nil
}

const nano = 9 // digits of a nanosecond

// value returns L of the package comment.
func (r *relaxation) value(d Dual) (fraction, error) {
	m, err := r.multipliers(d)
	if err != nil {
		return fraction{}, err
	}
	if r.strong {
		return r.strongValue(m), nil
	}
	// byUnits[h] collects numerators over 2 V_h, late those over 1: weights
	// times sizes, and weights times nanoseconds.
	byUnits := map[int]*big.Int{}
	late := new(big.Int)
	x := new(big.Int)
	put := func(h int) { // x into byUnits[h]
		if byUnits[h] == nil {
			byUnits[h] = new(big.Int)
		}
		byUnits[h].Add(byUnits[h], x)
	}
	for j := range r.nodes {
		n := &r.nodes[j]
		late.Add(late, x.Mul(m.heads[j], big.NewInt(int64(n.release))))
		if n.work == nil {
			continue
		}
		if m.into[j].Sign() != 0 { // times l_j
			h, p := r.length(n)
			x.Lsh(x.Mul(m.into[j], p), 1)
			put(h)
		}
		if n.work.Sign() != 0 { // times p_j/(2 mu_j)
			x.Mul(m.left[j], n.work)
			put(n.units)
		}
	}
	before := new(big.Int) // 2 P_before
	twice := new(big.Int)
	for _, j := range r.smithOrder(m.left) {
		p := r.nodes[j].work
		x.Mul(m.left[j], twice.Add(before, p))
		put(r.units)
		before.Add(before, twice.Lsh(p, 1))
	}

	var terms []fraction
	factor := new(big.Int).Mul(r.speeds.unit(), r.sizes.power(nano))
	for h, num := range byUnits {
		v := r.speed(h)
		terms = append(terms, fraction{num.Mul(num, factor), v.Lsh(v, 1)})
	}
	slices.SortFunc(terms, func(a, b fraction) int { return a.den.Cmp(b.den) })
	terms = append(terms, fraction{late.Mul(late, r.sizes.unit()), big.NewInt(1)})
	total := sum(terms)
	total.den = new(big.Int).Mul(total.den, r.sizes.power(r.sizes.digits+nano+m.digits))
	return total, nil
}

// length returns l_j of a stage as p/V_h.
func (r *relaxation) length(n *node) (h int, p *big.Int) {
	whole := new(big.Int).Mul(n.work, r.speed(1))
	if whole.Cmp(new(big.Int).Mul(n.longest, r.speed(n.units))) >= 0 {
		return n.units, n.work
	}
	return 1, n.longest
}

// multipliers are a checked dual vector, per node, in units of 10^-digits.
type multipliers struct {
	digits int
	heads  []*big.Int // nu_j
	into   []*big.Int // what multiplies l_j: nu_j and lambda on the arcs into j
	left   []*big.Int // w'_j >= 0
}

// multipliers parses d and checks that it is a feasible dual vector.
func (r *relaxation) multipliers(d Dual) (*multipliers, error) {
	var s scale
	for j := range r.nodes {
		s.cover(fractionDigits(r.nodes[j].weight))
	}
	// heads first, then arcs; an absent tail is -1.
	type entry struct {
		from, to int32
		value    decimal
	}
	entries := make([]entry, 0, len(d.Heads)+len(d.Arcs))
	seen := make(map[[2]int32]struct{}, cap(entries))
	read := func(from, to int32, value string) error {
		what := func() string {
			if from < 0 {
				return fmt.Sprintf("head of %q", r.nodes[to].name)
			}
			return fmt.Sprintf("arc %q -> %q", r.nodes[from].name, r.nodes[to].name)
		}
		v, err := parseDecimal(value)
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrFormat, what(), err)
		}
		if v.mant.Sign() < 0 {
			return fmt.Errorf("%w: %s: the multiplier is negative", ErrDual, what())
		}
		if _, dup := seen[[2]int32{from, to}]; dup {
			return fmt.Errorf("%w: %s has two multipliers", ErrDual, what())
		}
		seen[[2]int32{from, to}] = struct{}{}
		s.cover(-v.exp)
		entries = append(entries, entry{from, to, v})
		return nil
	}
	for _, h := range d.Heads {
		j, ok := r.index[h.Node]
		if !ok {
			return nil, fmt.Errorf("%w: head of %q: the instance has no such stage or sink", ErrDual, h.Node)
		}
		if err := read(-1, j, h.Value); err != nil {
			return nil, err
		}
	}
	for _, a := range d.Arcs {
		from, ok := r.index[a.From]
		to, ok2 := r.index[a.To]
		if ok && ok2 {
			_, ok = slices.BinarySearch(r.nodes[to].preds, from)
		}
		if !ok || !ok2 {
			return nil, fmt.Errorf("%w: arc %q -> %q: the instance has no such precedence", ErrDual, a.From, a.To)
		}
		if err := read(from, to, a.Value); err != nil {
			return nil, err
		}
	}

	m := &multipliers{
		digits: s.digits,
		heads:  make([]*big.Int, len(r.nodes)),
		into:   make([]*big.Int, len(r.nodes)),
		left:   make([]*big.Int, len(r.nodes)),
	}
	for j := range r.nodes {
		m.heads[j], m.into[j] = new(big.Int), new(big.Int)
		m.left[j] = s.float(r.nodes[j].weight)
	}
	for _, e := range entries {
		v := s.decimal(e.value)
		m.into[e.to].Add(m.into[e.to], v)
		m.left[e.to].Sub(m.left[e.to], v)
		if e.from < 0 {
			m.heads[e.to] = v
		} else {
			m.left[e.from].Add(m.left[e.from], v)
		}
	}
	for j, left := range m.left {
		if left.Sign() < 0 {
			return nil, fmt.Errorf("%w: at %q the multipliers in exceed the weight and the multipliers out, by %.3g",
				ErrDual, r.nodes[j].name, -fraction{left, s.unit()}.floor())
		}
	}
	return m, nil
}

// Ratios of float64 computed from correctly rounded numbers differ from the
// exact ones by a few units in the last place, 2^-53; nearer than this they are
// compared exactly.
const ratioTolerance = 1e-14

// smithOrder returns the nodes with work and weight left, by left/work
// non-increasing, ties by index.
func (r *relaxation) smithOrder(left []*big.Int) []int32 {
	var order []int32
	ratio := make([]float64, len(left))
	var a, b big.Float // reused; the precision is set below
	for j, w := range left {
		p := r.nodes[j].work
		if p == nil || p.Sign() == 0 || w.Sign() == 0 {
			continue
		}
		order = append(order, int32(j))
		a.SetPrec(64).SetInt(w)
		b.SetPrec(64).SetInt(p)
		ratio[j], _ = a.Quo(&a, &b).Float64()
	}
	exact := func(i, j int32) int {
		x := new(big.Int).Mul(left[i], r.nodes[j].work)
		return x.Cmp(new(big.Int).Mul(left[j], r.nodes[i].work))
	}
	slices.SortFunc(order, func(i, j int32) int {
		x, y := ratio[i], ratio[j]
		var c int
		if math.Abs(x-y) > ratioTolerance*max(x, y) && min(x, y) > smallestNormal && !math.IsInf(max(x, y), 1) {
			c = cmp.Compare(x, y)
		} else {
			c = exact(i, j)
		}
		return cmp.Or(-c, cmp.Compare(i, j))
	})
	return order
}

// Below smallestNormal a float64 has fewer than 53 bits.
const smallestNormal = 0x1p-1022
