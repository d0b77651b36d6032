package report

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-project/fairlead/internal/browser"
)

func pageOf(t *testing.T, tl *Timeline) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteHTML(&b, tl); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run.html")
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// jobsSeen says of a page: jobs without a row of the table, or without a bar, in the
// page; its width, and how many elements it has.
const jobsSeen = `(() => {
	const inside = e => { const r = e.getBoundingClientRect(), y = r.top + scrollY; return r.width > 0 && r.height > 0 && y >= 0 && y + r.height <= document.documentElement.scrollHeight };
	const rows = [...document.querySelectorAll('tr[data-row]')];
	const page = document.getElementById('plot').getBoundingClientRect();
	const within = e => { const r = e.getBoundingClientRect(); return r.left >= page.left - 1 && r.right <= page.right + 1 };
	return {
		rows: rows.filter(inside).length,
		withoutBar: rows.filter(r => ![...document.querySelectorAll('.b[data-j="' + r.dataset.row + '"]')].some(e => inside(e) && within(e))).map(r => r.textContent),
		wide: document.documentElement.scrollWidth - innerWidth,
		bars: document.querySelectorAll('.b').length,
	};
})()`

type seen struct {
	Rows, Wide, Bars int
	WithoutBar       []string
}

func TestPagesInABrowser(t *testing.T) {
	b := browser.Open(t)
	for name, c := range map[string]struct {
		timeline *Timeline
		within   time.Duration
	}{
		"night":  {night(), 30 * time.Second},
		"stream": {stream(1, 30), 30 * time.Second},
		"empty":  {&Timeline{Kind: "plan"}, 30 * time.Second},
		"many":   {crowd(), 60 * time.Second},
	} {
		page := pageOf(t, c.timeline)
		for _, view := range []struct {
			name  string
			width int
			dark  bool
		}{{"wide", 1280, false}, {"narrow", 400, true}} {
			began := time.Now()
			b.Load(page, view.width, 800, view.dark)
			var s seen
			b.Eval(jobsSeen, &s)
			if spent := time.Since(began); spent > c.within {
				t.Errorf("%s: shown after %v", name, spent)
			}
			if n := len(c.timeline.Run.Jobs); s.Rows != n || len(s.WithoutBar) > 0 {
				t.Errorf("%s, %s: %d of %d jobs have a row; without a bar: %q", name, view.name, s.Rows, n, s.WithoutBar)
			}
			if s.Wide > 0 {
				t.Errorf("%s, %s: the page is %d pixels too wide", name, view.name, s.Wide)
			}
			if s.Bars > maxBars {
				t.Errorf("%s: %d bars", name, s.Bars)
			}
			if m := b.Messages(); len(m) > 0 {
				t.Errorf("%s, %s: on the console: %q", name, view.name, m)
			}
			if r := b.Requests(); len(r) != 1 || !strings.HasPrefix(r[0], "file:") {
				t.Errorf("%s, %s: it requests %q", name, view.name, r)
			}
			b.Screenshot(name + "-" + view.name)
		}
	}
}

// People find out about a task with the mouse and with the keyboard.
func TestPageAnswers(t *testing.T) {
	b := browser.Open(t)
	b.Load(pageOf(t, night()), 1280, 900, false)
	text := func(expression string) (s string) {
		t.Helper()
		b.Eval(`String(`+expression+`)`, &s)
		return s
	}
	details := func(want ...string) {
		t.Helper()
		shown := text(`document.getElementById('details').innerText`)
		for _, w := range want {
			if !strings.Contains(shown, w) {
				t.Errorf("the details lack %q:\n%s", w, shown)
			}
		}
		if len(want) == 0 && text(`document.getElementById('details').hidden`) != "true" {
			t.Errorf("details without a task:\n%s", shown)
		}
	}
	dimmed := func() string {
		return text(`[...document.querySelectorAll('.b')].filter(e => getComputedStyle(e).opacity < 1).length`)
	}
	at := func(selector string) (x, y float64) {
		var p [2]float64
		b.Eval(`(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector('`+selector+`').getBoundingClientRect())`, &p)
		return p[0], p[1]
	}
	details()
	b.Move(at(`.b[data-j="1"]`))
	details(`<script>alert("x")</script> & 'co'/map task 1`, "fast slot 0", "12.0 s to 24.5 s (12.5 s)", "done", "map 1", "48 MiB")
	if n := dimmed(); n != "7" { // of ten, three are of that job
		t.Errorf("%s bars are dimmed", n)
	}
	b.Move(1, 1)
	details()
	if n := dimmed(); n != "0" {
		t.Errorf("%s bars are dimmed when nothing is pointed at", n)
	}
	b.Click(at(`.b[data-j="3"]`))
	b.Move(1, 1)
	details("broken/s task 0", "killed by SIGKILL")
	b.Eval(`document.getElementById('scroll').focus()`, nil)
	b.Press("Escape", 27)
	details()
	b.Press("ArrowRight", 39) // the first of all
	details("import/fetch task 0")
	b.Press("ArrowRight", 39)
	details("map task 1")
	b.Press("ArrowDown", 40) // what began nearest to its start
	details("a/<b> task 0", "exit status 3 \ufffd", "logs/bad/0.1.err")
	b.Press("End", 35)
	details("a/<b> task 0, attempt 2")
	b.Press("ArrowRight", 39) // there is no more
	details("a/<b> task 0, attempt 2")
	b.Press("ArrowUp", 38)
	b.Press("ArrowUp", 38)
	details("reduce task 2", `sh -c 'printf "a`)

	// A job's row, and its button, show where it ran.
	b.Eval(`document.querySelector('button[data-job="0"]').focus()`, nil)
	if n := dimmed(); n != "8" {
		t.Errorf("%s bars are dimmed when a job has the focus", n)
	}
	b.Click(at(`button[data-job="3"]`))
	b.Move(1, 1)
	if n := dimmed(); n != "8" || text(`document.querySelector('button[data-job="3"]').ariaPressed`) != "true" {
		t.Errorf("%s bars are dimmed when a job is chosen", n)
	}
	b.Screenshot("night-chosen")

	// Zoomed in, the plot scrolls in its own box, and shows finer marks.
	ticks := `[...document.querySelectorAll('.plot .grid')].filter(e => e.getBoundingClientRect().height > 0).length`
	before := text(ticks)
	b.Click(at(`button[data-zoom="8"]`))
	if wide := text(`Math.round(document.getElementById('plot').clientWidth / document.getElementById('scroll').clientWidth)`); wide != "8" {
		t.Errorf("8 times as wide is %s", wide)
	}
	if after := text(ticks); before != "7" || after != "61" {
		t.Errorf("%s marks, zoomed in %s", before, after)
	}
	if text(`document.documentElement.scrollWidth > innerWidth`) != "false" {
		t.Error("the page has become too wide")
	}
	if m := b.Messages(); len(m) > 0 {
		t.Errorf("on the console: %q", m)
	}
}

// The page's policy forbids every request, and scripts of names do not run.
func TestPageIsSelfContained(t *testing.T) {
	html := written(t, WriteHTML, night())
	if !strings.Contains(html, `content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"`) {
		t.Error("no policy")
	}
	if strings.Contains(html, "<script>alert") || strings.Count(html, "<script") != 2 {
		t.Error("a name became a script")
	}
	if strings.Contains(html, "http:") || strings.Contains(html, "https:") {
		t.Error("it names another place")
	}
}

func TestPageStaysSmall(t *testing.T) {
	tl := *crowd()
	tl.Attempts = slices.Clone(tl.Attempts)
	for i := range tl.Attempts {
		tl.Attempts[i].Command = strings.Repeat("long command ", 100)
	}
	var html, svg bytes.Buffer
	if err := errors.Join(WriteHTML(&html, &tl), WriteSVG(&svg, &tl)); err != nil {
		t.Fatal(err)
	}
	if html.Len() > 12<<20 || svg.Len() > 6<<20 {
		t.Errorf("%d bytes of HTML, %d of SVG", html.Len(), svg.Len())
	}
}
