package history

import (
	"context"
	"database/sql"
	"fmt"
)

// applicationID marks the file as ours: "Fair" in ASCII.
const applicationID = 0x46616972

// migrations bring a file from version i to version i+1 of the format; the version is
// SQLite's user_version. Published ones never change.
//
// Names are kept once. The attempts of a stage lie together, those of a run next to
// each other, since that is how they are read and thinned out. Times are nanoseconds.
var migrations = []string{
	`CREATE TABLE runs (
		id       INTEGER PRIMARY KEY, -- ascending in the order of first attempts
		name     TEXT NOT NULL UNIQUE,
		workload TEXT NOT NULL
	) STRICT;
	CREATE TABLE stages (
		id   INTEGER PRIMARY KEY,
		job  TEXT NOT NULL,
		name TEXT NOT NULL,
		UNIQUE (job, name)
	) STRICT;
	CREATE TABLE machines (
		id   INTEGER PRIMARY KEY,
		name TEXT NOT NULL UNIQUE
	) STRICT;
	CREATE TABLE attempts (
		stage         INTEGER NOT NULL,
		run           INTEGER NOT NULL,
		task          INTEGER NOT NULL,
		attempt       INTEGER NOT NULL,
		tasks         INTEGER NOT NULL,
		machine       INTEGER NOT NULL,
		speed         REAL NOT NULL,
		speed_assumed INTEGER NOT NULL,
		size          REAL NOT NULL,    -- 0: not stated
		input         REAL NOT NULL,    -- bytes; 0: not stated
		launched      INTEGER NOT NULL, -- wall clock, since 1970
		start         INTEGER NOT NULL, -- clock of the run, as the two below
		finish        INTEGER NOT NULL,
		progress_at   INTEGER NOT NULL, -- 0: no progress reported
		progress      REAL NOT NULL,
		state         INTEGER NOT NULL, -- 1 done, 2 failed, 3 lost, 4 stopped
		exit_code     INTEGER NOT NULL,
		signal        TEXT NOT NULL,
		cpu           INTEGER NOT NULL,
		memory        INTEGER NOT NULL, -- bytes; 0: unknown
		out_of_memory INTEGER NOT NULL,
		sample        INTEGER NOT NULL, -- random rank of the task: what is thinned out first
		PRIMARY KEY (stage, run, task, attempt)
	) STRICT, WITHOUT ROWID;`,
}

// version returns the version of the format, after checking that the file is ours. 0:
// nothing is in it yet.
func (db *DB) version(ctx context.Context) (int, error) {
	var id, version, objects int
	err := db.sql.QueryRowContext(ctx,
		`SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
		 FROM pragma_application_id, pragma_user_version`).Scan(&id, &version, &objects)
	switch {
	case err != nil:
		return 0, db.explain(err)
	case id == 0 && version == 0 && objects == 0:
		return 0, nil
	case id != applicationID || version < 1:
		return 0, fmt.Errorf("history %s %w: it is the database of another program", db.path, ErrCorrupt)
	case version > len(migrations):
		return 0, fmt.Errorf("history %s %w", db.path, ErrNewer)
	}
	return version, nil
}

// migrate brings the file to the present version, and finds out whether it can be
// written. Before the version is known to be ours nothing is changed.
func (db *DB) migrate(ctx context.Context) error {
	if _, err := db.version(ctx); err != nil {
		return err
	}
	if err := db.checkWritable(ctx); err != nil {
		return db.explain(err)
	}
	// Readers and a writer then do not wait for each other. The file remembers it.
	if _, err := db.sql.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil {
		return db.explain(err)
	}
	err := db.transaction(ctx, func(tx *sql.Tx) error {
		var version int // again: another process may have been first
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		if version > len(migrations) {
			return ErrNewer
		}
		for _, m := range migrations[version:] {
			if _, err := tx.ExecContext(ctx, m); err != nil {
				return err
			}
		}
		if version == len(migrations) {
			return nil
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(migrations)))
		return err
	})
	return db.explain(err)
}

// checkWritable asks SQLite, which opens a file that cannot be written all the same, and
// then only notices when it is to write.
func (db *DB) checkWritable(ctx context.Context) error {
	conn, err := db.sql.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(driver any) error {
		readOnly, err := driver.(interface{ IsReadOnly(string) (bool, error) }).IsReadOnly("main")
		if err == nil && readOnly {
			err = ErrReadOnly
		}
		return err
	})
}
