package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// isStdout reports whether a path means standard output.
func isStdout(path string) bool { return path == "-" || path == "/dev/stdout" }

// writeTo writes a file whole or not at all: a temporary file beside it takes its
// name at the end. What is not a regular file, such as a pipe, is written to. An
// error that write makes with [fail] is returned as it is.
func (e *env) writeTo(path string, write func(io.Writer) error) error {
	if isStdout(path) {
		return wrote("standard output", buffered(e.stdout, write))
	}
	info, err := os.Stat(path) // follows links
	switch {
	case err == nil && slices.ContainsFunc(e.inputs, func(in os.FileInfo) bool { return os.SameFile(in, info) }):
		return usage("writing %s: it is the input; name another file", path)
	case err == nil && info.IsDir():
		return usage("writing %s: it is a directory; name a file", path)
	case err == nil && !info.Mode().IsRegular():
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return wrote(path, err)
		}
		return wrote(path, errors.Join(buffered(f, write), f.Close()))
	case err == nil:
		if target, err := filepath.EvalSymlinks(path); err == nil {
			path = target // replace what a link points to, not the link
		}
	}
	return wrote(path, replace(path, write))
}

func replace(path string, write func(io.Writer) error) error {
	temporary := fmt.Sprintf("%s.%d.tmp", path, os.Getpid())
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	err = buffered(f, write)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return nil
}

func buffered(w io.Writer, write func(io.Writer) error) error {
	b := bufio.NewWriterSize(w, 1<<16)
	if err := write(b); err != nil {
		return err
	}
	return b.Flush()
}

// wrote says which file could not be written, and why.
func wrote(path string, err error) error {
	var exit *exitError
	var where *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit):
		return err
	case errors.As(err, &where):
		err = where.Err // without the name of the temporary file
	}
	return usage("writing %s: %w", path, err)
}
