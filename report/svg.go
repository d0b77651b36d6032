package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/fairlead-project/fairlead/sched"
)

const (
	svgCells = plotWidth // a cell is a pixel
	margin   = 16
	width    = margin + labelMost + plotWidth + margin
	// legendMost bounds the legend of a picture.
	legendMost = 60
)

// WriteSVG draws the timeline as a Gantt chart: one file that needs no other, for
// light and dark surroundings. It has a lane per slot, grouped by machine, and a
// colour per job. Attempts shorter than a pixel are drawn together, so that it stays
// small whatever the number of tasks.
func WriteSVG(w io.Writer, t *Timeline) error {
	c := newChart(t, svgCells)
	const top = 72
	rows := newLegend(t)
	height := top + c.h + rows.height() + margin
	b := bufio.NewWriter(w) // keeps the first error
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %s" width="%d" height="%s" role="img" aria-labelledby="title desc">`+"\n", width, px(height), width, px(height))
	fmt.Fprintf(b, "<title id=\"title\">%s: Gantt chart</title>\n<desc id=\"desc\">%s</desc>\n", escape(t.heading()), escape(t.describe()))
	css, defs := jobStyles(len(t.Run.Jobs))
	fmt.Fprintf(b, "<style>\n%s%s</style>\n<defs>\n%s%s</defs>\n", css, chartCSS, defs, failedDef)
	fmt.Fprintf(b, `<rect class="bg" width="100%%" height="100%%"/>`+"\n")
	fmt.Fprintf(b, `<text class="title" x="%d" y="28">%s</text>`+"\n", margin, escape(shorten(t.heading(), 100)))
	fmt.Fprintf(b, `<text class="muted" x="%d" y="46">%s</text>`+"\n", margin, escape(shorten(t.subtitle(), 180)))
	var line []string
	for _, f := range t.facts() {
		line = append(line, f.Name+" "+f.Value)
	}
	fmt.Fprintf(b, `<text x="%d" y="64">%s</text>`+"\n", margin, escape(strings.Join(line, " · ")))
	fmt.Fprintf(b, `<g transform="translate(%d %d)">`+"\n", margin, top)
	c.labels(b)
	fmt.Fprintf(b, `<svg x="%d" width="%d" height="%s">`+"\n", c.left, width-2*margin-c.left, px(c.h))
	c.plot(b, zooms[:1])
	fmt.Fprint(b, "</svg>\n</g>\n")
	rows.draw(b, top+c.h)
	fmt.Fprint(b, "</svg>\n")
	return b.Flush()
}

// describe is the picture in a sentence, for who cannot see it.
func (t *Timeline) describe() string {
	slots := 0
	for _, m := range t.Machines {
		slots += m.Slots
	}
	s := fmt.Sprintf("%d attempts at tasks of %d jobs on %d slots of %d machines, %s.", len(t.Attempts), len(t.Run.Jobs), slots, len(t.Machines), long(t.span()))
	for _, f := range t.facts() {
		s += " " + f.Name + " " + f.Value + "."
	}
	return clean(s)
}

// legend lists the jobs in columns.
type legend struct {
	t    *Timeline
	n    int // jobs shown
	rows int
}

const (
	legendColumns = 3
	legendRow     = 18
)

func newLegend(t *Timeline) legend {
	l := legend{t: t, n: min(len(t.Run.Jobs), legendMost)}
	l.rows = (l.n + legendColumns - 1) / legendColumns
	return l
}

// height of the jobs, the line about those left out, and the key.
func (l *legend) height() float64 { return float64((l.rows + 3) * legendRow) }

func (l *legend) draw(w io.Writer, top float64) {
	for j := range l.n {
		job := &l.t.Run.Jobs[j]
		x := margin + j/max(1, l.rows)*(width-2*margin)/legendColumns
		y := top + float64((j%l.rows+1)*legendRow)
		fmt.Fprintf(w, `<rect class="c%d" x="%d" y="%s" width="14" height="12"/><text x="%d" y="%s">%s <tspan class="muted">%s</tspan></text>`+"\n",
			style(j), x, px(y-10), x+20, px(y), escape(shorten(job.Name, 26)), escape(l.t.outcome(j)))
	}
	y := top + float64((l.rows+1)*legendRow)
	if more := len(l.t.Run.Jobs) - l.n; more > 0 {
		fmt.Fprintf(w, `<text class="muted" x="%d" y="%s">and %d more jobs</text>`+"\n", margin, px(y), more)
		y += legendRow
	}
	x := margin
	for _, s := range l.t.seen() {
		class, over := "more "+s.String(), ""
		if s == Failed {
			class = "more"
			over = fmt.Sprintf(`<rect class="x" x="%d" y="%s" width="14" height="12"/>`, x, px(y-10))
		}
		fmt.Fprintf(w, `<rect class="%s" x="%d" y="%s" width="14" height="12"/>%s<text class="muted" x="%d" y="%s">%s</text>`+"\n", class, x, px(y-10), over, x+20, px(y), s)
		x += 90
	}
}

// seen lists the states, other than done, that attempts are in.
func (t *Timeline) seen() (out []AttemptState) {
	var n [states]bool
	for i := range t.Attempts {
		n[t.Attempts[i].State] = true
	}
	for s := Failed; s < states; s++ {
		if n[s] {
			out = append(out, s)
		}
	}
	return out
}

// outcome is a job's weight and completion, or its state.
func (t *Timeline) outcome(j int) string {
	job := &t.Run.Jobs[j]
	end := job.State
	if job.Completion != nil {
		end = "done at " + long(sched.FromSeconds(*job.Completion))
	}
	return fmt.Sprintf("weight %s, %s", plain(job.Weight), end)
}
