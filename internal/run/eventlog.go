package run

import (
	"io"
	"os"

	"github.com/fairlead-project/fairlead/internal/supervise"
)

// logFile is what the event log needs of a file.
type logFile interface {
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Close() error
}

// eventLog takes in lines without ever failing, and brings them to the disk when
// told. What is not yet surely there stays in memory: after a write or a sync that
// has failed, it is written again from there, over whatever the file has got of it.
type eventLog struct {
	file    logFile
	durable int64  // bytes of the file that have been synced
	lines   []byte // what follows them
	written int    // how much of lines is in the file
}

// mostUnsynced bounds lines: many events that start nothing need no sync otherwise.
const mostUnsynced = 1 << 20

// Write takes in p.
func (l *eventLog) Write(p []byte) (int, error) {
	l.lines = append(l.lines, p...)
	return len(p), nil
}

// flush writes what is not in the file yet. Cost: none if nothing is.
func (l *eventLog) flush() error {
	if len(l.lines) > mostUnsynced {
		return l.sync()
	}
	return l.write()
}

func (l *eventLog) write() error {
	if l.written == len(l.lines) {
		return nil
	}
	if _, err := l.file.WriteAt(l.lines[l.written:], l.durable+int64(l.written)); err != nil {
		return l.failed(err)
	}
	l.written = len(l.lines)
	return nil
}

// sync brings everything to the disk.
func (l *eventLog) sync() error {
	if len(l.lines) == 0 {
		return nil
	}
	if err := l.write(); err != nil {
		return err
	}
	sync := l.file.Sync
	if f, ok := l.file.(*os.File); ok {
		sync = func() error { return supervise.Datasync(f) }
	}
	if err := sync(); err != nil {
		return l.failed(err) // and the system may have dropped what it could not write
	}
	l.durable += int64(l.written)
	l.lines, l.written = l.lines[:0], 0
	return nil
}

// failed cuts off what may be part of a line.
func (l *eventLog) failed(err error) error {
	_ = l.file.Truncate(l.durable) // if that fails too, it is written over later
	l.written = 0
	return err
}

// syncDir makes new names in a directory durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
