package report

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-project/fairlead/sched"
)

var (
	//go:embed comparison.tmpl
	comparisonTemplate string
	//go:embed comparison.css
	comparisonCSS string
)

var comparisonPage = template.Must(template.New("comparison").Parse(comparisonTemplate))

// Page is a comparison of policies as one page that needs no other file and makes no
// request.
type Page struct {
	Title      string
	Comparison []Comparison
	// Runs are by instance, then policy, the policies in the order of Comparison.
	Runs []Run
	// Loads holds the load of every instance, in the order of Runs; 0: all jobs are
	// there from the beginning.
	Loads []float64
	// Timelines of the policies on the first instance.
	Timelines []*Timeline
}

const (
	// ganttBytes bounds what all Gantt charts add to the page.
	ganttBytes = 1_500_000
	// curvePoints bounds a distribution.
	curvePoints = 160
)

type comparisonData struct {
	Title, Subtitle, Against string
	Intervals                bool
	Style                    template.CSS
	Rows                     []comparisonRow
	Dots                     []dotPlot
	Charts                   []lineChart
	GanttNote                string
	Gantts                   []ganttImage
}

type comparisonRow struct {
	Swatch                                            template.HTML
	Policy, Cost, Ratio, Flow, FlowRatio, Factor, Won string
}

type dotPlot struct {
	ID, Title, Note string
	Rows            []dotRow
	Ticks           []dotTick
}

type dotRow struct {
	Policy, Value string
	Colour        template.CSS
	At, Left      float64 // percent
	Width         float64 // 0: no interval
}

type dotTick struct {
	At    float64
	Label string
}

type lineChart struct {
	ID, Title, Note string
	SVG             template.HTML
	Key             []template.HTML
}

type ganttImage struct {
	Policy, Cost  string
	Image         template.URL
	Width, Height string
	Open          bool
}

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	d := comparisonData{
		Title: p.Title, Subtitle: p.subtitle(), Style: template.CSS(pageCSS + comparisonCSS),
		Against: p.Comparison[0].Against, Intervals: p.Comparison[0].Runs > 1,
	}
	for i, c := range p.Comparison {
		row := comparisonRow{
			Swatch: swatch(i), Policy: c.Policy, Cost: wide(c.Cost.Mean), Flow: wide(c.FlowCost.Mean),
			Ratio: c.Ratio.String(), FlowRatio: c.FlowRatio.String(), Factor: c.FlowFactor.String(),
			Won: fmt.Sprintf("%d–%d–%d", c.Wins, c.Ties, c.Losses),
		}
		if c.Policy == c.Against {
			row.Factor, row.Won = "1", "–"
		}
		d.Rows = append(d.Rows, row)
	}
	d.Dots = []dotPlot{
		p.dots("ratio", "Ratio", "Total weighted completion time over the lower bound.", func(c *Comparison) *Estimate { return c.Ratio }),
		p.dots("flowratio", "Flow ratio", "The same counted from the releases: it does not drift to 1 as jobs come later.", func(c *Comparison) *Estimate { return c.FlowRatio }),
	}
	d.Charts = []lineChart{p.distribution(), p.overLoad()}
	if err := p.gantts(&d); err != nil {
		return err
	}
	return comparisonPage.Execute(w, d)
}

func (p *Page) subtitle() string {
	n := p.Comparison[0].Runs
	return fmt.Sprintf("%s compared on %s, %s each at most", count(len(p.Comparison), "policy", "policies"), count(n, "instance", "instances"), count(p.mostJobs(), "job", "jobs"))
}

func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func (p *Page) mostJobs() (n int) {
	for i := range p.Runs {
		n = max(n, len(p.Runs[i].Jobs))
	}
	return n
}

// wide prints a number of any size.
func wide(x float64) string {
	if x >= 1000 && x < 1e15 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.4g", x)
}

// colours and dashes tell policies apart, in print and for who does not see colours too.
func colour(i int) string { return palette[i%len(palette)] }

var dashes = [...]string{"", "7 3", "2 3", "9 3 2 3"}

func dash(i int) string { return dashes[i%len(dashes)] }

func swatch(i int) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg class="swatch" width="22" height="12" aria-hidden="true"><path d="M0 6h22" stroke="%s" stroke-width="3" stroke-dasharray="%s" fill="none"/></svg>`, colour(i), dash(i)))
}

// dots draws a mean and an interval per policy on a common scale.
func (p *Page) dots(id, title, note string, of func(*Comparison) *Estimate) dotPlot {
	d := dotPlot{ID: id, Title: title, Note: note}
	low, high := math.Inf(1), math.Inf(-1)
	for i := range p.Comparison {
		if e := of(&p.Comparison[i]); e != nil {
			low, high = min(low, e.Mean), max(high, e.Mean)
			if e.Low != nil {
				low, high = min(low, *e.Low), max(high, *e.High)
			}
		}
	}
	if math.IsInf(low, 0) {
		d.Note = "There is no lower bound to compare with (--no-bound), or it says nothing about flow times."
		return d
	}
	// Ratios are compared by quotient: far ones must not hide the differences of near ones.
	low = min(1, low)
	if high <= low {
		high = low * 1.1
	}
	at := func(x float64) float64 { return math.Round(1e4*math.Log(x/low)/math.Log(high/low))/100*0.96 + 2 }
	for _, t := range logTicks(low, high, 6) {
		d.Ticks = append(d.Ticks, dotTick{at(t), fmt.Sprintf("%g", t)})
	}
	for i := range p.Comparison {
		e := of(&p.Comparison[i])
		if e == nil {
			continue
		}
		r := dotRow{Policy: p.Comparison[i].Policy, Value: e.String(), Colour: template.CSS(colour(i)), At: at(e.Mean)}
		if e.Low != nil {
			r.Left = at(*e.Low)
			r.Width = max(0.3, at(*e.High)-r.Left)
		}
		d.Rows = append(d.Rows, r)
	}
	return d
}

// logTicks returns round numbers in [low, high], at most n.
func logTicks(low, high float64, n int) []float64 {
	for _, mantissas := range [][]float64{
		{1, 1.02, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9},
		{1, 1.1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 8},
		{1, 1.2, 1.5, 2, 3, 4, 6, 8},
		{1, 1.5, 2, 3, 5, 7},
		{1, 2, 5},
		{1, 3},
		{1},
	} {
		var out []float64
		for e := math.Floor(math.Log10(low)); e <= math.Log10(high); e++ {
			for _, m := range mantissas {
				x := m * math.Pow(10, e)
				if e < 0 {
					x = m / math.Pow(10, -e)
				}
				if x >= low*(1-1e-9) && x <= high*(1+1e-9) {
					out = append(out, x)
				}
			}
		}
		if len(out) <= n {
			return out
		}
	}
	every := (int(math.Log10(high/low)) + n) / n
	var out []float64
	for e := int(math.Ceil(math.Log10(low))); float64(e) <= math.Log10(high); e += every {
		out = append(out, math.Pow(10, float64(e)))
	}
	return out
}

// The plot of a line chart, in units of its view box.
const (
	chartWidth, chartHeight = 720, 340
	plotLeft, plotRight     = 56, 16
	plotTop, plotBottom     = 16, 48
)

type plot struct {
	strings.Builder
	x, y func(float64) float64
}

func newPlot(xLabel, yLabel, describe string) *plot {
	p := &plot{}
	fmt.Fprintf(p, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n", chartWidth, chartHeight, template.HTMLEscapeString(describe))
	fmt.Fprintf(p, `<text class="muted" x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", (plotLeft+chartWidth-plotRight)/2, chartHeight-8, xLabel)
	fmt.Fprintf(p, `<text class="muted" transform="translate(14 %d) rotate(-90)" text-anchor="middle">%s</text>`+"\n", (plotTop+chartHeight-plotBottom)/2, yLabel)
	return p
}

func (p *plot) xTick(x float64, label string) {
	fmt.Fprintf(p, `<path class="grid" d="M%.1f %dV%d"/><text class="muted" x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
		p.x(x), plotTop, chartHeight-plotBottom, p.x(x), chartHeight-plotBottom+18, label)
}

func (p *plot) yTick(y float64, label string) {
	fmt.Fprintf(p, `<path class="grid" d="M%d %.1fH%d"/><text class="muted" x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
		plotLeft, p.y(y), chartWidth-plotRight, plotLeft-6, p.y(y)+4, label)
}

func (p *plot) line(i int, d string) {
	fmt.Fprintf(p, `<path class="mark" d="%s" stroke="%s" stroke-dasharray="%s"/>`+"\n", d, colour(i), dash(i))
}

// along maps [low, high] to [from, to], by quotients if log.
func along(low, high, from, to float64, log bool) func(float64) float64 {
	if log {
		return func(x float64) float64 { return from + (to-from)*math.Log(x/low)/math.Log(high/low) }
	}
	return func(x float64) float64 { return from + (to-from)*(x-low)/(high-low) }
}

// distribution is which share of all jobs has which flow time at most.
func (p *Page) distribution() lineChart {
	c := lineChart{ID: "flows", Title: "Flow times", Note: "Which share of all jobs, of all instances, is done within so long after its release. Further left is better."}
	flows := map[string][]float64{}
	for i := range p.Runs {
		r := &p.Runs[i]
		for _, j := range r.Jobs {
			if j.Completion != nil {
				flows[r.Policy] = append(flows[r.Policy], *j.Completion-j.Release)
			}
		}
	}
	low, high := math.Inf(1), 0.0
	for _, f := range flows {
		slices.Sort(f)
		for _, x := range f {
			if x > 0 {
				low = min(low, x)
				break
			}
		}
		if len(f) > 0 {
			high = max(high, f[len(f)-1])
		}
	}
	if high == 0 {
		c.Note = "No job takes any time."
		return c
	}
	if high <= low {
		low, high = low/1.1, high*1.1
	}
	v := newPlot("flow time (logarithmic)", "share of jobs", "Distribution of flow times per policy")
	v.x = along(low, high, plotLeft, chartWidth-plotRight, true)
	v.y = along(0, 1, chartHeight-plotBottom, plotTop, false)
	for _, y := range []float64{0, 0.25, 0.5, 0.75, 1} {
		v.yTick(y, fmt.Sprintf("%g %%", 100*y))
	}
	for _, x := range logTicks(low, high, 7) {
		v.xTick(x, clock(sched.FromSeconds(x)))
	}
	for i := range p.Comparison {
		f := flows[p.Comparison[i].Policy]
		n := min(len(f), curvePoints)
		if n == 0 {
			continue
		}
		var d strings.Builder
		for k := range n {
			at := (k + 1) * len(f) / n // so many are done by f[at−1]
			letter := "L"
			if k == 0 {
				letter = "M"
			}
			fmt.Fprintf(&d, "%s%.1f %.1f", letter, v.x(max(low, f[at-1])), v.y(float64(at)/float64(len(f))))
		}
		v.line(i, d.String())
		c.Key = append(c.Key, keyOf(i, p.Comparison[i].Policy))
	}
	v.WriteString("</svg>")
	c.SVG = template.HTML(v.String())
	return c
}

func keyOf(i int, name string) template.HTML {
	return swatch(i) + template.HTML(template.HTMLEscapeString(name))
}

// overLoad is the mean flow ratio at each load.
func (p *Page) overLoad() lineChart {
	c := lineChart{ID: "load", Title: "Cost over load", Note: "Mean flow ratio of the instances at each load: the work that arrives per second, over what the machines can do. 0: all jobs are there from the beginning."}
	k := len(p.Comparison)
	type cell struct {
		sum float64
		n   int
	}
	at := map[float64][]cell{}
	var loads []float64
	of := p.loadOfWorkload()
	for i := range p.Runs {
		r := &p.Runs[i]
		load := of[r.Workload]
		if at[load] == nil {
			at[load] = make([]cell, k)
			loads = append(loads, load)
		}
		if r.FlowRatio != nil {
			at[load][i%k].sum += *r.FlowRatio
			at[load][i%k].n++
		}
	}
	slices.Sort(loads)
	low, high := math.Inf(1), 0.0
	for _, cells := range at {
		for _, x := range cells {
			if x.n > 0 {
				low, high = min(low, x.sum/float64(x.n)), max(high, x.sum/float64(x.n))
			}
		}
	}
	if len(loads) < 2 || high == 0 {
		c.Note = "All instances have about the same load"
		if high == 0 {
			c.Note = "There is no flow ratio to draw"
		}
		c.Note += ": name several workloads of different loads (generate --load) to see how cost grows with it."
		if high == 0 || len(loads) == 0 {
			return c
		}
	}
	low, high = min(1, low), max(high, 1.1)
	v := newPlot("load", "flow ratio (logarithmic)", "Mean flow ratio per policy over load")
	first, last := loads[0], loads[len(loads)-1]
	if first == last {
		first, last = first-0.1, last+0.1
	}
	v.x = along(first, last, plotLeft+24, chartWidth-plotRight-24, false)
	v.y = along(low, high, chartHeight-plotBottom, plotTop, true)
	for _, y := range logTicks(low, high, 6) {
		v.yTick(y, fmt.Sprintf("%g", y))
	}
	for _, x := range loads {
		v.xTick(x, fmt.Sprintf("%g", x))
	}
	for i := range p.Comparison {
		var d, points strings.Builder
		letter := "M"
		for _, x := range loads {
			if y := at[x][i]; y.n > 0 {
				px, py := v.x(x), v.y(y.sum/float64(y.n))
				fmt.Fprintf(&d, "%s%.1f %.1f", letter, px, py)
				fmt.Fprintf(&points, `<circle cx="%.1f" cy="%.1f" r="4" fill="%s"/>`+"\n", px, py, colour(i))
				letter = "L"
			}
		}
		if d.Len() > 0 {
			v.line(i, d.String())
			v.WriteString(points.String())
			c.Key = append(c.Key, keyOf(i, p.Comparison[i].Policy))
		}
	}
	v.WriteString("</svg>")
	c.SVG = template.HTML(v.String())
	return c
}

// loadOfWorkload returns the mean load of each workload's instances, rounded to twentieths.
func (p *Page) loadOfWorkload() map[string]float64 {
	sum, n := map[string]float64{}, map[string]float64{}
	for i, load := range p.Loads {
		name := p.Runs[i*len(p.Comparison)].Workload
		sum[name] += load
		n[name]++
	}
	for name := range sum {
		sum[name] = math.Round(20*sum[name]/n[name]) / 20
	}
	return sum
}

// gantts draws the first instance under each policy, as long as the page does not get
// too large.
func (p *Page) gantts(d *comparisonData) error {
	total, left := 0, 0
	for i, t := range p.Timelines {
		var b bytes.Buffer
		if err := WriteSVG(&b, t); err != nil {
			return err
		}
		svg := picture(b.String())
		size := base64.StdEncoding.EncodedLen(len(svg))
		if total+size > ganttBytes && i > 0 {
			left++
			continue
		}
		total += size
		g := ganttImage{
			Policy: t.Run.Policy, Cost: "weighted flow time " + wide(t.Run.WeightedFlowTime), Open: len(d.Gantts) == 0,
			Image: template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(svg))),
		}
		g.Width, g.Height = svgSize(svg)
		d.Gantts = append(d.Gantts, g)
	}
	d.GanttNote = "The first instance under each policy: a lane per slot, a colour per job. Open one to see it."
	if left > 0 {
		d.GanttNote += fmt.Sprintf(" %s left out, or the page would be too large: simulate fewer policies, or a smaller workload, to see the others.", count(left, "policy is", "policies are"))
	}
	return nil
}

// picture leaves out of an SVG what nobody can see in a picture: that is half of it.
func picture(svg string) string { return unseen.ReplaceAllString(svg, "") }

var unseen = regexp.MustCompile(`<title>[^<]*</title>| data-j="[0-9]*"`)

// svgSize reads width and height of what WriteSVG wrote.
func svgSize(svg string) (w, h string) {
	_, rest, _ := strings.Cut(svg, ` width="`)
	w, rest, _ = strings.Cut(rest, `"`)
	_, rest, _ = strings.Cut(rest, ` height="`)
	h, _, _ = strings.Cut(rest, `"`)
	return w, h
}
