package run

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// scan is what an event log says about attempts.
type scan struct {
	starts    []start
	latest    []int32 // per task: its latest start, -1 if none
	recovered map[sched.TaskID]sched.Time
	solution  *policy.Solution // the last one
}

// start is an attempt as the log knows it.
type start struct {
	task    sched.TaskID
	attempt int32
	machine sched.MachineID
	slot    int32
	at      sched.Time
	end     sched.Time
	state   AttemptState
	first   policy.Mark // of progress; zero: none was reported
}

// line is a line of the log, as far as it matters here.
type line struct {
	T        sched.Time      `json:"t"`
	Event    string          `json:"event"`
	ID       int32           `json:"id"`
	Attempt  int32           `json:"attempt"`
	Value    float64         `json:"value"`
	Solution json.RawMessage `json:"solution"`
	Actions  []struct {
		Do      string `json:"do"`
		ID      int32  `json:"id"`
		Attempt int32  `json:"attempt"`
		Machine int32  `json:"machine"`
		Slot    int32  `json:"slot"`
	} `json:"actions"`
}

// scanLog reads a log of tasks of an instance with the given numbers of tasks and
// machines, up to its end or the first line that is damaged. The error is about
// reading r alone.
func scanLog(r io.Reader, tasks, machines int) (*scan, error) {
	s := &scan{latest: make([]int32, tasks), recovered: map[sched.TaskID]sched.Time{}}
	for t := range s.latest {
		s.latest[t] = -1
	}
	in := bufio.NewReaderSize(r, 1<<16)
	for n := 0; ; n++ {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // what lacks its end does not count
			return s, nil
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			continue // the header
		}
		var l line
		if json.Unmarshal(text, &l) != nil || !s.take(&l, tasks, machines) {
			return s, nil
		}
	}
}

// take takes in a line; it reports false if that makes no sense.
func (s *scan) take(l *line, tasks, machines int) bool {
	ends := map[string]AttemptState{"taskFinished": AttemptDone, "taskFailed": AttemptFailed, "taskLost": AttemptLost}
	switch state, isEnd := ends[l.Event]; {
	case !isEnd && l.Event != "taskProgress" && l.Event != "taskRecovered":
		if l.Event == "solved" {
			s.solution = new(policy.Solution)
			if json.Unmarshal(l.Solution, s.solution) != nil {
				return false
			}
		}
	case l.ID < 0 || int(l.ID) >= tasks:
		return false
	case l.Event == "taskRecovered":
		s.recovered[sched.TaskID(l.ID)] = l.T
	default:
		k := s.latest[l.ID]
		if k < 0 || s.starts[k].attempt != l.Attempt || s.starts[k].state != AttemptRunning {
			break // the engine ignores it as well
		}
		a := &s.starts[k]
		if isEnd {
			a.state, a.end = state, l.T
		} else if a.first == (policy.Mark{}) {
			a.first = policy.Mark{At: l.T, Value: l.Value}
		}
	}
	for _, a := range l.Actions {
		if a.Do != "startTask" {
			continue
		}
		if a.ID < 0 || int(a.ID) >= tasks || a.Machine < 0 || int(a.Machine) >= machines {
			return false
		}
		s.latest[a.ID] = int32(len(s.starts))
		s.starts = append(s.starts, start{
			task: sched.TaskID(a.ID), attempt: a.Attempt, machine: sched.MachineID(a.Machine), slot: a.Slot,
			at: l.T, state: AttemptRunning,
		})
	}
	return true
}
