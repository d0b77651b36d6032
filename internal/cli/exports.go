package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/fairlead-project/fairlead/report"
)

// exports are the files that a timeline is to be written to, "" for those that are not.
type exports struct{ html, svg, trace, csv, joblog string }

func (x *exports) addTo(f *pflag.FlagSet) {
	f.StringVar(&x.html, "html", "", "write a Gantt chart with all details to this `file`: one page that needs no other")
	f.StringVar(&x.svg, "svg", "", "write a Gantt chart as a picture to this `file`")
	f.StringVar(&x.trace, "trace", "", "write a Chrome trace (JSON, opens in ui.perfetto.dev) to this `file`")
	f.StringVar(&x.csv, "csv", "", "write jobs.csv and tasks.csv into this `directory`, made if need be")
	f.StringVar(&x.joblog, "joblog", "", "write a log as GNU parallel does to this `file`")
}

// files lists those that are asked for.
func (x *exports) files() (out []export) {
	all := []export{
		{x.html, report.WriteHTML}, {x.svg, report.WriteSVG}, {x.trace, report.WriteTrace}, {x.joblog, report.WriteJoblog},
	}
	if x.csv != "" {
		all = append(all, export{filepath.Join(x.csv, "jobs.csv"), report.WriteJobs}, export{filepath.Join(x.csv, "tasks.csv"), report.WriteTasks})
	}
	for _, f := range all {
		if f.path != "" {
			out = append(out, f)
		}
	}
	return out
}

type export struct {
	path  string
	write func(io.Writer, *report.Timeline) error
}

// toStdout counts the files that go to standard output.
func (x *exports) toStdout() (n int) {
	for _, f := range x.files() {
		if isStdout(f.path) {
			n++
		}
	}
	return n
}

func (x *exports) validate() error {
	switch {
	case isStdout(x.csv):
		return usage("--csv -: there are two files: name a directory")
	case x.toStdout() > 1:
		return usage("only one of the files can go to standard output (-): name a file for the others")
	}
	return nil
}

// pictured reports whether costs and bound will be seen.
func (x *exports) pictured() bool { return x.html != "" || x.svg != "" }

// export writes the files.
func (e *env) export(x *exports, t *report.Timeline) error {
	if x.csv != "" {
		if err := os.MkdirAll(x.csv, 0o777); err != nil {
			return fail(exitUsage, err)
		}
	}
	for _, f := range x.files() {
		if err := e.writeTo(f.path, func(w io.Writer) error { return f.write(w, t) }); err != nil {
			return err
		}
	}
	return nil
}

// outside refuses to write into what a run has recorded: its own files, and the
// outputs of its tasks.
func (x *exports) outside(dir string) error {
	own, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return fail(exitUsage, err)
	}
	for _, f := range x.files() {
		if isStdout(f.path) {
			continue
		}
		where, err := resolved(f.path)
		if err != nil {
			return usage("writing %s: %w", f.path, err)
		}
		if below, err := filepath.Rel(filepath.Join(own, "logs"), where); err == nil && filepath.IsLocal(below) {
			return usage("writing %s: outputs of the run's tasks are kept there; name another place", f.path)
		}
	}
	return nil
}

// resolved is the absolute path of a file that need not exist, nor its directories.
func resolved(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for rest := ""; ; {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		parent := filepath.Dir(path)
		if !errors.Is(err, os.ErrNotExist) || parent == path {
			return "", err
		}
		path, rest = parent, filepath.Join(filepath.Base(path), rest)
	}
}
