package main

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// document collects Markdown.
type document struct{ strings.Builder }

func (d *document) say(format string, args ...any) {
	fmt.Fprintf(d, format+"\n", args...)
}

// table writes rows under a header; all columns but the first are numbers.
func (d *document) table(header []string, rows [][]string) {
	d.say("")
	d.say("| %s |", strings.Join(header, " | "))
	d.say("|---%s|", strings.Repeat("|---:", len(header)-1))
	for _, r := range rows {
		d.say("| %s |", strings.Join(r, " | "))
	}
	d.say("")
}

// target is a claim with a threshold.
type target struct {
	what          string
	measured, max float64
}

func (t target) met() bool { return t.measured <= t.max }

// claim adds a target.
func (e *evaluation) claim(measured, most float64, format string, args ...any) {
	e.targets = append(e.targets, target{fmt.Sprintf(format, args...), measured, most})
}

// write runs every section and writes the document. It returns how many targets were
// missed.
func (e *evaluation) write(w io.Writer) (missed int, err error) {
	for _, s := range []struct {
		key string
		run func() error
	}{
		{"s", e.streams}, {"a", e.seedExperiment}, {"b", e.multipleWaves}, {"c", e.workflows}, {"d", e.distances},
	} {
		if e.only == "" || e.only == s.key {
			if err := s.run(); err != nil {
				return 0, err
			}
		}
	}
	var body document
	body.WriteString(e.out.String())
	e.out.Reset()
	e.losing()

	var head document
	head.say(`# What S-PC is worth, and where it is not

Written by ` + "`make evaluation`" + `: every number here comes from it, the same on any computer. The
configurations are in [internal/evaluation/config.go](../internal/evaluation/config.go) and were
committed before the results.

` + "`ratio`" + ` is the total weighted completion time over the certified lower bound for the sizes that
were realised; ` + "`flowRatio`" + ` counts both from the releases. They say how far from optimal a schedule is
*at most*: the bound itself may be below the optimum. Where two policies are compared, both run on the
same instances; a factor is the geometric mean of the quotients of their costs, and the interval in
brackets has it with 95 %% confidence (bootstrap over instances). "Median (worst)" is over instances.`)
	if e.quick {
		head.say("\n**A quick run, on a fifth of the instances.**")
	}
	head.say("\n## Targets")
	var rows [][]string
	for _, t := range e.targets {
		met := "yes"
		if !t.met() {
			met = "**no**"
			missed++
		}
		rows = append(rows, []string{t.what, figure(t.measured), "≤ " + figure(t.max), met})
	}
	head.table([]string{"What", "Measured", "Target", "Met"}, rows)
	_, err = io.WriteString(w, head.String()+body.String()+strings.TrimRight(e.out.String(), "\n")+"\n")
	return missed, err
}

// figure prints a number with three decimals.
func figure(x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return fmt.Sprintf("%.3f", x)
}

// spread prints the median and the worst.
func spread(values []float64) string {
	if len(values) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.3f (%.3f)", median(values), worst(values))
}

// percent prints a factor as what it saves.
func percent(factor float64) string { return fmt.Sprintf("%.1f %%", 100*(1-factor)) }
