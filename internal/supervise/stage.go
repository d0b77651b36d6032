package supervise

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// markVar is the variable by which what descends from an attempt is known.
const markVar = "FAIRLEAD_RUN="

// defaultPath is where commands are looked for without PATH, as execvp does.
const defaultPath = "/bin:/usr/bin"

// stage is a [Stage] that has been announced.
type stage struct {
	Stage
	path  string // where commands are looked for
	mark  string // markVar and what the marks of its attempts begin with
	made  bool   // Logs exists
	found map[string]string
}

func newStage(s *Stage, run string) *stage {
	p := &stage{Stage: *s, path: defaultPath, mark: markVar + run, found: map[string]string{}}
	p.Env = slices.Clone(s.Env)
	for _, kv := range s.Env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			p.path = path
		}
		if outer, ok := strings.CutPrefix(kv, markVar); ok && outer != "" {
			p.mark = markVar + outer + " " + run
		}
	}
	p.Env = slices.DeleteFunc(p.Env, isMark)
	return p
}

func isMark(kv string) bool { return strings.HasPrefix(kv, markVar) }

// attemptEnv returns the environment of one attempt, valid until the next call.
func (s *stage) attemptEnv(r *Start) []string {
	env := s.Env
	for _, kv := range r.Env {
		if !isMark(kv) {
			env = append(env, kv)
		}
	}
	env = append(env, fmt.Sprintf("%s.%d.%d.%d", s.mark, r.Task, r.Attempt, r.Nonce))
	s.Env = env[:len(s.Env)] // the next call need not allocate
	return env
}

// create opens an attempt's standard output or error. (Not as an [os.File], which
// would cost six more system calls.)
func (s *stage) create(name string) (fd int, err error) {
	if !s.made {
		if err := os.MkdirAll(s.Logs, 0o777); err != nil {
			return 0, err
		}
		s.made = true
	}
	path := filepath.Join(s.Logs, name)
	for {
		fd, err = unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_CLOEXEC, 0o666)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil {
		return 0, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}

// lookup finds a command as a shell in the stage's working directory would; like
// that, it remembers what it found until forget.
func (s *stage) lookup(name string) (file string, err error) {
	if file, ok := s.found[name]; ok {
		return file, nil
	}
	if file, err = s.search(name); err == nil {
		s.found[name] = file
	}
	return file, err
}

func (s *stage) forget(name string) { delete(s.found, name) }

func (s *stage) search(name string) (string, error) {
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
		file = filepath.Join(s.Dir, file)
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

// Exit codes of a shell for what it cannot start.
const (
	cannotStart = 126
	notFound    = 127
)

// failure is why an attempt could not be started; the zero value: it was.
type failure struct {
	code int
	text string
}

// notFound explains why a lookup found no command, or only file.
func (s *stage) notFound(name, file string, err error) failure {
	if x := s.noDirectory(); x.code != 0 {
		return x
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return failure{cannotStart, fmt.Sprintf("cannot start %s: it is not executable (chmod +x)", file)}
	case errors.Is(err, unix.EISDIR):
		return failure{cannotStart, fmt.Sprintf("cannot start %s: it is a directory", file)}
	}
	return failure{notFound, "command not found: " + name}
}

// notStarted explains why file, which exists, could not be started.
func (s *stage) notStarted(file string, err error) failure {
	if x := s.noDirectory(); x.code != 0 {
		return x
	}
	why := err.Error()
	switch {
	case errors.Is(err, unix.ENOENT):
		why = "the interpreter that it names does not exist"
	case errors.Is(err, unix.ENOEXEC):
		why = "it is neither a program for this computer nor a script that begins with #!"
	}
	return failure{cannotStart, fmt.Sprintf("cannot start %s: %s", file, why)}
}

func (s *stage) noDirectory() failure {
	if info, err := os.Stat(s.Dir); err != nil || !info.IsDir() {
		return failure{cannotStart, fmt.Sprintf("the working directory %s is missing, or is no directory", s.Dir)}
	}
	return failure{}
}
