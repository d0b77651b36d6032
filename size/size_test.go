package size

import (
	"math"
	"math/rand/v2"
	"testing"
)

func must[D Dist](t *testing.T) func(D, error) Dist {
	return func(d D, err error) Dist {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
}

func all(t *testing.T) map[string]Dist {
	return map[string]Dist{
		"exact":       Exact(3),
		"discrete":    must[Discrete](t)(NewDiscrete([]float64{3, 1, 8}, []float64{0.25, 0.5, 0.25})),
		"empirical":   must[Discrete](t)(NewEmpirical([]float64{2, 2, 5, 9, 1})),
		"uniform":     must[Uniform](t)(NewUniform(2, 6)),
		"exponential": must[Exponential](t)(NewExponential(4)),
		"lognormal":   must[Lognormal](t)(NewLognormal(4, 0.5)),
		"heavy":       must[Lognormal](t)(NewLognormal(4, 1.5)),
	}
}

// integrate returns ∫_0^∞ g(x) dx by the midpoint rule on a geometric grid.
func integrate(g func(float64) float64) float64 {
	sum, x := 0.0, 0.0
	for step := 1e-3; x < 1e5; step *= 1.0005 {
		sum += g(x+step/2) * step
		x += step
	}
	return sum
}

// The mean and the variance must follow from the survival function alone:
// E[S] = ∫Pr(S>x)dx, E[S²] = ∫2x Pr(S>x)dx; for residuals too.
func TestMomentsFollowFromSurvival(t *testing.T) {
	for name, d := range all(t) {
		for _, age := range []float64{0, 0.5, 2.5, 5} {
			r := d
			if age > 0 {
				r = d.Residual(age)
			}
			m := integrate(r.Survival)
			v := integrate(func(x float64) float64 { return 2 * x * r.Survival(x) }) - m*m
			if math.Abs(m-r.Mean()) > 2e-3*(1+m) {
				t.Errorf("%s age %v: mean %v, from the survival function %v", name, age, r.Mean(), m)
			}
			if math.Abs(v-r.Variance()) > 2e-2*(1+v) {
				t.Errorf("%s age %v: variance %v, from the survival function %v", name, age, r.Variance(), v)
			}
		}
	}
}

// Samples must follow the survival function (Kolmogorov-Smirnov at 1e-3).
func TestSamplesFollowSurvival(t *testing.T) {
	const n = 20000
	for name, d := range all(t) {
		for _, age := range []float64{0, 2.5} {
			r := d.Residual(age)
			rng := rand.New(rand.NewPCG(1, 2))
			s := make([]float64, n)
			for i := range s {
				s[i] = r.Sample(rng)
				if s[i] < 0 || s[i] > r.Max() {
					t.Fatalf("%s: sample %v outside [0, %v]", name, s[i], r.Max())
				}
			}
			for _, x := range []float64{0.1, 0.5, 1, 1.9, 2, 2.5, 3, 4, 5, 6.5, 8, 20} {
				above := 0
				for _, v := range s {
					if v > x {
						above++
					}
				}
				if got, want := float64(above)/n, r.Survival(x); math.Abs(got-want) > 1.95/math.Sqrt(n) {
					t.Errorf("%s age %v: %.4f of samples above %v, want %.4f", name, age, got, x, want)
				}
			}
		}
	}
}

// Pr(S−a > x | S > a) = Pr(S > a+x)/Pr(S > a), whatever the distribution.
func TestResidualIsConditional(t *testing.T) {
	for name, d := range all(t) {
		for _, a := range []float64{0.3, 1, 2.5, 4.5, 7} {
			p := d.Survival(a)
			for _, x := range []float64{0.01, 0.5, 1, 2, 3.4, 6} {
				want := 0.0
				if p > 0 {
					want = d.Survival(a+x) / p
				}
				if got := d.Residual(a).Survival(x); math.Abs(got-want) > 1e-9 {
					t.Errorf("%s: residual at %v survives %v with %v, want %v", name, a, x, got, want)
				}
			}
		}
	}
}

func TestLongRunningLognormalStaysFinite(t *testing.T) {
	d := must[Lognormal](t)(NewLognormal(1, 0.1))
	for age := 1.0; age < 1e12; age *= 3 {
		m := d.Residual(age).Mean()
		if math.IsNaN(m) || m < 0 || math.IsInf(m, 0) {
			t.Fatalf("residual mean at age %v is %v", age, m)
		}
	}
}

func TestBadArguments(t *testing.T) {
	bad := map[string]error{}
	_, bad["no values"] = NewDiscrete(nil, nil)
	_, bad["sum"] = NewDiscrete([]float64{1, 2}, []float64{0.5, 0.4})
	_, bad["negative value"] = NewDiscrete([]float64{-1}, []float64{1})
	_, bad["nan"] = NewDiscrete([]float64{math.NaN()}, []float64{1})
	_, bad["zero probability"] = NewDiscrete([]float64{1, 2}, []float64{0, 1})
	_, bad["empirical"] = NewEmpirical(nil)
	_, bad["uniform"] = NewUniform(3, 3)
	_, bad["uniform inf"] = NewUniform(3, math.Inf(1))
	_, bad["exponential"] = NewExponential(0)
	_, bad["lognormal"] = NewLognormal(1, 0)
	_, bad["lognormal beyond floats"] = NewLognormal(1, 1e200)
	for name, err := range bad {
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
