package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Targets of the simulator, through engine, View and policy.
const (
	eventsPerSecond       = 500_000
	loggedEventsPerSecond = 200_000
	millionSeconds        = 10
	millionBytes          = 2 << 30
)

// simulated is one run of `fairlead simulate`.
type simulated struct {
	cost
	tasks, events, decisions int64
	rate                     float64 // events per second of simulating, without reading the file
	digest                   string
}

// simulate runs the command a number of times and returns what each run took.
func (b *bench) simulate(runs, in int, policy string, args ...string) ([]simulated, error) {
	args = append([]string{"simulate", b.path(in), "--policy", policy, "--stats"}, args...)
	progress("%s: %s", inputs[in].name, strings.Join(append([]string{"simulate"}, args[2:]...), " "))
	var out []simulated
	for range runs {
		c, stderr, err := b.command(args...)
		if err != nil {
			return nil, err
		}
		s := simulated{cost: c}
		var spent float64
		_, err = fmt.Sscanf(strings.TrimPrefix(stderr, policy+": "),
			"%d tasks, %d events, %d decisions in %f s: %f events/s; digest %s",
			&s.tasks, &s.events, &s.decisions, &spent, &s.rate, &s.digest)
		if err != nil {
			return nil, fmt.Errorf("fairlead simulate --stats wrote %q: %w", stderr, err)
		}
		if len(out) > 0 && s.digest != out[0].digest {
			return nil, fmt.Errorf("%s under %s: digests %s and %s of the same input", inputs[in].name, policy, out[0].digest, s.digest)
		}
		out = append(out, s)
	}
	return out, nil
}

// of collects one number of each run.
func of[T any](runs []T, number func(T) float64) []float64 {
	var out []float64
	for _, r := range runs {
		out = append(out, number(r))
	}
	return out
}

// aim is a target for one number of each run.
type aim struct {
	what    string
	show    func(float64) string
	number  func(simulated) float64
	target  float64
	atLeast bool
}

func rateOf(s simulated) float64 { return s.rate }
func wallOf(s simulated) float64 { return s.wall.Seconds() }
func cpuOf(s simulated) float64  { return s.cpu.Seconds() }
func peakOf(s simulated) float64 { return float64(s.peak) }

// simulations measures the simulator.
func (b *bench) simulations() error {
	t := table{
		title: "Simulator",
		text: `Workload w has jobs of two stages of 50 tasks with exponential sizes, released over half
of the time it takes, and machines of four speeds; no two of its events coincide.
Workload e has one size, one speed and no releases: as many events coincide as there
are machines. A task makes an event when it ends, and a decision is one. "Simulating"
is what ` + "`--stats`" + ` prints, also relative to the first line; the whole command reads the
file and computes the lower bound as well. ` + "`spc`" + ` solves its relaxation while simulating.`,
		head: []string{"Workload", "Policy", "Log", "Events", "Decisions", "Simulating", "Relative", "Whole command", "Its CPU", "Peak memory"},
	}
	fast := aim{"simulating", perSecond, rateOf, eventsPerSecond, true}
	logged := aim{"simulating, event log written", perSecond, rateOf, loggedEventsPerSecond, true}
	first := 0.0
	for _, c := range []struct {
		input  int
		policy string
		log    bool
		aims   []aim
	}{
		{w100k, "fifo", false, []aim{fast}},
		{w100k, "fifo", true, []aim{logged}},
		{w100k, "random", false, nil},
		{w100k, "wspt", false, nil},
		{w100k, "spc", false, nil},
		{w100k, "spc:plain=true", false, nil},
		{w1m, "fifo", false, []aim{
			fast,
			{"the whole command", seconds, wallOf, millionSeconds, false},
			{"its peak memory", memory, peakOf, millionBytes, false},
		}},
		{w1m, "fifo", true, []aim{logged}},
		{e1m, "fifo", false, nil},
		{w100x, "fifo", false, nil},
		{w100x, "spc", false, nil},
	} {
		var args []string
		if c.log {
			args = []string{"--log", filepath.Join(b.dir, "log.jsonl")}
		}
		n := 1
		if c.aims != nil {
			n = b.runs
		}
		runs, err := b.simulate(n, c.input, c.policy, args...)
		if err != nil {
			return err
		}
		for _, a := range c.aims {
			b.claims = append(b.claims, claim{
				what: fmt.Sprintf("`%s`, %s: %s", c.policy, inputs[c.input].name, a.what),
				show: a.show, target: a.target, atLeast: a.atLeast, runs: of(runs, a.number),
			})
		}
		rate := median(of(runs, rateOf))
		if first == 0 {
			first = rate
		}
		t.row(inputs[c.input].name, "`"+c.policy+"`", yesNo(c.log), grouped(runs[0].events), grouped(runs[0].decisions),
			perSecond(rate), times(rate/first), seconds(median(of(runs, wallOf))), seconds(median(of(runs, cpuOf))), memory(median(of(runs, peakOf))))
	}
	b.tables = append(b.tables, t)
	return nil
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// atTheLimits measures the largest files that are accepted.
func (b *bench) atTheLimits() error {
	t := table{
		title: "At the limits of the file format",
		text:  "The largest files that are accepted, simulated under `fifo` with `--no-bound`.",
		head:  []string{"Workload", "File", "Whole command", "Its CPU", "Peak memory"},
	}
	for _, in := range []int{limitSizes, limitStages, limitTasks} {
		info, err := os.Stat(b.path(in))
		if err != nil {
			return err
		}
		progress("at the limits: %s", inputs[in].name)
		run, _, err := b.command("simulate", b.path(in), "--policy", "fifo", "--no-bound", "--assume", "10s")
		if err != nil {
			return err
		}
		t.row(inputs[in].name, fileSize(info.Size()), seconds(run.wall.Seconds()), seconds(run.cpu.Seconds()), memory(float64(run.peak)))
	}
	b.tables = append(b.tables, t)
	return nil
}
