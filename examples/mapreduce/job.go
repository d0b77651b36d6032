package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// dataDir is the directory that holds one directory per job.
type dataDir string

// job is what "generate" was asked for. It determines every file of the job.
type job struct {
	App      string `json:"app"`
	Splits   int    `json:"splits"`
	Reducers int    `json:"reducers"`
	Records  int    `json:"records"` // per split; words for wordcount
	Seed     uint64 `json:"seed"`
	Passes   int    `json:"passes"`

	name string
	dir  dataDir
}

// Limits keep a mistyped flag from filling the disk: a split has some 100 bytes
// per record, and a job splits x reducers files.
const (
	maxTasks   = 1000
	maxRecords = 10_000_000
)

func (j *job) validate() error {
	switch {
	case j.name == "" || j.name == "." || j.name == ".." || strings.ContainsAny(j.name, `/\`):
		return fmt.Errorf("job name %q cannot be the name of a directory", j.name)
	case appOf(j.App) == nil:
		return fmt.Errorf("job %s: unknown application %q: want wordcount, sort or terasort", j.name, j.App)
	case j.Splits < 1 || j.Splits > maxTasks:
		return fmt.Errorf("job %s: %d splits: want 1 to %d", j.name, j.Splits, maxTasks)
	case j.Reducers < 1 || j.Reducers > maxTasks:
		return fmt.Errorf("job %s: %d reducers: want 1 to %d", j.name, j.Reducers, maxTasks)
	case j.Records < 1 || j.Records > maxRecords:
		return fmt.Errorf("job %s: %d records: want 1 to %d", j.name, j.Records, maxRecords)
	case j.Passes < 1:
		return fmt.Errorf("job %s: %d passes: want at least 1", j.name, j.Passes)
	}
	return nil
}

func (j *job) path(format string, args ...any) string {
	return filepath.Join(string(j.dir), j.name, fmt.Sprintf(format, args...))
}

func (j *job) config() string            { return j.path("job.json") }
func (j *job) split(i int) string        { return j.path("split-%05d.gz", i) }
func (j *job) cuts() string              { return j.path("cuts") }
func (j *job) run(i, reducer int) string { return j.path("run-%05d-%05d.gz", i, reducer) }
func (j *job) output() string            { return j.path("output") }
func (j *job) part(reducer int) string   { return j.path("output/part-%05d", reducer) }

// save writes job.json.
func (j *job) save() error {
	text, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return writeFile(j.config(), func(w writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// load reads the job.json of the job called name.
func (d dataDir) load(name string) (*job, error) {
	j := &job{name: name, dir: d}
	text, err := os.ReadFile(j.config())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("job %s: no %s: generate its input first", name, j.config())
	}
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(j); err != nil {
		return nil, fmt.Errorf("%s: %w", j.config(), err)
	}
	return j, j.validate()
}

// jobs returns the names of the directories that hold a job.json, sorted.
func (d dataDir) jobs() ([]string, error) {
	found, err := filepath.Glob(filepath.Join(string(d), "*", "job.json"))
	if err != nil {
		return nil, fmt.Errorf("directory %s: %w", d, err)
	}
	for i, f := range found {
		found[i] = filepath.Base(filepath.Dir(f))
	}
	return found, nil
}

// clean removes the jobs and nothing else: a directory without a job.json stays.
func (d dataDir) clean() error {
	names, err := d.jobs()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(string(d), name)); err != nil {
			return err
		}
	}
	return nil
}
