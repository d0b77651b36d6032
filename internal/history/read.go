package history

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"
)

// Key names a stage of a job.
type Key struct{ Job, Stage string }

// All returns every attempt, in the order of their runs, oldest first.
func (db *DB) All(ctx context.Context) ([]Attempt, error) {
	return db.read(ctx, func(r *reader) error { return r.attempts("") })
}

// latestRuns of a stage are looked at when its sizes are learnt: older ones would hardly
// weigh anything, by halfLife.
const latestRuns = 16

// Of returns the attempts of the latest runs of each of the given stages, in the order of
// the runs, oldest first: those in workloads of the given name or, for a stage without
// such, in any.
func (db *DB) Of(ctx context.Context, workload string, keys []Key) ([]Attempt, error) {
	return db.read(ctx, func(r *reader) error {
		ids := make(map[Key]int64, len(r.stages))
		for id, name := range r.stages {
			ids[Key{name[0], name[1]}] = id
		}
		for _, k := range keys {
			id, ok := ids[k]
			if !ok {
				continue
			}
			before := len(r.found)
			for _, which := range []string{"AND r.workload = ?3", ""} {
				if err := r.attempts(`WHERE stage = ?1 AND run IN (
					SELECT DISTINCT a.run FROM attempts a JOIN runs r ON r.id = a.run
					WHERE a.stage = ?1 `+which+` ORDER BY a.run DESC LIMIT ?2)`, id, latestRuns, workload); err != nil {
					return err
				}
				if len(r.found) > before {
					break
				}
			}
		}
		return nil
	})
}

// Recent returns the attempts of the latest runs, oldest run first.
func (db *DB) Recent(ctx context.Context, runs int) ([]Attempt, error) {
	return db.read(ctx, func(r *reader) error {
		return r.attempts("WHERE run > (SELECT max(id) FROM runs) - ?", runs)
	})
}

// reader is one view of the file, however many others write to it meanwhile.
type reader struct {
	ctx context.Context
	tx  *sql.Tx
	// The names are read once each: a join would copy them for every attempt.
	runs, stages, machines map[int64][2]string
	found                  []stored
}

type stored struct {
	run int64
	Attempt
}

func (db *DB) read(ctx context.Context, f func(*reader) error) ([]Attempt, error) {
	tx, err := db.sql.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, db.explain(err)
	}
	defer tx.Rollback()
	r := &reader{ctx: ctx, tx: tx}
	if err := r.names(); err != nil {
		return nil, db.explain(err)
	}
	if err := f(r); err != nil {
		return nil, db.explain(err)
	}
	slices.SortStableFunc(r.found, func(a, b stored) int { return int(a.run - b.run) })
	list := make([]Attempt, len(r.found))
	for i := range list {
		list[i] = r.found[i].Attempt
	}
	return list, nil
}

func (r *reader) names() error {
	for query, to := range map[string]*map[int64][2]string{
		"SELECT id, name, workload FROM runs": &r.runs,
		"SELECT id, job, name FROM stages":    &r.stages,
		"SELECT id, name, '' FROM machines":   &r.machines,
	} {
		*to = map[int64][2]string{}
		err := r.rows(query, nil, func(rows *sql.Rows) error {
			var id int64
			var name [2]string
			err := rows.Scan(&id, &name[0], &name[1])
			(*to)[id] = name
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) attempts(where string, args ...any) error {
	return r.rows(`SELECT stage, run, task, attempt, tasks, machine, speed, speed_assumed, size, input,
			launched, start, finish, progress_at, progress, state, exit_code, signal, cpu, memory, out_of_memory
		FROM attempts `+where, args, func(rows *sql.Rows) error {
		var s stored
		var stage, machine, launched int64
		a := &s.Attempt
		err := rows.Scan(&stage, &s.run, &a.Task, &a.Attempt, &a.Tasks, &machine, &a.Speed, &a.SpeedAssumed, &a.Size, &a.Input,
			&launched, &a.Start, &a.End, &a.FirstProgressAt, &a.FirstProgress, &a.State, &a.ExitCode, &a.Signal, &a.CPU, &a.Memory, &a.OutOfMemory)
		a.Run, a.Workload = r.runs[s.run][0], r.runs[s.run][1]
		a.Job, a.Stage = r.stages[stage][0], r.stages[stage][1]
		a.Machine, a.Launched = r.machines[machine][0], time.Unix(0, launched)
		if err == nil {
			if bad := a.validate(); bad != nil { // a flipped bit need not make SQLite complain
				err = fmt.Errorf("%w: attempt %d of %s/%s task %d: %w", ErrCorrupt, a.Attempt, a.Job, a.Stage, a.Task, bad)
			}
		}
		r.found = append(r.found, s)
		return err
	})
}

func (r *reader) rows(query string, args []any, each func(*sql.Rows) error) error {
	rows, err := r.tx.QueryContext(r.ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
