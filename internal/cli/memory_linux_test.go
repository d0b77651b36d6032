package cli

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLowestLimit(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"memory/a/memory.limit_in_bytes":   "9223372036854771712\n", // what version 1 says for none
		"memory/a/b/memory.limit_in_bytes": "500\n",
		"memory.max":                       "700\n",
		"c/memory.max":                     "max\n",
		"c/d/memory.max":                   "900\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for groups, want := range map[string]int64{
		"":                                   1000,
		"5:cpu:/a/b\n":                       1000,
		"4:memory:/a\n":                      1000,
		"4:memory:/a/b\n":                    500,
		"4:memory:/a/b/gone\n0::/\n":         500,
		"0::/c/d\n":                          700,
		"0::/c\n4:memory:/a\n":               700,
		"nonsense\n4:memory:../../a/b/./x\n": 500,
	} {
		if got := lowestLimit(1000, root, groups); got != want {
			t.Errorf("%q: %d, want %d", groups, got, want)
		}
	}
	if m := computerMemory(); m < 1<<20 {
		t.Errorf("this computer has %d bytes", m)
	}
}
