package archtest

import (
	"slices"
	"strings"
	"testing"
)

// toy is a table with one package of every kind.
func toy() *checker {
	return newChecker("example.org/m", []entry{
		{path: "words", level: 1},
		{path: "more", level: 1, peers: []string{"words"}, external: []string{"other.org/yaml"}},
		{path: "algo/x", level: 2},
		{path: "cert", level: 2},
		{path: "engine", level: 3, higher: []string{"run"}},
		{path: "sim", level: 4, pure: true},
		{path: "run", level: 4},
		{path: "kit", level: 4, support: true},
		{path: "kit/more", level: 4, support: true},
		{path: "cli", level: 5},
		{path: "k8s/plugin", level: 5},
	})
}

// snippet parses a file of the toy; body follows the imports.
func snippet(t *testing.T, name, imports, body string) *source {
	t.Helper()
	var b strings.Builder
	b.WriteString("package p\n")
	for im := range strings.FieldsSeq(imports) {
		alias, path, ok := strings.Cut(im, "=")
		if !ok {
			alias, path = "", im
		}
		b.WriteString("import " + alias + " \"" + strings.Replace(path, "m:", "example.org/m/", 1) + "\"\n")
	}
	s, err := parse("", name, b.String()+body)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// expect compares what a rule found: want is a part of the one finding, or empty.
func expect(t *testing.T, found []string, want string) {
	t.Helper()
	switch {
	case want == "" && len(found) > 0:
		t.Errorf("found %q in good code", found)
	case want != "" && (len(found) != 1 || !strings.Contains(found[0], want)):
		t.Errorf("found %q, want one finding with %q", found, want)
	}
}

func TestMembershipRule(t *testing.T) {
	c := newChecker("example.org/m", []entry{{path: "a", level: 1}, {path: "gone", level: 1}})
	all := []*source{snippet(t, "a/a.go", "", ""), snippet(t, "new/n.go", "", ""), snippet(t, "new/n_test.go", "", "")}
	found := c.membership(all)
	if len(found) != 2 || !strings.Contains(found[0], "new is not in the table") || !strings.Contains(found[1], "lists gone") {
		t.Errorf("found %q", found)
	}
	expect(t, c.membership(append(all[:1], snippet(t, "gone/g.go", "", ""))), "")
}

func TestLevelRule(t *testing.T) {
	for _, c := range []struct{ file, imports, want string }{
		{"algo/x/x.go", "m:words fmt", ""},
		{"cli/c.go", "m:words m:engine m:run", ""},
		{"words/w.go", "m:algo/x", "imports lower levels only"},
		{"engine/e.go", "m:sim", "engine (level 3) imports sim (level 4)"},
		{"engine/e.go", "m:run", "imports lower levels only"},
		{"engine/e_test.go", "m:run", ""},
		{"engine/e_test.go", "m:sim", "imports lower levels only"},
		{"engine/e_test.go", "m:engine", ""},
		{"more/m.go", "m:words", ""},
		{"words/w.go", "m:more", "does not list it as a peer"},
		{"words/w_test.go", "m:more", ""},
		{"run/r.go", "m:sim", "does not list it as a peer"},
		{"words/w.go", "m:kit", "for tests only"},
		{"cli/c.go", "m:kit", "for tests only"},
		{"words/w_test.go", "m:kit", ""},
		{"kit/k.go", "m:kit/more m:engine", ""},
		{"kit/k.go", "m:cli", "imports lower levels only"},
		{"cli/c.go", "m:nowhere", "not in the table"},
		{"cli/c.go", "example.org/m", "not in the table"},
		{"cli/c.go", "example.org/mother", ""},
	} {
		t.Run(c.file+" "+c.imports, func(t *testing.T) {
			expect(t, toy().levels(snippet(t, c.file, c.imports, "")), c.want)
		})
	}
}

func TestUnusedRule(t *testing.T) {
	all := []*source{
		snippet(t, "more/m.go", "m:words other.org/yaml", ""),
		snippet(t, "engine/e_test.go", "m:run", ""),
	}
	expect(t, toy().unused(all), "")
	expect(t, toy().unused(all[:1]), "lets the tests of engine import run")
	expect(t, toy().unused([]*source{snippet(t, "more/m.go", "m:words", ""), all[1]}), "import other.org/yaml")
	// A test's import is no use of what the code was allowed.
	expect(t, toy().unused([]*source{
		snippet(t, "more/m.go", "other.org/yaml", ""), snippet(t, "more/m_test.go", "m:words", ""), all[1],
	}), "lets the code of more import words")
}

func TestEverywhereRule(t *testing.T) {
	for _, c := range []struct{ file, imports, want string }{
		{"cli/c.go", "k8s.io/api/core/v1", "only k8s/ may"},
		{"cli/c_test.go", "k8s.io/api/core/v1", "only k8s/ may"},
		{"k8s/plugin/p.go", "k8s.io/api/core/v1", ""},
		{"k8sio/p.go", "k8s.io/api", "only k8s/ may"},
		{"cli/c.go", "k8s.iox/api", ""},
		{"cli/c.go", "C", "without cgo"},
	} {
		expect(t, toy().everywhere(snippet(t, c.file, c.imports, "")), c.want)
	}
}

func TestIndependenceRule(t *testing.T) {
	for _, c := range []struct{ imports, want string }{
		{"m:words", ""},
		{"math/big algo", ""}, // not ours
		{"m:opt/queyranne", "must not share code"},
		{"m:algo/x", "must not share code"},
		{"x=m:algo", "must not share code"},
		{"m:optics", ""},
	} {
		expect(t, toy().independence(snippet(t, "cert/c.go", c.imports, "")), c.want)
	}
}

func TestPurityRule(t *testing.T) {
	for _, c := range []struct{ imports, body, want string }{
		{"time", "const d = time.Second; func f(t time.Time, e time.Duration) time.Time { return t.Add(e) }", ""},
		{"time", "var now = time.Now()", "time.Now"},
		{"time", "var now = time.Now", "time.Now"}, // not called yet, but handed on
		{"clk=time", "func f() { clk.Sleep(1) }", "time.Sleep"},
		{"time", "func f(t time.Time) { _ = time.Since(t) }", "time.Since"},
		{"time", "func f(t time.Time) { _ = time.Until(t) }", "time.Until"},
		{"time", "func f() { <-time.After(1) }", "time.After"},
		{"time", "func f() { time.AfterFunc(1, nil) }", "time.AfterFunc"},
		{"time", "func f() { time.NewTimer(1) }", "time.NewTimer"},
		{"time", "type s struct { t *time.Ticker }", "time.Ticker"},
		{"time", "func f() { for range time.Tick(1) {} }", "time.Tick"},
		{"time", "var z = time.Local", "time.Local"},
		{".=time", "var now = Now()", "under no name"},
		{"os", "", "imports os (I/O)"},
		{"os/exec", "", "imports os/exec"},
		{"net", "", "imports net"},
		{"net/http", "", "imports net/http"},
		{"netip=net/netip", "", "imports net/netip"},
		{"io/ioutil", "", "imports io/ioutil"},
		{"syscall", "", "imports syscall"},
		{"log/slog", "", "imports log/slog"},
		{"io bufio embed strings", "", ""},
		{"", "func f() { go f() }", "starts a goroutine"},
		{"", "func f() { func() { go f() }() }", "starts a goroutine"},
		{"", "func f() { select {} }", "select statement"},
		{"", "func f() { println(1) }", "println"},
		{"fmt", "func f() { fmt.Println(1) }", "fmt.Println"},
		{"fmt io", "func f(w io.Writer) { fmt.Fprintln(w, fmt.Sprint(1)) }", ""},
		{"math/rand/v2", "var r = rand.New(rand.NewPCG(1, 2)); func f(r *rand.Rand) int { return r.IntN(3) }", ""},
		{"math/rand/v2", "func f() int { return rand.IntN(3) }", "rand.IntN"},
		{"math/rand", "func f() { rand.Seed(1) }", "rand.Seed"},
		{"math/rand", "func f() { rand.Shuffle(3, nil) }", "rand.Shuffle"},
		{"mr=math/rand/v2", "func f() int { return mr.N(3) }", "rand.N"},
		{"crypto/rand", "", "without a seed"},
		{"other.org/clock", "", "which the table does not list"},
		{"golang.org/x/sys/unix", "", "of another module"},
		{"m:words", "", ""},
	} {
		t.Run(c.imports+" "+c.body, func(t *testing.T) {
			for _, file := range []string{"words/w.go", "algo/x/x.go", "engine/e.go", "sim/s.go"} {
				expect(t, toy().pure(snippet(t, file, c.imports, c.body)), c.want)
			}
			for _, file := range []string{"words/w_test.go", "sim/s_test.go", "run/r.go", "cli/c.go", "kit/k.go"} {
				expect(t, toy().pure(snippet(t, file, c.imports, c.body)), "")
			}
		})
	}
	expect(t, toy().pure(snippet(t, "more/m.go", "other.org/yaml", "")), "")
	// Each breach is reported, with its line.
	got := toy().pure(snippet(t, "sim/s.go", "time", "func f() {\n\ttime.Sleep(1)\n\tgo f()\n}"))
	if len(got) != 2 || !strings.HasPrefix(got[0], "sim/s.go:4: ") || !strings.HasPrefix(got[1], "sim/s.go:5: ") {
		t.Errorf("found %q", got)
	}
}

func TestWalkSeesEveryFile(t *testing.T) {
	_, all := load(t)
	has := func(dir string, test bool) bool {
		return slices.ContainsFunc(all, func(s *source) bool { return s.dir == dir && s.test == test })
	}
	for _, dir := range []string{"sched", "internal/archtest"} {
		if !has(dir, false) || !has(dir, true) {
			t.Errorf("the walk misses code or tests of %s", dir)
		}
	}
}
