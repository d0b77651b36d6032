package engine

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

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
	// Backoff, in nanoseconds.
	Backoff Backoff `json:"backoff,omitzero"`
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
	l := AppendLog(w, x)
	_, err = l.w.Write(append(line, '\n'))
	return l, err
}

// AppendLog returns a writer that continues a log whose header, and perhaps some
// events, are written already; see [Resume].
func AppendLog(w io.Writer, x *sched.Index) *LogWriter {
	return &LogWriter{logEncoder: newLogEncoder(x), w: bufio.NewWriterSize(w, 1<<16)}
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
	case TaskFinished, TaskFailed, TaskLost, TaskProgress:
		b = l.id(b, "id", int64(ev.Task))
		b = l.id(b, "attempt", int64(ev.Attempt))
		b = l.task(b, ev.Task)
		if ev.Kind == TaskProgress {
			b = strconv.AppendFloat(append(b, `,"value":`...), ev.Value, 'g', -1, 64)
		}
	case TaskRecovered:
		b = l.id(b, "id", int64(ev.Task))
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
	TaskLost: "taskLost", TaskRecovered: "taskRecovered", TaskProgress: "taskProgress",
}

var actionNames = [...]string{
	StartTask: "startTask", StartFlow: "startFlow", JoinGroup: "joinGroup",
	SetRate: "setRate", WakeAt: "wakeAt", Solve: "solve",
}
