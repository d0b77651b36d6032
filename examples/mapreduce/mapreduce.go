package main

import (
	"bufio"
	"bytes"
	"container/heap"
	"errors"
	"iter"
	"slices"
)

// application is what wordcount, sort and terasort do differently. Records are
// ordered by their bytes, so a key at the front of a record sorts it.
type application struct {
	// input yields the records of a split, the same ones on every call. A record
	// is valid until the next one.
	input func(j *job, split int) iter.Seq[[]byte]
	// cut separates the records of every file.
	cut bufio.SplitFunc
	// mapper turns the records of a split into intermediate records, which it
	// gives away to emit.
	mapper func(in *records, emit func(rec []byte))
	// partitioner returns the function that assigns an intermediate record to one
	// of the job's reducers.
	partitioner func(j *job) (func(rec []byte) int, error)
	// reducer writes the output made of the merged, sorted intermediate records.
	reducer func(in *merger, w writer) error
	// check verifies the output against what the seed says it must be.
	check func(j *job) (verdict, error)
}

// appOf returns the application of that name, nil if there is none.
func appOf(name string) *application {
	switch name {
	case "wordcount":
		return wordcount()
	case "sort":
		return lineSort()
	case "terasort":
		return terasort()
	}
	return nil
}

// app is never nil: validate has seen to it.
func (j *job) app() *application { return appOf(j.App) }

// generate writes one split; the first also writes job.json.
func generate(j *job, split int) error {
	if split == 0 {
		if err := j.save(); err != nil {
			return err
		}
	}
	return writeGzip(j.split(split), func(w writer) error {
		for rec := range j.app().input(j, split) {
			if _, err := w.Write(rec); err != nil {
				return err
			}
		}
		return nil
	})
}

// mapTask maps a split to one sorted run per reducer.
func mapTask(j *job, split int) error {
	app := j.app()
	partition, err := app.partitioner(j)
	if err != nil {
		return err
	}
	in, err := openRecords(j.split(split), app.cut, true)
	if err != nil {
		return err
	}
	defer in.close()
	runs := make([][][]byte, j.Reducers)
	app.mapper(in, func(rec []byte) {
		p := partition(rec)
		runs[p] = append(runs[p], rec)
	})
	if in.err != nil {
		return in.err
	}
	for reducer, run := range runs {
		slices.SortFunc(run, bytes.Compare)
		err := writeGzip(j.run(split, reducer), func(w writer) error {
			for _, rec := range run {
				if _, err := w.Write(rec); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// reduceTask merges the reducer's runs, one of every split, into its output.
func reduceTask(j *job, reducer int) error {
	m := &merger{}
	defer m.close()
	for split := range j.Splits {
		r, err := openRecords(j.run(split, reducer), j.app().cut, true)
		if err != nil {
			return err
		}
		m.all = append(m.all, r)
	}
	return writeFile(j.part(reducer), func(w writer) error {
		return errors.Join(j.app().reducer(m, w), m.err())
	})
}

// merger merges sorted files: O(log files) per record.
type merger struct {
	all     []*records
	live    []*records // a heap by current record
	started bool
}

func (m *merger) Len() int           { return len(m.live) }
func (m *merger) Less(a, b int) bool { return bytes.Compare(m.live[a].rec, m.live[b].rec) < 0 }
func (m *merger) Swap(a, b int)      { m.live[a], m.live[b] = m.live[b], m.live[a] }
func (m *merger) Push(x any)         { m.live = append(m.live, x.(*records)) }

func (m *merger) Pop() any {
	last := len(m.live) - 1
	r := m.live[last]
	m.live = m.live[:last]
	return r
}

// next returns the smallest record not yet returned, nil at the end. It is valid
// until the next call.
func (m *merger) next() []byte {
	switch {
	case !m.started:
		m.started = true
		for _, r := range m.all {
			if r.next() {
				heap.Push(m, r)
			}
		}
	case len(m.live) == 0:
	case m.live[0].next():
		heap.Fix(m, 0)
	default:
		heap.Pop(m)
	}
	if len(m.live) == 0 {
		return nil
	}
	return m.live[0].rec
}

// err returns what kept a file from being read to its end.
func (m *merger) err() error {
	for _, r := range m.all {
		if r.err != nil {
			return r.err
		}
	}
	return nil
}

func (m *merger) close() {
	for _, r := range m.all {
		r.close()
	}
}

// hash is FNV-1a with a final mix. Every step is a bijection of the state, so two
// records of equal length that differ in one byte never have equal hashes.
func hash(rec []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range rec {
		h = (h ^ uint64(b)) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd // murmur3's finaliser: all bits depend on all
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
