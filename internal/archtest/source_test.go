package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// source is one parsed Go file.
type source struct {
	dir  string // its package's path below the module's root, "." for the root
	test bool   // a _test.go file
	fset *token.FileSet
	file *ast.File
}

// at gives a position as file:line below the module's root.
func (s *source) at(p token.Pos) string {
	pos := s.fset.Position(p)
	return pos.Filename + ":" + strconv.Itoa(pos.Line)
}

// imported is one import: its path and the name the file calls it by.
type imported struct {
	path, name string
	pos        token.Pos
}

// imports lists the file's imports. The default name is the path's last element
// that is not a major version: a guess, but right for the packages looked for.
func (s *source) imports() []imported {
	var all []imported
	for _, spec := range s.file.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			panic(err) // the parser accepted it
		}
		name := path.Base(p)
		if len(name) > 1 && name[0] == 'v' && strings.Trim(name[1:], "0123456789") == "" {
			name = path.Base(path.Dir(p))
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		all = append(all, imported{p, name, spec.Pos()})
	}
	return all
}

// parse reads one file; src may be nil, then name is read from root.
func parse(root, name string, src any) (*source, error) {
	fset := token.NewFileSet()
	if src == nil {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		src = text
	}
	f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &source{dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), fset: fset, file: f}, nil
}

// repository parses every Go file below root, whatever its build constraints:
// an import that only another system sees is an import too. Like the go command
// it leaves out testdata and names that begin with a dot or an underscore.
func repository(t *testing.T, root string) []*source {
	t.Helper()
	var all []*source
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		hidden := name != "." && (base[0] == '.' || base[0] == '_')
		if d.IsDir() {
			if hidden || base == "testdata" || base == "node_modules" {
				return fs.SkipDir
			}
			return nil
		}
		if hidden || !strings.HasSuffix(base, ".go") {
			return nil
		}
		s, err := parse(root, name, nil)
		if err != nil {
			return err
		}
		all = append(all, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// moduleRoot is the directory of the repository's go.mod, and its module path.
func moduleRoot(t *testing.T) (root, module string) {
	t.Helper()
	root = filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	module, ok := strings.CutPrefix(first, "module ")
	if !ok {
		t.Fatalf("go.mod begins with %q, not with the module's path", first)
	}
	return root, strings.TrimSpace(module)
}
