package cli

import (
	"path/filepath"
	"regexp"
	"testing"
)

// Whatever is wrong with a file, it is said on stderr with a position, the exit code
// is 2 and nothing comes to stdout.
func TestMalformedFiles(t *testing.T) {
	paths, err := filepath.Glob("../../workload/testdata/bad/*")
	if err != nil || len(paths) < 60 {
		t.Fatalf("%d malformed files, want at least 60 (%v)", len(paths), err)
	}
	position := regexp.MustCompile(`(?m)^\S+:\d+:\d+: .*found .*, expected `)
	for _, path := range paths {
		if filepath.Base(path) == "no-cluster.yaml" {
			continue // a mistake in a library's use only: commands take this computer
		}
		o := fairlead(t, t.Context(), "bound", path)
		if o.code != exitUsage || o.stdout != "" || !position.MatchString(o.stderr) {
			t.Errorf("%s: exit code %d\n%s%s", path, o.code, o.stdout, o.stderr)
		}
	}
}
