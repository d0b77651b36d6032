package engine

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// LogReader reads an event log back.
type LogReader struct {
	Header LogHeader
	s      *bufio.Scanner
	line   int
	offset int64 // where the present line ends
	torn   bool  // the last line lacks its end
	digest string
}

// maxLine bounds a line of the log; the longest is a solution's order.
const maxLine = 1 << 28

// ErrLog is wrapped by every error about a log that cannot be read.
var ErrLog = errors.New("engine: bad event log")

var errFormat = errors.New("expected EventLog of " + LogVersion)

// NewLogReader reads the header.
func NewLogReader(r io.Reader) (*LogReader, error) {
	l := &LogReader{s: bufio.NewScanner(r)}
	l.s.Buffer(make([]byte, 1<<16), maxLine)
	l.s.Split(l.split)
	if err := l.next(&l.Header); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%w: it is empty", ErrLog)
		}
		return nil, err
	}
	if l.Header.Kind != "EventLog" || l.Header.APIVersion != LogVersion {
		return nil, fmt.Errorf("%w: line 1: found kind %q, apiVersion %q, %w", ErrLog, l.Header.Kind, l.Header.APIVersion, errFormat)
	}
	return l, nil
}

func (l *LogReader) split(data []byte, atEOF bool) (advance int, line []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		l.offset += int64(i + 1)
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		l.offset += int64(len(data))
		l.torn = true
		return len(data), data, nil
	}
	return 0, nil, nil
}

func (l *LogReader) next(into any) error {
	if !l.s.Scan() {
		if err := l.s.Err(); err != nil {
			return fmt.Errorf("%w: line %d: %w", ErrLog, l.line+1, err)
		}
		return io.EOF
	}
	l.line++
	if err := json.Unmarshal(l.s.Bytes(), into); err != nil {
		if l.torn {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("%w: line %d: %w", ErrLog, l.line, err)
	}
	return nil
}

// Next returns the next event; io.EOF after the last. A log that is cut short, as
// a killed run leaves it, ends with io.ErrUnexpectedEOF.
func (l *LogReader) Next() (sched.Time, Event, error) {
	var r struct {
		T        sched.Time       `json:"t"`
		Event    string           `json:"event"`
		ID       int32            `json:"id"`
		Attempt  int32            `json:"attempt"`
		Value    float64          `json:"value"`
		Solution *policy.Solution `json:"solution"`
		Digest   string           `json:"digest"`
	}
	if l.digest != "" {
		return 0, Event{}, io.EOF
	}
	if err := l.next(&r); err != nil {
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("%w: line %d: %w", ErrLog, l.line+1, io.ErrUnexpectedEOF)
		}
		return 0, Event{}, err
	}
	if r.Event == "end" {
		if l.digest = r.Digest; l.digest == "" {
			return 0, Event{}, fmt.Errorf("%w: line %d: no digest", ErrLog, l.line)
		}
		if l.s.Scan() {
			return 0, Event{}, fmt.Errorf("%w: line %d: text after the end", ErrLog, l.line+1)
		}
		return 0, Event{}, io.EOF
	}
	ev := Event{}
	for k, name := range eventNames {
		if name != "" && name == r.Event {
			ev.Kind = EventKind(k)
		}
	}
	switch ev.Kind {
	case JobArrived:
		ev.Job = sched.JobID(r.ID)
	case TaskFinished, TaskFailed, TaskLost, TaskRecovered, TaskProgress:
		ev.Task, ev.Attempt, ev.Value = sched.TaskID(r.ID), r.Attempt, r.Value
	case FlowFinished:
		ev.Flow = sched.FlowID(r.ID)
	case MachineLost, MachineJoined:
		ev.Machine = sched.MachineID(r.ID)
	case Solved:
		ev.Solution = r.Solution
	case Wake:
	default:
		return 0, Event{}, fmt.Errorf("%w: line %d: unknown event %q", ErrLog, l.line, r.Event)
	}
	return r.T, ev, nil
}

// Digest is what the log's last line says, "" if it has none.
func (l *LogReader) Digest() string { return l.digest }

// Replay feeds a log's events to a new engine of the given configuration and
// compares what it does with the log, line by line, and the digest. It returns
// the engine, and an error if the log is damaged, breaks the rules or leads
// elsewhere.
func Replay(cfg Config, l *LogReader) (*Engine, error) {
	e, err := New(cfg)
	if err != nil {
		return nil, err
	}
	encoder := newLogEncoder(e.Index())
	for {
		now, ev, err := l.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return e, err
		}
		actions, err := e.Step(now, ev)
		if err != nil {
			return e, fmt.Errorf("%w: line %d: %w", ErrLog, l.line, err)
		}
		line, err := encoder.line(now, ev, actions)
		if err != nil {
			return e, err
		}
		if err := l.compare(line[:len(line)-1]); err != nil {
			return e, err
		}
	}
	if got := fmt.Sprintf("%016x", e.Digest()); got != l.digest {
		return e, fmt.Errorf("%w: replaying it gives the digest %s, but it says %s", ErrLog, got, l.digest)
	}
	return e, nil
}

// compare reports where the present line departs from what replaying it gives.
func (l *LogReader) compare(want []byte) error {
	got := l.s.Bytes()
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	if i == len(got) && i == len(want) {
		return nil
	}
	const around = 40
	excerpt := func(b []byte) []byte { return b[max(0, i-around):min(len(b), i+around)] }
	return fmt.Errorf("%w: line %d, column %d: found %q, but replaying it gives %q", ErrLog, l.line, i+1, excerpt(got), excerpt(want))
}
