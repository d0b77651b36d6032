package supervise

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// journal is the file that says what was started and how it ended, open for the
// only supervisor that may write it.
type journal struct {
	file file
	size int64  // of what has been written
	buf  []byte // what has not
	// failed is why the last write failed, nil: it did not.
	failed error
	retry  time.Time // when to try again

	exited map[Key]int64 // where the exits are, counted as if buf were in the file

	dirty   chan struct{} // something was written that has not been synced
	closing chan struct{}
	synced  chan error // syncs that failed
}

// file is what a journal needs of an [os.File], so that tests can fill the disk.
type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Sync() error
	Truncate(size int64) error
}

const (
	// syncAfter is how long a record may wait to be synced, so that one sync serves
	// many. Nobody waits for it.
	syncAfter = 50 * time.Millisecond
	// retryWrite is how often a full disk is tried again.
	retryWrite = time.Second
	// lockWait is how long a supervisor waits for its predecessor to end. A process
	// that is just being started holds the lock too, until it has become its command.
	lockWait = 10 * time.Second
)

// past is what a journal says about former supervisors.
type past struct {
	fresh bool      // there was none
	last  opened    // the latest of them
	open  []started // what has not ended
	torn  string    // what is damaged
}

// openJournal opens the journal in dir, or makes it, waits until nobody else writes
// journalFile is a file whose contents alone are synced.
type journalFile struct{ *os.File }

func (f journalFile) Sync() error { return Datasync(f.File) }

// it, reads it, and cuts off what a crash has torn, of which it keeps a copy.
func openJournal(dir string) (j *journal, was past, err error) {
	path := filepath.Join(dir, journalName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, was, fmt.Errorf("cannot open the journal: %w", err)
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	for end := time.Now().Add(lockWait); ; time.Sleep(5 * time.Millisecond) {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			break
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, was, fmt.Errorf("cannot lock the journal %s: %w", path, err)
		}
		if time.Now().After(end) {
			return nil, was, fmt.Errorf("another supervisor holds the journal %s", path)
		}
	}
	j = newJournal(journalFile{f})
	if was, err = j.read(f); err != nil {
		return nil, was, fmt.Errorf("cannot read the journal: %w", err)
	}
	if err = j.cut(f, path, &was); err != nil {
		return nil, was, fmt.Errorf("cannot cut off the damaged end of the journal: %w", err)
	}
	if was.fresh {
		syncDir(dir)
	}
	return j, was, nil
}

func newJournal(f file) *journal {
	j := &journal{
		file: f, exited: map[Key]int64{},
		dirty: make(chan struct{}, 1), closing: make(chan struct{}), synced: make(chan error, 1),
	}
	go j.sync()
	return j
}

// syncDir makes a new file's name outlast a loss of power, where the system can.
func syncDir(dir string) {
	if f, err := os.Open(dir); err == nil {
		_ = f.Sync()
		f.Close()
	}
}

func (j *journal) read(f *os.File) (was past, err error) {
	var all []*started
	open := map[Key]*started{}
	d, err := readRecords(f, func(at int64, r record) {
		switch {
		case r.opened != nil:
			was.last = *r.opened
		case r.starting != nil:
			all = append(all, r.starting)
			open[r.starting.Key] = r.starting
		case r.started != nil:
			if s := open[r.started.Key]; s != nil {
				s.PID, s.At = r.started.PID, r.started.At
			}
		case r.exited != nil:
			j.exited[r.exited.Key] = at
			delete(open, r.exited.Key)
		}
	})
	for _, s := range all {
		if open[s.Key] == s {
			was.open = append(was.open, *s)
		}
	}
	was.torn = d.String()
	was.fresh = d.end == 0 && d.lines == 0
	j.size = d.end
	return was, err
}

// cut removes what is behind the last record, after copying it to a file aside.
func (j *journal) cut(f *os.File, path string, was *past) error {
	info, err := f.Stat()
	if err != nil || info.Size() == j.size {
		return err
	}
	var aside *os.File
	for n := 1; ; n++ {
		aside, err = os.OpenFile(fmt.Sprintf("%s.torn-%d", path, n), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, os.ErrExist) {
			break
		}
	}
	if err == nil {
		_, err = io.Copy(aside, io.NewSectionReader(f, j.size, info.Size()-j.size))
		was.torn += fmt.Sprintf("; %d bytes at its end were moved to %s", info.Size()-j.size, aside.Name())
		err = errors.Join(err, aside.Close())
	}
	if err != nil { // on a full disk it is better to lose a torn line than to stop
		was.torn += fmt.Sprintf("; no copy of its end could be kept: %v", err)
	}
	return f.Truncate(j.size)
}

// These have a record written by the next flush.

func (j *journal) opened(o *opened)    { j.buf = o.appendTo(j.buf) }
func (j *journal) starting(s *started) { j.buf = s.appendBefore(j.buf) }
func (j *journal) started(s *started)  { j.buf = s.appendAfter(j.buf) }

func (j *journal) ended(x *Exit) {
	j.exited[x.Key] = j.size + int64(len(j.buf))
	j.buf = x.appendTo(j.buf)
}

// find returns the exit of a start that has ended.
func (j *journal) find(k Key) (*Exit, error) {
	at, ok := j.exited[k]
	if !ok {
		return nil, nil
	}
	line := make([]byte, maxRecord)
	if at >= j.size {
		line = j.buf[at-j.size:]
	} else if n, err := j.file.ReadAt(line, at); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	} else {
		line = line[:n]
	}
	for i, c := range line {
		if c == '\n' {
			r, err := parseRecord(line[:i])
			if err == nil && r.exited == nil {
				err = errors.New("there is another record in its place")
			}
			return r.exited, err
		}
	}
	return nil, io.ErrUnexpectedEOF
}

// flush writes what is waiting. If it cannot, that goes on waiting, and is written
// later to the same place: what got there of it does no harm. It reports the first
// failure of a series.
func (j *journal) flush(now time.Time) error {
	if len(j.buf) == 0 || j.failed != nil && now.Before(j.retry) {
		return nil
	}
	_, err := j.file.WriteAt(j.buf, j.size)
	if err != nil {
		first := j.failed == nil
		j.failed, j.retry = err, now.Add(retryWrite)
		if first {
			return err
		}
		return nil
	}
	j.failed = nil
	j.size += int64(len(j.buf))
	j.buf = j.buf[:0]
	select {
	case j.dirty <- struct{}{}:
	default:
	}
	return nil
}

// sync brings to the disk what was written, off the path of those who write.
func (j *journal) sync() {
	defer close(j.synced)
	timer := time.NewTimer(0)
	for range j.dirty {
		timer.Reset(syncAfter)
		select {
		case <-timer.C:
		case <-j.closing:
		}
		if err := j.file.Sync(); err != nil {
			select {
			case j.synced <- err:
			default:
			}
		}
	}
}

// close writes and syncs all. It returns an error if part of it could not be.
func (j *journal) close() error {
	_ = j.flush(j.retry)
	err := j.failed
	_ = j.file.Truncate(j.size) // there is nothing behind it, unless a write has failed
	close(j.closing)
	close(j.dirty)
	for e := range j.synced {
		err = errors.Join(err, e)
	}
	return errors.Join(err, j.file.Sync(), j.file.Close())
}
