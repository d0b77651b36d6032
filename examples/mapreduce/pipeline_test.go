package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// small is a job of each application, with three splits and three reducers.
var small = map[string]int{"wordcount": 500, "sort": 100, "terasort": 100}

// do runs a command in dir and fails the test on an error.
func do(t *testing.T, dir, speed string, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if err := run(append([]string{"-dir", dir}, args...), speed, &stdout, &stderr); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, &stderr)
	}
	return stdout.String()
}

// pipeline runs a small job; order permutes the tasks of every stage.
func pipeline(t *testing.T, dir, app, speed string, order []int) {
	t.Helper()
	for _, i := range order {
		do(t, dir, speed, "generate", "-app="+app, "-splits=3", "-reducers=3", fmt.Sprintf("-records=%d", small[app]),
			"-seed=11", "-passes=2", app, strconv.Itoa(i))
	}
	if app == "terasort" {
		do(t, dir, speed, "sample", app)
	}
	for _, command := range []string{"map", "reduce"} {
		for _, i := range order {
			do(t, dir, speed, command, app, strconv.Itoa(i))
		}
	}
}

func check(dir string, jobs ...string) error {
	return run(append([]string{"-dir", dir, "check"}, jobs...), "", io.Discard, io.Discard)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

// concat returns the contents of the files that match, in order of name.
func concat(t *testing.T, dir, pattern string) []byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(files) != 3 {
		t.Fatalf("%s: %d files, want 3 (%v)", pattern, len(files), err)
	}
	var all []byte
	for _, f := range files {
		all = append(all, read(t, f)...)
	}
	return all
}

// TestOutputs compares each application with the shortest program that does the
// same to all input at once, in memory.
func TestOutputs(t *testing.T) {
	dir := t.TempDir()
	for app := range small {
		pipeline(t, dir, app, "", []int{0, 1, 2})
	}
	counts := map[string]int{}
	for _, word := range strings.Fields(string(concat(t, dir, "wordcount/split-*"))) {
		counts[word]++
	}
	var want []string
	for word, n := range counts {
		want = append(want, fmt.Sprintf("%s\t%d\n", word, n))
	}
	got := strings.SplitAfter(string(concat(t, dir, "wordcount/output/*")), "\n")
	got = got[:len(got)-1]
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("wordcount: %d counts differ from the %d counted serially", len(got), len(want))
	}

	recs := bytes.SplitAfter(concat(t, dir, "sort/split-*"), []byte("\n"))
	slices.SortFunc(recs, bytes.Compare)
	if out := concat(t, dir, "sort/output/*"); len(out) == 0 || !bytes.Equal(out, bytes.Join(recs, nil)) {
		t.Error("sort: the output is not the sorted input")
	}

	recs = slices.Collect(slices.Chunk(concat(t, dir, "terasort/split-*"), teraRecord))
	slices.SortFunc(recs, bytes.Compare)
	if out := concat(t, dir, "terasort/output/*"); len(out) == 0 || !bytes.Equal(out, bytes.Join(recs, nil)) {
		t.Error("terasort: the output is not the sorted input")
	}

	table := do(t, dir, "", "check")
	wantTable := fmt.Sprintf(`JOB        APPLICATION  PARTS  RECORDS IN  RECORDS OUT  BYTES  VERIFIED
sort       sort         3      300         300          %d  sorted, complete
terasort   terasort     3      300         300          30000  sorted, complete
wordcount  wordcount    3      1500        %-11d  %-5d  sorted, counts right
`, len(concat(t, dir, "sort/output/*")), len(counts), len(concat(t, dir, "wordcount/output/*")))
	if table != wantTable {
		t.Errorf("check printed\n%swant\n%s", table, wantTable)
	}
}

// TestDeterministic: files depend neither on the order of the tasks nor on how
// often they are repeated.
func TestDeterministic(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	for app := range small {
		pipeline(t, a, app, "", []int{0, 1, 2})
		pipeline(t, b, app, "0.5", []int{2, 0, 1})
	}
	files := func(root string) map[string]string {
		all := map[string]string{}
		err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				text, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				all[strings.TrimPrefix(path, root)] = string(text)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	// Per application: job.json, 3 splits, 9 runs, 3 parts; terasort has cuts.
	if fa, fb := files(a), files(b); len(fa) != 3*16+1 || !maps.Equal(fa, fb) {
		t.Errorf("%d and %d files differ", len(fa), len(fb))
	}
}

func TestTasksRefuseDamagedInput(t *testing.T) {
	for app := range small {
		dir := t.TempDir()
		pipeline(t, dir, app, "", []int{0, 1, 2})
		for _, c := range []struct{ file, command string }{{"split-00001.gz", "map"}, {"run-00000-00001.gz", "reduce"}} {
			path := filepath.Join(dir, app, c.file)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			data[len(data)/2] ^= 4
			if err := os.WriteFile(path, data, 0o666); err != nil {
				t.Fatal(err)
			}
			if err := run([]string{"-dir", dir, c.command, app, "1"}, "", io.Discard, io.Discard); err == nil {
				t.Errorf("%s: %s read a damaged %s", app, c.command, c.file)
			}
		}
	}
}

// TestSampleBalances: terasort's keys are so skewed that equal ranges of the
// first character would leave one part with most records; the sample evens that.
func TestSampleBalances(t *testing.T) {
	dir := t.TempDir()
	const splits, reducers, n = 2, 4, 5000
	for i := range splits {
		do(t, dir, "", "generate", "-app=terasort", fmt.Sprintf("-splits=%d", splits), fmt.Sprintf("-reducers=%d", reducers),
			fmt.Sprintf("-records=%d", n), "-seed=3", "big", strconv.Itoa(i))
	}
	do(t, dir, "", "sample", "big")
	j, err := dataDir(dir).load("big")
	if err != nil {
		t.Fatal(err)
	}
	sampled, err := j.app().partitioner(j)
	if err != nil {
		t.Fatal(err)
	}
	var even, fixed [reducers]int
	for i := range splits {
		for rec := range j.app().input(j, i) {
			even[sampled(rec)]++
			fixed[int(rec[0]-' ')*reducers/95]++
		}
	}
	const mean = splits * n / reducers
	if most := slices.Max(even[:]); most > mean*13/10 {
		t.Errorf("the largest part has %d records, the mean is %d: %v", most, mean, even)
	}
	if most := slices.Max(fixed[:]); most < mean*15/10 {
		t.Errorf("keys are not skewed: %v", fixed)
	}
}

// TestWordsDiffer: equal words of different rank would hide a wrong count.
func TestWordsDiffer(t *testing.T) {
	seen := map[string]uint64{}
	for i := range uint64(40_000) {
		rank := i
		if i >= 20_000 {
			rank = i * 104 % vocabulary // further out
		}
		word := string(appendWord(nil, rank))
		if other, ok := seen[word]; ok && other != rank {
			t.Fatalf("ranks %d and %d are both %q", other, rank, word)
		}
		seen[word] = rank
	}
}

func TestRepeat(t *testing.T) {
	for _, c := range []struct {
		passes int
		speed  string
		want   int // -1: an error
	}{{8, "", 1}, {8, "1", 8}, {8, "2", 4}, {8, "0.5", 16}, {3, "0.3333333", 9}, {8, "3", -1}, {1, "2", -1}, {1, "1e9", -1}, {1, "fast", -1}, {1, "0", -1}, {1, "NaN", -1}} {
		n := 0
		err := repeat(c.passes, c.speed, func() error { n++; return nil })
		if (err != nil) != (c.want < 0) || err == nil && n != c.want {
			t.Errorf("%d passes at speed %q: done %d times, error %v; want %d", c.passes, c.speed, n, err, c.want)
		}
	}
	stop := errors.New("stop")
	n := 0
	if err := repeat(4, "1", func() error { n++; return stop }); !errors.Is(err, stop) || n != 1 {
		t.Errorf("after an error in pass 1: %d passes, error %v", n, err)
	}
}

func TestCleanRemovesJobsOnly(t *testing.T) {
	dir := t.TempDir()
	pipeline(t, dir, "sort", "", []int{0, 1, 2})
	mine := filepath.Join(dir, "mine", "notes")
	if err := writeFile(mine, func(w writer) error { return w.WriteByte('x') }); err != nil {
		t.Fatal(err)
	}
	do(t, dir, "", "clean")
	if _, err := os.Stat(filepath.Join(dir, "sort")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("sort is still there: %v", err)
	}
	if got := read(t, mine); string(got) != "x" {
		t.Errorf("clean touched a file of somebody else: %q", got)
	}
	do(t, dir, "", "clean") // nothing to remove is no error
}

func TestBadCommands(t *testing.T) {
	dir := t.TempDir()
	pipeline(t, dir, "sort", "", []int{0, 1, 2})
	for _, c := range []struct{ args, want string }{
		{"", "no command"},
		{"shuffle", `unknown command "shuffle"`},
		{"clean all", "clean takes no arguments"},
		{"map sort", "map: want 2 argument(s), got 1"},
		{"map sort 3", `no split "3": want 0 to 2`},
		{"reduce sort -1", `no reducer "-1": want 0 to 2`},
		{"map absent 0", "generate its input first"},
		{"sample sort", "only terasort samples its keys"},
		{"generate x", "want JOB and SPLIT"},
		{"generate -app=grep x 0", `unknown application "grep"`},
		{"generate -app=sort x 0", "0 records: want 1 to 10000000"},
		{"generate -app=sort -records=1 ../x 0", "cannot be the name of a directory"},
		{"generate -app=sort -records=1 -splits=0 x 0", "0 splits"},
		{"generate -app=sort -records=1 -reducers=1001 x 0", "1001 reducers"},
		{"generate -app=sort -records=1 -passes=0 x 0", "0 passes"},
		{"check absent", "job absent"},
	} {
		err := run(append([]string{"-dir", dir}, strings.Fields(c.args)...), "", io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q", c.args, err, c.want)
		}
	}
	if err := check(t.TempDir()); err == nil || !strings.Contains(err.Error(), "nothing to check") {
		t.Errorf("check of an empty directory: %v", err)
	}
}
