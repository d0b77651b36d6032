package history

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-project/fairlead/sched"
)

// asProcess has the test binary be another process that uses the history.
const asProcess = "FAIRLEAD_TEST_HISTORY"

func TestMain(m *testing.M) {
	if arg := os.Getenv(asProcess); arg != "" {
		run, path, _ := strings.Cut(arg, " ")
		if err := recordSlowly(path, run); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const slowBatches, slowBatch = 8, 10

// recordSlowly opens the history anew for every batch, as many short runs would.
func recordSlowly(path, run string) error {
	for b := range slowBatches {
		db, err := Open(path)
		if err != nil {
			return err
		}
		var list []Attempt
		for t := range slowBatch {
			a := attempt(0, b, t, slowBatch, t%3, 1)
			a.Run = run
			list = append(list, a)
		}
		if err := db.Record(context.Background(), list); err != nil {
			return err
		}
		if err := db.Close(); err != nil {
			return err
		}
	}
	return nil
}

func openTemp(t testing.TB) *DB {
	t.Helper()
	db, err := Open(filepath.Join(t.TempDir(), "history.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func record(t testing.TB, db *DB, list ...Attempt) {
	t.Helper()
	if err := db.Record(t.Context(), list); err != nil {
		t.Fatal(err)
	}
}

func all(t testing.TB, db *DB) []Attempt {
	t.Helper()
	list, err := db.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// random sets every field of an attempt, so that one that is not kept is noticed.
func random(rng *rand.Rand, run int) Attempt {
	a := Attempt{
		Run: fmt.Sprint("run", run), Workload: "nightly", Job: fmt.Sprint("job", rng.IntN(3)), Stage: fmt.Sprint("stage", rng.IntN(3)),
		Task: rng.IntN(50), Attempt: 1 + rng.IntN(3), Tasks: 50, Machine: fmt.Sprint("m", rng.IntN(3)),
		Speed: rng.Float64() + 0.1, SpeedAssumed: true, Size: rng.Float64(), Input: rng.Float64() * 1e12,
		Launched: time.Unix(rng.Int64N(4e9), rng.Int64N(1e9)), Start: sched.Time(rng.Int64N(1e18)),
		FirstProgress: rng.Float64(), State: State(1 + rng.IntN(4)), ExitCode: rng.IntN(256), Signal: "SIGKILL",
		CPU: time.Duration(rng.Int64N(1e15)), Memory: rng.Int64N(1e15), OutOfMemory: true,
	}
	a.FirstProgressAt = a.Start + sched.Time(rng.Int64N(1e12))
	a.End = a.FirstProgressAt + sched.Time(rng.Int64N(1e12))
	return a
}

func TestAttemptsAreKeptOnce(t *testing.T) {
	v := reflect.ValueOf(random(rand.New(rand.NewPCG(1, 1)), 1))
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Fatalf("random leaves %s unset", v.Type().Field(i).Name)
		}
	}
	type id struct {
		run, job, stage string
		task, attempt   int
	}
	of := func(a Attempt) id { return id{a.Run, a.Job, a.Stage, a.Task, a.Attempt} }
	for seed := range uint64(2) {
		rng := rand.New(rand.NewPCG(seed, 2))
		db := openTemp(t)
		first := map[id]Attempt{} // what was recorded first stays
		for run := range 4 {
			var list []Attempt
			for range 60 {
				a := random(rng, run)
				if _, known := first[of(a)]; !known {
					first[of(a)] = a
				}
				list = append(list, a)
			}
			record(t, db, list...)
			record(t, db, list[rng.IntN(len(list)):]...) // as when a run is resumed
		}
		got := all(t, db)
		if len(got) != len(first) {
			t.Fatalf("seed %d: %d attempts, want %d", seed, len(got), len(first))
		}
		lastRun := ""
		for _, a := range got {
			if a != first[of(a)] {
				t.Fatalf("seed %d: got\n%+v, want\n%+v", seed, a, first[of(a)])
			}
			if a.Run < lastRun {
				t.Fatalf("%s comes after %s", a.Run, lastRun)
			}
			lastRun = a.Run
		}
	}
}

func TestReadingSome(t *testing.T) {
	db := openTemp(t)
	for run := range 6 {
		for stage := range 3 {
			record(t, db, attempt(run, stage, 0, 1, 0, 1))
		}
	}
	got, err := db.Of(t.Context(), "", []Key{{"job", "stage2"}, {"job", "stage0"}, {"job", "none"}})
	if err != nil || len(got) != 12 || got[0].Run != "run0" || got[11].Run != "run5" {
		t.Errorf("of two stages: %v, %v", got, err)
	}
	for _, a := range got {
		if a.Stage == "stage1" {
			t.Error("stage1 was not asked for")
		}
	}
	for run := range 2 * latestRuns {
		record(t, db, attempt(10+run, 1, 0, 1, 0, 1), attempt(10+run, 1, 1, 2, 0, 1))
	}
	got, err = db.Of(t.Context(), "", []Key{{"job", "stage1"}})
	if err != nil || len(got) != 2*latestRuns || got[0].Run != fmt.Sprint("run", 10+latestRuns) {
		t.Errorf("of a stage of many runs: %d, %v", len(got), err)
	}
	if n := len(all(t, db)); n != 18+4*latestRuns {
		t.Errorf("%d attempts in all", n)
	}
	if got, err = db.Recent(t.Context(), 2); err != nil || len(got) != 4 || got[0].Run != fmt.Sprint("run", 10+2*latestRuns-2) {
		t.Errorf("of two runs: %v, %v", got, err)
	}
}

func TestBadAttemptsAreRefused(t *testing.T) {
	db := openTemp(t)
	good := attempt(0, 0, 0, 1, 0, 1)
	for name, spoil := range map[string]func(*Attempt){
		"run":     func(a *Attempt) { a.Run = "" },
		"task":    func(a *Attempt) { a.Task = 1 },
		"attempt": func(a *Attempt) { a.Attempt = 0 },
		"state":   func(a *Attempt) { a.State = 0 },
		"state 5": func(a *Attempt) { a.State = 5 },
		"speed":   func(a *Attempt) { a.Speed = 0 },
		"end":     func(a *Attempt) { a.End = a.Start - 1 },
	} {
		bad := good
		spoil(&bad)
		if err := db.Record(t.Context(), []Attempt{good, bad}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if n := len(all(t, db)); n != 0 {
		t.Errorf("%d attempts of refused lists are there", n)
	}
	record(t, db, good)
}

// Of a stage of very many tasks the same random sample stays of every run, and of the
// latest runs only; what failed goes first.
func TestThinning(t *testing.T) {
	db := openTemp(t)
	const runs, tasks = 6, 700
	for run := range runs {
		var list []Attempt
		for task := range tasks {
			a := attempt(run, 0, task, tasks, 0, 1)
			if task%2 != 0 {
				a.State = Failed
			}
			list = append(list, a)
			if len(list) == 350 { // several batches per run
				record(t, db, list...)
				list = nil
			}
		}
		record(t, db, list...)
		record(t, db, attempt(run, 1, 0, 1, 0, 1))
	}
	perRun, failed, small := map[string]map[int]bool{}, 0, 0
	for _, a := range all(t, db) {
		if a.Stage == "stage1" {
			small++
			continue
		}
		if perRun[a.Run] == nil {
			perRun[a.Run] = map[int]bool{}
		}
		perRun[a.Run][a.Task] = true
		if a.State == Failed {
			failed++
		}
	}
	if small != runs {
		t.Errorf("%d attempts of the small stage, want all %d", small, runs)
	}
	if failed != 0 {
		t.Errorf("%d failures kept, though enough tasks succeeded", failed)
	}
	if len(perRun) != keptPerSeries/keptPerRun || perRun["run5"] == nil {
		t.Fatalf("runs kept: %d, want the latest %d", len(perRun), keptPerSeries/keptPerRun)
	}
	for run, tasks := range perRun {
		if len(tasks) != keptPerRun || !reflect.DeepEqual(tasks, perRun["run5"]) {
			t.Errorf("%s: %d tasks kept, want %d, the same of every run", run, len(tasks), keptPerRun)
		}
	}
	sum := 0
	for task := range perRun["run5"] {
		sum += task
	}
	if mean := sum / keptPerRun; mean < tasks*3/10 || mean > tasks*7/10 {
		t.Errorf("the tasks kept are number %d on average of %d: no random sample", mean, tasks)
	}
}

func TestOldRunsAreForgotten(t *testing.T) {
	db := openTemp(t)
	for run := range 10 {
		for stage := range 10 {
			record(t, db, attempt(run, stage*(1+run%2), 0, 1, run, 1))
		}
	}
	forget := func(keep int) (runs map[string]int) {
		err := db.transaction(t.Context(), func(tx *sql.Tx) error {
			return (&recorder{ctx: t.Context(), tx: tx}).forgetOldRuns(keep)
		})
		if err != nil {
			t.Fatal(err)
		}
		runs = map[string]int{}
		for _, a := range all(t, db) {
			runs[a.Run]++
		}
		return runs
	}
	if got := forget(100); len(got) != 10 {
		t.Errorf("nothing is too much, but left are %v", got)
	}
	if got := forget(35); !reflect.DeepEqual(got, map[string]int{"run7": 10, "run8": 10, "run9": 10}) {
		t.Errorf("left are %v", got)
	}
	if got := forget(3); !reflect.DeepEqual(got, map[string]int{"run9": 10}) {
		t.Errorf("the latest run must stay, left are %v", got)
	}
	var names int
	if err := db.sql.QueryRow("SELECT (SELECT count(*) FROM runs) + (SELECT count(*) FROM machines)").Scan(&names); err != nil || names != 2 {
		t.Errorf("%d names of runs and machines left, %v", names, err)
	}
}

func TestForget(t *testing.T) {
	db := openTemp(t)
	other := attempt(0, 0, 0, 1, 0, 1)
	other.Job = "other"
	record(t, db, attempt(0, 0, 0, 1, 0, 1), attempt(0, 1, 0, 1, 0, 1), other)
	if n, err := db.Forget(t.Context(), "job"); n != 2 || err != nil {
		t.Errorf("forgot %d, %v", n, err)
	}
	if n, err := db.Forget(t.Context(), "job"); n != 0 || err != nil {
		t.Errorf("forgot %d the second time, %v", n, err)
	}
	if got := all(t, db); len(got) != 1 || got[0] != other {
		t.Errorf("left: %+v", got)
	}
}

// A file that is not understood is refused with the reason, and stays as it is.
func TestForeignFilesStayAsTheyAre(t *testing.T) {
	database := func(sqls ...string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			s, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for _, q := range sqls {
				if _, err := s.Exec(q); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	randomFile := func(n int) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			rng := rand.New(rand.NewPCG(uint64(n), 1))
			b := junk(n, rng)
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		fill func(*testing.T, string)
		want error
	}{
		"junk":            {randomFile(100_000), ErrCorrupt},
		"short junk":      {randomFile(7), ErrCorrupt},
		"text":            {func(t *testing.T, p string) { os.WriteFile(p, []byte(strings.Repeat("not a database\n", 100)), 0o644) }, ErrCorrupt},
		"another program": {database("CREATE TABLE x (y)", "PRAGMA user_version = 1"), ErrCorrupt},
		"marked":          {database("PRAGMA application_id = 7"), ErrCorrupt},
		"newer":           {database(fmt.Sprintf("PRAGMA application_id = %d", applicationID), fmt.Sprintf("PRAGMA user_version = %d", len(migrations)+1)), ErrNewer},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "history.db")
			c.fill(t, path)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, open := range []func(string) (*DB, error){Open, OpenReadOnly} {
				db, err := open(path)
				if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), path) {
					t.Errorf("error %v, want %v", err, c.want)
				}
				if db != nil {
					t.Error("a history comes with the error")
				}
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file has changed: %v", err)
			}
		})
	}
}

func junk(n int, rng *rand.Rand) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// Damage in the middle is found when it is read, if not before, and reported.
func TestDamageIsReported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	db, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []Attempt
	for i := range 1000 {
		list = append(list, attempt(0, i/20, i%20, 20, 0, 1))
	}
	record(t, db, list...)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	found := 0
	for range 12 {
		bad := bytes.Clone(good)
		page := 1 + rng.IntN(len(bad)/4096-1)
		copy(bad[page*4096:], junk(4096, rng))
		if err := os.WriteFile(path, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		db, err := Open(path)
		if err == nil {
			_, err = db.All(t.Context())
			db.Close()
		}
		if errors.Is(err, ErrCorrupt) {
			found++
		}
	}
	if found < 9 { // a page of an index need not be read
		t.Errorf("found %d of 12 damages", found)
	}
}

func TestPathsThatNeedCare(t *testing.T) {
	for _, name := range []string{"a b", "100%25", "q?mode=ro", "hash#1", "ä&ö=1", "a'b\"c"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "history.db")
		db, err := Open(path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		record(t, db, attempt(0, 0, 0, 1, 0, 1))
		db.Close()
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
		ro, err := OpenReadOnly(path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if n := len(all(t, ro)); n != 1 {
			t.Errorf("%s: %d attempts", name, n)
		}
		if err := ro.Record(t.Context(), []Attempt{attempt(1, 0, 0, 1, 0, 1)}); !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: recording where one may only read: %v", name, err)
		}
		ro.Close()
	}
}

func TestNoDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "history.db")
	if _, err := Open(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open: %v", err)
	}
	if _, err := OpenReadOnly(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("OpenReadOnly: %v", err)
	}
	path = filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenReadOnly(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("OpenReadOnly of nothing: %v", err)
	}
	db, err := Open(path) // as when a process was ended before it had made it
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	record(t, db, attempt(0, 0, 0, 1, 0, 1))
}

// Several processes use one history, which the first of them makes: all attempts of
// all of them are there once.
func TestProcessesShareAHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	var running []*exec.Cmd
	for p := range 4 {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), fmt.Sprintf("%s=process%d %s", asProcess, p/2, path)) // two say the same
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, c)
	}
	for _, c := range running {
		if err := c.Wait(); err != nil {
			t.Errorf("a process failed: %v", err)
		}
	}
	db, err := OpenReadOnly(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if n := len(all(t, db)); n != 2*slowBatches*slowBatch {
		t.Errorf("%d attempts, want %d", n, 2*slowBatches*slowBatch)
	}
}

// While another one reads, one can write; and a writer that does not end is an error in
// time, if the caller waits no longer.
func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	db, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	other, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.sql.Exec("PRAGMA busy_timeout = 1"); err != nil {
		t.Fatal(err)
	}
	tx, err := db.sql.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Record(t.Context(), []Attempt{attempt(0, 0, 0, 1, 0, 1)}); !errors.Is(err, ErrBusy) {
		t.Errorf("recording while another one does: %v", err)
	}
	if n := len(all(t, other)); n != 0 {
		t.Errorf("%d attempts", n)
	}
	tx.Rollback()
	record(t, other, attempt(0, 0, 0, 1, 0, 1))
}

func BenchmarkRecord(b *testing.B) {
	var list []Attempt
	for i := range 10_000 {
		list = append(list, attempt(0, i%100, i/100, 100, i%4, 1))
	}
	for range b.N {
		db := openTemp(b)
		record(b, db, list...)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(list)), "µs/attempt")
}

// Rows that no attempt can have are damage too: a flipped bit need not make SQLite
// complain, and what is learnt from it could be no number.
func TestImpossibleRowsAreDamage(t *testing.T) {
	for _, change := range []string{
		"speed = -1", "speed = 9e999", "size = -9e999", "input = 9e999", "finish = start - 1", "state = 9", "tasks = 0", "run = 77", "machine = 77",
	} {
		path := filepath.Join(t.TempDir(), "history.db")
		db, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		record(t, db, attempt(0, 0, 0, 2, 0, 1), attempt(0, 0, 1, 2, 0, 1))
		if _, err := db.sql.Exec("UPDATE attempts SET " + change + " WHERE task = 1"); err != nil {
			t.Fatal(err)
		}
		if _, err := db.All(t.Context()); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v", change, err)
		}
		db.Close()
	}
}
