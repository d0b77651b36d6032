package trace

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-project/fairlead/workload"
)

// lines walks the lines of a text of fields.
type lines struct {
	name   string
	rest   []byte
	number int // of the current line, from 1
	text   string
}

// next moves to the next line, without its end, CR LF included.
func (l *lines) next() bool {
	if len(l.rest) == 0 {
		return false
	}
	line, rest, _ := bytes.Cut(l.rest, []byte("\n"))
	l.rest, l.text = rest, string(bytes.TrimSuffix(line, []byte("\r")))
	l.number++
	return true
}

// A field is a part of a line and where it begins, in characters from 1.
type field struct {
	text   string
	offset int // in bytes
}

// bad is the error for a field of the current line.
func (l *lines) bad(f field, class workload.Class, found, expected string) error {
	column := utf8.RuneCountInString(l.text[:min(f.offset, len(l.text))]) + 1
	return bad(l.name, l.number, column, class, found, expected)
}

// tabbed splits the current line at tabs into at most n fields; the last one keeps
// its tabs.
func (l *lines) tabbed(n int) []field {
	var out []field
	offset := 0
	for _, s := range strings.SplitN(l.text, "\t", n) {
		out = append(out, field{s, offset})
		offset += len(s) + 1
	}
	return out
}

// spaced splits the current line at blanks and tabs, into at most n fields: there
// are more if there are n.
func (l *lines) spaced(n int) []field {
	var out []field
	for i := 0; i < len(l.text) && len(out) < n; {
		if l.text[i] == ' ' || l.text[i] == '\t' {
			i++
			continue
		}
		end := i
		for end < len(l.text) && l.text[end] != ' ' && l.text[end] != '\t' {
			end++
		}
		out = append(out, field{l.text[i:end], i})
		i = end
	}
	return out
}

// float reads a decimal number.
func (l *lines) float(f field, what string) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(f.text), 64)
	if err != nil || strings.ContainsAny(f.text, "xXpPnN_") { // no hexadecimal, no NaN, no Inf
		return 0, l.bad(f, workload.BadNumber, quote(f.text), what)
	}
	return x, nil
}

// integer reads a whole number.
func (l *lines) integer(f field, what string) (int64, error) {
	x, err := strconv.ParseInt(strings.TrimSpace(f.text), 10, 64)
	if err != nil {
		return 0, l.bad(f, workload.BadNumber, quote(f.text), what)
	}
	return x, nil
}

// limit refuses more lines than a workload may have jobs.
func (l *lines) limit(n int) error {
	if n > MaxTasks {
		return bad(l.name, l.number, 1, workload.OverLimit, fmt.Sprintf("more than %d jobs or tasks", MaxTasks), fmt.Sprintf("at most %d", MaxTasks))
	}
	return nil
}

// empty is the error for a trace that has nothing to schedule.
func empty(name, what string) error {
	return bad(name, 1, 1, workload.EmptyFile, "no "+what, "at least one")
}
