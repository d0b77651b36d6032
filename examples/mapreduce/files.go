package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// writer is what tasks write to.
type writer = *bufio.Writer

const bufferSize = 1 << 16

// writeFile creates the file and its directory. The file gets its name once it is
// complete, so that a killed task leaves no half of one.
func writeFile(path string, fill func(writer) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.Create(path + ".tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriterSize(f, bufferSize)
	if err := fill(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// writeGzip is writeFile with compression.
func writeGzip(path string, fill func(writer) error) error {
	return writeFile(path, func(out writer) error {
		z := gzip.NewWriter(out)
		w := bufio.NewWriterSize(z, bufferSize)
		if err := fill(w); err != nil {
			return err
		}
		if err := w.Flush(); err != nil {
			return err
		}
		return z.Close()
	})
}

// records reads a file record by record. After an error there are no more.
type records struct {
	path string
	file *os.File
	scan *bufio.Scanner
	rec  []byte // the current record; valid until next
	err  error
}

// openRecords opens a file whose records cut separates.
func openRecords(path string, cut bufio.SplitFunc, compressed bool) (*records, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	var in io.Reader = bufio.NewReaderSize(f, bufferSize)
	if compressed {
		if in, err = gzip.NewReader(in); err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	scan := bufio.NewScanner(in)
	scan.Split(cut)
	return &records{path: path, file: f, scan: scan}, nil
}

// next moves to the next record and reports whether there is one.
func (r *records) next() bool {
	if r.err != nil || !r.scan.Scan() {
		if err := r.scan.Err(); err != nil && r.err == nil {
			r.err = fmt.Errorf("%s: %w", r.path, err)
		}
		r.rec = nil
		return false
	}
	r.rec = r.scan.Bytes()
	return true
}

func (r *records) close() { _ = r.file.Close() } // read only: nothing to lose

// lines cuts text into lines, each with its newline.
func lines(data []byte, atEOF bool) (int, []byte, error) {
	if end := bytes.IndexByte(data, '\n') + 1; end > 0 {
		return end, data[:end], nil
	}
	if atEOF && len(data) > 0 {
		return 0, nil, fmt.Errorf("last line has no end: %q", clip(data))
	}
	return 0, nil, nil
}

// blocks returns a cutter of records of n bytes.
func blocks(n int) bufio.SplitFunc {
	return func(data []byte, atEOF bool) (int, []byte, error) {
		if len(data) >= n {
			return n, data[:n], nil
		}
		if atEOF && len(data) > 0 {
			return 0, nil, fmt.Errorf("last record has %d bytes, not %d", len(data), n)
		}
		return 0, nil, nil
	}
}

// clip shortens a record for an error message.
func clip(rec []byte) []byte { return rec[:min(len(rec), 40)] }
