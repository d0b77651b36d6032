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
func (s *supervisor) create(st *stage, name string) (fd int, err error) {
	if !st.made {
		if err := os.MkdirAll(st.Logs, 0o777); err != nil {
			return 0, err
		}
		st.made = true
	}
	path := filepath.Join(st.Logs, name)
	flags := unix.O_WRONLY | unix.O_CREAT | unix.O_TRUNC | unix.O_CLOEXEC
	if n := len(s.spare); n > 0 {
		_ = unix.Rename(s.spare[n-1], path) // or else a new one is made
		s.spare = s.spare[:n-1]
	}
	for again := false; ; {
		fd, err = unix.Open(path, flags, 0o666)
		if err == unix.ENOENT && !again && os.MkdirAll(st.Logs, 0o777) == nil {
			again = true // somebody has removed it
			continue
		}
		if err != unix.EINTR {
			break
		}
	}
	if err != nil {
		return 0, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}

// recycle puts the outputs of an attempt that succeeded aside for later attempts if
// nothing is in them. To make a file and to remove it takes the system several times
// as long as to give it another name, and most tasks write nothing.
func (s *supervisor) recycle(p *process) {
	for _, path := range p.outputs {
		var info unix.Stat_t
		if unix.Lstat(path, &info) == nil && info.Size == 0 && info.Mode&unix.S_IFMT == unix.S_IFREG && info.Nlink == 1 {
			s.spare = append(s.spare, path)
		}
	}
}

// removeSpare removes the files that no attempt has wanted.
func (s *supervisor) removeSpare() {
	for _, path := range s.spare {
		_ = unix.Unlink(path) // an empty file that stays does no harm
	}
	s.spare = nil
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
