package cli

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/fairlead-project/fairlead/internal/supervise"
)

// TestMain lets the test binary be the supervisor of the runs it starts.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "supervise" {
		os.Exit(supervise.Main(os.Args[2]))
	}
	os.Exit(m.Run())
}

// homes are the directories that stand for a user's home, one per test.
var homes sync.Map

// testEnv is an environment with a home of its own for each test.
func testEnv(t *testing.T) func(string) string {
	t.Helper()
	dir, known := homes.Load(t.Name())
	if !known {
		dir = t.TempDir()
		homes.Store(t.Name(), dir)
	}
	return func(name string) string {
		switch name {
		case "XDG_DATA_HOME":
			return filepath.Join(dir.(string), "data")
		case "XDG_STATE_HOME":
			return filepath.Join(dir.(string), "state")
		}
		return ""
	}
}
