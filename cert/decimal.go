package cert

import (
	"fmt"
	"math"
	"math/big"
	"strings"
)

// Limits on a number in a certificate, so that a few bytes cannot ask for
// gigabytes of digits. The exact expansion of any float64 stays within them.
const (
	maxNumber   = 800 // characters; the longest float64 has 767 significant digits
	maxExponent = 400 // absolute; float64 ends at e308 and e-324
)

// decimal is mant × 10^exp.
type decimal struct {
	mant *big.Int
	exp  int
}

// parseDecimal reads a number in the grammar of JSON, within the limits.
func parseDecimal(s string) (decimal, error) {
	bad := func(why string) (decimal, error) {
		if len(s) > 40 {
			s = s[:40] + "..."
		}
		return decimal{}, fmt.Errorf("%q is not a decimal number: %s", s, why)
	}
	if len(s) > maxNumber {
		return bad(fmt.Sprintf("longer than %d characters", maxNumber))
	}
	rest, negative := strings.CutPrefix(s, "-")
	whole, rest := leadingDigits(rest)
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return bad("expected digits without leading zeros")
	}
	frac := ""
	if r, ok := strings.CutPrefix(rest, "."); ok {
		if frac, rest = leadingDigits(r); frac == "" {
			return bad("expected digits after the point")
		}
	}
	exp := 0
	if rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		var digits string
		sign, r := 1, rest[1:]
		if r != "" && (r[0] == '+' || r[0] == '-') {
			if r[0] == '-' {
				sign = -1
			}
			r = r[1:]
		}
		if digits, rest = leadingDigits(r); digits == "" {
			return bad("expected digits in the exponent")
		}
		for _, c := range digits {
			if exp = 10*exp + int(c-'0'); exp > maxExponent {
				return bad(fmt.Sprintf("exponent beyond %d", maxExponent))
			}
		}
		exp *= sign
	}
	if rest != "" {
		return bad(fmt.Sprintf("found %q", rest[:1]))
	}
	mant, _ := new(big.Int).SetString(whole+frac, 10)
	if negative {
		mant.Neg(mant)
	}
	return decimal{mant, exp - len(frac)}, nil
}

func leadingDigits(s string) (digits, rest string) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}

// split returns the finite x as m × 2^e, m odd or zero.
func split(x float64) (m int64, e int) {
	f, e := math.Frexp(x)
	m, e = int64(f*(1<<53)), e-53
	if m == 0 {
		return 0, 0
	}
	for ; m&1 == 0; m /= 2 {
		e++
	}
	return m, e
}

// fractionDigits is the number of digits after the point of the finite x: the
// binary ones, since 2^-k is 5^k × 10^-k.
func fractionDigits(x float64) int {
	_, e := split(x)
	return max(0, -e)
}

// exactly returns the finite x.
func exactly(x float64) decimal {
	k := fractionDigits(x)
	s := scale{digits: k}
	return decimal{s.float(x), -k}
}

// String writes d without rounding.
func (d decimal) String() string {
	if d.mant.Sign() == 0 {
		return "0"
	}
	digits := new(big.Int).Abs(d.mant).String()
	sign := ""
	if d.mant.Sign() < 0 {
		sign = "-"
	}
	trimmed := strings.TrimRight(digits, "0")
	exp := d.exp + len(digits) - len(trimmed)
	digits = trimmed
	// point is the number of digits before the decimal point.
	switch point := len(digits) + exp; {
	case exp >= 0 && point <= 21:
		return sign + digits + strings.Repeat("0", exp)
	case point > 0 && exp < 0:
		return sign + digits[:point] + "." + digits[point:]
	case point <= 0 && point > -6:
		return sign + "0." + strings.Repeat("0", -point) + digits
	case len(digits) == 1:
		return fmt.Sprintf("%s%se%d", sign, digits, point-1)
	default:
		return fmt.Sprintf("%s%s.%se%d", sign, digits[:1], digits[1:], point-1)
	}
}

// add returns d + e.
func (d decimal) add(e decimal) decimal {
	s := scale{digits: max(0, -d.exp, -e.exp)}
	return decimal{new(big.Int).Add(s.decimal(d), s.decimal(e)), -s.digits}
}

// scale represents numbers of at most so many digits after the point as
// integers, in units of 10^-digits.
type scale struct {
	digits int
	powers map[int]*big.Int
}

// cover makes sure that numbers with n digits after the point are integers.
func (s *scale) cover(n int) { s.digits = max(s.digits, n) }

// power returns 10^n; the caller does not change it.
func (s *scale) power(n int) *big.Int {
	if p, ok := s.powers[n]; ok {
		return p
	}
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
	if s.powers == nil {
		s.powers = map[int]*big.Int{}
	}
	s.powers[n] = p
	return p
}

// unit is the integer that stands for 1.
func (s *scale) unit() *big.Int { return s.power(s.digits) }

func (s *scale) float(x float64) *big.Int {
	m, e := split(x)
	z := big.NewInt(m)
	z.Mul(z, s.unit())
	if e < 0 {
		return z.Rsh(z, uint(-e)) // exact: 10^digits is a multiple of 2^-e
	}
	return z.Lsh(z, uint(e))
}

func (s *scale) decimal(d decimal) *big.Int {
	return new(big.Int).Mul(d.mant, s.power(s.digits+d.exp))
}

// fraction is num/den, den > 0, not necessarily in lowest terms.
type fraction struct{ num, den *big.Int }

// atLeast reports whether f >= d.
func (f fraction) atLeast(d decimal) bool {
	s := scale{digits: max(0, -d.exp)}
	left := new(big.Int).Mul(f.num, s.unit())
	right := s.decimal(d)
	return left.Cmp(right.Mul(right, f.den)) >= 0
}

// floor returns the largest float64 not above f.
func (f fraction) floor() float64 {
	if f.num.Sign() == 0 {
		return 0
	}
	const bits = 64 // of the quotient: more than a float64 holds
	shift := bits - f.num.BitLen() + f.den.BitLen()
	num, den := new(big.Int).Set(f.num), new(big.Int).Set(f.den)
	if shift >= 0 {
		num.Lsh(num, uint(shift))
	} else {
		den.Lsh(den, uint(-shift))
	}
	q := new(big.Float).SetMode(big.ToNegativeInf).SetPrec(53).SetInt(num.Div(num, den))
	x, acc := q.SetMantExp(q, -shift).Float64()
	if acc == big.Above { // subnormal, or beyond the largest float64
		x = math.Nextafter(x, math.Inf(-1))
	}
	return x
}

// sum returns the exact sum of terms; it merges them in pairs, so that many
// different denominators cost no more than a few long multiplications.
func sum(terms []fraction) fraction {
	switch len(terms) {
	case 0:
		return fraction{new(big.Int), big.NewInt(1)}
	case 1:
		return terms[0]
	}
	h := len(terms) / 2
	a, b := sum(terms[:h]), sum(terms[h:])
	if a.den.Cmp(b.den) == 0 {
		return fraction{new(big.Int).Add(a.num, b.num), a.den}
	}
	x, y := new(big.Int).Mul(a.num, b.den), new(big.Int).Mul(b.num, a.den)
	return fraction{x.Add(x, y), new(big.Int).Mul(a.den, b.den)}
}
