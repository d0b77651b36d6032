package main

import (
	"bytes"
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"
)

// wordcount counts words. Map tasks count within their split (the combiner) and
// emit lines "word<tab>count"; words are assigned to reducers by hash.
func wordcount() *application {
	return &application{
		input:  textInput,
		cut:    lines,
		mapper: countWords,
		partitioner: func(j *job) (func([]byte) int, error) {
			return func(rec []byte) int {
				word, _, _ := bytes.Cut(rec, []byte("\t"))
				return reducerOf(word, j.Reducers)
			}, nil
		},
		reducer: sumCounts,
		check:   checkCounts,
	}
}

func reducerOf(word []byte, reducers int) int { return int(hash(word) % uint64(reducers)) }

// Words follow Zipf's law, as those of a natural language do: the k-th most
// frequent has probability proportional to (k+2)^-1.02.
const (
	vocabulary   = 1 << 22
	zipfExponent = 1.02
	zipfShift    = 2
	wordsPerLine = 12
)

// ranks yields the words of a split as ranks in the vocabulary.
func ranks(j *job, split int) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		z := rand.NewZipf(rand.New(rand.NewPCG(j.Seed, uint64(split))), zipfExponent, zipfShift, vocabulary-1)
		for range j.Records {
			if !yield(z.Uint64()) {
				return
			}
		}
	}
}

// appendWord spells a rank, in base 100 with syllables for digits: ba, be, …
func appendWord(to []byte, rank uint64) []byte {
	const consonants, vowels = "bcdfghjklmnpqrstvwxz", "aeiou"
	for {
		to = append(to, consonants[rank%100/5], vowels[rank%5])
		if rank /= 100; rank == 0 {
			return to
		}
	}
}

// textInput yields lines of text.
func textInput(j *job, split int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var line []byte
		words := 0
		for rank := range ranks(j, split) {
			line = appendWord(line, rank)
			if words++; words%wordsPerLine != 0 && words != j.Records {
				line = append(line, ' ')
				continue
			}
			if !yield(append(line, '\n')) {
				return
			}
			line = line[:0]
		}
	}
}

func countWords(in *records, emit func([]byte)) {
	counts := map[string]*int{} // pointers: to count a word again needs no new string
	for in.next() {
		for word := range bytes.FieldsSeq(in.rec) {
			if n := counts[string(word)]; n != nil {
				*n++
				continue
			}
			one := 1
			counts[string(word)] = &one
		}
	}
	for word, n := range counts {
		emit(appendCount(nil, word, uint64(*n)))
	}
}

func appendCount[W string | []byte](to []byte, word W, n uint64) []byte {
	to = append(append(to, word...), '\t')
	return append(strconv.AppendUint(to, n, 10), '\n')
}

// parseCount is the inverse of appendCount. It accepts nothing else.
func parseCount(rec []byte) (word []byte, n uint64, err error) {
	word, _, _ = bytes.Cut(rec, []byte("\t"))
	digits := bytes.TrimSuffix(rec[min(len(word)+1, len(rec)):], []byte("\n"))
	n, err = strconv.ParseUint(string(digits), 10, 64)
	if err != nil || !bytes.Equal(rec, appendCount(nil, word, n)) {
		return nil, 0, fmt.Errorf("not a word and a count: %q", clip(rec))
	}
	return word, n, nil
}

// sumCounts adds the counts of each word. A tab sorts before every letter, so the
// lines of a word are together.
func sumCounts(in *merger, w writer) error {
	var current, line []byte
	total := uint64(0)
	flush := func() error {
		if total == 0 {
			return nil
		}
		line = appendCount(line[:0], current, total)
		_, err := w.Write(line)
		return err
	}
	for rec := in.next(); rec != nil; rec = in.next() {
		word, n, err := parseCount(rec)
		if err != nil {
			return err
		}
		if !bytes.Equal(word, current) {
			if err := flush(); err != nil {
				return err
			}
			current, total = append(current[:0], word...), 0
		}
		total += n
	}
	return flush()
}

// checkCounts verifies the output of wordcount: in every part the words ascend and
// belong there, every word of the vocabulary that was generated is in a part with
// its number of occurrences, and nothing else is. The occurrences are tallied
// from the seed by rank, without making or reading any text.
func checkCounts(j *job) (verdict, error) {
	v := verdict{in: j.Splits * j.Records, claim: "sorted, counts right"}
	tally := map[uint64]uint64{} // by rank
	for split := range j.Splits {
		for rank := range ranks(j, split) {
			tally[rank]++
		}
	}
	want := map[string]uint64{}
	var word []byte
	for rank, n := range tally {
		word = appendWord(word[:0], rank)
		want[string(word)] = n
	}
	for reducer := range j.Reducers {
		in, err := openRecords(j.part(reducer), lines, false)
		if err != nil {
			return v, err
		}
		var last []byte
		for in.next() {
			word, n, err := parseCount(in.rec)
			switch {
			case err != nil:
			case bytes.Compare(word, last) <= 0:
				err = fmt.Errorf("not sorted: %q after %q", clip(word), clip(last))
			case reducerOf(word, j.Reducers) != reducer:
				err = fmt.Errorf("%q belongs to reducer %d", clip(word), reducerOf(word, j.Reducers))
			case want[string(word)] != n:
				err = fmt.Errorf("%q counted %d times, generated %d times", clip(word), n, want[string(word)])
			}
			if err != nil {
				in.err = fmt.Errorf("%s: %w", in.path, err)
				break
			}
			v.out++
			v.bytes += int64(len(in.rec))
			last = append(last[:0], word...)
		}
		in.close()
		if in.err != nil {
			return v, in.err
		}
	}
	if v.out != len(want) {
		return v, fmt.Errorf("not complete: %d words, generated were %d", v.out, len(want))
	}
	return v, nil
}
