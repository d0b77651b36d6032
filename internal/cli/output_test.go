package cli

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 1: "1.000", 12.345: "12.35", 123.45: "123.5", 1234.5: "1234", 38464462.4: "38464462",
		0.0123449: "0.01234", 1e16: "1e+16", -2: "-2.000", math.NaN(): "-",
	} {
		if got := number(x); got != want {
			t.Errorf("number(%v) = %s, want %s", x, got, want)
		}
	}
	if optional(nil) != "-" {
		t.Error("optional(nil) is not -")
	}
}

func TestSpan(t *testing.T) {
	for s, want := range map[float64]string{
		0: "0.00 s", 0.0021: "2.1 ms", 0.25: "0.25 s", 599: "599.00 s", 600: "10m0s", 3725.4: "1h2m5s", 400 * 3600: "400.0 h",
	} {
		if got := span(s); got != want {
			t.Errorf("span(%v) = %s, want %s", s, got, want)
		}
	}
}

// What is printed of a bound never exceeds it, and loses no more than its digits.
func TestDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(0, 1e300).Draw(t, "x")
		digits := rapid.IntRange(2, 15).Draw(t, "digits")
		y, err := strconv.ParseFloat(down(x, digits), 64)
		// One unit of the last digit, at most 10^(1-digits) of the whole; and the
		// smallest float64, which has no such digits.
		lost := x*math.Pow(10, float64(1-digits)) + math.SmallestNonzeroFloat64
		if err != nil || y > x || x-y > lost {
			t.Fatalf("down(%v, %d) = %s (%v)", x, digits, down(x, digits), err)
		}
	})
	for x, want := range map[float64]string{1.999999: "1.99", 38464462.9: "38400000", 0.00129: "0.00129", 15: "15", 0: "0"} {
		if got := down(x, 3); got != want {
			t.Errorf("down(%v, 3) = %s, want %s", x, got, want)
		}
	}
}
