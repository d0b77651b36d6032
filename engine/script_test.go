package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/policy/dag"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// TestScripts runs testdata/*.txt. Their commands:
//
//	new [policy=fifo] [sizes=exact] [arrivals=offline] [keep-going] [backoff=(base,max)]
//	    Describes an instance, one line each: resources, machine, job, and the
//	    stages and transfers of the job above. Without policy=fifo, decisions
//	    are scripted.
//	step T
//	    Delivers events at time T, one line each, and shows the actions. Lines
//	    that begin with "decide" add to the decision of the next wake.
//	try T
//	    The same on a copy of the engine: what it does leaves no trace.
//	show jobs|stages|tasks|flows|machines|slots|fits|attained|progress|known|explain|blocked|stats ...
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if !strings.HasSuffix(path, ".txt") {
			return
		}
		s := &script{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out, err := s.command(d)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			return out
		})
	})
}

// manual is a policy whose decisions are scripted.
type manual struct {
	next policy.Decision
	view policy.View // of the last call
}

func (m *manual) Decide(_ sched.Time, v policy.View, _ *rand.Rand) (policy.Decision, error) {
	d := m.next
	m.next, m.view = policy.Decision{}, v
	return d, nil
}

type script struct {
	new     *datadriven.TestData
	history []step
	e       *Engine
	manual  *manual
}

type step struct {
	now   sched.Time
	lines []string
}

func (s *script) command(d *datadriven.TestData) (string, error) {
	switch d.Cmd {
	case "new":
		copied := *d
		s.new, s.history = &copied, nil
		return s.rebuild()
	case "step", "try":
		now, err := parseTime(d.CmdArgs[0].Key)
		if err != nil {
			return "", err
		}
		st := step{now, strings.Split(strings.TrimSpace(d.Input), "\n")}
		out, err := s.run(st)
		if err != nil {
			return "", err
		}
		if d.Cmd == "step" {
			s.history = append(s.history, st)
			return out, nil
		}
		_, err = s.rebuild()
		return out, err
	case "show":
		var out strings.Builder
		for _, a := range d.CmdArgs {
			show, ok := shows[a.Key]
			if !ok {
				return "", fmt.Errorf("nothing is called %q", a.Key)
			}
			show(&out, s)
		}
		return out.String(), nil
	}
	return "", fmt.Errorf("unknown command %q", d.Cmd)
}

// rebuild makes a new engine and repeats the history.
func (s *script) rebuild() (string, error) {
	in, err := parseInstance(s.new.Input)
	if err != nil {
		return "", err
	}
	x := sched.NewIndex(in)
	s.manual = &manual{}
	cfg := Config{Instance: in, Policy: s.manual, KeepGoing: s.new.HasArg("keep-going"), Seed: 1}
	if a, ok := s.new.Arg("backoff"); ok {
		if cfg.Backoff.Base, err = parseTime(a.Vals[0]); err != nil {
			return "", err
		}
		if cfg.Backoff.Max, err = parseTime(a.Vals[1]); err != nil {
			return "", err
		}
	}
	if a, ok := s.new.Arg("policy"); ok && a.Vals[0] == "fifo" {
		cfg.Policy = dag.NewFIFO()
	}
	if a, ok := s.new.Arg("sizes"); ok {
		if cfg.Knowledge.Sizes, err = policy.ParseSizes(a.Vals[0]); err != nil {
			return "", err
		}
		cfg.Estimates = meanSizes(x)
	}
	if a, ok := s.new.Arg("arrivals"); ok {
		if cfg.Knowledge.Arrivals, err = policy.ParseArrivals(a.Vals[0]); err != nil {
			return "", err
		}
	}
	s.e, err = New(cfg)
	if err != nil {
		return "error: " + err.Error(), nil
	}
	for _, st := range s.history {
		if _, err := s.run(st); err != nil {
			return "", err
		}
	}
	return "ok", nil
}

// meanSizes gives each stage with sizes their means.
func meanSizes(x *sched.Index) *sched.Sizes {
	z := sched.NewSizes(x)
	for s := range sched.StageID(x.Stages()) {
		switch st := x.Stage(s); len(st.Sizes) {
		case 0:
		case 1:
			z.SetAll(s, st.Sizes[0].Mean())
		default:
			each := make([]float64, len(st.Sizes))
			for k, d := range st.Sizes {
				each[k] = d.Mean()
			}
			z.SetEach(s, each)
		}
	}
	return z
}

func (s *script) run(st step) (string, error) {
	var out strings.Builder
	for _, line := range st.lines {
		words := strings.Fields(line)
		if words[0] == "decide" {
			if err := s.decide(words[1:]); err != nil {
				return "", fmt.Errorf("%s: %w", line, err)
			}
			continue
		}
		ev, err := s.event(words)
		if err != nil {
			return "", fmt.Errorf("%s: %w", line, err)
		}
		actions, err := s.e.Step(st.now, ev)
		if err != nil {
			fmt.Fprintf(&out, "%s: error: %v\n", line, err)
			continue
		}
		for i := range actions {
			fmt.Fprintf(&out, "%s: %s\n", line, s.action(&actions[i]))
		}
		if len(actions) == 0 {
			fmt.Fprintf(&out, "%s: -\n", line)
		}
	}
	return out.String(), nil
}

func (s *script) event(w []string) (ev Event, err error) {
	if len(w) < 2 {
		w = append(w, "")
	}
	switch w[0] {
	case "arrive":
		ev.Kind = JobArrived
		ev.Job, err = s.job(w[1])
	case "recover":
		ev.Kind = TaskRecovered
		ev.Task, err = s.task(w[1])
	case "finish", "fail", "lost", "progress":
		ev.Kind = map[string]EventKind{"finish": TaskFinished, "fail": TaskFailed, "lost": TaskLost, "progress": TaskProgress}[w[0]]
		if ev.Kind == TaskProgress {
			if ev.Value, err = strconv.ParseFloat(w[2], 64); err != nil {
				return ev, err
			}
		}
		name, attempt, found := strings.Cut(w[1], "#")
		if ev.Task, err = s.task(name); err != nil {
			return ev, err
		}
		if found {
			n, err := strconv.Atoi(attempt)
			ev.Attempt = int32(n)
			return ev, err
		}
		ev.Attempt = s.e.st.taskAttempt[ev.Task]
	case "sent":
		ev.Kind = FlowFinished
		ev.Flow, err = s.flow(w[1])
	case "lose", "join":
		ev.Kind = MachineLost
		if w[0] == "join" {
			ev.Kind = MachineJoined
		}
		ev.Machine, err = s.machine(w[1])
	case "solved":
		ev.Kind = Solved
		if w[1] != "nothing" {
			ev.Solution = &policy.Solution{Fallback: len(w) > 2}
			var id int
			id, err = strconv.Atoi(w[1])
			ev.Solution.ID = int32(id)
		}
	case "wake":
		ev.Kind = Wake
	case "kind":
		var k int
		k, err = strconv.Atoi(w[1])
		ev.Kind = EventKind(k)
	default:
		err = fmt.Errorf("unknown event")
	}
	return ev, err
}

// decide adds to the next decision.
func (s *script) decide(w []string) (err error) {
	d := &s.manual.next
	for len(w) < 4 {
		w = append(w, "")
	}
	number := func(w string) float64 {
		v, e := strconv.ParseFloat(w, 64)
		if e != nil {
			err = e
		}
		return v
	}
	switch w[0] {
	case "start":
		a := policy.Start{Slot: sched.None}
		if a.Task, err = s.task(w[1]); err != nil {
			return err
		}
		if a.Machine, err = s.machine(w[2]); err != nil {
			return err
		}
		if w[3] != "" {
			a.Slot = int32(number(w[3]))
		}
		d.Start = append(d.Start, a)
	case "send":
		f, err := s.flow(w[1])
		d.Flows = append(d.Flows, f)
		return err
	case "join":
		a := policy.Activity{Task: sched.None, Flow: sched.None}
		if w[1] != "-" {
			if a.Task, err = s.task(w[1]); err != nil {
				a.Task = sched.None
				if a.Flow, err = s.flow(w[1]); err != nil {
					return err
				}
			}
		}
		d.Join = append(d.Join, policy.Join{Activity: a, Group: policy.GroupID(number(w[2])), Share: number(w[3])})
	case "rate":
		d.Rates = append(d.Rates, policy.GroupRate{Group: policy.GroupID(number(w[1])), Rate: number(w[2])})
	case "wake":
		d.Wake, err = parseTime(w[1])
	case "solve":
		d.Solve = &policy.Request{ID: int32(number(w[1]))}
	case "reason":
		r := policy.Reason{Behind: sched.None, Machine: sched.None}
		if r.Job, err = s.job(w[1]); err != nil {
			return err
		}
		switch w[2] {
		case "queued":
			r.Code = policy.Queued
			if w[3] != "" {
				r.Behind, err = s.job(w[3])
			}
		case "no-fit":
			r.Code = policy.NoFit
		case "reserved":
			r.Code = policy.Reserved
			r.Machine, err = s.machine(w[3])
		case "planning":
			r.Code = policy.Planning
		}
		d.Reasons = append(d.Reasons, r)
	default:
		return fmt.Errorf("unknown decision %q", w[0])
	}
	return err
}

// find looks a name up, or takes it for a number.
func find(name string, n int, of func(int) string) (int, error) {
	for i := range n {
		if of(i) == name {
			return i, nil
		}
	}
	i, err := strconv.Atoi(name)
	if err != nil {
		return 0, fmt.Errorf("nothing is called %q", name)
	}
	return i, nil
}

func (s *script) job(name string) (sched.JobID, error) {
	i, err := find(name, len(s.e.st.in.Jobs), func(i int) string { return s.e.st.in.Jobs[i].Name })
	return sched.JobID(i), err
}

func (s *script) machine(name string) (sched.MachineID, error) {
	i, err := find(name, len(s.e.st.in.Machines), func(i int) string { return s.e.st.in.Machines[i].Name })
	return sched.MachineID(i), err
}

func (s *script) task(name string) (sched.TaskID, error) {
	i, err := find(name, s.e.st.x.Tasks(), func(i int) string { return s.taskName(sched.TaskID(i)) })
	return sched.TaskID(i), err
}

func (s *script) flow(name string) (sched.FlowID, error) {
	i, err := find(name, s.e.st.x.Flows(), func(i int) string { return s.flowName(sched.FlowID(i)) })
	return sched.FlowID(i), err
}

func (s *script) taskName(t sched.TaskID) string {
	if t == sched.None {
		return "-"
	}
	x := s.e.st.x
	first, _ := x.StageTasks(x.TaskStage(t))
	return fmt.Sprintf("%s.%d", x.StageName(x.TaskStage(t)), t-first)
}

func (s *script) flowName(f sched.FlowID) string {
	x := s.e.st.x
	first, _ := x.StageFlows(x.FlowStage(f))
	return fmt.Sprintf("%s.%d", x.StageName(x.FlowStage(f)), f-first)
}

func (s *script) action(a *Action) string {
	switch a.Kind {
	case StartTask:
		return fmt.Sprintf("start %s#%d on %s slot %d", s.taskName(a.Task), a.Attempt, s.e.st.in.Machines[a.Machine].Name, a.Slot)
	case StartFlow:
		return "send " + s.flowName(a.Flow)
	case JoinGroup:
		name := s.taskName(a.Task)
		if a.Task == sched.None {
			name = s.flowName(a.Flow)
		}
		return fmt.Sprintf("%s#%d joins group %d with share %v", name, a.Attempt, a.Group, a.Value)
	case SetRate:
		return fmt.Sprintf("group %d at rate %v", a.Group, a.Value)
	case WakeAt:
		return fmt.Sprintf("wake at %v", a.At)
	case Solve:
		return fmt.Sprintf("solve %d", a.Request.ID)
	}
	return fmt.Sprintf("%+v", *a)
}

var shows = map[string]func(*strings.Builder, *script){
	"jobs": func(b *strings.Builder, s *script) {
		for j := range s.e.st.in.Jobs {
			state, at := s.e.Job(sched.JobID(j))
			fmt.Fprintf(b, "%s %v, completion %v\n", s.e.st.in.Jobs[j].Name, state, at)
		}
	},
	"stages": func(b *strings.Builder, s *script) {
		for k := range sched.StageID(s.e.st.x.Stages()) {
			st := (*view)(s.e.st).Stage(k)
			fmt.Fprintf(b, "%s ready %v, pending %d, running %d, done %d\n", s.e.st.x.StageName(k), st.Ready, st.Pending, st.Running, st.Done)
		}
	},
	"tasks": func(b *strings.Builder, s *script) {
		for t := range sched.TaskID(s.e.st.x.Tasks()) {
			fmt.Fprintf(b, "%s#%d %v\n", s.taskName(t), s.e.st.taskAttempt[t], s.e.Task(t))
		}
	},
	"flows": func(b *strings.Builder, s *script) {
		v := (*view)(s.e.st)
		for f := range sched.FlowID(s.e.st.x.Flows()) {
			fmt.Fprintf(b, "%s %v, ports free %v\n", s.flowName(f), v.Flow(f), v.PortsFree(f))
		}
	},
	"machines": func(b *strings.Builder, s *script) {
		v := (*view)(s.e.st)
		for m := range s.e.st.in.Machines {
			st := v.Machine(sched.MachineID(m))
			fmt.Fprintf(b, "%s up %v, free slots %d", s.e.st.in.Machines[m].Name, st.Up, st.FreeSlots)
			for d, r := range s.e.st.in.Resources {
				fmt.Fprintf(b, ", %s %v", r, float64(v.Free(sched.MachineID(m), d))/1000)
			}
			fmt.Fprintln(b)
		}
	},
	"slots": func(b *strings.Builder, s *script) {
		v := (*view)(s.e.st)
		for m := range s.e.st.in.Machines {
			for k := range int32(s.e.st.in.Machines[m].Slots) {
				t, since := v.Slot(sched.MachineID(m), k)
				fmt.Fprintf(b, "%s:%d %s", s.e.st.in.Machines[m].Name, k, s.taskName(t))
				if t != sched.None {
					fmt.Fprintf(b, " since %v", since)
				}
				fmt.Fprintln(b)
			}
		}
	},
	"fits": func(b *strings.Builder, s *script) {
		v := (*view)(s.e.st)
		for k := range sched.StageID(s.e.st.x.Stages()) {
			for m := range s.e.st.in.Machines {
				why := "fits"
				if o := v.obstacle(k, sched.MachineID(m)); o != nothing {
					why = string(o)
				}
				fmt.Fprintf(b, "%s on %s: %s, input %v\n", s.e.st.x.StageName(k), s.e.st.in.Machines[m].Name, why, v.InputReady(k, sched.MachineID(m)))
			}
		}
	},
	"attained": func(b *strings.Builder, s *script) {
		v := (*view)(s.e.st)
		for t := range sched.TaskID(s.e.st.x.Tasks()) {
			fmt.Fprintf(b, "%s %.9g\n", s.taskName(t), v.Attained(policy.Activity{Task: t, Flow: sched.None}))
		}
		for f := range sched.FlowID(s.e.st.x.Flows()) {
			fmt.Fprintf(b, "%s %.9g\n", s.flowName(f), v.Attained(policy.Activity{Task: sched.None, Flow: f}))
		}
	},
	"progress": func(b *strings.Builder, s *script) {
		v := (*view)(s.e.st)
		for t := range sched.TaskID(s.e.st.x.Tasks()) {
			fmt.Fprint(b, s.taskName(t))
			if first, last, ok := v.Progress(t); ok {
				fmt.Fprintf(b, " %v at %v, %v at %v", first.Value, first.At, last.Value, last.At)
			}
			if size, ok := v.Observed(t); ok {
				fmt.Fprintf(b, " observed %.9g", size)
			}
			fmt.Fprintln(b)
		}
	},
	"known": func(b *strings.Builder, s *script) {
		v := (*view)(s.e.st)
		for _, j := range v.Known() {
			job := v.Index().Instance.Jobs[j]
			fmt.Fprintf(b, "%s release %v, weight %v, remaining %v\n", job.Name, job.Release, job.Weight, v.Remaining(j))
		}
	},
	"explain": func(b *strings.Builder, s *script) {
		for j := range s.e.st.in.Jobs {
			fmt.Fprintln(b, s.e.Explain(sched.JobID(j)))
		}
	},
	"blocked": func(b *strings.Builder, s *script) {
		for _, line := range s.e.Blocked() {
			fmt.Fprintln(b, line)
		}
	},
	"stats": func(b *strings.Builder, s *script) {
		fmt.Fprintf(b, "done %v, running %d, %+v\n", s.e.Done(), s.e.Running(), s.e.Stats())
	},
}

func parseTime(s string) (sched.Time, error) {
	if s == "never" {
		return sched.Never, nil
	}
	d, err := time.ParseDuration(s)
	return sched.Time(d), err
}

// parseInstance reads lines such as
//
//	resources memory
//	machine a speed=2 slots=4 memory=8 port=10
//	job x release=3s weight=2 after=w
//	stage map count=2 size=3 needs=memory:2 machines=a retries=1 after=s input=s:20
//	transfer t a>b:10 b>b:5 after=map
//
// The sizes of a stage may be several, separated by commas.
func parseInstance(text string) (*sched.Instance, error) {
	in := &sched.Instance{}
	for line := range strings.Lines(text) {
		w := strings.Fields(line)
		if len(w) == 0 {
			continue
		}
		if err := parseLine(in, w); err != nil {
			return nil, fmt.Errorf("%s: %w", strings.TrimSpace(line), err)
		}
	}
	return in, nil
}

func parseLine(in *sched.Instance, w []string) (err error) {
	number := func(s string) float64 {
		v, e := strconv.ParseFloat(s, 64)
		if e != nil {
			err = e
		}
		return v
	}
	if w[0] == "resources" {
		in.Resources = w[1:]
		return nil
	}
	arg := map[string]string{}
	var plain []string
	for _, a := range w[2:] {
		if k, v, ok := strings.Cut(a, "="); ok {
			arg[k] = v
		} else {
			plain = append(plain, a)
		}
	}
	machine := func(name string) sched.MachineID {
		i := slices.IndexFunc(in.Machines, func(m sched.Machine) bool { return m.Name == name })
		return sched.MachineID(i)
	}
	list := func(key string) []string {
		if arg[key] == "" {
			return nil
		}
		return strings.Split(arg[key], ",")
	}
	amounts := func(key string) map[string]float64 {
		m := map[string]float64{}
		for _, a := range list(key) {
			k, v, _ := strings.Cut(a, ":")
			m[k] = number(v)
		}
		return m
	}
	switch w[0] {
	case "machine":
		m := sched.Machine{Name: w[1], Speed: 1, Slots: 1, Port: math.Inf(1), Capacity: make([]int64, len(in.Resources))}
		for k, v := range arg {
			switch k {
			case "speed":
				m.Speed = number(v)
			case "slots":
				m.Slots = int(number(v))
			case "port":
				m.Port = number(v)
			default:
				m.Capacity[slices.Index(in.Resources, k)] = int64(number(v) * 1000)
			}
		}
		in.Machines = append(in.Machines, m)
	case "job":
		j := sched.Job{Name: w[1], Weight: 1}
		if v := arg["weight"]; v != "" {
			j.Weight = number(v)
		}
		if v := arg["release"]; v != "" {
			if j.Release, err = parseTime(v); err != nil {
				return err
			}
		}
		for _, a := range list("after") {
			i, err := find(a, len(in.Jobs), func(i int) string { return in.Jobs[i].Name })
			if err != nil {
				return err
			}
			j.After = append(j.After, sched.JobID(i))
		}
		in.Jobs = append(in.Jobs, j)
	case "stage", "transfer":
		job := &in.Jobs[len(in.Jobs)-1]
		st := sched.Stage{Name: w[1]}
		stage := func(name string) int {
			return slices.IndexFunc(job.Stages, func(s sched.Stage) bool { return s.Name == name })
		}
		for _, a := range list("after") {
			st.After = append(st.After, stage(a))
		}
		if w[0] == "transfer" {
			st.Flows = []sched.Flow{}
			for _, p := range plain {
				ends, bytes, _ := strings.Cut(p, ":")
				from, to, _ := strings.Cut(ends, ">")
				st.Flows = append(st.Flows, sched.Flow{From: machine(from), To: machine(to), Size: size.Exact(number(bytes))})
			}
		} else {
			st.Count = 1
			if v := arg["count"]; v != "" {
				st.Count = int(number(v))
			}
			for _, v := range list("size") {
				st.Sizes = append(st.Sizes, size.Exact(number(v)))
			}
			if arg["needs"] != "" {
				st.Needs = make([]int64, len(in.Resources))
				for k, v := range amounts("needs") {
					st.Needs[slices.Index(in.Resources, k)] = int64(v * 1000)
				}
			}
			for _, m := range list("machines") {
				st.Machines = append(st.Machines, machine(m))
			}
			if v := arg["retries"]; v != "" {
				st.Retries = int(number(v))
			}
			for _, a := range list("input") {
				k, v, _ := strings.Cut(a, ":")
				st.Input = append(st.Input, sched.Input{From: stage(k), Bytes: number(v)})
			}
		}
		job.Stages = append(job.Stages, st)
	default:
		return fmt.Errorf("unknown word %q", w[0])
	}
	return err
}
