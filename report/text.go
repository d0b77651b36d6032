package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fairlead-project/fairlead/sched"
)

// escape makes s text or an attribute's value of XML and HTML. What XML does not
// allow becomes U+FFFD.
func escape(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a buffer takes everything
	return b.String()
}

// clean replaces what is no UTF-8, and control characters, for people to read.
func clean(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r == utf8.RuneError || unicode.IsControl(r) }) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r // invalid bytes arrive as U+FFFD
	}, s)
}

// shorten cuts s to at most n characters, the last of which then is an ellipsis.
func shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// decimal is t in seconds, exactly, without zeros at the end.
func decimal(t sched.Time) string {
	sign := ""
	if t < 0 {
		sign, t = "-", -t
	}
	s := fmt.Sprintf("%s%d.%09d", sign, t/sched.Second, t%sched.Second)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// long prints a time or a duration for people, with three significant digits or in
// whole seconds.
func long(t sched.Time) string {
	if t >= 60*sched.Second {
		return clock((t + sched.Second/2) / sched.Second * sched.Second)
	}
	for _, u := range units {
		if t >= u.size {
			x := float64(t) / float64(u.size)
			digits := 2
			if x >= 100 {
				digits = 0
			} else if x >= 10 {
				digits = 1
			}
			return strconv.FormatFloat(x, 'f', digits, 64) + " " + u.name
		}
	}
	return "0 s"
}

var units = []struct {
	name string
	size sched.Time
}{{"s", sched.Second}, {"ms", sched.Second / 1e3}, {"µs", sched.Second / 1e6}, {"ns", 1}}

// clock prints whole seconds: 45 s, 2 min, 2:30 min, 1:00:05 h, 2 d 1:30 h.
func clock(t sched.Time) string {
	const minute, hour, day = 60, 3600, 86400
	s := int64(t / sched.Second)
	switch {
	case s < minute:
		return fmt.Sprintf("%d s", s)
	case s < hour && s%minute == 0:
		return fmt.Sprintf("%d min", s/minute)
	case s < hour:
		return fmt.Sprintf("%d:%02d min", s/minute, s%minute)
	case s >= day && s%day == 0:
		return fmt.Sprintf("%d d", s/day)
	case s >= day:
		return fmt.Sprintf("%d d %s", s/day, clock(sched.Time(s%day)*sched.Second))
	case s%hour == 0:
		return fmt.Sprintf("%d h", s/hour)
	case s%minute == 0:
		return fmt.Sprintf("%d:%02d h", s/hour, s%hour/minute)
	}
	return fmt.Sprintf("%d:%02d:%02d h", s/hour, s%hour/minute, s%minute)
}

// quantity prints x with four significant digits or, if larger, as an integer.
func quantity(x float64) string {
	if x >= 1000 || x == 0 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

// plain prints x with the digits that it needs.
func plain(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Bytes prints a number of bytes for people: 1.5 KiB.
func Bytes(n int64) string {
	const kib = 1 << 10
	x, i := float64(n), 0
	for x >= kib && i < 5 {
		x, i = x/kib, i+1
	}
	return quantity(x) + " " + [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}[i]
}
