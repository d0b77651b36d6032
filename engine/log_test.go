package engine_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/policy/dag"
	"github.com/fairlead-project/fairlead/policy/policytest"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
)

// planner serves stages in the order of its latest solution, in file order before
// the first one, and asks for a new solution now and then.
type planner struct{ rounds int32 }

func (p *planner) Decide(_ sched.Time, v policy.View, _ *rand.Rand) (d policy.Decision, err error) {
	if p.rounds++; p.rounds%4 == 1 {
		d.Solve = &policy.Request{ID: p.rounds, Problem: v.Index().Stages()}
	}
	order := make([]sched.StageID, v.Index().Stages())
	for s := range order {
		order[s] = sched.StageID(s)
	}
	if sol := v.Solution(); sol != nil {
		order = sol.Order
	}
	for _, s := range order {
		for t, end := v.Index().StageTasks(s); t < end; t++ {
			for _, m := range v.BySpeed() {
				// One start per machine and round is enough of an account.
				taken := slices.ContainsFunc(d.Start, func(a policy.Start) bool { return a.Machine == m })
				if v.Task(t) == policy.TaskPending && !taken && v.Fits(s, m) {
					d.Start = append(d.Start, policy.Start{Task: t, Machine: m, Slot: sched.None})
					break
				}
			}
		}
	}
	return d, nil
}

func (p *planner) Solve(req policy.Request, stop func() bool) (*policy.Solution, error) {
	n := req.Problem.(int)
	sol := &policy.Solution{ID: req.ID, Lower: 1.0 / 3 * float64(req.ID), Fallback: req.ID%8 == 1, Note: fmt.Sprint("request ", req.ID)}
	for s := range n {
		sol.Order = append(sol.Order, sched.StageID((s*7+int(req.ID))%n))
	}
	slices.Sort(sol.Order)
	sol.Order = slices.Compact(sol.Order)
	slices.SortFunc(sol.Order, func(a, b sched.StageID) int {
		return cmp.Compare(int(a)*int(req.ID)%11, int(b)*int(req.ID)%11)
	})
	for s := range sched.StageID(n) { // whatever the arithmetic above left out
		if !slices.Contains(sol.Order, s) {
			sol.Order = append(sol.Order, s)
		}
	}
	return sol, nil
}

var policies = map[string]func() policy.Policy{
	"fifo": dag.NewFIFO, "random": dag.NewRandom, "wspt": dag.NewWSPT,
	"planner": func() policy.Policy { return &planner{} },
}

// logged simulates a random instance with failures and outages, and returns what
// replaying its log takes.
func logged(t testing.TB, name string, seed uint64) (engine.Config, *sim.Result, []byte) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 5))
	in := policytest.Random(r)
	in.Jobs[0].Name = "a \"job\" <&> \u2028 with a name"
	for j := range in.Jobs {
		for s := range in.Jobs[j].Stages {
			in.Jobs[j].Stages[s].Retries = 2
		}
	}
	cfg := sim.Config{
		Instance: in, Policy: policies[name](), Knowledge: policy.Knowledge{Sizes: policy.SizesExact}, Seed: seed,
		Fails:     func(t sched.TaskID, attempt int32) bool { return (uint64(t)+uint64(attempt)+seed)%5 == 0 },
		SolveTime: func(q policy.Request) sched.Time { return sched.Second / 3 * sched.Time(5-q.ID/4%4) }, // later ones overtake
		KeepGoing: seed%2 == 0,
	}
	for m := range in.Machines {
		lost := sched.FromSeconds(4 * r.Float64())
		cfg.Outages = append(cfg.Outages, sim.Outage{At: lost, Machine: sched.MachineID(m)},
			sim.Outage{At: lost + sched.Second, Machine: sched.MachineID(m), Joins: true})
	}
	x := sched.NewIndex(in)
	var b bytes.Buffer
	w, err := engine.NewLogWriter(&b, x, engine.LogHeader{Policy: name, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Observe = w.Event
	res, err := sim.Run(cfg)
	if err != nil {
		t.Fatalf("%s, seed %d: %v", name, seed, err)
	}
	if err := w.Close(res.Digest); err != nil {
		t.Fatal(err)
	}
	return engine.Config{
		Instance: in, Policy: policies[name](), Knowledge: cfg.Knowledge, Seed: seed, KeepGoing: cfg.KeepGoing,
		Estimates: sim.Estimates(x, cfg.Knowledge, res.Sizes),
	}, res, b.Bytes()
}

func replayLog(cfg engine.Config, policy string, log []byte) (*engine.Engine, error) {
	l, err := engine.NewLogReader(bytes.NewReader(log))
	if err != nil {
		return nil, err
	}
	cfg.Policy = policies[policy]()
	return engine.Replay(cfg, l)
}

// A log, replayed, gives the same digest, counters and outcome.
func TestReplay(t *testing.T) {
	for name := range policies {
		seen := map[string]int{}
		for seed := range uint64(40) {
			cfg, res, log := logged(t, name, seed)
			e, err := replayLog(cfg, name, log)
			if err != nil {
				t.Fatalf("%s, seed %d: %v", name, seed, err)
			}
			if e.Digest() != res.Digest || e.Stats() != res.Stats || !e.Done() {
				t.Errorf("%s, seed %d: replayed to %x %+v, done %v, not %x %+v", name, seed, e.Digest(), e.Stats(), e.Done(), res.Digest, res.Stats)
			}
			for j := range res.States {
				if state, at := e.Job(sched.JobID(j)); state != res.States[j] || at != res.Schedule.Completion[j] {
					t.Errorf("%s, seed %d: job %d is replayed to %v at %v, not %v at %v", name, seed, j, state, at, res.States[j], res.Schedule.Completion[j])
				}
			}
			for _, word := range []string{"taskFailed", "machineLost", "machineJoined", "solved", `"attempt":2`} {
				seen[word] += bytes.Count(log, []byte(word))
			}
		}
		if name != "planner" {
			delete(seen, "solved")
		}
		for word, n := range seen {
			if n == 0 {
				t.Errorf("%s: no %s in any log", name, word)
			}
		}
	}
}

// Another policy, seed or instance does not replay a log.
func TestReplayOfSomethingElse(t *testing.T) {
	cfg, _, log := logged(t, "fifo", 4)
	if _, err := replayLog(cfg, "random", log); !errors.Is(err, engine.ErrLog) {
		t.Errorf("another policy: %v", err)
	}
	cfg.Instance.Jobs[0].Name = "renamed"
	if _, err := replayLog(cfg, "fifo", log); !errors.Is(err, engine.ErrLog) {
		t.Errorf("another instance: %v", err)
	}
}

// Any number changed, any line removed, repeated or swapped with the next is
// noticed.
func TestDamagedLog(t *testing.T) {
	number := regexp.MustCompile(`[0-9]+`)
	for _, name := range []string{"fifo", "planner"} {
		cfg, _, log := logged(t, name, 1)
		if _, err := replayLog(cfg, name, log); err != nil {
			t.Fatal(err)
		}
		lines := bytes.SplitAfter(log, []byte("\n"))
		lines = lines[:len(lines)-1]
		body := len(lines[0])
		for _, at := range number.FindAllIndex(log[body:], -1) {
			i := body + at[1] - 1 // the last digit
			damaged := bytes.Clone(log)
			damaged[i] = '0' + (damaged[i]-'0'+1)%10
			if _, err := replayLog(cfg, name, damaged); err == nil {
				t.Fatalf("%s: byte %d changed: not noticed in\n%s", name, i, excerpt(damaged, i))
			}
		}
		for i := range lines {
			removed := slices.Delete(slices.Clone(lines), i, i+1)
			if _, err := replayLog(cfg, name, bytes.Join(removed, nil)); err == nil {
				t.Errorf("%s: line %d removed: not noticed:\n%s", name, i+1, lines[i])
			}
			repeated := slices.Insert(slices.Clone(lines), i, lines[i])
			if _, err := replayLog(cfg, name, bytes.Join(repeated, nil)); err == nil {
				t.Errorf("%s: line %d repeated: not noticed:\n%s", name, i+1, lines[i])
			}
			if i > 0 {
				swapped := slices.Clone(lines)
				swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
				if _, err := replayLog(cfg, name, bytes.Join(swapped, nil)); err == nil {
					t.Errorf("%s: lines %d and %d swapped: not noticed", name, i, i+1)
				}
			}
		}
	}
}

func excerpt(b []byte, i int) []byte { return b[max(0, i-100):min(len(b), i+50)] }

// Cut anywhere, as a killed run leaves it, a log is unexpectedly at its end; all
// that came before is read.
func TestTruncatedLog(t *testing.T) {
	cfg, _, log := logged(t, "planner", 2)
	header := bytes.IndexByte(log, '\n') + 1
	for n := 1; n < len(log)-1; n++ { // without its last newline it is still whole
		if n%97 > 0 && !bytes.Contains(log[n-1:n+2], []byte("\n")) {
			continue // everywhere around the ends of lines, here and there elsewhere
		}
		e, err := replayLog(cfg, "planner", log[:n])
		if n == header-1 {
			continue // a whole header without its newline, then nothing: tested below
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut after %d of %d bytes: %v", n, len(log), err)
		}
		events := bytes.Count(log[:n], []byte("\n")) - 1
		if log[n-1] == '}' && log[n] == '\n' {
			events++ // whole but for its newline
		}
		if n > header && int(e.Stats().Events) != events {
			t.Fatalf("cut after %d bytes: %d events replayed, not %d", n, e.Stats().Events, events)
		}
	}
	for n, want := range map[int]error{0: engine.ErrLog, header - 1: io.ErrUnexpectedEOF, header: io.ErrUnexpectedEOF, len(log) - 1: nil} {
		if _, err := replayLog(cfg, "planner", log[:n]); !errors.Is(err, want) {
			t.Errorf("cut after %d bytes: %v, not %v", n, err, want)
		}
	}
}

func TestLogMessages(t *testing.T) {
	cfg, _, log := logged(t, "fifo", 3)
	lines := strings.SplitAfter(string(log), "\n")
	for want, damage := range map[string]func() string{
		"engine: bad event log: it is empty":                      func() string { return "" },
		`line 1: found kind "", apiVersion "", expected EventLog`: func() string { return "{}\n" },
		"line 1: invalid character":                               func() string { return "a log\n" },
		`line 2: unknown event "explosion"`:                       func() string { return lines[0] + `{"t":0,"event":"explosion"}` + "\n" },
		"line 2: invalid character 'o' in literal null":           func() string { return lines[0] + "nonsense\n" },
		"line 2: json: cannot unmarshal number 9999999999":        func() string { return lines[0] + `{"t":0,"event":"flowFinished","id":9999999999}` + "\n" },
		"line 2: engine: no machine 77":                           func() string { return lines[0] + `{"t":0,"event":"machineLost","id":77}` + "\n" },
		"line 2: engine: solved without a solution":               func() string { return lines[0] + `{"t":0,"event":"solved"}` + "\n" },
		"line 2: engine: solution 0: no stage 99":                 func() string { return lines[0] + `{"t":0,"event":"solved","solution":{"order":[99]}}` + "\n" },
		"line 2: engine: solution 0: 1 queues for":                func() string { return lines[0] + `{"t":0,"event":"solved","solution":{"queues":[[0]]}}` + "\n" },
		"line 2: no digest":                                       func() string { return lines[0] + `{"event":"end"}` + "\n" },
		"text after the end":                                      func() string { return string(log) + "\n" },
		"line 2, column 6: found": func() string {
			return lines[0] + strings.Replace(lines[1], `"t":`, `"t": `, 1) + strings.Join(lines[2:], "")
		},
		"replaying it gives the digest": func() string { return lines[0] + `{"event":"end","digest":"12"}` + "\n" },
	} {
		if _, err := replayLog(cfg, "fifo", []byte(damage())); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

type full struct{ n int }

var errFull = errors.New("disk full")

func (f *full) Write(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// A log that cannot be written is an error, at the latest at the end, and stays one.
func TestLogWriterReportsErrors(t *testing.T) {
	cfg, _, _ := logged(t, "fifo", 3)
	w, err := engine.NewLogWriter(&full{100}, sched.NewIndex(cfg.Instance), engine.LogHeader{})
	if err != nil {
		t.Fatal(err)
	}
	for range 10_000 {
		if err = w.Event(0, engine.Arrived(0), nil); err != nil {
			break
		}
	}
	if !errors.Is(err, errFull) || !errors.Is(w.Flush(), errFull) || !errors.Is(w.Close(1), errFull) {
		t.Errorf("errors %v, %v, %v", err, w.Flush(), w.Close(1))
	}
}

// FuzzLogReader: no log makes reading or replaying it panic, and replaying one
// that is not the engine's own succeeds never.
func FuzzLogReader(f *testing.F) {
	for seed := range uint64(3) {
		_, _, log := logged(f, "planner", seed)
		f.Add(log)
	}
	cfg, _, genuine := logged(f, "planner", 0)
	f.Fuzz(func(t *testing.T, log []byte) {
		l, err := engine.NewLogReader(bytes.NewReader(log))
		if err != nil {
			return
		}
		for err == nil {
			_, _, err = l.Next()
		}
		if (err == io.EOF) != (l.Digest() != "" && !errors.Is(err, engine.ErrLog)) {
			t.Errorf("ends with %v and digest %q", err, l.Digest())
		}
		_, err = replayLog(cfg, "planner", log)
		same := slices.Equal(events(log), events(genuine))
		if (err == nil) != same {
			t.Errorf("the same events: %v, but the error is %v", same, err)
		}
	})
}

// events returns the lines after the header, without the end of the last.
func events(log []byte) []string {
	return strings.Split(strings.TrimSuffix(string(log), "\n"), "\n")[1:]
}
