package workload

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// A unit is a kind of number in the file, with the suffixes it may have.
type unit struct {
	expected string
	scales   map[string]scale
	duration bool // Go's durations too: 1h30m
	quotable bool // may be written in quotes: anything that can have a suffix
}

// scale multiplies by 10^dec · 2^bin. Powers of ten are put into the decimal text, so
// that 0.3kB is exactly 300 bytes.
type scale struct{ dec, bin int }

var (
	plain   = unit{expected: "a number"}
	seconds = unit{expected: "seconds: a number, or a duration such as 250ms, 12s or 1h30m", duration: true, quotable: true}
	bytes_  = unit{expected: "bytes: a number, or one with a unit such as 500MB or 2GiB", scales: byteScales, quotable: true}
	rate    = unit{expected: "bytes per second: a number, or one with a unit such as 10Gbps or 125MB/s", scales: rateScales(), quotable: true}
	amount  = unit{expected: "an amount: a number, or one with a unit such as 500m, 2k or 32Gi", scales: amountScales(), quotable: true}
)

var byteScales = map[string]scale{
	"B": {}, "kB": {3, 0}, "MB": {6, 0}, "GB": {9, 0}, "TB": {12, 0}, "PB": {15, 0}, "EB": {18, 0},
	"k": {3, 0}, "M": {6, 0}, "G": {9, 0}, "T": {12, 0}, "P": {15, 0}, "E": {18, 0},
	"Ki": {0, 10}, "Mi": {0, 20}, "Gi": {0, 30}, "Ti": {0, 40}, "Pi": {0, 50}, "Ei": {0, 60},
	"KiB": {0, 10}, "MiB": {0, 20}, "GiB": {0, 30}, "TiB": {0, 40}, "PiB": {0, 50}, "EiB": {0, 60},
}

func rateScales() map[string]scale {
	m := map[string]scale{}
	for name, s := range byteScales {
		if strings.HasSuffix(name, "B") {
			m[name+"/s"] = s
		}
	}
	for _, p := range []struct {
		prefix string
		dec    int
	}{{"", 0}, {"k", 3}, {"M", 6}, {"G", 9}, {"T", 12}} {
		m[p.prefix+"bps"] = scale{p.dec, -3} // 8 bits to the byte
		m[p.prefix+"bit/s"] = scale{p.dec, -3}
	}
	return m
}

func amountScales() map[string]scale {
	m := map[string]scale{"m": {-3, 0}}
	for name, s := range byteScales {
		if name != "B" {
			m[name] = s
		}
	}
	return m
}

// parse reads a number of u, never negative, infinite or NaN. The class says what
// is wrong with it, if it is not empty.
func (u unit) parse(text string) (x float64, bad Class) {
	digits, exponent, suffix, ok := splitNumber(text)
	if !ok {
		return 0, BadNumber
	}
	if u.duration && suffix != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0, notUnit(digits, suffix)
		}
		x = float64(d) / float64(time.Second)
	} else {
		s, ok := u.scales[suffix]
		if !ok && suffix != "" {
			return 0, notUnit(digits, suffix)
		}
		if s.dec != 0 && exponent != 0 {
			return 0, BadUnit // 1e3k: one way of scaling is enough
		}
		var err error
		if x, err = strconv.ParseFloat(digits+"e"+strconv.Itoa(exponent+s.dec), 64); err != nil {
			return 0, OutOfRange
		}
		x = math.Ldexp(x, s.bin)
	}
	if !(x >= 0) || math.IsInf(x, 1) {
		return 0, OutOfRange
	}
	return x + 0, "" // -0 becomes 0
}

// ParseBytes reads a positive number of bytes as a file may have it: 500MB, 2GiB.
func ParseBytes(text string) (float64, error) {
	x, bad := bytes_.parse(text)
	if bad != "" || x == 0 {
		return 0, fmt.Errorf("found %q, expected %s", text, bytes_.expected)
	}
	return x, nil
}

// notUnit tells a number in another notation (0x10, 1_000, 1:30, a date) from one
// with a wrong unit.
func notUnit(digits, suffix string) Class {
	if strings.ContainsAny(suffix, "_:") || strings.ContainsAny(suffix[:1], "-+.") || digits == "0" && strings.ContainsAny(suffix[:1], "xXoObB") {
		return BadNumber
	}
	return BadUnit
}

// splitNumber splits text into decimal digits with sign and point, a decimal
// exponent, and the rest. It refuses what YAML readers disagree on: leading zeros.
func splitNumber(text string) (digits string, exponent int, suffix string, ok bool) {
	i := 0
	if i < len(text) && (text[i] == '-' || text[i] == '+') {
		i++
	}
	whole := i
	for i < len(text) && isDigit(text[i]) {
		i++
	}
	n := i - whole
	if n > 1 && text[whole] == '0' {
		return "", 0, "", false
	}
	if i < len(text) && text[i] == '.' {
		i++
		for ; i < len(text) && isDigit(text[i]); i++ {
			n++
		}
	}
	if n == 0 {
		return "", 0, "", false
	}
	digits = text[:i]
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		k := i + 1
		if k < len(text) && (text[k] == '-' || text[k] == '+') {
			k++
		}
		start := k
		for k < len(text) && isDigit(text[k]) {
			k++
		}
		if k > start { // else a suffix: 5E is 5·10^18
			e, err := strconv.Atoi(text[i+1 : k])
			if err != nil || e < -maxExponent || e > maxExponent {
				e = min(max(e, -maxExponent), maxExponent)
			}
			return digits, e, text[k:], true
		}
	}
	return digits, 0, text[i:], true
}

// maxExponent is beyond every float64 even with a megabyte of digits or zeros
// before it, and small enough that adding a scale's exponent cannot overflow.
const maxExponent = 100_000_000

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// thousandths converts an amount to thousandths, exactly: x must be the float64
// nearest to some number of thousandths.
func thousandths(x float64) (milli int64, bad Class) {
	r := math.Round(x * 1000)
	switch {
	case r >= maxMilli:
		return 0, OutOfRange
	case r/1000 != x:
		return int64(math.Ceil(x * 1000)), TooFine
	}
	return int64(r), ""
}

// maxMilli keeps sums of up to a few hundred amounts within int64.
const maxMilli = 1 << 55

// formatNumber writes x so that it parses back equal.
func formatNumber(x float64) string {
	if x == 0 || x >= 1e-6 && x < 1e18 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// formatBytes writes a whole number of KiB, MiB, ... with that unit.
func formatBytes(x float64, suffix string) string {
	if x < 1024 || x >= 1<<53 || x != math.Trunc(x) {
		return formatNumber(x)
	}
	k := bits.TrailingZeros64(uint64(x)) / 10
	if k == 0 {
		return formatNumber(x)
	}
	return fmt.Sprintf("%d%ci%s", uint64(x)>>(10*k), " KMGTP"[k], suffix)
}

// formatDuration writes d without the zero units of its String method.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
