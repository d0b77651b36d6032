package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// classes names the kinds of byte in an application's output.
var classes = map[string]func(data []byte, i int) string{
	"wordcount": func(data []byte, i int) string {
		switch c := data[i]; {
		case c == '\t':
			return "tab"
		case c == '\n':
			return "newline"
		case c <= '9':
			return "count"
		}
		return "word"
	},
	"sort": func(data []byte, i int) string {
		if data[i] == '\n' {
			return "newline"
		}
		return "letter"
	},
	"terasort": func(_ []byte, i int) string {
		switch i %= teraRecord; {
		case i < teraKey:
			return "key"
		case i < teraKey+16:
			return "number"
		}
		return "filler"
	},
}

// TestCheckFindsEveryFlip changes one byte at a time, at places drawn from all
// bytes of the output and, so that rare kinds are not missed, from every kind.
func TestCheckFindsEveryFlip(t *testing.T) {
	for app := range small {
		t.Run(app, func(t *testing.T) {
			dir := t.TempDir()
			pipeline(t, dir, app, "", []int{0, 1, 2})
			rng := rand.New(rand.NewPCG(5, 0))
			parts, err := filepath.Glob(filepath.Join(dir, app, "output", "*"))
			if err != nil || len(parts) != 3 {
				t.Fatal(parts, err)
			}
			type place struct {
				part string
				at   int
			}
			kinds := map[string][]place{}
			for _, part := range parts {
				data := read(t, part)
				for i := range data {
					k := classes[app](data, i)
					kinds[k] = append(kinds[k], place{part, i})
					kinds["any"] = append(kinds["any"], place{part, i})
				}
			}
			for kind, places := range kinds {
				flips := 40
				if kind == "any" {
					flips = 200
				}
				for range flips {
					p := places[rng.IntN(len(places))]
					data := read(t, p.part)
					old := data[p.at]
					data[p.at] ^= byte(1 + rng.IntN(255))
					write(t, p.part, data)
					if check(dir, app) == nil {
						t.Errorf("%s, byte %d (%s): %q instead of %q was not found", p.part, p.at, kind, data[p.at], old)
					}
					data[p.at] = old
					write(t, p.part, data)
				}
			}
			if err := check(dir, app); err != nil {
				t.Errorf("after all was restored: %v", err)
			}
		})
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestCheckFindsDamage: what else can happen to files.
func TestCheckFindsDamage(t *testing.T) {
	for app := range small {
		dir := t.TempDir()
		pipeline(t, dir, app, "", []int{0, 1, 2})
		part := func(r string) string { return filepath.Join(dir, app, "output", "part-0000"+r) }
		original := map[string][]byte{"0": read(t, part("0")), "1": read(t, part("1")), "2": read(t, part("2"))}
		one := original["1"]
		cut := blocks(teraRecord)
		if app != "terasort" {
			cut = lines
		}
		first, _, _ := cut(one, true)
		second, _, _ := cut(one[first:], true)
		head, next, rest := one[:first], one[first:first+second], one[first+second:]
		for name, damage := range map[string]func(){
			"last byte lost":     func() { write(t, part("1"), one[:len(one)-1]) },
			"half lost":          func() { write(t, part("1"), one[:len(one)/2]) },
			"all lost":           func() { write(t, part("1"), nil) },
			"byte added":         func() { write(t, part("1"), append(bytes.Clone(one), 'x')) },
			"newline added":      func() { write(t, part("1"), append(bytes.Clone(one), '\n')) },
			"record lost":        func() { write(t, part("1"), one[first:]) },
			"record twice":       func() { write(t, part("1"), slices.Concat(head, head, next, rest)) },
			"record for another": func() { write(t, part("1"), slices.Concat(head, head, rest)) },
			"records swapped":    func() { write(t, part("1"), slices.Concat(next, head, rest)) },
			"parts swapped":      func() { write(t, part("1"), original["2"]); write(t, part("2"), one) },
			"part twice":         func() { write(t, part("2"), one) },
			"part missing":       func() { _ = os.Remove(part("1")) },
			"last part missing":  func() { _ = os.Remove(part("2")) },
			"part added":         func() { write(t, part("3"), nil) },
			"zero before count":  func() { write(t, part("1"), bytes.Replace(one, []byte("\t"), []byte("\t0"), 1)) },
			"no output":          func() { _ = os.RemoveAll(filepath.Join(dir, app, "output")) },
		} {
			if name == "zero before count" && app != "wordcount" {
				continue
			}
			damage()
			if err := check(dir, app); err == nil {
				t.Errorf("%s: %s was not found", app, name)
			} else if !strings.HasPrefix(err.Error(), "job "+app+": ") {
				t.Errorf("%s: %s: the error does not say which job: %v", app, name, err)
			}
			_ = os.Remove(part("3"))
			_ = os.MkdirAll(filepath.Join(dir, app, "output"), 0o777)
			for r, data := range original {
				write(t, part(r), data)
			}
			if err := check(dir, app); err != nil {
				t.Fatalf("%s: after repairing %q: %v", app, name, err)
			}
		}
	}
}

// TestCheckLooksAtAllJobs: the first wrong job does not hide the second, and the
// table shows the one that is right.
func TestCheckLooksAtAllJobs(t *testing.T) {
	dir := t.TempDir()
	for app := range small {
		pipeline(t, dir, app, "", []int{0, 1, 2})
	}
	write(t, filepath.Join(dir, "sort/output/part-00000"), []byte("a\n"))
	write(t, filepath.Join(dir, "wordcount/output/part-00000"), []byte("ba\t1\n"))
	var stdout bytes.Buffer
	err := run([]string{"-dir", dir, "check"}, "", &stdout, &stdout)
	if err == nil || !strings.Contains(err.Error(), "job sort: ") || !strings.Contains(err.Error(), "job wordcount: ") {
		t.Errorf("not both errors: %v", err)
	}
	if out := stdout.String(); strings.Count(out, "WRONG") != 2 || strings.Count(out, "sorted, complete") != 1 {
		t.Errorf("want two wrong jobs and a right one:\n%s", out)
	}
}
