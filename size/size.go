package size

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Dist is the distribution of a non-negative size S. The implementations are
// immutable values; use the constructors, which check their arguments.
type Dist interface {
	// Mean returns E[S].
	Mean() float64
	// Variance returns Var(S), possibly +Inf.
	Variance() float64
	// Survival returns Pr(S > x).
	Survival(x float64) float64
	// Sample draws S.
	Sample(r *rand.Rand) float64
	// Residual returns the distribution of S − age given S > age, or Exact(0)
	// if S > age has probability zero.
	Residual(age float64) Dist
	// Max returns the least upper bound of S, possibly +Inf.
	Max() float64
	String() string
}

// Value returns the size if d is a single known value.
func Value(d Dist) (p float64, ok bool) {
	e, ok := d.(Exact)
	return float64(e), ok
}

// Exact is a size known with certainty.
type Exact float64

func (e Exact) Mean() float64             { return float64(e) }
func (e Exact) Variance() float64         { return 0 }
func (e Exact) Sample(*rand.Rand) float64 { return float64(e) }
func (e Exact) Max() float64              { return float64(e) }
func (e Exact) String() string            { return fmt.Sprint(float64(e)) }

// Survival returns 1 for x below the size, else 0.
func (e Exact) Survival(x float64) float64 {
	if x < float64(e) {
		return 1
	}
	return 0
}

// Residual returns what is left.
func (e Exact) Residual(age float64) Dist { return Exact(max(0, float64(e)-age)) }

// Discrete takes finitely many values. It also serves empirical distributions.
type Discrete struct {
	values []float64 // ascending, distinct
	tail   []float64 // tail[i] = Pr(S >= values[i]); tail[0] = 1
}

// NewDiscrete returns the distribution with Pr(S = values[i]) = p[i]. The
// probabilities must be positive and sum to 1 within 1e-9; they are normalised.
func NewDiscrete(values, p []float64) (Discrete, error) {
	if len(values) == 0 || len(values) != len(p) {
		return Discrete{}, fmt.Errorf("size: discrete: need as many probabilities as values, and at least one")
	}
	idx := make([]int, len(values))
	total := 0.0
	for i := range idx {
		idx[i] = i
		if !finite(values[i]) {
			return Discrete{}, fmt.Errorf("size: discrete: value %v is not a size", values[i])
		}
		if !(p[i] > 0) || p[i] > 1+sumTolerance {
			return Discrete{}, fmt.Errorf("size: discrete: probability %v is not in (0, 1]", p[i])
		}
		total += p[i]
	}
	if math.Abs(total-1) > sumTolerance {
		return Discrete{}, fmt.Errorf("size: discrete: probabilities sum to %v, not 1", total)
	}
	slices.SortFunc(idx, func(a, b int) int { return cmp(values[a], values[b]) })
	var d Discrete
	q := make([]float64, 0, len(values)) // merged probabilities
	for _, i := range idx {
		if k := len(d.values); k > 0 && d.values[k-1] == values[i] {
			q[k-1] += p[i] / total
			continue
		}
		d.values = append(d.values, values[i])
		q = append(q, p[i]/total)
	}
	d.tail = make([]float64, len(q))
	t := 0.0
	for i := len(q) - 1; i >= 0; i-- {
		t += q[i]
		d.tail[i] = min(t, 1)
	}
	d.tail[0] = 1
	return d, nil
}

// sumTolerance forgives probabilities written with a few decimals, like 0.333333333.
const sumTolerance = 1e-9

// NewEmpirical returns the distribution that gives every sample equal weight.
func NewEmpirical(samples []float64) (Discrete, error) {
	p := make([]float64, len(samples))
	for i := range p {
		p[i] = 1 / float64(len(samples))
	}
	return NewDiscrete(samples, p)
}

func (d Discrete) prob(i int) float64 {
	if i+1 < len(d.tail) {
		return d.tail[i] - d.tail[i+1]
	}
	return d.tail[i]
}

func (d Discrete) Mean() float64 {
	m := 0.0
	for i, v := range d.values {
		m += float64(v * d.prob(i))
	}
	return m
}

func (d Discrete) Variance() float64 {
	m, s := d.Mean(), 0.0
	for i, v := range d.values {
		s += float64((v - m) * (v - m) * d.prob(i))
	}
	return s
}

func (d Discrete) Survival(x float64) float64 {
	i, found := slices.BinarySearch(d.values, x)
	if found {
		i++
	}
	if i == len(d.values) {
		return 0
	}
	return d.tail[i]
}

func (d Discrete) Sample(r *rand.Rand) float64 {
	u := 1 - r.Float64() // in (0, 1]: the value i with tail[i+1] < u <= tail[i]
	i, _ := slices.BinarySearchFunc(d.tail, u, func(t, u float64) int {
		if t >= u {
			return -1
		}
		return 1
	})
	return d.values[max(i-1, 0)]
}

func (d Discrete) Residual(age float64) Dist {
	i, found := slices.BinarySearch(d.values, age)
	if found {
		i++
	}
	if i == len(d.values) {
		return Exact(0)
	}
	var out Discrete
	for k := i; k < len(d.values); k++ {
		out.values = append(out.values, d.values[k]-age)
		out.tail = append(out.tail, d.tail[k]/d.tail[i])
	}
	if len(out.values) == 1 {
		return Exact(out.values[0])
	}
	return out
}

func (d Discrete) Max() float64   { return d.values[len(d.values)-1] }
func (d Discrete) String() string { return fmt.Sprintf("discrete(%d values)", len(d.values)) }

// Uniform is continuous on [Low, High].
type Uniform struct{ Low, High float64 }

// NewUniform returns the uniform distribution on [low, high], 0 <= low < high.
func NewUniform(low, high float64) (Uniform, error) {
	if !finite(low) || !finite(high) || !(low < high) {
		return Uniform{}, fmt.Errorf("size: uniform: need 0 <= low < high, got [%v, %v]", low, high)
	}
	return Uniform{low, high}, nil
}

func (u Uniform) Mean() float64               { return u.Low + (u.High-u.Low)/2 }
func (u Uniform) Variance() float64           { return (u.High - u.Low) * (u.High - u.Low) / 12 }
func (u Uniform) Sample(r *rand.Rand) float64 { return u.Low + float64((u.High-u.Low)*r.Float64()) }
func (u Uniform) Max() float64                { return u.High }
func (u Uniform) String() string              { return fmt.Sprintf("uniform(%v, %v)", u.Low, u.High) }

func (u Uniform) Survival(x float64) float64 {
	return min(1, max(0, (u.High-x)/(u.High-u.Low)))
}

func (u Uniform) Residual(age float64) Dist {
	if age >= u.High {
		return Exact(0)
	}
	return Uniform{max(0, u.Low-age), u.High - age}
}

// Exponential has the given mean; it does not age.
type Exponential struct{ mean float64 }

// NewExponential returns the exponential distribution with the given mean > 0.
func NewExponential(mean float64) (Exponential, error) {
	if !finite(mean) || mean == 0 {
		return Exponential{}, fmt.Errorf("size: exponential: need a mean > 0, got %v", mean)
	}
	return Exponential{mean}, nil
}

func (e Exponential) Mean() float64               { return e.mean }
func (e Exponential) Variance() float64           { return e.mean * e.mean }
func (e Exponential) Sample(r *rand.Rand) float64 { return e.mean * r.ExpFloat64() }
func (e Exponential) Residual(float64) Dist       { return e }
func (e Exponential) Max() float64                { return math.Inf(1) }
func (e Exponential) String() string              { return fmt.Sprintf("exponential(%v)", e.mean) }
func (e Exponential) Survival(x float64) float64  { return math.Exp(-max(0, x) / e.mean) }

// Lognormal is exp(N(mu, sigma²)), shifted left by age and conditioned to be
// positive once it has been running.
type Lognormal struct{ mu, sigma, age float64 }

// NewLognormal returns the lognormal distribution with the given mean > 0 and
// coefficient of variation cv > 0.
func NewLognormal(mean, cv float64) (Lognormal, error) {
	if !finite(mean) || mean == 0 || !finite(cv) || cv == 0 {
		return Lognormal{}, fmt.Errorf("size: lognormal: need mean > 0 and cv > 0, got mean %v, cv %v", mean, cv)
	}
	s2 := math.Log1p(cv * cv)
	l := Lognormal{mu: math.Log(mean) - s2/2, sigma: math.Sqrt(s2)}
	if !finite(l.Mean()) || math.IsInf(s2, 1) {
		return Lognormal{}, fmt.Errorf("size: lognormal: mean %v and cv %v are beyond what can be computed", mean, cv)
	}
	return l, nil
}

// upper returns Pr(X > x) of the unshifted variable.
func (l Lognormal) upper(x float64) float64 {
	if x <= 0 {
		return 1
	}
	return math.Erfc((math.Log(x)-l.mu)/(l.sigma*math.Sqrt2)) / 2
}

// partial returns E[X^k; X > age], k = 1 or 2.
func (l Lognormal) partial(k float64) float64 {
	m := math.Exp(float64(k*l.mu) + float64(k*k*l.sigma*l.sigma)/2)
	if l.age <= 0 {
		return m
	}
	return m * math.Erfc((math.Log(l.age)-l.mu-k*l.sigma*l.sigma)/(l.sigma*math.Sqrt2)) / 2
}

func (l Lognormal) Mean() float64 { return l.partial(1)/l.upper(l.age) - l.age }

func (l Lognormal) Variance() float64 {
	p := l.upper(l.age)
	m := l.partial(1) / p
	return max(0, l.partial(2)/p-float64(m*m))
}

func (l Lognormal) Survival(x float64) float64 {
	if x <= 0 {
		return 1
	}
	return l.upper(x+l.age) / l.upper(l.age)
}

// Sample inverts the conditional survival function, so that it costs one draw
// however long the size has been running.
func (l Lognormal) Sample(r *rand.Rand) float64 {
	if l.age <= 0 {
		return math.Exp(l.mu + float64(l.sigma*r.NormFloat64()))
	}
	q := (1 - r.Float64()) * l.upper(l.age)
	return max(0, math.Exp(l.mu+float64(l.sigma*math.Sqrt2*math.Erfcinv(2*q)))-l.age)
}

// Residual keeps the tail as long as it has representable mass; far beyond
// that the size is taken to be ending now.
func (l Lognormal) Residual(age float64) Dist {
	r := Lognormal{l.mu, l.sigma, l.age + max(0, age)}
	if r.upper(r.age) < minTail {
		return Exact(0)
	}
	return r
}

// minTail is where a lognormal's tail gets too thin to divide by.
const minTail = 1e-290

func (l Lognormal) Max() float64   { return math.Inf(1) }
func (l Lognormal) String() string { return fmt.Sprintf("lognormal(mean %.4g)", l.Mean()) }

// finite reports whether x can be a size.
func finite(x float64) bool { return x >= 0 && !math.IsInf(x, 1) }

func cmp(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
