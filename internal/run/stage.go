package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/workload"
)

// runnable reports the first thing in the instance that cannot be run for real.
func runnable(in *sched.Instance) error {
	if len(in.Machines) == 0 {
		return errors.New("there are no machines to run on")
	}
	for j := range in.Jobs {
		job := &in.Jobs[j]
		if !safeName(job.Name) {
			return fmt.Errorf("job name %q cannot be the name of a directory for logs", job.Name)
		}
		for s := range job.Stages {
			st := &job.Stages[s]
			switch {
			case !safeName(st.Name):
				return fmt.Errorf("job %s: stage name %q cannot be the name of a directory for logs", job.Name, st.Name)
			case st.Transfer():
				return fmt.Errorf("stage %s/%s is a transfer, which cannot be run for real", job.Name, st.Name)
			case st.Fluid != nil:
				return fmt.Errorf("stage %s/%s shares rates, which cannot be run for real", job.Name, st.Name)
			case st.Run == nil || len(st.Run.Argv) == 0 && st.Run.Shell == "":
				return fmt.Errorf("stage %s/%s has no command: say with `run` what its tasks do", job.Name, st.Name)
			}
			if _, err := workload.Argv(st.Run, fields(in, sched.JobID(j), st, 0, 0, 1)); err != nil {
				return fmt.Errorf("stage %s/%s: %w", job.Name, st.Name, err)
			}
		}
	}
	return nil
}

// safeName reports whether s names something inside a directory.
func safeName(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/\\\x00")
}

func fields(in *sched.Instance, j sched.JobID, st *sched.Stage, task int, m sched.MachineID, attempt int32) workload.Fields {
	return workload.Fields{
		Job: in.Jobs[j].Name, Stage: st.Name, Task: task,
		Machine: in.Machines[m].Name, Attempt: int(attempt),
	}
}

// stage is what the attempts of one stage have in common.
type stage struct {
	stage *sched.Stage
	job   sched.JobID
	first sched.TaskID
	dir   string   // working directory
	env   []string // all but perAttempt
	path  string   // where commands are looked for
	logs  string   // directory of the outputs
	made  bool     // logs exists
}

// perAttempt are variables that differ between attempts. They and those of the
// stage are the driver's own, whatever is inherited or written in the workload.
var perAttempt = []string{"FAIRLEAD_TASK", "FAIRLEAD_MACHINE", "FAIRLEAD_ATTEMPT", "FAIRLEAD_SPEED", "FAIRLEAD_RUN"}

// defaultPath is where commands are looked for without PATH, as execvp does.
const defaultPath = "/bin:/usr/bin"

// baseEnv copies an environment without what is set per attempt; of a variable
// that occurs twice the last value counts, which not every program would see.
func baseEnv(environ []string) []string {
	var env []string
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok && !slices.Contains(perAttempt, name) {
			env = setenv(env, name, value)
		}
	}
	return env
}

// setenv sets a variable in env, in place if it is there.
func setenv(env []string, name, value string) []string {
	kv := name + "=" + value
	for i, old := range env {
		if strings.HasPrefix(old, kv[:len(name)+1]) {
			env[i] = kv
			return env
		}
	}
	return append(env, kv)
}

// prepare returns what the attempts of s have in common.
func (d *driver) prepare(s sched.StageID) *stage {
	if d.stage[s] != nil {
		return d.stage[s]
	}
	st, j := d.x.Stage(s), d.x.StageJob(s)
	job := &d.cfg.Instance.Jobs[j]
	first, _ := d.x.StageTasks(s)
	p := &stage{stage: st, job: j, first: first, dir: st.Workdir, path: defaultPath}
	if !filepath.IsAbs(p.dir) {
		p.dir = filepath.Join(d.cfg.BaseDir, p.dir)
	}
	p.logs = filepath.Join(d.cfg.Dir, "logs", job.Name, st.Name)
	p.env = setenv(slices.Clone(d.env), "PWD", p.dir)
	for _, v := range st.Env {
		if !slices.Contains(perAttempt, v.Name) {
			p.env = setenv(p.env, v.Name, v.Value)
		}
	}
	p.env = setenv(p.env, "FAIRLEAD_JOB", job.Name)
	p.env = setenv(p.env, "FAIRLEAD_STAGE", st.Name)
	for _, kv := range p.env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			p.path = path
		}
	}
	p.env = slices.Grow(p.env, len(perAttempt)) // so that attemptEnv need not copy
	d.stage[s] = p
	return p
}

// mark returns the value of FAIRLEAD_RUN, by which an attempt's descendants are
// known whatever became of their parents. A run inside of a task adds its own to it.
func (d *driver) mark(p *process) string {
	mark := fmt.Sprintf("%s.%d.%d", d.id, p.task, p.attempt)
	for _, kv := range d.cfg.Env {
		if outer, ok := strings.CutPrefix(kv, "FAIRLEAD_RUN="); ok {
			return outer + " " + mark
		}
	}
	return mark
}

// attemptEnv returns the environment of one attempt, valid until the next call.
func (s *stage) attemptEnv(task int, machine *sched.Machine, attempt int32, mark string) []string {
	return append(s.env,
		perAttempt[0]+"="+strconv.Itoa(task),
		perAttempt[1]+"="+machine.Name,
		perAttempt[2]+"="+strconv.Itoa(int(attempt)),
		perAttempt[3]+"="+strconv.FormatFloat(machine.Speed, 'f', -1, 64),
		perAttempt[4]+"="+mark)
}

// output returns the path of an attempt's standard output or error.
func (s *stage) output(t sched.TaskID, attempt int32, suffix string) string {
	return filepath.Join(s.logs, fmt.Sprintf("%d.%d.%s", t-s.first, attempt, suffix))
}

// create opens an attempt's standard output or error.
func (s *stage) create(t sched.TaskID, attempt int32, suffix string) (*os.File, error) {
	if !s.made {
		if err := os.MkdirAll(s.logs, 0o777); err != nil {
			return nil, err
		}
		s.made = true
	}
	return os.OpenFile(s.output(t, attempt, suffix), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
}

// lookup finds a command as a shell in the stage's working directory would.
func (s *stage) lookup(name string) (string, error) {
	switch {
	case name == "":
		return name, fs.ErrNotExist
	case strings.Contains(name, "/"):
		return name, s.executable(name)
	}
	denied := ""
	for _, dir := range filepath.SplitList(s.path) {
		file := filepath.Join(dir, name)
		if !filepath.IsAbs(file) {
			file = "./" + file
		}
		switch err := s.executable(file); {
		case err == nil:
			return file, nil
		case errors.Is(err, fs.ErrPermission):
			denied = file
		}
	}
	if denied != "" {
		return denied, fs.ErrPermission
	}
	return name, fs.ErrNotExist
}

// executable reports why file, relative to the working directory, cannot be run.
func (s *stage) executable(file string) error {
	if !filepath.IsAbs(file) {
		file = filepath.Join(s.dir, file)
	}
	if err := unix.Access(file, unix.X_OK); err != nil {
		return err
	}
	var info unix.Stat_t
	if err := unix.Stat(file, &info); err != nil {
		return err
	}
	if info.Mode&unix.S_IFMT == unix.S_IFDIR {
		return unix.EISDIR
	}
	return nil
}
