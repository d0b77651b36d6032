package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/fairlead-project/fairlead/sched"
)

// WriteTrace writes the timeline in Chrome's Trace Event format, which Perfetto
// (ui.perfetto.dev) and chrome://tracing open: a process per machine, a thread per
// slot, a complete event ("X") per attempt. Times are microseconds with three
// decimals, so whole nanoseconds. Slices of a track never overlap, not even by what a
// reader loses that calculates with floats: then an attempt is shown up to a few
// nanoseconds shorter; one that in truth overlaps the next, such as one whose end
// nobody saw, is cut off there.
func WriteTrace(w io.Writer, t *Timeline) error {
	b := bufio.NewWriterSize(w, 1<<16) // keeps the first error
	other, err := json.Marshal(map[string]string{"workload": t.Name, "policy": t.Run.Policy, "kind": t.Kind})
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "{\"displayTimeUnit\":\"ms\",\"otherData\":%s,\"traceEvents\":[", other)
	comma := "\n"
	put := func(v traceEvent) error {
		line, err := json.Marshal(v)
		b.WriteString(comma)
		b.Write(line)
		comma = ",\n"
		return err
	}
	for m, slots := range t.lanes() {
		name := traceEvent{Name: "process_name", Phase: "M", Process: m + 1, Args: map[string]any{"name": t.Machines[m].Name}}
		order := traceEvent{Name: "process_sort_index", Phase: "M", Process: m + 1, Args: map[string]any{"sort_index": m}}
		if err := firstError(put(name), put(order)); err != nil {
			return err
		}
		for s, lane := range slots {
			thread := traceEvent{Name: "thread_name", Phase: "M", Process: m + 1, Thread: s + 1, Args: map[string]any{"name": fmt.Sprintf("slot %d", s)}}
			if err := put(thread); err != nil {
				return err
			}
			for k, i := range lane {
				next := sched.Never
				if k+1 < len(lane) {
					next = t.Attempts[lane[k+1]].Start
				}
				if err := put(t.slice(&t.Attempts[i], next)); err != nil {
					return err
				}
			}
		}
	}
	fmt.Fprint(b, "\n]}\n")
	return b.Flush()
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

type traceEvent struct {
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Phase    string         `json:"ph"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid,omitempty"`
	Start    *micros        `json:"ts,omitempty"`
	Duration *micros        `json:"dur,omitempty"`
	Args     map[string]any `json:"args"`
}

// micros is a time that JSON has in microseconds, exactly.
type micros sched.Time

// MarshalJSON cannot fail.
func (m micros) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%d.%03d", m/1000, m%1000), nil
}

// slice is the event of an attempt, which ends at next at the latest.
func (t *Timeline) slice(a *Attempt, next sched.Time) traceEvent {
	start, length := micros(a.Start), micros(min(t.end(a), next)-a.Start)
	for length > 0 && next != sched.Never && !apart(start, length, micros(next)) {
		length--
	}
	args := map[string]any{"job": t.job(a), "stage": a.Stage, "task": a.Task, "attempt": a.Attempt, "state": a.State.String()}
	set := func(key string, value any, known bool) {
		if known {
			args[key] = value
		}
	}
	set("exitCode", a.ExitCode, a.State == Failed)
	set("signal", a.Signal, a.Signal != "")
	set("error", a.Error, a.Error != "")
	set("cpuSeconds", a.CPU.Seconds(), a.CPU > 0)
	set("peakMemoryBytes", a.PeakMemory, a.PeakMemory > 0)
	set("command", a.Command, a.Command != "")
	set("stdout", a.Stdout, a.Stdout != "")
	set("stderr", a.Stderr, a.Stderr != "")
	return traceEvent{
		Name: fmt.Sprintf("%s/%s[%d]", t.job(a), a.Stage, a.Task), Category: a.State.String(), Phase: "X",
		Process: a.Machine + 1, Thread: a.Slot + 1, Start: &start, Duration: &length, Args: args,
	}
}

// apart reports whether a slice ends before next for readers that add microseconds
// as floats, and for those that make them whole nanoseconds first, rounding down. To
// the nearest, nothing is lost.
func apart(start, length, next micros) bool {
	us := func(m micros) float64 { return float64(m) / 1000 } // as a parser reads it
	s, l, n := us(start), us(length), us(next)
	down := func(x float64) float64 { return math.Floor(float64(x * 1000)) }
	return s+l <= n && down(s)+down(l) <= down(n)
}
