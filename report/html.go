package report

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"

	"github.com/fairlead-project/fairlead/sched"
)

var (
	//go:embed page.tmpl
	pageTemplate string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
)

var page = template.Must(template.New("page").Parse(pageTemplate))

const (
	// pageCells: at the largest zoom a cell is a pixel.
	pageCells = 8 * plotWidth
	// Bounds of the page's tables and texts.
	maxRows     = 5000 // jobs, machines
	maxFailures = 100
	maxCommand  = 160 // characters of a command
	maxError    = 300
)

type pageData struct {
	Title, Subtitle, Summary string
	Style                    template.CSS
	Script                   template.JS
	Facts                    []fact
	Defs, Labels, Plot       template.HTML
	LabelWidth               int
	Height                   string
	Zooms                    []int
	Seen                     []AttemptState
	Jobs                     []jobRow
	Machines                 []machineRow
	Failures                 []failureRow
	MoreJobs, MoreMachines   int
	MoreFailures             int
	Details                  template.JS
}

type jobRow struct {
	Index, Style, Tasks, Failed                                   int
	Name, Weight, Release, Start, Completion, FlowTime, State, Of string
}

type machineRow struct {
	Name, Speed, CPU, Memory string
	Slots, Attempts          int
	Percent                  string
}

type failureRow struct{ Task, Where, When, What, Output string }

// WriteHTML writes the timeline as one page that needs no other file and makes no
// request: its policy forbids any. It shows the Gantt chart as [WriteSVG] does, up to
// eight times as wide, with details of every task, and tables of jobs, machines and
// failed attempts. Jobs or machines beyond 5,000 and failures beyond 100 are counted
// only.
func WriteHTML(w io.Writer, t *Timeline) error {
	c := newChart(t, pageCells)
	css, defs := jobStyles(len(t.Run.Jobs))
	details, err := json.Marshal(c.details())
	if err != nil {
		return err
	}
	d := pageData{
		Title: t.heading(), Subtitle: t.subtitle(), Summary: t.describe(),
		Style: template.CSS(css + chartCSS + pageCSS), Script: template.JS(pageJS),
		Facts: t.facts(), Defs: template.HTML(defs + failedDef),
		Labels: rendered(c.labels), Plot: rendered(func(w io.Writer) { c.plot(w, zooms) }),
		LabelWidth: c.left, Height: px(c.h),
		Zooms: zooms, Seen: t.seen(),
		Details: template.JS(details), // json escapes <, > and &
	}
	d.Jobs, d.MoreJobs = t.jobRows()
	d.Machines, d.MoreMachines = t.machineRows()
	d.Failures, d.MoreFailures = t.failureRows()
	b := bufio.NewWriterSize(w, 1<<16)
	if err := page.Execute(b, d); err != nil {
		return err
	}
	return b.Flush()
}

// rendered is what draw writes; all text in it is escaped already.
func rendered(draw func(io.Writer)) template.HTML {
	var b bytes.Buffer
	draw(&b)
	return template.HTML(b.String())
}

func (t *Timeline) jobRows() (rows []jobRow, more int) {
	_, use := t.Usage()
	starts := make([]sched.Time, len(t.Run.Jobs))
	for j := range starts {
		starts[j] = sched.Never
	}
	for i := range t.Attempts {
		if a := &t.Attempts[i]; a.Job >= 0 && a.Job < len(starts) {
			starts[a.Job] = min(starts[a.Job], a.Start)
		}
	}
	n := min(len(t.Run.Jobs), maxRows)
	for j := range n {
		job := &t.Run.Jobs[j]
		r := jobRow{
			Index: j, Style: style(j), Name: clean(job.Name), Weight: plain(job.Weight), State: job.State,
			Release: long(sched.FromSeconds(job.Release)), Start: "–", Completion: "–", FlowTime: "–",
			Tasks: use[j].Attempts[Done], Failed: use[j].Attempts[Failed],
		}
		if starts[j] != sched.Never {
			r.Start = long(starts[j])
		}
		if job.Completion != nil {
			r.Completion = long(sched.FromSeconds(*job.Completion))
			r.FlowTime = long(sched.FromSeconds(*job.Completion - job.Release))
		}
		rows = append(rows, r)
	}
	return rows, len(t.Run.Jobs) - n
}

func (t *Timeline) machineRows() (rows []machineRow, more int) {
	use, _ := t.Usage()
	n := min(len(use), maxRows)
	for i := range n {
		m, u := &t.Machines[i], &use[i]
		r := machineRow{
			Name: clean(m.Name), Speed: plain(m.Speed), Slots: m.Slots, Attempts: u.Total(), CPU: "–", Memory: "–",
			Percent: fmt.Sprintf("%.1f", min(100, 100*t.Utilisation(u, m.Slots))),
		}
		if u.CPU > 0 {
			r.CPU = long(sched.Time(u.CPU))
		}
		if u.PeakMemory > 0 {
			r.Memory = Bytes(u.PeakMemory)
		}
		rows = append(rows, r)
	}
	return rows, len(use) - n
}

// Failures returns the indices of the failed and lost attempts, in order of time.
func (t *Timeline) Failures() []int {
	var failed []int
	for i := range t.Attempts {
		if s := t.Attempts[i].State; s == Failed || s == Lost {
			failed = append(failed, i)
		}
	}
	slices.SortFunc(failed, t.byStart)
	return failed
}

func (t *Timeline) failureRows() (rows []failureRow, more int) {
	failed := t.Failures()
	n := min(len(failed), maxFailures)
	for _, i := range failed[:n] {
		a := &t.Attempts[i]
		rows = append(rows, failureRow{
			Task: clean(t.title(a)), Where: clean(t.machine(a)), When: long(t.end(a)), What: clean(a.outcome()), Output: clean(a.Stderr),
		})
	}
	return rows, len(failed) - n
}

// outcome says how an attempt ended.
func (a *Attempt) outcome() string {
	switch {
	case a.State != Failed:
		return a.State.String()
	case a.Error != "":
		return "failed: " + shorten(a.Error, maxError)
	case a.Signal != "":
		return "failed: " + a.Signal
	}
	return fmt.Sprintf("failed: exit code %d", a.ExitCode)
}

// detail is what the page shows of a bar, as pairs of a name and a value. Names are
// numbers, to save room: see page.js.
type detail [][2]any

const (
	detailTask = iota
	detailMachine
	detailTime
	detailOutcome
	detailCPU
	detailMemory
	detailCommand
	detailOutput
)

// details has an entry per bar, in their order.
func (c *chart) details() []detail {
	out := make([]detail, len(c.bars))
	for i := range c.bars {
		b := &c.bars[i]
		a := &c.t.Attempts[b.attempt]
		when := fmt.Sprintf("%s to %s (%s)", long(b.start), long(b.finish), long(b.finish-b.start))
		var d detail
		add := func(name int, value string) {
			if value != "" {
				d = append(d, [2]any{name, clean(value)})
			}
		}
		switch {
		case b.job == several:
			add(detailTask, fmt.Sprintf("%d short tasks of several jobs", b.n))
		case b.n > 1:
			add(detailTask, fmt.Sprintf("%d short tasks of %s", b.n, c.t.job(a)))
		default:
			add(detailTask, c.t.title(a))
		}
		add(detailMachine, c.t.place(b))
		add(detailTime, when)
		if b.n > 1 {
			if b.job != several {
				add(detailOutcome, b.state.String())
			}
			out[i] = d
			continue
		}
		add(detailOutcome, a.outcome())
		if a.CPU > 0 {
			add(detailCPU, long(sched.Time(a.CPU)))
		}
		if a.PeakMemory > 0 {
			add(detailMemory, Bytes(a.PeakMemory))
		}
		add(detailCommand, shorten(a.Command, maxCommand))
		if a.State == Failed {
			add(detailOutput, a.Stderr)
		}
		out[i] = d
	}
	return out
}
