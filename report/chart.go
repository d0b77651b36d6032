package report

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/fairlead-project/fairlead/sched"
)

// Sizes in pixels.
const (
	labelMost  = 136
	plotWidth  = 1032 // of the picture; pages stretch it
	axisHeight = 20
	laneMost   = 22
	laneLeast  = 3
	lanesMost  = 1600 // all lanes together, unless they would be lower than laneLeast
	charWidth  = 6.2  // of the 11 px font, on average
)

//go:embed chart.css
var chartCSS string

// failedDef is the pattern over what failed.
const failedDef = `<pattern id="failed" width="6" height="6" patternUnits="userSpaceOnUse"><path d="M-1 2 2-1M4 7 7 4M-1 4 4-1M2 7 7 2" stroke="#fff" stroke-width="1"/><path d="M-1 -1 7 7" stroke="#d1242f" stroke-width="2"/></pattern>
`

// chart is a Gantt chart laid out: lanes from top to bottom, machine by machine.
// Horizontal positions are shares of the plot's width, so that a page can stretch it.
type chart struct {
	t    *Timeline
	bars []bar
	span sched.Time
	left int         // width of the labels
	lane float64     // height, with the gap below
	y    [][]float64 // top of each slot's lane
	h    float64     // height of all, with an axis above and below
}

func newChart(t *Timeline, cells int) *chart {
	c := &chart{t: t, bars: t.bars(cells), span: t.span()}
	n := 0
	for _, m := range t.Machines {
		n += m.Slots
	}
	c.left = c.labelWidth()
	c.lane = max(laneLeast, min(laneMost, float64(lanesMost/max(1, n))))
	c.h = axisHeight
	for _, m := range t.Machines {
		y := make([]float64, max(0, m.Slots))
		for s := range y {
			y[s] = c.h
			c.h += c.lane
		}
		c.y = append(c.y, y)
		c.h += c.gap()
	}
	c.h += axisHeight
	return c
}

// gap parts machines of several slots, and one from the next if lanes are high.
func (c *chart) gap() float64 { return min(6, c.lane/4) }

// percent is a position, or a width, on the time axis.
func (c *chart) percent(t sched.Time) string {
	return strconv.FormatFloat(100*float64(t)/float64(c.span), 'f', 4, 64) + "%"
}

// pixels is the same for an unstretched plot.
func (c *chart) pixels(t sched.Time) float64 { return plotWidth * float64(t) / float64(c.span) }

func px(x float64) string { return strconv.FormatFloat(x, 'f', -1, 32) }

// labelWidth has room for the longest name and the numbers of slots.
func (c *chart) labelWidth() int {
	w := 0.0
	for m := range c.t.Machines {
		machine := &c.t.Machines[m]
		n := min(nameMost, len([]rune(machine.Name))) + len([]rune(c.speed(machine)))
		if machine.Slots > 1 {
			n += 1 + len(strconv.Itoa(machine.Slots-1))
		}
		w = max(w, float64(n)*charWidth)
	}
	return min(labelMost, 12+int(w))
}

// nameMost is how much is shown of a machine's name.
const nameMost = 14

// speed is what is shown of a machine's speed, where machines differ.
func (c *chart) speed(m *TimelineMachine) string {
	if slices.ContainsFunc(c.t.Machines, func(o TimelineMachine) bool { return o.Speed != m.Speed }) {
		return " ×" + shorten(plain(m.Speed), 5)
	}
	return ""
}

// labels draws the machines' names and the numbers of their slots.
func (c *chart) labels(w io.Writer) {
	const least = 11 // two names do not touch
	below := 0.0
	for m, slots := range c.y {
		if len(slots) == 0 || slots[0] < below {
			continue
		}
		machine := &c.t.Machines[m]
		y := slots[0] + c.lane/2 + 4
		fmt.Fprintf(w, `<text x="4" y="%s">%s<tspan class="muted">%s</tspan></text>`+"\n", px(y), escape(shorten(machine.Name, nameMost)), c.speed(machine))
		below = slots[0] + least
		if len(slots) > 1 && c.lane >= least {
			for s, y := range slots {
				fmt.Fprintf(w, `<text class="muted" x="%d" y="%s" text-anchor="end">%d</text>`+"\n", c.left-6, px(y+c.lane/2+4), s)
			}
		}
	}
}

// zooms are the factors by which a page can stretch the plot. The axis for one of
// them has class aN, what there is room for from it on class zN.
var zooms = []int{1, 2, 4, 8}

// plot draws lanes, axes and bars. Only a stretchable one has ticks and names for
// other factors than 1.
func (c *chart) plot(w io.Writer, zooms []int) {
	for _, slots := range c.y {
		if len(slots) > 0 {
			fmt.Fprintf(w, `<rect class="lane" x="0" width="100%%" y="%s" height="%s"/>`+"\n", px(slots[0]), px(float64(len(slots))*c.lane-c.inset()))
		}
	}
	for _, z := range zooms {
		fmt.Fprintf(w, `<g class="a%d">`+"\n", z)
		c.axis(w, ticks(c.span, 10*z), z)
		fmt.Fprintln(w, "</g>")
	}
	for i := range c.bars {
		c.bar(w, &c.bars[i], zooms)
	}
	if c.t.Unfinished {
		x := c.percent(c.t.Now)
		fmt.Fprintf(w, `<line class="now" x1="%s" x2="%s" y1="%d" y2="%s"/>`+"\n", x, x, axisHeight, px(c.h-axisHeight))
	}
}

func (c *chart) axis(w io.Writer, marks []tick, zoom int) {
	for _, k := range marks {
		x, anchor := c.percent(k.at), "middle"
		switch at := c.pixels(k.at) * float64(zoom); {
		case k.at == 0:
			anchor = "start"
		case at > float64(zoom)*plotWidth-24:
			anchor = "end"
		}
		fmt.Fprintf(w, `<line class="grid" x1="%s" x2="%s" y1="%d" y2="%s"/>`, x, x, axisHeight-4, px(c.h-axisHeight+4))
		for _, y := range []float64{axisHeight - 7, c.h - 5} {
			fmt.Fprintf(w, `<text class="muted" x="%s" y="%s" text-anchor="%s">%s</text>`, x, px(y), anchor, k.label)
		}
		fmt.Fprintln(w)
	}
}

// inset leaves room between lanes, where there is any.
func (c *chart) inset() float64 {
	if c.lane < 6 {
		return 0.5
	}
	return 2
}

// leastWidth keeps what takes no time visible: a rectangle without width is not
// drawn at all, one that has some gets at least its outline.
const leastWidth = "0.01%"

func (c *chart) bar(w io.Writer, b *bar, zooms []int) {
	class := "more"
	if b.job != several {
		class = fmt.Sprintf("c%d", style(b.job))
	}
	width, wide := c.percent(b.finish-b.start), c.pixels(b.finish-b.start)
	if b.finish-b.start < c.span/10_000 {
		width = leastWidth
	}
	if wide >= 4 && b.to-b.from == 1 {
		class += " w"
	}
	if b.state != Done && b.state != Failed {
		class += " " + b.state.String()
	}
	height := c.lane - c.inset()
	y := c.y[b.machine][b.slot] + height*b.from
	high := max(1, height*(b.to-b.from))
	place := fmt.Sprintf(`x="%s" y="%s" width="%s" height="%s"`, c.percent(b.start), px(y), width, px(high))
	fmt.Fprintf(w, `<rect class="b %s" data-j="%d" %s><title>%s</title></rect>`, class, b.job, place, escape(c.t.what(b)))
	if b.state == Failed {
		fmt.Fprintf(w, `<rect class="x" data-j="%d" %s/>`, b.job, place)
	}
	if b.n == 1 && b.job != several && c.lane >= 14 {
		c.name(w, b, wide, high, place, zooms)
	}
	fmt.Fprintln(w)
}

// name writes the task's stage and number into its bar, from the first zoom on at
// which there is room.
func (c *chart) name(w io.Writer, b *bar, wide, high float64, place string, zooms []int) {
	a := &c.t.Attempts[b.attempt]
	name := fmt.Sprintf("%s %d", shorten(a.Stage, 24), a.Task)
	for _, z := range zooms {
		if wide*float64(z) < float64(len([]rune(name)))*charWidth+8 {
			continue
		}
		colour := "n"
		switch {
		case b.state == Lost || b.state == Stopped:
			colour = "" // almost on the background
		case darkText[style(b.job)%len(palette)]:
			colour = "n k"
		}
		if b.state == Failed || style(b.job) >= len(palette) {
			colour += " h" // not on one colour
		}
		fmt.Fprintf(w, `<svg class="z%d" data-j="%d" %s><text class="%s" x="4" y="%s">%s</text></svg>`, z, b.job, place, colour, px(high/2+4), escape(name))
		return
	}
}

// what says what a bar is.
func (t *Timeline) what(b *bar) string {
	when := fmt.Sprintf("%s, %s to %s", t.place(b), long(b.start), long(b.finish))
	switch a := &t.Attempts[b.attempt]; {
	case b.job == several:
		return fmt.Sprintf("%d short tasks of several jobs, %s", b.n, when)
	case b.n > 1:
		return fmt.Sprintf("%d short tasks of %s, %s, %s", b.n, t.job(a), b.state, when)
	default:
		return fmt.Sprintf("%s, %s, %s", t.title(a), b.state, when)
	}
}

// title names an attempt.
func (t *Timeline) title(a *Attempt) string {
	s := fmt.Sprintf("%s/%s task %d", t.job(a), a.Stage, a.Task)
	if a.Attempt > 1 {
		s += fmt.Sprintf(", attempt %d", a.Attempt)
	}
	return s
}

func (t *Timeline) place(b *bar) string {
	if t.Machines[b.machine].Slots == 1 {
		return t.Machines[b.machine].Name
	}
	return fmt.Sprintf("%s slot %d", t.Machines[b.machine].Name, b.slot)
}
