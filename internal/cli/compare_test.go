package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-project/fairlead/internal/adversary"
	"github.com/fairlead-project/fairlead/internal/browser"
	"github.com/fairlead-project/fairlead/policy/all"
	"github.com/fairlead-project/fairlead/trace/generate"
)

// streams writes a random stream per load to files.
func streams(t *testing.T, jobs int, cv float64, loads ...float64) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	for _, load := range loads {
		f, err := generate.File(generate.Options{
			Kind: generate.Mixed, Jobs: jobs, Seed: 1, Load: load, Machines: 5, SpeedSkew: 4,
			Weights: generate.Skewed, SizeCV: cv, MinTasks: 2, MaxTasks: 8,
		})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, fmt.Sprintf("load-%g.yaml", load))
		var b bytes.Buffer
		if err := f.EncodeYAML(&b); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

const twelve = "spc,spc-online,wspt,fifo,identical,map-only,sjf,critical-path,heft,peft,min-min,max-min"

func comparing(t *testing.T, stdout, stderr io.Writer) *env {
	return &env{ctx: t.Context(), stdout: stdout, stderr: stderr, getenv: func(string) string { return "" }, policies: all.Registry()}
}

// The same seeds give the same bytes, on any number of cores: what is printed, and the page.
func TestCompareIsDeterministic(t *testing.T) {
	paths := streams(t, 10, 0.5, 0.5, 0.9)
	output := func(parallel int) (string, string) {
		var out bytes.Buffer
		page := filepath.Join(t.TempDir(), "page.html")
		o := simulateOptions{policies: "spc,spc-online,random,fifo", seeds: 4, parallel: parallel, out: "json", html: page}
		if err := comparing(t, &out, io.Discard).simulateAll(paths, o); err != nil {
			t.Fatal(err)
		}
		html, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		return out.String(), string(html)
	}
	oneText, onePage := output(1)
	fourText, fourPage := output(4)
	if oneText != fourText || onePage != fourPage {
		t.Error("one worker and four do not print the same")
	}
	var r comparisonResult
	if err := json.Unmarshal([]byte(oneText), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Runs) != 2*4*4 || len(r.Comparison) != 4 {
		t.Fatalf("%d runs, %d policies", len(r.Runs), len(r.Comparison))
	}
	for i, run := range r.Runs { // by file, seed, policy
		if want := uint64(i / 4 % 4); run.Seed != want || run.Workload != paths[i/16] || run.LowerBound == nil || *run.Ratio < 1 {
			t.Errorf("run %d: %s, seed %d, ratio %v", i, run.Workload, run.Seed, run.Ratio)
		}
	}
	// A single simulation at a seed is the run of that seed.
	var single bytes.Buffer
	if err := comparing(t, &single, io.Discard).simulateAll(paths[1:], simulateOptions{policies: "random", seeds: 1, parallel: 1, seed: 3, out: "json"}); err != nil {
		t.Fatal(err)
	}
	var s simulateResult
	if err := json.Unmarshal(single.Bytes(), &s); err != nil {
		t.Fatal(err)
	}
	if got, want := r.Runs[16+3*4+2], s.Runs[0]; got.WeightedCompletion != want.WeightedCompletion || got.Policy != want.Policy {
		t.Errorf("%s costs %v among others, %v alone", got.Policy, got.WeightedCompletion, want.WeightedCompletion)
	}
}

// Where nothing is random, one seed is all there is, and it is said.
func TestCompareSaysThatSeedsAreAlike(t *testing.T) {
	paths := streams(t, 4, 0, 0.5)
	var out, diagnostics bytes.Buffer
	if err := comparing(t, &out, &diagnostics).simulateAll(paths, simulateOptions{policies: "wspt,fifo", seeds: 5, parallel: 2, out: "table"}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(diagnostics.String(), "all seeds are alike") || !strings.Contains(out.String(), "Means over 1 instance.") {
		t.Errorf("said %q, printed\n%s", &diagnostics, &out)
	}
	out.Reset()
	if err := comparing(t, &out, io.Discard).simulateAll(paths, simulateOptions{policies: "random,fifo", seeds: 5, parallel: 2, out: "table"}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "Means over 5 instances") {
		t.Errorf("random draws, but printed\n%s", &out)
	}
}

// An interrupt ends everything, a mistake in one simulation names where it was.
func TestCompareEnds(t *testing.T) {
	paths := streams(t, 4, 0.5, 0.5)
	e := comparing(t, io.Discard, io.Discard)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e.ctx = ctx
	if err := e.simulateAll(paths, simulateOptions{policies: "wspt,fifo", seeds: 5, parallel: 2, out: "table"}); !errors.Is(err, errInterrupted) {
		t.Errorf("error %v", err)
	}
	e = comparing(t, io.Discard, io.Discard)
	err := e.simulateAll(paths, simulateOptions{policies: "fifo,spc", seeds: 2, parallel: 2, arrivals: "online", out: "table"})
	if err == nil || !strings.Contains(err.Error(), "seed 0: spc: ") || !strings.Contains(err.Error(), paths[0]) {
		t.Errorf("error %v", err)
	}
}

// Ctrl-C ends the search for a bad case, with what it has found so far.
func TestAdversaryInterrupted(t *testing.T) {
	var out bytes.Buffer
	e := comparing(t, &out, io.Discard)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	e.ctx = ctx
	o := adversaryOptions{
		policy: "fifo", against: "wspt", out: "table", file: filepath.Join(t.TempDir(), "worst.yaml"),
		Options: adversary.Options{Jobs: 4, Stages: 3, Tasks: 4, Machines: 3, Size: 20, Weight: 20, Speed: 10, Steps: 100_000_000, Restarts: 2, Workers: 2},
	}
	if err := e.adversary(&o); !errors.Is(err, errInterrupted) {
		t.Errorf("error %v", err)
	}
	if !strings.HasPrefix(out.String(), "policy") || !strings.Contains(out.String(), "fifo") {
		t.Errorf("printed %q", &out)
	}
	if _, err := e.loadFile(o.file); err != nil {
		t.Errorf("what was found so far cannot be read: %v", err)
	}
}

// The page in a browser: every section is filled, nothing is too wide, no request, no
// message.
func TestComparisonInABrowser(t *testing.T) {
	b := browser.Open(t)
	paths := streams(t, 12, 0.4, 0.3, 0.6, 0.9)
	page := filepath.Join(t.TempDir(), "page.html")
	o := simulateOptions{policies: twelve, seeds: 3, parallel: 2, out: "table", html: page}
	if err := comparing(t, io.Discard, io.Discard).simulateAll(paths, o); err != nil {
		t.Fatal(err)
	}
	type section struct {
		ID           string
		Marks, Lines int
		Height       float64
		Text         float64 // the smallest
	}
	for name, width := range map[string]int{"comparison-wide": 1280, "comparison-narrow": 400} {
		for _, dark := range []bool{false, true} {
			b.Load(page, width, 800, dark)
			var seen struct {
				Sections []section
				Wide     bool
				Images   bool
			}
			b.Eval(`(() => {
				const shown = e => { const r = e.getBoundingClientRect(); return r.width > 0 && r.height > 0 };
				return {
					sections: [...document.querySelectorAll('section')].map(s => ({
						id: s.getAttribute('aria-labelledby'),
						marks: [...s.querySelectorAll('.mark')].filter(shown).length,
						height: s.getBoundingClientRect().height,
						text: Math.min(...[...s.querySelectorAll('text,td,th,span,p')].filter(e => shown(e) && e.textContent.trim()).map(e => {
							const svg = e.closest('svg'), size = parseFloat(getComputedStyle(e).fontSize);
							return svg && svg.viewBox.baseVal.width ? size * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : size;
						})),
					})),
					wide: document.documentElement.scrollWidth > innerWidth,
					images: [...document.querySelectorAll('details[open] img')].every(i => i.complete && i.naturalWidth > 0),
				};
			})()`, &seen)
			want := map[string]int{"summary": 12, "ratio": 12, "flowratio": 12, "flows": 12, "load": 12, "gantt": 12}
			for _, s := range seen.Sections {
				if s.Marks < want[s.ID] || s.Height < 60 {
					t.Errorf("%s: section %s has %d marks and is %v high", name, s.ID, s.Marks, s.Height)
				}
				if s.Text < 10 {
					t.Errorf("%s: section %s has text of %v pixels", name, s.ID, s.Text)
				}
				delete(want, s.ID)
			}
			asked := slices.DeleteFunc(slices.Clone(b.Requests()), func(url string) bool { return strings.HasPrefix(url, "data:") })
			if len(want) > 0 || seen.Wide || !seen.Images || len(b.Messages()) > 0 || len(asked) != 1 {
				t.Errorf("%s: missing %v; too wide: %v; images: %v; messages %q; requests %q", name, want, seen.Wide, seen.Images, b.Messages(), asked)
			}
			if !dark {
				b.Screenshot(name)
			}
		}
	}
}
