package check

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"slices"

	"pgregory.net/rapid"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// Every run draws the same; -rapid.seed=0 draws anew.
func init() {
	if err := errors.Join(flag.Set("rapid.seed", "1"), flag.Set("rapid.checks", "2000")); err != nil {
		panic(err)
	}
}

// twin is the slow obvious second implementation: pairs of tasks, and sums at
// every instant. It only says yes or no.
type twin struct {
	in *sched.Instance
	x  *sched.Index
	z  *sched.Sizes
}

func (w twin) stage(t sched.TaskID) *sched.Stage { return w.x.Stage(w.x.TaskStage(t)) }

// alone checks what concerns one task: machine, pin, release, duration.
func (w twin) alone(p sched.Placement) bool {
	if p.Task < 0 || int(p.Task) >= w.x.Tasks() || p.Machine < 0 || int(p.Machine) >= len(w.in.Machines) {
		return false
	}
	s := w.x.TaskStage(p.Task)
	m := w.in.Machines[p.Machine]
	pins := w.x.Stage(s).Machines
	return p.Slot >= 0 && int(p.Slot) < m.Slots &&
		(pins == nil || slices.Contains(pins, p.Machine)) &&
		p.Start >= w.in.Jobs[w.x.StageJob(s)].Release &&
		p.Finish == p.Start+sched.Duration(w.z.Of(s, p.Task), m.Speed)
}

// slotsApart checks that two tasks do not meet in a slot.
func slotsApart(p, q sched.Placement) bool {
	if p.Machine != q.Machine || p.Slot != q.Slot {
		return true
	}
	if p.Start == p.Finish || q.Start == q.Finish {
		// One takes no time: it is not strictly inside the other.
		return !(q.Start < p.Start && p.Start < q.Finish) && !(p.Start < q.Start && q.Start < p.Finish)
	}
	return p.Finish <= q.Start || q.Finish <= p.Start
}

// capacities checks the sums of needs at every start.
func (w twin) capacities(tasks []sched.Placement) bool {
	for _, p := range tasks {
		for d := range w.in.Resources {
			sum := int64(0)
			for _, q := range tasks {
				needs := w.stage(q.Task).Needs
				if needs == nil || q.Machine != p.Machine {
					continue
				}
				switch instant := p.Start == p.Finish; {
				case q == p,
					instant && q.Start < p.Start && p.Start < q.Finish,
					!instant && q.Start <= p.Start && p.Start < q.Finish:
					sum += needs[d]
				}
			}
			if w.stage(p.Task).Needs != nil && sum > w.in.Machines[p.Machine].Capacity[d] {
				return false
			}
		}
	}
	return true
}

// inOrder checks that q, a task of stage b, starts after p, of stage a, if it must,
// and with the input from it.
func (w twin) inOrder(a, b sched.StageID, pFinish, qStart sched.Time, pm, qm sched.MachineID) bool {
	ja, jb := w.x.StageJob(a), w.x.StageJob(b)
	if slices.Contains(w.in.Jobs[jb].After, ja) {
		return pFinish <= qStart
	}
	if ja != jb {
		return true
	}
	first, _ := w.x.JobStages(ja)
	if slices.Contains(w.x.Stage(b).After, int(a-first)) && pFinish > qStart {
		return false
	}
	for _, in := range w.x.Stage(b).Input {
		if in.From == int(a-first) {
			delay := sched.Time(0)
			if pm != qm {
				share := in.Bytes / float64(w.x.Stage(a).Count*w.x.Stage(b).Count)
				delay = sched.Duration(share, min(w.in.Machines[pm].Port, w.in.Machines[qm].Port))
			}
			if pFinish+delay > qStart {
				return false
			}
		}
	}
	return true
}

// piece is a task or a flow, for what concerns both.
type piece struct {
	stage         sched.StageID
	machine       sched.MachineID
	start, finish sched.Time
}

func (w twin) pieces(s *sched.Schedule) []piece {
	var list []piece
	for _, p := range s.Tasks {
		list = append(list, piece{w.x.TaskStage(p.Task), p.Machine, p.Start, p.Finish})
	}
	for _, f := range s.Flows {
		list = append(list, piece{w.x.FlowStage(f.Flow), sched.None, f.Start, f.Finish})
	}
	return list
}

func (w twin) flow(f sched.FlowID) sched.Flow {
	s := w.x.FlowStage(f)
	first, _ := w.x.StageFlows(s)
	return w.x.Stage(s).Flows[f-first]
}

func (w twin) flowsValid(flows []sched.Transmission) bool {
	for i, t := range flows {
		if t.Flow < 0 || int(t.Flow) >= w.x.Flows() {
			return false
		}
		f := w.flow(t.Flow)
		bytes, _ := size.Value(f.Size)
		rate := min(w.in.Machines[f.From].Port, w.in.Machines[f.To].Port)
		if t.Start < w.in.Jobs[w.x.StageJob(w.x.FlowStage(t.Flow))].Release || t.Finish != t.Start+sched.Duration(bytes, rate) {
			return false
		}
		for _, u := range flows[:i] {
			if u.Flow == t.Flow {
				return false
			}
			if g := w.flow(u.Flow); f.From == g.From || f.To == g.To {
				if !slotsApart(sched.Placement{Start: t.Start, Finish: t.Finish}, sched.Placement{Start: u.Start, Finish: u.Finish}) {
					return false
				}
			}
		}
	}
	return true
}

// valid is the whole verdict.
func (w twin) valid(s *sched.Schedule) bool {
	for i, p := range s.Tasks {
		if !w.alone(p) {
			return false
		}
		for _, q := range s.Tasks[:i] {
			if p.Task == q.Task || q.Start > p.Start || q.Start == p.Start && q.Task > p.Task || !slotsApart(p, q) {
				return false
			}
		}
	}
	if !w.flowsValid(s.Flows) || !w.capacities(s.Tasks) {
		return false
	}
	pieces := w.pieces(s)
	ran, last := make([]int, w.x.Stages()), make([]sched.Time, w.x.Stages())
	for _, p := range pieces {
		ran[p.stage]++
		last[p.stage] = max(last[p.stage], p.finish)
	}
	complete := func(st sched.StageID) bool {
		return ran[st] == w.x.Stage(st).Count+len(w.x.Stage(st).Flows)
	}
	for _, q := range pieces {
		for st := range sched.StageID(w.x.Stages()) {
			if !complete(st) && !w.inOrder(st, q.stage, sched.MaxTime, q.start, q.machine, q.machine) {
				return false
			}
		}
		for _, p := range pieces {
			if !w.inOrder(p.stage, q.stage, p.finish, q.start, p.machine, q.machine) {
				return false
			}
		}
	}
	if len(s.Completion) != len(w.in.Jobs) {
		return false
	}
	for j, c := range s.Completion {
		first, end := w.x.JobStages(sched.JobID(j))
		want := sched.Time(0)
		for st := first; st < end; st++ {
			if !complete(st) {
				want = sched.Never
			}
			want = max(want, last[st])
		}
		if c != want {
			return false
		}
	}
	return true
}

// drawInstance draws a small instance that uses everything the checker knows.
func drawInstance(t *rapid.T) (*sched.Instance, *sched.Sizes) {
	pick := func(what string, from ...float64) float64 { return rapid.SampledFrom(from).Draw(t, what) }
	coin := rapid.IntRange(0, 2)
	in := &sched.Instance{Resources: []string{"cpu", "memory"}}
	for m := range rapid.IntRange(1, 3).Draw(t, "machines") {
		in.Machines = append(in.Machines, sched.Machine{
			Name: fmt.Sprint("m", m), Speed: pick("speed", 1, 2, 3), Slots: rapid.IntRange(1, 2).Draw(t, "slots"),
			Capacity: []int64{2000, int64(pick("memory", 1000, 3000))}, Port: pick("port", 1, 3, math.Inf(1)),
		})
	}
	for j := range rapid.IntRange(1, 3).Draw(t, "jobs") {
		job := sched.Job{Name: fmt.Sprint("j", j), Weight: pick("weight", 0, 1, 2.5), Release: sched.Time(pick("release", 0, 0, 1e9, 2e9))}
		for a := range j {
			if coin.Draw(t, "after") == 0 {
				job.After = append(job.After, sched.JobID(a))
			}
		}
		for s := range rapid.IntRange(1, 3).Draw(t, "stages") {
			st := sched.Stage{Name: fmt.Sprint("s", s)}
			for a := range s {
				switch compute := job.Stages[a].Count > 0; coin.Draw(t, "stage after") {
				case 0:
					st.After = append(st.After, a)
					if compute {
						st.Input = append(st.Input, sched.Input{From: a, Bytes: pick("bytes", 0, 2, 6)})
					}
				case 1:
					st.After = append(st.After, a)
				}
			}
			if s > 0 && coin.Draw(t, "transfer") == 0 {
				machine := rapid.IntRange(0, len(in.Machines)-1)
				st.Input = nil
				for range rapid.IntRange(1, 2).Draw(t, "flows") {
					st.Flows = append(st.Flows, sched.Flow{
						From: sched.MachineID(machine.Draw(t, "from")), To: sched.MachineID(machine.Draw(t, "to")),
						Size: size.Exact(pick("flow", 0, 1, 4)),
					})
				}
			} else {
				st.Count = rapid.IntRange(1, 3).Draw(t, "count")
				if coin.Draw(t, "needs") > 0 {
					st.Needs = []int64{1000, int64(pick("need", 0, 500, 1000))}
				}
				if coin.Draw(t, "pin") == 0 {
					st.Machines = []sched.MachineID{sched.MachineID(rapid.IntRange(0, len(in.Machines)-1).Draw(t, "machine"))}
				}
			}
			job.Stages = append(job.Stages, st)
		}
		in.Jobs = append(in.Jobs, job)
	}
	x := sched.NewIndex(in)
	z := sched.NewSizes(x)
	for s := range sched.StageID(x.Stages()) {
		p := make([]float64, x.Stage(s).Count)
		for k := range p {
			p[k] = pick("size", 0, 1, 2, 3, 1)
		}
		if len(p) > 0 {
			z.SetEach(s, p)
		}
	}
	return in, z
}

// schedule places everything at the earliest instant that the twin allows, on
// drawn machines and slots.
func (w twin) schedule(t *rapid.T) *sched.Schedule {
	s := &sched.Schedule{}
	times := func() []sched.Time { // when something may become possible
		list := []sched.Time{0, sched.Second, 2 * sched.Second}
		for _, p := range w.pieces(s) {
			for _, delay := range []float64{0, 1, 1. / 3, 2, 2. / 3, 6, 3, 1.5, 0.5, 1. / 6, 0.75, 0.25, 2. / 9, 1. / 9} {
				list = append(list, p.finish+sched.FromSeconds(delay))
			}
		}
		slices.Sort(list)
		return append(list, list[len(list)-1]+100*sched.Second)
	}
	ordered := func(q piece) bool {
		for _, p := range w.pieces(s) {
			if !w.inOrder(p.stage, q.stage, p.finish, q.start, p.machine, q.machine) {
				return false
			}
		}
		return true
	}
	for st := range sched.StageID(w.x.Stages()) { // stages are numbered in an order that precedence allows
		first, end := w.x.StageTasks(st)
		for task := first; task < end; task++ {
			m := sched.MachineID(rapid.IntRange(0, len(w.in.Machines)-1).Draw(t, "machine"))
			if pins := w.x.Stage(st).Machines; pins != nil {
				m = pins[0]
			}
			p := sched.Placement{Task: task, Machine: m, Slot: int32(rapid.IntRange(0, w.in.Machines[m].Slots-1).Draw(t, "slot"))}
			for _, p.Start = range times() {
				p.Finish = p.Start + sched.Duration(w.z.Of(st, task), w.in.Machines[m].Speed)
				apart := !slices.ContainsFunc(s.Tasks, func(q sched.Placement) bool { return !slotsApart(p, q) })
				if apart && w.alone(p) && ordered(piece{st, m, p.Start, p.Finish}) && w.capacities(append(slices.Clone(s.Tasks), p)) {
					break
				}
			}
			s.Tasks = append(s.Tasks, p)
		}
		firstFlow, endFlow := w.x.StageFlows(st)
		for f := firstFlow; f < endFlow; f++ {
			u := sched.Transmission{Flow: f}
			fl := w.flow(f)
			bytes, _ := size.Value(fl.Size)
			for _, u.Start = range times() {
				u.Finish = u.Start + sched.Duration(bytes, min(w.in.Machines[fl.From].Port, w.in.Machines[fl.To].Port))
				if ordered(piece{st, sched.None, u.Start, u.Finish}) && w.flowsValid(append(slices.Clone(s.Flows), u)) {
					break
				}
			}
			s.Flows = append(s.Flows, u)
		}
	}
	slices.SortFunc(s.Tasks, byStart)
	s.Completion = make([]sched.Time, len(w.in.Jobs))
	for _, p := range w.pieces(s) {
		j := w.x.StageJob(p.stage)
		s.Completion[j] = max(s.Completion[j], p.finish)
	}
	return s
}
