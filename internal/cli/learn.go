package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/fairlead-project/fairlead/internal/history"
	"github.com/fairlead-project/fairlead/sched"
)

// readHistory opens the history for reading; nil if there is none yet.
func (e *env) readHistory() (*history.DB, error) {
	path, err := e.historyPath()
	if err != nil {
		return nil, fail(exitUsage, err)
	}
	db, err := history.OpenReadOnly(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fail(exitUsage, err)
	}
	return db, nil
}

func (e *env) historyPath() (string, error) {
	dir, err := e.dataHome()
	return filepath.Join(dir, historyFile), err
}

// learn returns a copy of the instance, read from path, with what the history tells of
// it, and says what that is. Without a history it is the instance as it was, and nil.
func (e *env) learn(in *sched.Instance, path string, budget int64) (*sched.Instance, *history.Learned, error) {
	db, err := e.readHistory()
	if db == nil || err != nil {
		return in, nil, err
	}
	defer db.Close()
	return e.learnFrom(db, in, path, budget)
}

func (e *env) learnFrom(db *history.DB, in *sched.Instance, path string, budget int64) (*sched.Instance, *history.Learned, error) {
	resolved, l, err := history.Resolve(e.ctx, called(in, path), db, budget)
	if err != nil {
		return in, nil, fail(exitUsage, err)
	}
	resolved.Name = in.Name
	if what := learntText(l); what != "" {
		e.say("learnt from earlier runs: %s", what)
	}
	return resolved, l, nil
}

// called returns the instance under the name that the history knows it by: its own or,
// if it has none, that of its file.
func called(in *sched.Instance, path string) *sched.Instance {
	named := *in
	if base := filepath.Base(path); in.Name == "" && path != "" && path != "-" {
		named.Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	return &named
}

// learntText lists what an instance has from the history, empty if nothing.
func learntText(l *history.Learned) string {
	var what []string
	if n := len(l.Sizes); n > 0 {
		what = append(what, fmt.Sprintf("sizes of %s from %s", count(n, "stage"), count(l.Runs, "run")))
	}
	if n := len(l.Speeds); n > 0 {
		what = append(what, fmt.Sprintf("speeds of %s", count(n, "machine")))
	}
	if n := len(l.Memory); n > 0 {
		what = append(what, fmt.Sprintf("needs of memory of %s", count(n, "stage")))
	}
	return strings.Join(what, ", ")
}
