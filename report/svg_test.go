package report

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-project/fairlead/internal/browser"
	"github.com/fairlead-project/fairlead/sched"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestSVG(t *testing.T) {
	for name, tl := range map[string]*Timeline{"night": night(), "unfinished": unfinished()} {
		got, path := written(t, WriteSVG, tl), filepath.Join("testdata", name+".svg")
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || got != string(want) {
			t.Errorf("%s is not as expected (%v): rewrite it with go test ./report -run SVG -update, and look at it", path, err)
		}
	}
}

// unfinished is night as it stood after 27 seconds.
func unfinished() *Timeline {
	tl := night()
	tl.Now, tl.Unfinished, tl.Name = 27*sec, true, ""
	var kept []Attempt
	for _, a := range tl.Attempts {
		if a.Start > tl.Now {
			continue
		}
		if a.Finish > tl.Now {
			a.State, a.Finish = Running, 0
		}
		kept = append(kept, a)
	}
	tl.Attempts = kept
	for j := 1; j < len(tl.Run.Jobs); j++ {
		tl.Run.Jobs[j].Completion, tl.Run.Jobs[j].State = nil, "active"
	}
	return tl
}

// A picture is well-formed XML whatever names hold, refers to nothing outside, and
// has all texts.
func TestSVGIsWellFormed(t *testing.T) {
	tl := night()
	tl.Name = "a\x00b\xff]]>&<!--"
	for j := range 100 { // past the end of palette and legend
		tl.Run.Jobs = append(tl.Run.Jobs, Job{Name: strings.Repeat("\"'<>", j), State: "waiting"})
		tl.Attempts = append(tl.Attempts, Attempt{Job: 4 + j, Stage: "\x1b\u2028", Machine: 1, Start: sched.Time(61+j) * sec, Finish: sched.Time(62+j) * sec})
	}
	svg := written(t, WriteSVG, tl)
	d := xml.NewDecoder(strings.NewReader(svg))
	var text strings.Builder
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.CharData:
			text.Write(token)
		case xml.StartElement:
			for _, a := range token.Attr {
				if a.Name.Local == "href" || strings.HasPrefix(a.Name.Local, "on") || token.Name.Local == "script" {
					t.Errorf("<%s %s=%q>", token.Name.Local, a.Name.Local, a.Value)
				}
			}
		}
	}
	for _, want := range []string{"a\ufffdb\ufffd]]>&<!--", `<script>alert("x")</script> & 'co'/map task 1`, "and 44 more jobs"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in the texts", want)
		}
	}
}

// What took no time is drawn all the same.
func TestNothingIsTooThin(t *testing.T) {
	tl := night()
	tl.Attempts[0].Finish = tl.Attempts[0].Start
	if svg := written(t, WriteSVG, tl); strings.Contains(svg, `width="0.0000%"`) || strings.Count(svg, `class="b `) != len(tl.Attempts) {
		t.Error("a bar cannot be seen")
	}
}

// The picture, opened alone in a browser.
func TestSVGInABrowser(t *testing.T) {
	b := browser.Open(t)
	for name, tl := range map[string]*Timeline{"night": night(), "unfinished": unfinished(), "stream": stream(1, 30)} {
		path := filepath.Join(t.TempDir(), name+".svg")
		if err := os.WriteFile(path, []byte(written(t, WriteSVG, tl)), 0o666); err != nil {
			t.Fatal(err)
		}
		b.Load(path, width, 600, name == "stream")
		var n int
		b.Eval(`[...document.querySelectorAll('.b')].filter(e => e.getBoundingClientRect().width > 0).length`, &n)
		if want := len(tl.bars(svgCells)); n != want {
			t.Errorf("%s: %d of %d bars are seen", name, n, want)
		}
		if len(b.Messages()) > 0 || len(b.Requests()) != 1 {
			t.Errorf("%s: messages %q, requests %q", name, b.Messages(), b.Requests())
		}
		b.Screenshot(name + "-svg")
	}
}
