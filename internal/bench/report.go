package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// claim is a target and what was measured.
type claim struct {
	what    string
	show    func(float64) string
	target  float64
	atLeast bool // the target is a least value; otherwise a greatest one
	runs    []float64
}

type verdict string

const (
	met    verdict = "yes"
	noise  verdict = "within noise"
	missed verdict = "**no**"
)

func (c *claim) meets(x float64) bool {
	if c.atLeast {
		return x >= c.target
	}
	return x <= c.target
}

func (c *claim) verdict() verdict {
	switch {
	case c.meets(median(c.runs)):
		return met
	case slices.ContainsFunc(c.runs, c.meets):
		return noise
	}
	return missed
}

// median returns the middle one of x, the smaller one of two.
func median(x []float64) float64 { return slices.Sorted(slices.Values(x))[(len(x)-1)/2] }

// table is one section of the document.
type table struct {
	title, text string
	head        []string
	rows        [][]string
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// write writes the document and returns how many targets were missed.
func (b *bench) write(w io.Writer) (bad int, err error) {
	targets := table{head: []string{"What", "Measured", "All runs", "Target", "Met"}}
	for i := range b.claims {
		c := &b.claims[i]
		v := c.verdict()
		if v == missed {
			bad++
		}
		var all []string
		for _, x := range c.runs {
			all = append(all, c.show(x))
		}
		sign := "≤ "
		if c.atLeast {
			sign = "≥ "
		}
		targets.row(c.what, c.show(median(c.runs)), strings.Join(all, ", "), sign+c.show(c.target), string(v))
	}
	var s strings.Builder
	fmt.Fprintf(&s, `# Benchmarks

Written by `+"`make bench`"+`, which generates the workloads (seed %d) and runs everything.

%s; load average %.1f at the start.

What has a target is run %d times, the rest once; measured is the median. A target is met
if the median meets it, within noise if only the best run does, and missed if no run
does, which makes the command fail.

`, seed, machine(), b.load, b.runs)
	targets.markdown(&s)
	for _, t := range b.tables {
		fmt.Fprintf(&s, "\n## %s\n\n", t.title)
		if t.text != "" {
			fmt.Fprintf(&s, "%s\n\n", t.text)
		}
		t.markdown(&s)
	}
	_, err = io.WriteString(w, s.String())
	return bad, err
}

// markdown writes the table with its first column to the left, all others to the
// right.
func (t *table) markdown(w io.Writer) {
	line := func(cells []string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.head)
	fmt.Fprintf(w, "|---|%s\n", strings.Repeat("---:|", len(t.head)-1))
	for _, r := range t.rows {
		line(r)
	}
}

func seconds(s float64) string {
	switch {
	case s >= 10:
		return fmt.Sprintf("%.1f s", s)
	case s >= 0.1:
		return fmt.Sprintf("%.2f s", s)
	case s >= 1e-3:
		return fmt.Sprintf("%.1f ms", s*1e3)
	}
	return fmt.Sprintf("%.3g µs", s*1e6)
}

func memory(bytes float64) string { return fmt.Sprintf("%.0f MiB", bytes/(1<<20)) }

func fileSize(bytes int64) string {
	if bytes < 100_000 {
		return fmt.Sprintf("%.1f kB", float64(bytes)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
}

func perSecond(x float64) string { return rounded(x) + " events/s" }

func times(x float64) string {
	if x < 0.1 {
		return fmt.Sprintf("%.3f×", x)
	}
	return fmt.Sprintf("%.2f×", x)
}

// rounded prints about three significant digits, in groups.
func rounded(x float64) string {
	unit := 1.0
	for x/unit >= 1000 {
		unit *= 10
	}
	return grouped(int64(x/unit+0.5) * int64(unit))
}

// grouped prints digits in groups of three.
func grouped(x int64) string {
	s := strconv.FormatInt(x, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
