package check

import (
	"slices"

	"github.com/fairlead-project/fairlead/sched"
)

// starts checks pins, releases, precedence and input.
func (c *checker) starts() error {
	waits := make([]*wait, c.x.Stages()) // made when needed
	at := func(s sched.StageID) *wait {
		if waits[s] == nil {
			waits[s] = c.newWait(s)
		}
		return waits[s]
	}
	arrivals, err := c.arrivals()
	if err != nil {
		return err
	}
	for _, p := range c.s.Tasks {
		s := c.stageOf[p.Task]
		if pins := at(s).pins; pins != nil {
			if _, ok := slices.BinarySearch(pins, p.Machine); !ok {
				return c.atTask(broken(Pin, "its stage may not run there"), p)
			}
		}
		if v := at(s).violation(p.Start); v != nil {
			return c.atTask(v, p)
		}
		for _, a := range arrivals[s] {
			if t := a.at(p.Machine, c.in.Machines[p.Machine].Port); p.Start < t {
				return c.atTask(broken(Input, "starts at %v, but its input from stage %s is there at %v", p.Start, a.from, t), p)
			}
		}
	}
	for _, f := range c.s.Flows {
		if v := at(c.x.FlowStage(f.Flow)).violation(f.Start); v != nil {
			return c.atFlow(v, f.Flow)
		}
	}
	return nil
}

// wait is the earliest time at which anything of a stage may start, and why; and
// where.
type wait struct {
	pins    []sched.MachineID // ascending; nil: anywhere
	release sched.Time
	until   sched.Time // the last predecessor's finish
	on      string     // that predecessor
}

func (c *checker) newWait(s sched.StageID) *wait {
	j := c.x.StageJob(s)
	first, _ := c.x.JobStages(j)
	st := c.x.Stage(s)
	w := &wait{pins: slices.Clone(st.Machines), release: c.in.Jobs[j].Release}
	slices.Sort(w.pins)
	after := func(t sched.Time, what string) {
		if t > w.until {
			w.until, w.on = t, what
		}
	}
	for _, a := range c.in.Jobs[j].After {
		after(c.done[a], "job "+c.in.Jobs[a].Name)
	}
	for _, a := range st.After {
		after(c.finish[first+sched.StageID(a)], "stage "+c.in.Jobs[j].Stages[a].Name)
	}
	for _, in := range st.Input {
		after(c.finish[first+sched.StageID(in.From)], "stage "+c.in.Jobs[j].Stages[in.From].Name)
	}
	return w
}

func (w *wait) violation(start sched.Time) *Violation {
	switch {
	case start < w.release:
		return broken(Release, "starts at %v, before the release at %v", start, w.release)
	case w.until == sched.Never:
		return broken(Precedence, "starts at %v, but not all of %s runs", start, w.on)
	case start < w.until:
		return broken(Precedence, "starts at %v, before %s finishes at %v", start, w.on, w.until)
	}
	return nil
}

// arrival answers when the data that a stage reads from another is all on a
// machine. Shares travel at the lower of two port rates, so from machine a to b
// they take the longer of what they take at either rate; hence the last comes to
// b at the later of
//
//	max over a != b of (last finish on a) + (time at a's rate)
//	max over a != b of (last finish on a) + (time at b's rate)
//
// and two maxima that can leave out one machine answer for every b.
type arrival struct {
	from  string
	share float64 // bytes between two tasks
	last  leaveOneOut
	sent  leaveOneOut
}

func (a *arrival) at(m sched.MachineID, port float64) sched.Time {
	elsewhere := a.last.without(m)
	if elsewhere < 0 {
		return 0 // all on this machine: precedence says it all
	}
	return max(a.sent.without(m), elsewhere+sched.Duration(a.share, port))
}

// arrivals returns, per stage, what it reads; nothing where starts were observed,
// since then the data has really moved.
func (c *checker) arrivals() ([][]*arrival, error) {
	out := make([][]*arrival, c.x.Stages())
	if c.opts.Observed {
		return out, nil
	}
	readers := make([][]*arrival, c.x.Stages()) // by the stage that is read
	for s := range sched.StageID(c.x.Stages()) {
		j := c.x.StageJob(s)
		first, _ := c.x.JobStages(j)
		for _, in := range c.x.Stage(s).Input {
			from := first + sched.StageID(in.From)
			source := c.x.Stage(from)
			if source.Transfer() || c.x.Stage(s).Transfer() {
				return nil, c.atStage(broken(Input, "input is between compute stages; stage %s or its reader is a transfer", source.Name), s)
			}
			pairs := float64(source.Count) * float64(c.x.Stage(s).Count)
			a := &arrival{from: source.Name, share: in.Bytes / pairs, last: nobody, sent: nobody}
			out[s] = append(out[s], a)
			readers[from] = append(readers[from], a)
		}
	}
	for _, p := range c.s.Tasks {
		for _, a := range readers[c.stageOf[p.Task]] {
			a.last.add(p.Machine, p.Finish)
			a.sent.add(p.Machine, p.Finish+sched.Duration(a.share, c.in.Machines[p.Machine].Port))
		}
	}
	return out, nil
}

// leaveOneOut is the largest of some times, and the largest on another machine.
type leaveOneOut struct {
	machine       sched.MachineID
	first, second sched.Time
}

var nobody = leaveOneOut{machine: sched.None, first: -1, second: -1}

func (l *leaveOneOut) add(m sched.MachineID, t sched.Time) {
	switch {
	case m == l.machine:
		l.first = max(l.first, t)
	case t > l.first:
		l.machine, l.first, l.second = m, t, l.first
	default:
		l.second = max(l.second, t)
	}
}

// without returns the largest time on machines other than m, -1 if there is none.
func (l *leaveOneOut) without(m sched.MachineID) sched.Time {
	if m == l.machine {
		return l.second
	}
	return l.first
}
