package supervise

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// journalName is the journal's name in a run's directory: one record per line,
//
//	{"crc":"1c291ca3","type":"started","task":3,"attempt":1,"nonce":12,"pid":4711,"at":98765}
//
// crc being the CRC-32 (IEEE) of what follows its value, up to the end of the line.
const journalName = "journal.jsonl"

const (
	crcBefore = `{"crc":"`
	crcDigits = 8
	// maxRecord bounds a line: whatever is longer is damage. maxErr keeps records
	// below it, with six characters for one where JSON escapes.
	maxRecord = 64 << 10
	maxErr    = 4 << 10
)

// opened records that a supervisor begins.
type opened struct {
	Run   string `json:"run"`
	PID   int    `json:"pid"`
	Boot  string `json:"boot"`
	At    int64  `json:"at"`
	Group string `json:"group,omitempty"` // the directory of its control group
}

// started is a start. Two records make it: one before the process comes into being,
// with Born, one after it, with PID and At.
type started struct {
	Key
	Born int64 `json:"born"`
	PID  int   `json:"pid"` // 0: it may not have come into being
	At   int64 `json:"at"`
}

// record is a line, as it is read: one of its fields is set.
type record struct {
	opened   *opened
	starting *started
	started  *started
	exited   *Exit
}

func (r *opened) appendTo(b []byte) []byte {
	body, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings and numbers
	}
	return appendRecord(b, "opened", func(b []byte) []byte {
		return append(append(b, ','), body[1:len(body)-1]...)
	})
}

func (r *started) appendBefore(b []byte) []byte {
	return appendRecord(b, "starting", func(b []byte) []byte {
		return appendInt(r.Key.appendTo(b), "born", r.Born)
	})
}

func (r *started) appendAfter(b []byte) []byte {
	return appendRecord(b, "started", func(b []byte) []byte {
		b = appendInt(r.Key.appendTo(b), "pid", int64(r.PID))
		return appendInt(b, "at", r.At)
	})
}

func (x *Exit) appendTo(b []byte) []byte {
	return appendRecord(b, "exited", func(b []byte) []byte {
		b = x.Key.appendTo(b)
		b = appendInt(b, "at", x.At)
		b = appendInt(b, "code", int64(x.Code))
		b = appendText(b, "signal", x.Signal)
		b = appendText(b, "err", x.Err)
		b = appendTrue(b, "lost", x.Lost)
		b = appendTrue(b, "stopped", x.Stopped)
		b = appendTrue(b, "oom", x.OutOfMemory)
		b = appendInt(b, "cpu", int64(x.CPU))
		return appendInt(b, "rss", x.MaxRSS)
	})
}

func (k Key) appendTo(b []byte) []byte {
	b = appendInt(b, "task", int64(k.Task))
	b = appendInt(b, "attempt", int64(k.Attempt))
	return appendInt(b, "nonce", k.Nonce)
}

// appendRecord appends a line. Every start costs three, hence no reflection.
func appendRecord(b []byte, kind string, fields func([]byte) []byte) []byte {
	b = append(b, crcBefore...)
	at := len(b)
	b = append(b, `00000000","type":"`...)
	b = append(append(b, kind...), '"')
	b = append(fields(b), '}')
	copy(b[at:], fmt.Appendf(nil, "%08x", crc32.ChecksumIEEE(b[at+crcDigits:])))
	return append(b, '\n')
}

func appendInt(b []byte, name string, v int64) []byte {
	b = append(append(append(b, `,"`...), name...), `":`...)
	return strconv.AppendInt(b, v, 10)
}

func appendText(b []byte, name, v string) []byte {
	if v == "" {
		return b
	}
	text, err := json.Marshal(v) // rare: most tasks succeed
	if err != nil {
		panic(err)
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	return append(b, text...)
}

func appendTrue(b []byte, name string, v bool) []byte {
	if !v {
		return b
	}
	return append(append(append(b, `,"`...), name...), `":true`...)
}

// parseRecord reads a line without its end.
func parseRecord(line []byte) (r record, err error) {
	const before = len(crcBefore)
	if len(line) < before+crcDigits || string(line[:before]) != crcBefore {
		return r, errors.New("not a record")
	}
	sum, rest := line[before:before+crcDigits], line[before+crcDigits:]
	if string(sum) != fmt.Sprintf("%08x", crc32.ChecksumIEEE(rest)) {
		return r, errors.New("the checksum is wrong")
	}
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return r, err
	}
	var into any
	switch kind.Type {
	case "opened":
		r.opened = new(opened)
		into = r.opened
	case "starting":
		r.starting = new(started)
		into = r.starting
	case "started":
		r.started = new(started)
		into = r.started
	case "exited":
		r.exited = new(Exit)
		into = r.exited
	default:
		return r, nil // of a later version of this program
	}
	return r, json.Unmarshal(line, into)
}

// damage says what of a journal cannot be read.
type damage struct {
	lines int
	first int64 // where the first of them is
	end   int64 // where the last record that can be read ends
}

func (d damage) String() string {
	switch d.lines {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("a line at byte %d is damaged", d.first)
	}
	return fmt.Sprintf("%d lines from byte %d on are damaged", d.lines, d.first)
}

// readRecords calls f for every record in order, with where it begins. What is
// damaged, such as a line that a loss of power has torn, is passed over: a damaged
// line makes those behind it no less true.
func readRecords(in io.Reader, f func(at int64, r record)) (d damage, err error) {
	buf := bufio.NewReaderSize(in, maxRecord)
	inside := false // of a line that is too long
	for at := int64(0); ; {
		line, err := buf.ReadSlice('\n')
		rest := inside
		inside = errors.Is(err, bufio.ErrBufferFull)
		n := int64(len(line))
		good := false
		if err == nil && !rest {
			r, bad := parseRecord(line[:n-1])
			if good = bad == nil; good {
				f(at, r)
				d.end = at + n
			}
		}
		if !good && !rest && n > 0 {
			if d.lines++; d.lines == 1 {
				d.first = at
			}
		}
		at += n
		if errors.Is(err, io.EOF) {
			return d, nil
		}
		if err != nil && !inside {
			return d, err
		}
	}
}

// ReadJournal returns the exits that a run's journal has, in their order; none if
// there is no journal. If part of it is damaged, torn says which.
func ReadJournal(dir string) (exits []Exit, torn string, err error) {
	f, err := os.Open(filepath.Join(dir, journalName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, "", nil
	}
	if err == nil {
		defer f.Close()
		exits, torn, err = readExits(f)
	}
	if err != nil {
		return nil, "", fmt.Errorf("supervise: cannot read the journal: %w", err)
	}
	return exits, torn, nil
}

func readExits(in io.Reader) (exits []Exit, torn string, err error) {
	d, err := readRecords(in, func(_ int64, r record) {
		if r.exited != nil {
			exits = append(exits, *r.exited)
		}
	})
	return exits, d.String(), err
}
