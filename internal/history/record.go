package history

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// What is kept. Of every (job, stage, machine) the latest keptPerSeries attempts, of one
// run at most keptPerRun of them, so that some runs remain of a stage of very many
// tasks; of all together the runs that make up the latest keptInAll attempts.
const (
	keptPerRun    = 200
	keptPerSeries = 4 * keptPerRun
	keptInAll     = 200_000 // some 20 MB
)

// Record adds attempts, all or, on an error, none. Those that are there already stay as
// they are. What is too much is thinned out in the same transaction: of a run a random
// sample of the tasks remains, the same tasks of every run, failures last. Cost: some
// microseconds per attempt.
func (db *DB) Record(ctx context.Context, attempts []Attempt) error {
	if len(attempts) == 0 {
		return nil
	}
	for i := range attempts {
		if err := attempts[i].validate(); err != nil {
			return fmt.Errorf("history: attempt %d of %s/%s task %d: %w", attempts[i].Attempt, attempts[i].Job, attempts[i].Stage, attempts[i].Task, err)
		}
	}
	return db.explain(db.transaction(ctx, func(tx *sql.Tx) error {
		r := recorder{ctx: ctx, tx: tx, ids: map[[3]string]int64{}}
		if err := r.insert(attempts); err != nil {
			return err
		}
		for _, stage := range slices.Sorted(maps.Keys(r.stages)) {
			if err := r.thin(stage); err != nil {
				return err
			}
		}
		if r.newRun {
			return r.forgetOldRuns(keptInAll)
		}
		return nil
	}))
}

func (a *Attempt) validate() error {
	switch {
	case a.Run == "" || a.Job == "" || a.Stage == "" || a.Machine == "":
		return errors.New("a name is missing")
	case a.Task < 0 || a.Attempt < 1 || a.Tasks <= a.Task:
		return fmt.Errorf("no such attempt of task %d of %d", a.Task, a.Tasks)
	case a.State < Done || a.State > Stopped:
		return fmt.Errorf("no such %v", a.State)
	case !(a.Speed > 0) || !(a.Size >= 0) || !(a.Input >= 0) || !(a.FirstProgress >= 0) ||
		math.IsInf(a.Speed, 0) || math.IsInf(a.Size, 0) || math.IsInf(a.Input, 0):
		return errors.New("a number that is negative, infinite or none")
	case a.End < a.Start:
		return fmt.Errorf("it ended at %v and started at %v", a.End, a.Start)
	}
	return nil
}

// recorder is one transaction of Record.
type recorder struct {
	ctx    context.Context
	tx     *sql.Tx
	ids    map[[3]string]int64 // by table and name
	stages map[int64]bool      // touched
	newRun bool
}

func (r *recorder) insert(attempts []Attempt) error {
	r.stages = map[int64]bool{}
	add, err := r.tx.PrepareContext(r.ctx, `INSERT OR IGNORE INTO attempts VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`)
	if err != nil {
		return err
	}
	defer add.Close()
	for _, a := range thinned(attempts) {
		run, err := r.id("runs", "name, workload", a.Run, a.Workload)
		if err != nil {
			return err
		}
		stage, err := r.id("stages", "job, name", a.Job, a.Stage)
		if err != nil {
			return err
		}
		machine, err := r.id("machines", "name", a.Machine)
		if err != nil {
			return err
		}
		r.stages[stage] = true
		if _, err := add.ExecContext(r.ctx, stage, run, a.Task, a.Attempt, a.Tasks, machine, a.Speed, a.SpeedAssumed, a.Size, a.Input,
			a.Launched.UnixNano(), int64(a.Start), int64(a.End), int64(a.FirstProgressAt), a.FirstProgress,
			int64(a.State), a.ExitCode, a.Signal, int64(a.CPU), a.Memory, a.OutOfMemory, a.sample()); err != nil {
			return err
		}
	}
	return nil
}

// id returns the number of a name in a table, adding it if it is new.
func (r *recorder) id(table, columns string, names ...string) (int64, error) {
	key := [3]string{table}
	copy(key[1:], names)
	if table == "runs" {
		key[2] = "" // the workload does not identify it
	}
	if id, ok := r.ids[key]; ok {
		return id, nil
	}
	args := make([]any, len(names))
	for i, n := range names {
		args[i] = n
	}
	where := map[string]string{"runs": "name = ?1", "stages": "job = ?1 AND name = ?2", "machines": "name = ?1"}[table]
	values := "(?1, ?2)"
	if len(names) == 1 {
		values = "(?1)"
	}
	var id int64
	err := r.tx.QueryRowContext(r.ctx, "SELECT id FROM "+table+" WHERE "+where, args...).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		var added sql.Result
		if added, err = r.tx.ExecContext(r.ctx, "INSERT INTO "+table+" ("+columns+") VALUES "+values, args...); err == nil {
			id, err = added.LastInsertId()
			r.newRun = r.newRun || table == "runs"
		}
	}
	r.ids[key] = id
	return id, err
}

// sample ranks the attempts of a run: the ones with the highest rank go first when
// there are too many. It depends on the task alone, so that the same tasks remain of
// every run, and is random, since neither the first nor the last tasks are like all.
// What failed says less, unless it says how much memory is too little.
func (a *Attempt) sample() int64 {
	h := uint64(a.Task)*0x9e3779b97f4a7c15 + 0x9e3779b97f4a7c15 // splitmix64
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	rank := int64(h >> 33)
	if a.State != Done && !a.OutOfMemory {
		rank += 1 << 31
	}
	return rank
}

// thinned leaves out what thin would remove again, so that a run of very many tasks
// costs little.
func thinned(attempts []Attempt) []Attempt {
	if len(attempts) <= keptPerRun {
		return attempts
	}
	type series struct{ run, job, stage, machine string }
	of := map[series][]int{}
	for i := range attempts {
		a := &attempts[i]
		k := series{a.Run, a.Job, a.Stage, a.Machine}
		of[k] = append(of[k], i)
	}
	var kept []int
	for _, list := range of {
		if len(list) > keptPerRun {
			slices.SortFunc(list, func(i, j int) int {
				a, b := &attempts[i], &attempts[j]
				return cmp.Or(cmp.Compare(a.sample(), b.sample()), cmp.Compare(a.Task, b.Task), cmp.Compare(a.Attempt, b.Attempt))
			})
			list = list[:keptPerRun]
		}
		kept = append(kept, list...)
	}
	slices.Sort(kept)
	out := make([]Attempt, len(kept))
	for k, i := range kept {
		out[k] = attempts[i]
	}
	return out
}

// thin removes what a stage has too much of.
func (r *recorder) thin(stage int64) error {
	var most, mostOfRun sql.NullInt64 // counting is much cheaper than ranking
	if err := r.tx.QueryRowContext(r.ctx,
		`SELECT max(n), max(most) FROM (
			SELECT sum(n) AS n, max(n) AS most FROM (
				SELECT machine, count(*) AS n FROM attempts WHERE stage = ? GROUP BY machine, run
			) GROUP BY machine)`, stage).Scan(&most, &mostOfRun); err != nil {
		return err
	}
	remove := func(partition, order string, keep int) error {
		_, err := r.tx.ExecContext(r.ctx,
			`DELETE FROM attempts WHERE stage = ?1 AND (run, task, attempt) IN (
				SELECT run, task, attempt FROM (
					SELECT run, task, attempt, row_number() OVER (PARTITION BY `+partition+` ORDER BY `+order+`) AS n
					FROM attempts WHERE stage = ?1)
				WHERE n > ?2)`, stage, keep)
		return err
	}
	if mostOfRun.Int64 > keptPerRun {
		if err := remove("machine, run", "sample, task, attempt", keptPerRun); err != nil {
			return err
		}
	}
	if most.Int64 > keptPerSeries {
		return remove("machine", "run DESC, sample, task, attempt", keptPerSeries)
	}
	return nil
}

// forgetOldRuns removes the oldest runs, with their names, once there are more than
// keep attempts in all.
func (r *recorder) forgetOldRuns(keep int) error {
	var all int
	if err := r.tx.QueryRowContext(r.ctx, "SELECT count(*) FROM attempts").Scan(&all); err != nil || all <= keep {
		return err
	}
	_, err := r.tx.ExecContext(r.ctx,
		`DELETE FROM attempts WHERE run IN (
			SELECT run FROM (SELECT run, sum(count(*)) OVER (ORDER BY run DESC) AS upto FROM attempts GROUP BY run)
			WHERE upto > ?) AND run < (SELECT max(id) FROM runs)`, keep)
	if err != nil {
		return err
	}
	return r.dropUnused()
}

// dropUnused removes the names that no attempt has any more.
func (r *recorder) dropUnused() error {
	for _, column := range []string{"run", "stage", "machine"} {
		if _, err := r.tx.ExecContext(r.ctx, "DELETE FROM "+column+"s WHERE id NOT IN (SELECT "+column+" FROM attempts)"); err != nil {
			return err
		}
	}
	return nil
}

// Forget removes all attempts of a job, as when it has become another one, and returns
// how many there were.
func (db *DB) Forget(ctx context.Context, job string) (n int64, err error) {
	err = db.transaction(ctx, func(tx *sql.Tx) error {
		r := recorder{ctx: ctx, tx: tx}
		gone, err := tx.ExecContext(ctx, "DELETE FROM attempts WHERE stage IN (SELECT id FROM stages WHERE job = ?)", job)
		if err != nil {
			return err
		}
		if n, err = gone.RowsAffected(); err != nil || n == 0 {
			return err
		}
		return r.dropUnused()
	})
	return n, db.explain(err)
}
