package main

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sort"
)

const letters = "abcdefghijklmnopqrstuvwxyz"

// lineSort sorts lines of text. Their first letters are uniform, so equal ranges
// of letters make equal parts, and the parts in sequence are in order.
func lineSort() *application {
	return &application{
		input:  lineInput,
		cut:    lines,
		mapper: identity,
		partitioner: func(j *job) (func([]byte) int, error) {
			return ranges(lineCuts(j.Reducers)), nil
		},
		reducer: merge,
		check:   checkSorted,
	}
}

// lineInput yields lines of 40 to 103 random letters.
func lineInput(j *job, split int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		rng := rand.New(rand.NewPCG(j.Seed, uint64(split)))
		line := make([]byte, 0, 128)
		for range j.Records {
			n := 40 + rng.IntN(64)
			line = append(randomLetters(line[:0], n, rng), '\n')
			if !yield(line) {
				return
			}
		}
	}
}

// randomLetters appends n letters, twelve for each draw: 26^12 is small against
// 2^64, so they are uniform to within one part in a hundred.
func randomLetters(to []byte, n int, rng *rand.Rand) []byte {
	for i, u := 0, uint64(0); i < n; i++ {
		if i%12 == 0 {
			u = rng.Uint64()
		}
		to = append(to, letters[u%26])
		u /= 26
	}
	return to
}

// lineCuts divides the pairs of letters into equal ranges.
func lineCuts(reducers int) [][]byte {
	cuts := make([][]byte, 0, reducers-1)
	for i := 1; i < reducers; i++ {
		pair := i * 26 * 26 / reducers
		cuts = append(cuts, []byte{letters[pair/26], letters[pair%26]})
	}
	return cuts
}

// terasort sorts records of 100 bytes by a key of 10, after the benchmark of that
// name. The keys are skewed, so the ranges must come from a sample.
func terasort() *application {
	return &application{
		input:  teraInput,
		cut:    blocks(teraRecord),
		mapper: identity,
		partitioner: func(j *job) (func([]byte) int, error) {
			cuts, err := readCuts(j)
			if err != nil {
				return nil, err
			}
			return ranges(cuts), nil
		},
		reducer: merge,
		check:   checkSorted,
	}
}

const (
	teraKey    = 10
	teraRecord = 100
)

// teraInput yields records: key, number of the record in 16 hex digits, filler.
// Key bytes are printable, each the smaller of two draws.
func teraInput(j *job, split int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		rng := rand.New(rand.NewPCG(j.Seed, uint64(split)))
		rec := make([]byte, 0, teraRecord)
		for i := range j.Records {
			rec = rec[:0]
			for range teraKey {
				rec = append(rec, ' '+byte(min(rng.IntN(95), rng.IntN(95))))
			}
			rec = fmt.Appendf(rec, "%016x", uint64(split)<<32|uint64(i))
			rec = randomLetters(rec, teraRecord-len(rec), rng)
			if !yield(rec) {
				return
			}
		}
	}
}

// sampleEvery is how many records there are to one in the sample. A hundred keys
// per reducer and more keep the parts within some ten percent of each other.
const sampleEvery = 50

// sampleTask reads the splits and cuts the keys of a sample into equal ranges.
func sampleTask(j *job) error {
	if j.App != "terasort" {
		return fmt.Errorf("job %s: only terasort samples its keys", j.name)
	}
	var keys [][]byte
	for split := range j.Splits {
		in, err := openRecords(j.split(split), j.app().cut, true)
		if err != nil {
			return err
		}
		for i := 0; in.next(); i++ {
			if i%sampleEvery == 0 {
				keys = append(keys, bytes.Clone(in.rec[:teraKey]))
			}
		}
		in.close()
		if in.err != nil {
			return in.err
		}
	}
	slices.SortFunc(keys, bytes.Compare)
	return writeFile(j.cuts(), func(w writer) error {
		for r := 1; r < j.Reducers; r++ {
			if _, err := fmt.Fprintf(w, "%s\n", keys[r*len(keys)/j.Reducers]); err != nil {
				return err
			}
		}
		return nil
	})
}

func readCuts(j *job) ([][]byte, error) {
	in, err := openRecords(j.cuts(), blocks(teraKey+1), false)
	if err != nil {
		return nil, err
	}
	defer in.close()
	var cuts [][]byte
	for in.next() {
		cuts = append(cuts, bytes.Clone(in.rec[:teraKey]))
	}
	if in.err == nil && len(cuts) != j.Reducers-1 {
		in.err = fmt.Errorf("%s: %d keys for %d reducers: run sample again", j.cuts(), len(cuts), j.Reducers)
	}
	return cuts, in.err
}

// ranges assigns a record to the range it falls in: range r begins at cuts[r-1].
func ranges(cuts [][]byte) func(rec []byte) int {
	return func(rec []byte) int {
		return sort.Search(len(cuts), func(i int) bool { return bytes.Compare(cuts[i], rec) > 0 })
	}
}

func identity(in *records, emit func([]byte)) {
	for in.next() {
		emit(bytes.Clone(in.rec))
	}
}

func merge(in *merger, w writer) error {
	for rec := in.next(); rec != nil; rec = in.next() {
		if _, err := w.Write(rec); err != nil {
			return err
		}
	}
	return nil
}

// fingerprint identifies a multiset of records, in any order.
type fingerprint struct {
	records int
	bytes   int64
	sum     uint64 // of the records' hashes
}

func (f *fingerprint) add(rec []byte) {
	f.records++
	f.bytes += int64(len(rec))
	f.sum += hash(rec)
}

// checkSorted verifies the output of a sort: every record is at or after the one
// before it, from the first part to the last, and together they are the records
// that the seed generates. Any change of one byte is found for certain: within a
// record it changes one hash and so the sum; of or to a newline, the number of
// records.
func checkSorted(j *job) (verdict, error) {
	var want, got fingerprint
	for split := range j.Splits {
		for rec := range j.app().input(j, split) {
			want.add(rec)
		}
	}
	var last []byte
	for reducer := range j.Reducers {
		in, err := openRecords(j.part(reducer), j.app().cut, false)
		if err != nil {
			return verdict{}, err
		}
		for in.next() {
			if bytes.Compare(in.rec, last) < 0 {
				in.err = fmt.Errorf("%s: not sorted: %q after %q", in.path, clip(in.rec), clip(last))
				break
			}
			got.add(in.rec)
			last = append(last[:0], in.rec...)
		}
		in.close()
		if in.err != nil {
			return verdict{}, in.err
		}
	}
	switch {
	case got.records != want.records:
		return verdict{}, fmt.Errorf("not complete: %d records, generated were %d", got.records, want.records)
	case got != want:
		return verdict{}, errors.New("not complete: the records are not those generated")
	}
	return verdict{in: want.records, out: got.records, bytes: got.bytes, claim: "sorted, complete"}, nil
}
