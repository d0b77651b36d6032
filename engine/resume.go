package engine

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// Resumed says where [Resume] has brought an engine, and what a driver must see to
// before it goes on.
type Resumed struct {
	// Header of the log; zero if Offset is 0.
	Header LogHeader
	// Offset is where the valid part of the log ends, in bytes: what follows must
	// be cut off before the log is continued with [AppendLog]. At 0 not even the
	// header is valid, and a new log is begun. Lines counts those of the valid part.
	Offset int64
	Lines  int
	// Torn says why what follows Offset is not valid; empty if nothing follows.
	Torn string
	// Ended says that the log has its end line. Then Offset is before that line.
	Ended bool
	// Last is the time of the last event. Later ones must not be earlier.
	Last sched.Time
	// Wake is when the engine has asked for a Wake; Never if it has not.
	Wake sched.Time
	// Requests that have no answer, in order.
	Requests []*policy.Request
	// Open lists the attempts that run as far as the engine knows.
	Open []OpenStart
}

// OpenStart is an attempt that has been started, at time At, and has not ended.
type OpenStart struct {
	Task    sched.TaskID
	Attempt int32
	Machine sched.MachineID
	Slot    int32
	At      sched.Time
}

// Resume replays an event log as far as it is valid and returns the engine at that
// point. The valid part ends before the first line that is damaged, lacks its end, is
// not one that this engine writes after what comes before, or is the end line. A
// fresh policy is asked for per replay; there are two if some line departs from the
// first. The error is about cfg, the policy, reading r or a log of another
// format: never about damage. Cost: that of the events.
func Resume(cfg Config, fresh func() (policy.Policy, error), r io.ReadSeeker) (*Engine, *Resumed, error) {
	const all = -1
	e, res, err := resume(cfg, fresh, r, all)
	if errors.Is(err, errDeparts) {
		// The engine has taken in the line that departs: go there again, not beyond.
		torn := res.Torn
		if e, res, err = resume(cfg, fresh, r, res.Lines); err == nil {
			res.Torn = torn
		}
	}
	if err != nil {
		return nil, nil, err
	}
	res.Last, res.Wake, res.Open = e.now, e.nextWake, e.open()
	return e, res, nil
}

// errDeparts: the engine has stepped beyond the valid part.
var errDeparts = errors.New("engine: the log departs from its replay")

// resume replays the log up to the given number of lines; negative: all.
func resume(cfg Config, fresh func() (policy.Policy, error), r io.ReadSeeker, lines int) (*Engine, *Resumed, error) {
	var err error
	if cfg.Policy, err = fresh(); err != nil {
		return nil, nil, err
	}
	e, err := New(cfg)
	if err != nil {
		return nil, nil, err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return nil, nil, fmt.Errorf("engine: resume: %w", err)
	}
	source := &failing{r: r}
	res := &Resumed{}
	l, err := NewLogReader(source)
	switch {
	case source.err != nil:
		return nil, nil, fmt.Errorf("engine: resume: %w", source.err)
	case errors.Is(err, errFormat):
		return nil, nil, err
	case err != nil || l.torn:
		res.Torn = "it has no whole header"
		return e, res, nil
	}
	res.Header, res.Offset, res.Lines = l.Header, l.offset, 1
	encoder := newLogEncoder(e.Index())
	for res.Lines != lines {
		now, ev, err := l.Next()
		switch {
		case source.err != nil:
			return nil, nil, fmt.Errorf("engine: resume: %w", source.err)
		case l.offset == res.Offset && !errors.Is(err, bufio.ErrTooLong): // no further line
			return e, res, nil
		case l.torn || err != nil && !errors.Is(err, io.EOF):
			res.Torn = fmt.Sprintf("line %d is damaged or lacks its end", res.Lines+1)
			return e, res, nil
		case err != nil: // the end line
			if res.Ended = l.digest == fmt.Sprintf("%016x", e.Digest()); !res.Ended {
				res.Torn = fmt.Sprintf("line %d has another digest than the replay", res.Lines+1)
			}
			return e, res, nil
		}
		actions, err := e.Step(now, ev)
		if err == nil {
			var line []byte
			if line, err = encoder.line(now, ev, actions); err == nil {
				err = l.compare(line[:len(line)-1])
			}
		}
		if err != nil {
			res.Torn = err.Error()
			return e, res, errDeparts
		}
		res.follow(ev, actions)
		res.Offset, res.Lines = l.offset, l.line
	}
	return e, res, nil
}

// follow keeps account of the requests that have no answer.
func (res *Resumed) follow(ev Event, actions []Action) {
	if ev.Kind == Solved {
		for i, r := range res.Requests {
			if r.ID == ev.Solution.ID {
				res.Requests = append(res.Requests[:i], res.Requests[i+1:]...)
				break
			}
		}
	}
	for i := range actions {
		if actions[i].Kind == Solve {
			res.Requests = append(res.Requests, actions[i].Request)
		}
	}
}

// open lists what runs in slots.
func (e *Engine) open() (open []OpenStart) {
	st := e.st
	for m := range sched.MachineID(len(st.machines)) {
		for g := st.slotFirst[m]; g < st.slotFirst[m+1]; g++ {
			if t := st.slotTask[g]; t != sched.None {
				open = append(open, OpenStart{t, st.taskAttempt[t], m, g - st.slotFirst[m], st.slotSince[g]})
			}
		}
	}
	return open
}

// failing tells errors of reading from damage.
type failing struct {
	r   io.Reader
	err error
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}
