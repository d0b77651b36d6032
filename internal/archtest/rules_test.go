package archtest

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// checker applies the table to sources. Every rule returns what it found wrong,
// one line each, with position and remedy; nothing if all is well.
type checker struct {
	module string
	byPath map[string]*entry
}

func newChecker(module string, table []entry) *checker {
	c := &checker{module: module, byPath: map[string]*entry{}}
	for i := range table {
		c.byPath[table[i].path] = &table[i]
	}
	return c
}

// inside splits off the module's path: is the import ours, and which package?
func (c *checker) inside(path string) (pkg string, ok bool) {
	if path == c.module {
		return ".", true
	}
	return strings.CutPrefix(path, c.module+"/")
}

// standard reports whether an import path is of the standard library: the first
// element of every other one has a dot.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// membership: every package is in the table and every line of it is a package.
func (c *checker) membership(all []*source) (found []string) {
	seen := map[string]bool{}
	for _, s := range all {
		if c.byPath[s.dir] == nil && !seen[s.dir] {
			found = append(found, fmt.Sprintf("package %s is not in the table: give it a level in internal/archtest/table_test.go", s.dir))
		}
		seen[s.dir] = true
	}
	for path := range c.byPath {
		if !seen[path] {
			found = append(found, fmt.Sprintf("the table lists %s, but there is no such package: remove its line", path))
		}
	}
	slices.Sort(found)
	return found
}

// levels: who imports whom.
func (c *checker) levels(s *source) (found []string) {
	from := c.byPath[s.dir]
	if from == nil {
		return nil // membership reports it
	}
	for _, im := range s.imports() {
		pkg, ours := c.inside(im.path)
		if !ours || pkg == s.dir { // an external test imports its own package
			continue
		}
		say := func(format string, args ...any) {
			found = append(found, s.at(im.pos)+": "+fmt.Sprintf(format, args...))
		}
		to := c.byPath[pkg]
		switch {
		case to == nil:
			say("imports %s, which is not in the table", pkg)
		case to.support:
			if !s.test && !from.support {
				say("%s imports %s, which is for tests only", s.dir, pkg)
			}
		case to.level > from.level:
			if !s.test || !slices.Contains(from.higher, pkg) {
				say("%s (level %d) imports %s (level %d): a package imports lower levels only", s.dir, from.level, pkg, to.level)
			}
		case to.level == from.level:
			if !s.test && !slices.Contains(from.peers, pkg) {
				say("%s imports %s of its own level %d: the table does not list it as a peer", s.dir, pkg, to.level)
			}
		}
	}
	return found
}

// unused: whatever the table allows is made use of, so that it says what is.
func (c *checker) unused(all []*source) (found []string) {
	used := map[string]bool{}
	for _, s := range all {
		for _, im := range s.imports() {
			pkg, ours := c.inside(im.path)
			if !ours {
				pkg = im.path
			}
			if s.test {
				used[s.dir+" tests "+pkg] = true
			} else {
				used[s.dir+" code "+pkg] = true
			}
		}
	}
	for path, e := range c.byPath {
		check := func(list []string, kind string) {
			for _, p := range list {
				if !used[path+" "+kind+" "+p] {
					found = append(found, fmt.Sprintf("the table lets the %s of %s import %s, which it does not: remove it", kind, path, p))
				}
			}
		}
		check(e.peers, "code")
		check(e.external, "code")
		check(e.higher, "tests")
	}
	slices.Sort(found)
	return found
}

// everywhere: rules for all files, whatever the level.
func (c *checker) everywhere(s *source) (found []string) {
	for _, im := range s.imports() {
		switch {
		case im.path == "C":
			found = append(found, s.at(im.pos)+": imports C: Fairlead is built without cgo")
		case (im.path == "k8s.io" || strings.HasPrefix(im.path, "k8s.io/")) && s.dir != "k8s" && !strings.HasPrefix(s.dir, "k8s/"):
			found = append(found, s.at(im.pos)+": imports "+im.path+": only k8s/ may")
		}
	}
	return found
}

// independence: a verifier's own code imports nothing of what it verifies.
func (c *checker) independence(s *source) (found []string) {
	for _, im := range s.imports() {
		pkg, ours := c.inside(im.path)
		if first, _, _ := strings.Cut(pkg, "/"); ours && (first == "opt" || first == "algo") {
			found = append(found, fmt.Sprintf("%s: %s imports %s: a verifier must not share code with what it verifies", s.at(im.pos), s.dir, pkg))
		}
	}
	return found
}

// impureImports are standard packages that a pure package has no use for; below
// says whether the packages below them are meant as well.
var impureImports = []struct {
	path, why string
	below     bool
}{
	{"os", "I/O", true},
	{"net", "I/O", true},
	{"io/ioutil", "I/O", false},
	{"syscall", "I/O", true},
	{"log", "I/O", true},
	{"database/sql", "I/O", true},
	{"plugin", "I/O", false},
	{"crypto/rand", "a generator without a seed", false},
}

// clock are the names of package time that read or wait for the real clock, or
// depend on the computer's time zone.
var clock = map[string]bool{
	"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true, "AfterFunc": true,
	"Tick": true, "NewTimer": true, "Timer": true, "NewTicker": true, "Ticker": true,
	"Local": true, "LoadLocation": true,
}

// seeded are the names of math/rand and math/rand/v2 that take or are a
// generator; all others draw from the process's own.
var seeded = map[string]bool{
	"New": true, "NewPCG": true, "NewChaCha8": true, "NewSource": true, "NewZipf": true,
	"Rand": true, "PCG": true, "ChaCha8": true, "Source": true, "Source64": true, "Zipf": true,
}

// pure: no clock, I/O, goroutine, select, global generator, nor code of other
// modules that the table does not name. Names are looked up by import, not by
// type: a variable called like an imported package is taken for it.
func (c *checker) pure(s *source) (found []string) {
	e := c.byPath[s.dir]
	if e == nil || s.test || e.support || e.level > 3 && !e.pure {
		return nil
	}
	say := func(n ast.Node, format string, args ...any) {
		found = append(found, s.at(n.Pos())+": "+fmt.Sprintf(format, args...)+": "+s.dir+" is pure, a driver's work belongs to level 4")
	}
	calls := map[string]string{} // the file's name for a package -> its path
	for i, im := range s.imports() {
		calls[im.name] = im.path
		spec := s.file.Imports[i]
		for _, bad := range impureImports {
			if im.path == bad.path || bad.below && strings.HasPrefix(im.path, bad.path+"/") {
				say(spec, "imports %s (%s)", im.path, bad.why)
			}
		}
		if _, ours := c.inside(im.path); !ours && !standard(im.path) && !slices.Contains(e.external, im.path) {
			say(spec, "imports %s of another module, which the table does not list", im.path)
		}
		if im.name == "." {
			say(spec, "imports %s under no name, which hides what is called", im.path)
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			say(n, "starts a goroutine")
		case *ast.SelectStmt:
			say(n, "has a select statement")
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "print" || f.Name == "println") {
				say(n, "calls %s (I/O)", f.Name)
			}
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if !ok {
				return true
			}
			name := n.Sel.Name
			switch calls[x.Name] {
			case "time":
				if clock[name] {
					say(n, "uses time.%s (clock)", name)
				}
			case "math/rand", "math/rand/v2":
				if !seeded[name] {
					say(n, "uses rand.%s (the process's generator, without a seed)", name)
				}
			case "fmt":
				if name == "Print" || name == "Printf" || name == "Println" || strings.HasPrefix(name, "Scan") {
					say(n, "uses fmt.%s (I/O)", name)
				}
			}
		}
		return true
	})
	return found
}
