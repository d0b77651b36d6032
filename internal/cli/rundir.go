package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// runDir returns a new directory for a run, below the XDG state home.
func (e *env) runDir(dir, name string) (string, error) {
	if dir != "" {
		return filepath.Abs(dir)
	}
	state := e.getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // the specification says to ignore relative ones
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no place for the outputs of the tasks: %w; name one with --dir", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	base := filepath.Join(state, "fairlead", "runs")
	if err := os.MkdirAll(base, 0o755); err != nil {
		return "", fmt.Errorf("no place for the outputs of the tasks: %w; name one with --dir", err)
	}
	if name == "" {
		name = "run"
	}
	stamp := time.Now().Format("20060102-150405") + "-" + name
	for n := 1; ; n++ {
		dir := filepath.Join(base, stamp)
		if n > 1 {
			dir += fmt.Sprintf("-%d", n)
		}
		err := os.Mkdir(dir, 0o755)
		if err == nil || !errors.Is(err, os.ErrExist) {
			return dir, err
		}
	}
}

// dirOf returns the directory of a file, the current one for standard input.
func dirOf(path string) string { return filepath.Dir(path) }
