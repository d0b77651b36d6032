package engine

import (
	"bufio"
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
	w     *bufio.Writer
	x     *sched.Index
	names []string // per job and stage: `"job":"a","stage":"b"`, by StageID
	buf   []byte
	err   error
}

// NewLogWriter writes the header.
func NewLogWriter(w io.Writer, x *sched.Index, h LogHeader) (*LogWriter, error) {
	h.APIVersion, h.Kind = LogVersion, "EventLog"
	l := &LogWriter{w: bufio.NewWriterSize(w, 1<<16), x: x, names: make([]string, x.Stages())}
	line, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	for s := range l.names {
		job, err := json.Marshal(x.Instance.Jobs[x.StageJob(sched.StageID(s))].Name)
		if err != nil {
			return nil, err
		}
		stage, err := json.Marshal(x.Stage(sched.StageID(s)).Name)
		if err != nil {
			return nil, err
		}
		l.names[s] = fmt.Sprintf(`,"job":%s,"stage":%s`, job, stage)
	}
	_, err = l.w.Write(append(line, '\n'))
	return l, err
}

// Event appends one event with its actions.
func (l *LogWriter) Event(now sched.Time, ev Event, actions []Action) error {
	if l.err != nil {
		return l.err
	}
	b := append(l.buf[:0], `{"t":`...)
	b = strconv.AppendInt(b, int64(now), 10)
	b = append(b, `,"event":"`...)
	b = append(b, eventNames[ev.Kind]...)
	b = append(b, '"')
	switch ev.Kind {
	case JobArrived:
		b = l.id(b, "id", int64(ev.Job))
		name, _ := json.Marshal(l.x.Instance.Jobs[ev.Job].Name)
		b = append(append(b, `,"job":`...), name...)
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
			l.err = err
			return err
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
	b = append(b, '}', '\n')
	l.buf = b
	_, l.err = l.w.Write(b)
	return l.err
}

func (l *LogWriter) id(b []byte, key string, id int64) []byte {
	b = append(append(append(b, ',', '"'), key...), '"', ':')
	return strconv.AppendInt(b, id, 10)
}

func (l *LogWriter) task(b []byte, t sched.TaskID) []byte {
	s := l.x.TaskStage(t)
	first, _ := l.x.StageTasks(s)
	return l.id(append(b, l.names[s]...), "task", int64(t-first))
}

func (l *LogWriter) action(b []byte, a *Action) []byte {
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

func (l *LogReader) next(into any) error {
	if !l.s.Scan() {
		if err := l.s.Err(); err != nil {
			return fmt.Errorf("%w: line %d: %w", ErrLog, l.line+1, err)
		}
		return io.EOF
	}
	l.line++
	if err := json.Unmarshal(l.s.Bytes(), into); err != nil {
		return fmt.Errorf("%w: line %d: %w", ErrLog, l.line, err)
	}
	return nil
}

// Next returns the next event; io.EOF after the last. A log without its last line,
// as a killed run leaves it, ends with io.ErrUnexpectedEOF.
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
			err = io.ErrUnexpectedEOF
		}
		return 0, Event{}, err
	}
	if r.Event == "end" {
		l.digest = r.Digest
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
// compares digests. It returns the engine, and an error if the log is damaged,
// breaks the rules or leads elsewhere.
func Replay(cfg Config, l *LogReader) (*Engine, error) {
	e, err := New(cfg)
	if err != nil {
		return nil, err
	}
	for {
		now, ev, err := l.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return e, err
		}
		if _, err := e.Step(now, ev); err != nil {
			return e, fmt.Errorf("%w: line %d: %w", ErrLog, l.line, err)
		}
	}
	if got := fmt.Sprintf("%016x", e.Digest()); got != l.digest {
		return e, fmt.Errorf("%w: replaying it gives the digest %s, but it says %s", ErrLog, got, l.digest)
	}
	return e, nil
}
