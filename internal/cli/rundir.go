package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-project/fairlead/internal/run"
)

// home returns a directory of the XDG base directory specification for this program.
// below is where it is without the variable.
func (e *env) home(variable, below string) (string, error) {
	base := e.getenv(variable)
	if !filepath.IsAbs(base) { // the specification says to ignore relative ones
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		base = filepath.Join(home, below)
	}
	return filepath.Join(base, "fairlead"), nil
}

// historyFile is the execution database, in the data home.
const historyFile = "history.db"

// manifestFile is what makes a directory that of a run.
const manifestFile = "run.json"

// dataHome is where what outlives runs is kept.
func (e *env) dataHome() (string, error) {
	if e.data != "" {
		return filepath.Abs(e.data)
	}
	data, err := e.home("XDG_DATA_HOME", ".local/share")
	if err != nil {
		return "", fmt.Errorf("no place for the history: %w; name one with --data", err)
	}
	return data, nil
}

// runsHome is where runs without a directory of their own are kept.
func (e *env) runsHome() (string, error) {
	state, err := e.home("XDG_STATE_HOME", ".local/state")
	if err != nil {
		return "", fmt.Errorf("no place for the outputs of the tasks: %w; name one with --dir", err)
	}
	return filepath.Join(state, "runs"), nil
}

// runDir returns the directory of a new run; made says that it did not exist.
func (e *env) runDir(dir, name string) (path string, made bool, err error) {
	if dir != "" {
		path, err = filepath.Abs(dir)
		return path, false, err
	}
	base, err := e.runsHome()
	if err != nil {
		return "", false, err
	}
	if err := os.MkdirAll(base, 0o755); err != nil {
		return "", false, fmt.Errorf("no place for the outputs of the tasks: %w; name one with --dir", err)
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
			return dir, true, err
		}
	}
}

// runs lists the directories of the runs in the state home, the latest first.
func (e *env) runs() ([]string, error) {
	base, err := e.runsHome()
	if err != nil {
		return nil, err
	}
	runs, err := os.ReadDir(base)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	type entry struct {
		dir   string
		began time.Time
	}
	var all []entry
	for _, r := range runs {
		dir := filepath.Join(base, r.Name())
		if info, err := os.Stat(filepath.Join(dir, manifestFile)); err == nil {
			all = append(all, entry{dir, info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b entry) int {
		if c := b.began.Compare(a.began); c != 0 {
			return c
		}
		return strings.Compare(b.dir, a.dir)
	})
	dirs := make([]string, len(all))
	for i := range all {
		dirs[i] = all[i].dir
	}
	return dirs, nil
}

// ended reports whether the log of the run in dir has its last line.
func ended(dir string) bool {
	f, err := os.Open(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false
	}
	tail := make([]byte, 256)
	n, _ := f.ReadAt(tail, max(0, info.Size()-int64(len(tail)))) // what could be read
	lines := bytes.Split(bytes.TrimSuffix(tail[:n], []byte("\n")), []byte("\n"))
	return bytes.HasPrefix(lines[len(lines)-1], []byte(`{"event":"end"`))
}

// unfinished finds the run to resume: that in dir or, if that is empty, the latest one
// in the state home which has not ended and is accepted.
func (e *env) unfinished(dir string, accept func(*run.Recorded) bool) (*run.Recorded, error) {
	if dir != "" {
		dir, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		return run.Open(dir)
	}
	dirs, err := e.runs()
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		if ended(dir) {
			continue
		}
		if r, err := run.Open(dir); err == nil && accept(r) {
			return r, nil
		}
	}
	return nil, fmt.Errorf("%w: no run in the state home is unfinished; --dir names one elsewhere", errNothing)
}

// dirOf returns the directory of a file, the current one for standard input.
func dirOf(path string) string { return filepath.Dir(path) }
