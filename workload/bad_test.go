package workload

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// badFiles returns the malformed files and what Parse, or else Instance, says.
func badFiles(t *testing.T) (names []string, errs map[string]Errors) {
	t.Helper()
	names, err := filepath.Glob("testdata/bad/*")
	if err != nil {
		t.Fatal(err)
	}
	errs = map[string]Errors{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Parse(filepath.Base(name), data)
		if err == nil {
			_, err = f.Instance(nil)
		}
		var es Errors
		if !errors.As(err, &es) || len(es) == 0 {
			t.Errorf("%s: no Errors but %v", name, err)
			continue
		}
		errs[name] = es
	}
	return names, errs
}

// Every malformed file has its exact messages in testdata/bad.golden.
func TestBadFiles(t *testing.T) {
	names, errs := badFiles(t)
	var b strings.Builder
	classes := map[Class]bool{}
	for _, name := range names {
		for _, e := range errs[name] {
			classes[e.Class] = true
			fmt.Fprintf(&b, "%s  [%s]\n", e, e.Class)
			if e.Line < 1 || e.Column < 1 {
				t.Errorf("%s: no position: %v", name, e)
			}
			if !strings.HasPrefix(e.Msg, "found ") || !strings.Contains(e.Msg, ", expected ") {
				t.Errorf("%s: says not what was found and expected: %v", name, e)
			}
		}
	}
	if *update {
		if err := os.WriteFile("testdata/bad.golden", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile("testdata/bad.golden")
	if err != nil {
		t.Fatal(err)
	}
	got, want := strings.Split(b.String(), "\n"), strings.Split(string(golden), "\n")
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Fatalf("line %d of bad.golden (rewrite with -update, review the difference)\n got %s\nwant %s", i+1, g, w)
		}
	}
	if len(names) < 60 || len(classes) < 25 {
		t.Errorf("%d files in %d classes, want at least 60 in 25", len(names), len(classes))
	}
}
