package engine_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

func fresh(name string) func() (policy.Policy, error) {
	return func() (policy.Policy, error) { return policies[name](), nil }
}

// continueLog feeds the rest of a log, from line on, to an engine, and writes what
// it does behind the first lines.
func continueLog(t *testing.T, e *engine.Engine, log []byte, lines int) []byte {
	t.Helper()
	all := bytes.SplitAfter(log, []byte("\n"))
	out := bytes.NewBuffer(bytes.Join(all[:lines], nil))
	w := engine.AppendLog(out, e.Index())
	if lines == 0 { // the header was lost: any will do
		lines = 1
		out.Write(all[0])
	}
	l, err := engine.NewLogReader(bytes.NewReader(append(bytes.Clone(all[0]), bytes.Join(all[lines:], nil)...)))
	if err != nil {
		t.Fatal(err)
	}
	for {
		now, ev, err := l.Next()
		if err != nil {
			break
		}
		actions, err := e.Step(now, ev)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Event(now, ev, actions); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(e.Digest()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// open lists the starts without an outcome among the lines of a log, machines lost
// included, in the order of the log: a second, plain way to find them.
func open(t *testing.T, cfg engine.Config, name string, lines [][]byte) (starts []engine.OpenStart, wake sched.Time, requests []int32) {
	t.Helper()
	cfg.Policy = policies[name]()
	e, err := engine.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	l, err := engine.NewLogReader(bytes.NewReader(bytes.Join(lines, nil)))
	if err != nil {
		t.Fatal(err)
	}
	wake = sched.Never
	for {
		now, ev, err := l.Next()
		if err != nil {
			break
		}
		actions, err := e.Step(now, ev)
		if err != nil {
			t.Fatal(err)
		}
		switch ev.Kind {
		case engine.TaskFinished, engine.TaskFailed, engine.TaskLost:
			starts = slices.DeleteFunc(starts, func(s engine.OpenStart) bool { return s.Task == ev.Task && s.Attempt == ev.Attempt })
		case engine.MachineLost:
			starts = slices.DeleteFunc(starts, func(s engine.OpenStart) bool { return s.Machine == ev.Machine })
		case engine.Solved:
			requests = slices.DeleteFunc(requests, func(id int32) bool { return id == ev.Solution.ID })
		case engine.Wake:
			if now >= wake {
				wake = sched.Never
			}
		}
		for _, a := range actions {
			switch a.Kind {
			case engine.StartTask:
				starts = append(starts, engine.OpenStart{Task: a.Task, Attempt: a.Attempt, Machine: a.Machine, Slot: a.Slot, At: now})
			case engine.WakeAt:
				wake = min(wake, a.At)
			case engine.Solve:
				requests = append(requests, a.Request.ID)
			}
		}
	}
	slices.SortFunc(starts, func(a, b engine.OpenStart) int {
		if a.Machine != b.Machine {
			return int(a.Machine - b.Machine)
		}
		return int(a.Slot - b.Slot)
	})
	return starts, wake, requests
}

// A log cut anywhere resumes at the last whole line, says what is open, and goes on
// to the same bytes as if it had never been cut.
func TestResumeTruncated(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(12) {
		name := []string{"planner", "random", "wspt"}[seed%3]
		cfg, _, log := logged(t, name, seed)
		r := rand.New(rand.NewPCG(seed, 7))
		for range 12 {
			n := r.IntN(len(log) + 1)
			if r.IntN(4) == 0 { // at the end of a line
				n = bytes.LastIndexByte(log[:n], '\n') + 1
			}
			e, res, err := engine.Resume(cfg, fresh(name), bytes.NewReader(log[:n]))
			if err != nil {
				t.Fatalf("%s, seed %d, cut after %d bytes: %v", name, seed, n, err)
			}
			offset := int64(bytes.LastIndexByte(log[:n], '\n') + 1)
			ended := n == len(log)
			if ended { // the end line is left out
				offset = int64(bytes.LastIndexByte(log[:n-1], '\n') + 1)
			}
			lines := bytes.SplitAfter(log[:offset], []byte("\n"))
			lines = lines[:len(lines)-1]
			torn := int64(n) > offset && !ended
			if res.Offset != offset || res.Lines != len(lines) || res.Ended != ended || (res.Torn != "") != torn {
				t.Fatalf("%s, seed %d, cut after %d of %d bytes: %+v, not offset %d, %d lines", name, seed, n, len(log), res, offset, len(lines))
			}
			if torn {
				seen["torn"]++
			}
			if len(lines) > 0 {
				starts, wake, requests := open(t, cfg, name, lines)
				var ids []int32
				for _, q := range res.Requests {
					ids = append(ids, q.ID)
				}
				if !slices.Equal(res.Open, starts) || res.Wake != wake || !slices.Equal(ids, requests) {
					t.Fatalf("%s, seed %d, cut after %d bytes: open %v, wake %v, requests %v; expected %v, %v, %v",
						name, seed, n, res.Open, res.Wake, ids, starts, wake, requests)
				}
				if res.Header.Seed != seed || res.Header.Policy != name {
					t.Errorf("header %+v", res.Header)
				}
				seen["open"] += len(starts)
				seen["requests"] += len(requests)
			}
			if got := continueLog(t, e, log, res.Lines); !bytes.Equal(got, log) {
				t.Fatalf("%s, seed %d, cut after %d bytes: continued to another log", name, seed, n)
			}
		}
	}
	for what, n := range seen {
		if n < 5 {
			t.Errorf("%s: %d seen, the test tests little", what, n)
		}
	}
}

// A line that is damaged, whatever the damage, ends the valid part; one that looks
// well but departs from the replay does too, and the engine has not taken it in.
func TestResumeDamaged(t *testing.T) {
	departed := 0
	for seed := range uint64(8) {
		name := []string{"planner", "random"}[seed%2]
		cfg, _, log := logged(t, name, seed)
		r := rand.New(rand.NewPCG(seed, 8))
		lines := bytes.SplitAfter(log, []byte("\n"))
		lines = lines[:len(lines)-1]
		for range 40 {
			at := 1 + r.IntN(len(lines)-1)
			damaged := slices.Clone(lines)
			line := bytes.Clone(lines[at])
			switch r.IntN(4) {
			case 0: // a digit
				i := r.IntN(len(line))
				for line[i] < '0' || line[i] > '9' {
					i = (i + 1) % len(line)
				}
				line[i] = '0' + (line[i]-'0'+1)%10
				damaged[at] = line
			case 1: // garbage
				i := r.IntN(len(line) - 1)
				line[i] ^= byte(1 + r.IntN(255))
				damaged[at] = line
			case 2: // a line is missing
				if at == len(lines)-1 {
					continue
				}
				damaged = slices.Delete(damaged, at, at+1)
			case 3: // zeros, as a crash of the machine leaves them
				damaged[at] = append(make([]byte, r.IntN(5000)), '\n')
			}
			e, res, err := engine.Resume(cfg, fresh(name), bytes.NewReader(bytes.Join(damaged, nil)))
			if err != nil {
				t.Fatalf("%s, seed %d, line %d: %v", name, seed, at+1, err)
			}
			// A changed wake-up may well be one that the engine could have had.
			if res.Lines < at || res.Torn == "" || res.Ended || res.Offset != int64(len(bytes.Join(damaged[:res.Lines], nil))) {
				t.Fatalf("%s, seed %d, line %d: %+v\n%s", name, seed, at+1, res, line)
			}
			if strings.Contains(res.Torn, "replaying it gives") {
				departed++
			}
			if res.Lines == at {
				if got := continueLog(t, e, log, res.Lines); !bytes.Equal(got, log) {
					t.Fatalf("%s, seed %d, line %d: continued to another log", name, seed, at+1)
				}
			}
		}
	}
	if departed < 20 {
		t.Errorf("only %d departures: the test tests little", departed)
	}
}

// What is no damage is an error.
func TestResumeErrors(t *testing.T) {
	cfg, _, log := logged(t, "fifo", 1)
	if _, _, err := engine.Resume(cfg, fresh("fifo"), bytes.NewReader([]byte("{\"kind\":\"Other\"}\n"))); !errors.Is(err, engine.ErrLog) {
		t.Errorf("another format: %v", err)
	}
	broken := errors.New("no such policy")
	if _, _, err := engine.Resume(cfg, func() (policy.Policy, error) { return nil, broken }, bytes.NewReader(log)); !errors.Is(err, broken) {
		t.Errorf("no policy: %v", err)
	}
	if _, _, err := engine.Resume(cfg, fresh("fifo"), &unreadable{bytes.NewReader(log), 10}); !errors.Is(err, os.ErrPermission) {
		t.Errorf("unreadable: %v", err)
	}
	if _, _, err := engine.Resume(cfg, fresh("fifo"), &unreadable{bytes.NewReader(log), len(log) / 2}); !errors.Is(err, os.ErrPermission) {
		t.Errorf("unreadable in the middle: %v", err)
	}
	for _, head := range []string{"", "a log\n", `{"apiVersion"`, strings.TrimSuffix(string(log[:bytes.IndexByte(log, '\n')+1]), "\n")} {
		e, res, err := engine.Resume(cfg, fresh("fifo"), strings.NewReader(head))
		if err != nil || res.Offset != 0 || res.Torn == "" || res.Wake != sched.Never || e.Stats().Events != 0 {
			t.Errorf("header %q: %+v, %v", head, res, err)
		}
	}
}

// unreadable fails after n bytes.
type unreadable struct {
	*bytes.Reader
	n int
}

func (u *unreadable) Read(p []byte) (int, error) {
	if u.n <= 0 {
		return 0, fmt.Errorf("read: %w", os.ErrPermission)
	}
	n, err := u.Reader.Read(p[:min(len(p), u.n)])
	u.n -= n
	return n, err
}
