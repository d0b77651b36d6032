package archtest

import (
	"slices"
	"testing"
)

// load gives the repository's files and the table as a checker.
func load(t *testing.T) (*checker, []*source) {
	root, module := moduleRoot(t)
	return newChecker(module, table), repository(t, root)
}

func report(t *testing.T, found []string) {
	t.Helper()
	for _, f := range found {
		t.Error(f)
	}
}

func TestEveryPackageIsInTheTable(t *testing.T) {
	c, all := load(t)
	report(t, c.membership(all))
}

func TestTableIsSound(t *testing.T) {
	c, all := load(t)
	if len(c.byPath) != len(table) {
		t.Error("the table has a package twice")
	}
	if !slices.IsSortedFunc(table, func(a, b entry) int { return a.level - b.level }) {
		t.Error("the table is not in order of level")
	}
	for _, e := range table {
		if e.level < 1 || e.level > 5 {
			t.Errorf("%s has level %d, not 1 to 5", e.path, e.level)
		}
		for _, p := range e.peers {
			if q := c.byPath[p]; q == nil || q.level != e.level {
				t.Errorf("%s is no peer of %s: not in the table at level %d", p, e.path, e.level)
			}
		}
	}
	report(t, c.unused(all))
}

func TestLevels(t *testing.T) {
	c, all := load(t)
	for _, s := range all {
		report(t, c.levels(s))
		report(t, c.everywhere(s))
	}
}

// TestVerifiersAreIndependent: certificates and schedules are verified by code
// that shares nothing with the solvers and algorithms that produced them.
func TestVerifiersAreIndependent(t *testing.T) {
	c, all := load(t)
	files := map[string]int{}
	for _, s := range all {
		if s.dir == "cert" || s.dir == "check" {
			files[s.dir]++
			report(t, c.independence(s))
		}
	}
	if files["cert"] == 0 || files["check"] == 0 {
		t.Errorf("nothing was checked: files per package %v", files)
	}
}

func TestPurity(t *testing.T) {
	c, all := load(t)
	for _, s := range all {
		report(t, c.pure(s))
	}
}
