package engine

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// LogVersion names the format of the event log.
const LogVersion = "fairlead.dev/v1alpha1"

// LogHeader is the first line of an event log: all that replaying it needs,
// besides the workload.
type LogHeader struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Workload   string `json:"workload,omitempty"`
	SHA256     string `json:"instanceSHA256,omitempty"`
	Policy     string `json:"policy"`
	Sizes      string `json:"sizes"`
	Arrivals   string `json:"arrivals"`
	Seed       uint64 `json:"seed"`
	KeepGoing  bool   `json:"keepGoing,omitempty"`
	// Simulated says that sizes were realised from Seed; otherwise the policy
	// was shown the workload's own.
	Simulated bool `json:"simulated,omitempty"`
}

// LogWriter writes an event log as JSON lines: a header, then per event its time
// in nanoseconds, what happened, and the actions it led to; at the end the digest.
// A reader that knows only "t" and "event" can ignore the rest.
type LogWriter struct {
	logEncoder
	w   *bufio.Writer
	err error
}

// logEncoder turns events into lines.
type logEncoder struct {
	x     *sched.Index
	stage []sched.StageID // per task
	names []string        // per stage: `,"job":"a","stage":"b"`
	buf   []byte
}

// NewLogWriter writes the header.
func NewLogWriter(w io.Writer, x *sched.Index, h LogHeader) (*LogWriter, error) {
	h.APIVersion, h.Kind = LogVersion, "EventLog"
	line, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	l := &LogWriter{logEncoder: newLogEncoder(x), w: bufio.NewWriterSize(w, 1<<16)}
	_, err = l.w.Write(append(line, '\n'))
	return l, err
}

func newLogEncoder(x *sched.Index) logEncoder {
	l := logEncoder{x: x, stage: taskStages(x), names: make([]string, x.Stages())}
	for s := range l.names {
		job := quote(x.Instance.Jobs[x.StageJob(sched.StageID(s))].Name)
		l.names[s] = fmt.Sprintf(`,"job":%s,"stage":%s`, job, quote(x.Stage(sched.StageID(s)).Name))
	}
	return l
}

func quote(s string) []byte {
	b, _ := json.Marshal(s) // cannot fail
	return b
}

// Event appends one event with its actions.
func (l *LogWriter) Event(now sched.Time, ev Event, actions []Action) error {
	if l.err != nil {
		return l.err
	}
	var b []byte
	if b, l.err = l.line(now, ev, actions); l.err == nil {
		_, l.err = l.w.Write(b)
	}
	return l.err
}

// line returns the line for an event, with its end; valid until the next call.
func (l *logEncoder) line(now sched.Time, ev Event, actions []Action) ([]byte, error) {
	b := append(l.buf[:0], `{"t":`...)
	b = strconv.AppendInt(b, int64(now), 10)
	b = append(b, `,"event":"`...)
	b = append(b, eventNames[ev.Kind]...)
	b = append(b, '"')
	switch ev.Kind {
	case JobArrived:
		b = l.id(b, "id", int64(ev.Job))
		b = append(append(b, `,"job":`...), quote(l.x.Instance.Jobs[ev.Job].Name)...)
	case TaskFinished, TaskFailed:
		b = l.id(b, "id", int64(ev.Task))
		b = l.id(b, "attempt", int64(ev.Attempt))
		b = l.task(b, ev.Task)
	case FlowFinished:
		b = l.id(b, "id", int64(ev.Flow))
	case MachineLost, MachineJoined:
		b = l.id(b, "id", int64(ev.Machine))
	case Solved:
		sol, err := json.Marshal(ev.Solution)
		if err != nil {
			return nil, fmt.Errorf("engine: log: solution: %w", err)
		}
		b = append(append(b, `,"solution":`...), sol...)
	}
	if len(actions) > 0 {
		b = append(b, `,"actions":[`...)
		for i := range actions {
			if i > 0 {
				b = append(b, ',')
			}
			b = l.action(b, &actions[i])
		}
		b = append(b, ']')
	}
	l.buf = append(b, '}', '\n')
	return l.buf, nil
}

func (l *logEncoder) id(b []byte, key string, id int64) []byte {
	b = append(append(append(b, ',', '"'), key...), '"', ':')
	return strconv.AppendInt(b, id, 10)
}

func (l *logEncoder) task(b []byte, t sched.TaskID) []byte {
	s := l.stage[t]
	first, _ := l.x.StageTasks(s)
	return l.id(append(b, l.names[s]...), "task", int64(t-first))
}

func (l *logEncoder) action(b []byte, a *Action) []byte {
	b = append(b, `{"do":"`...)
	b = append(b, actionNames[a.Kind]...)
	b = append(b, '"')
	switch a.Kind {
	case StartTask:
		b = l.id(b, "id", int64(a.Task))
		b = l.id(b, "attempt", int64(a.Attempt))
		b = l.task(b, a.Task)
		b = l.id(b, "machine", int64(a.Machine))
		b = l.id(b, "slot", int64(a.Slot))
	case StartFlow:
		b = l.id(b, "flow", int64(a.Flow))
	case JoinGroup, SetRate:
		if a.Kind == JoinGroup {
			b = l.id(b, "id", int64(a.Task))
			b = l.id(b, "flow", int64(a.Flow))
		}
		b = l.id(b, "group", int64(a.Group))
		b = append(b, `,"value":`...)
		b = strconv.AppendFloat(b, a.Value, 'g', -1, 64)
	case WakeAt:
		b = l.id(b, "at", int64(a.At))
	case Solve:
		b = l.id(b, "request", int64(a.Request.ID))
	}
	return append(b, '}')
}

// Flush brings everything written so far to the underlying writer.
func (l *LogWriter) Flush() error {
	if l.err == nil {
		l.err = l.w.Flush()
	}
	return l.err
}

// Close writes the digest and flushes.
func (l *LogWriter) Close(digest uint64) error {
	if l.err == nil {
		_, l.err = fmt.Fprintf(l.w, "{\"event\":\"end\",\"digest\":\"%016x\"}\n", digest)
	}
	return l.Flush()
}

var eventNames = [...]string{
	JobArrived: "jobArrived", MachineLost: "machineLost", MachineJoined: "machineJoined",
	TaskFinished: "taskFinished", TaskFailed: "taskFailed", FlowFinished: "flowFinished",
	Solved: "solved", Wake: "wake",
}

var actionNames = [...]string{
	StartTask: "startTask", StartFlow: "startFlow", JoinGroup: "joinGroup",
	SetRate: "setRate", WakeAt: "wakeAt", Solve: "solve",
}

// LogReader reads an event log back.
type LogReader struct {
	Header LogHeader
	s      *bufio.Scanner
	line   int
	torn   bool // the last line lacks its end
	digest string
}

// maxLine bounds a line of the log; the longest is a solution's order.
const maxLine = 1 << 28

// ErrLog is wrapped by every error about a log that cannot be read.
var ErrLog = errors.New("engine: bad event log")

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
		return nil, fmt.Errorf("%w: line 1: found kind %q, apiVersion %q, expected EventLog of %s", ErrLog, l.Header.Kind, l.Header.APIVersion, LogVersion)
	}
	return l, nil
}

func (l *LogReader) split(data []byte, atEOF bool) (advance int, line []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
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
	case TaskFinished, TaskFailed:
		ev.Task, ev.Attempt = sched.TaskID(r.ID), r.Attempt
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
