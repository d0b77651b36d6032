package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// Errors to be told apart with [errors.Is]. After each of them one can go on without
// a history.
var (
	// ErrReadOnly: the file or its directory cannot be written. [OpenReadOnly] may work.
	ErrReadOnly = errors.New("cannot be written")
	// ErrNewer: a later version of Fairlead has made the file.
	ErrNewer = errors.New("was made by a newer version of fairlead: use that one, or name another directory")
	// ErrCorrupt: the file is damaged, or no history at all.
	ErrCorrupt = errors.New("is damaged or no history: move it away to begin a new one")
	// ErrBusy: another process has been writing for longer than one can wait.
	ErrBusy = errors.New("is in use by another process: try again")
)

// DB is an open history. Its methods may be called from several goroutines, and several
// processes may have the same file open.
type DB struct {
	path string
	sql  *sql.DB
}

// busyTimeout is how long, in milliseconds, to wait for another process that writes.
// A transaction takes milliseconds.
const busyTimeout = 5000

// Open opens the history in the file path for reading and writing, and makes it if
// there is none; the directory must exist. A file of an earlier version is migrated.
// Its errors name the path and wrap one of those above, or that of the system.
func Open(path string) (*DB, error) {
	// Nothing of value is lost with the last transactions when the power fails, so they
	// need not reach the disk one by one: synchronous=NORMAL keeps the file consistent.
	db, err := open(path, "rwc", "_pragma=synchronous(NORMAL)", "_txlock=immediate")
	if err != nil {
		return nil, err
	}
	if err := db.migrate(context.Background()); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// OpenReadOnly opens an existing history for reading only, also in a directory that
// cannot be written. No file: the error wraps [fs.ErrNotExist].
func OpenReadOnly(path string) (*DB, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("history %s: %w", path, err)
	}
	db, err := open(path, "ro")
	if err != nil {
		return nil, err
	}
	version, err := db.version(context.Background())
	switch {
	case err != nil:
	case version == 0:
		err = fmt.Errorf("history %s: nothing is in it yet: %w", path, fs.ErrNotExist)
	case version < len(migrations):
		err = fmt.Errorf("history %s is of an earlier version, and %w", path, ErrReadOnly)
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

func open(path, mode string, options ...string) (*DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("history %s: %w", path, err)
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(abs)} // escapes what is special in a URI
	dsn := u.String() + "?mode=" + mode + fmt.Sprintf("&_pragma=busy_timeout(%d)", busyTimeout)
	for _, o := range options {
		dsn += "&" + o
	}
	s, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("history %s: %w", path, err)
	}
	s.SetMaxOpenConns(1) // one file, one writer
	return &DB{path: path, sql: s}, nil
}

// Close closes the file.
func (db *DB) Close() error { return db.explain(db.sql.Close()) }

// explain names the file and the remedy.
func (db *DB) explain(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrReadOnly) || errors.Is(err, ErrNewer) || errors.Is(err, ErrCorrupt) {
		return fmt.Errorf("history %s %w", db.path, err)
	}
	var e *sqlite.Error
	if errors.As(err, &e) {
		switch e.Code() & 0xff { // the rest says more than is needed
		case codes.SQLITE_READONLY, codes.SQLITE_PERM:
			return fmt.Errorf("history %s %w: %w", db.path, ErrReadOnly, err)
		case codes.SQLITE_CANTOPEN:
			if _, missing := os.Stat(filepath.Dir(db.path)); missing != nil {
				return fmt.Errorf("history %s: %w", db.path, missing)
			}
			return fmt.Errorf("history %s %w: %w", db.path, ErrReadOnly, err)
		case codes.SQLITE_NOTADB, codes.SQLITE_CORRUPT:
			return fmt.Errorf("history %s %w: %w", db.path, ErrCorrupt, err)
		case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
			return fmt.Errorf("history %s %w: %w", db.path, ErrBusy, err)
		}
	}
	return fmt.Errorf("history %s: %w", db.path, err)
}

// transaction runs f in one.
func (db *DB) transaction(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := db.sql.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		tx.Rollback()
		return err
	}
	return tx.Commit()
}
