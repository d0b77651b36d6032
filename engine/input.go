package engine

import (
	"cmp"
	"slices"

	"github.com/fairlead-project/fairlead/sched"
)

// inputs keeps when data read from predecessor stages has arrived on each
// machine: the finish of the predecessor's last task on a machine, plus, on
// another machine, the time that one pair's share of the bytes takes at the
// slower of the two ports. Transfers are uncontended and hold no slot.
type inputs struct {
	st *state
	// lastOn[s][m] is when the last task of s to finish on m finished, plus 1;
	// 0: none ran there. Only for stages that are somebody's input.
	lastOn map[sched.StageID][]sched.Time
	// arrival[s][m] is when all input of the ready stage s is on m.
	arrival map[sched.StageID][]sched.Time
	// due lists, ascending in time, when some input becomes complete.
	due []due
}

type due struct {
	at sched.Time
	s  sched.StageID
}

func (d due) compare(e due) int { return cmp.Or(cmp.Compare(d.at, e.at), cmp.Compare(d.s, e.s)) }

func (in *inputs) init(st *state) {
	in.st = st
	for s := range sched.StageID(st.x.Stages()) {
		for _, i := range st.x.Stage(s).Input {
			if in.lastOn == nil {
				in.lastOn = map[sched.StageID][]sched.Time{}
				in.arrival = map[sched.StageID][]sched.Time{}
			}
			first, _ := st.x.JobStages(st.x.StageJob(s))
			in.lastOn[first+sched.StageID(i.From)] = make([]sched.Time, len(st.in.Machines))
		}
	}
}

// finished notes that a task of s finished on m.
func (in *inputs) finished(s sched.StageID, m sched.MachineID, now sched.Time) {
	if last := in.lastOn[s]; last != nil {
		last[m] = now + 1
	}
}

// ready computes the arrival times for stage s, which has just become ready.
// Cost: O(machines · machines that produced input).
func (in *inputs) ready(s sched.StageID) {
	stage := in.st.x.Stage(s)
	if len(stage.Input) == 0 {
		return
	}
	machines := in.st.in.Machines
	at := make([]sched.Time, len(machines))
	first, _ := in.st.x.JobStages(in.st.x.StageJob(s))
	for _, i := range stage.Input {
		from := first + sched.StageID(i.From)
		share := i.Bytes / (float64(in.st.x.Stage(from).Count) * float64(stage.Count))
		for source, last := range in.lastOn[from] {
			if last == 0 {
				continue
			}
			for m := range machines {
				t := last - 1
				if m != source {
					t += sched.Duration(share, min(machines[source].Port, machines[m].Port))
				}
				at[m] = max(at[m], t)
			}
		}
	}
	in.arrival[s] = at
	times := slices.Clone(at)
	slices.Sort(times)
	for _, t := range slices.Compact(times) {
		if t > in.st.now {
			i, _ := slices.BinarySearchFunc(in.due, due{t, s}, due.compare)
			in.due = slices.Insert(in.due, i, due{t, s})
		}
	}
}

// at returns when the input of s is on m.
func (in *inputs) at(s sched.StageID, m sched.MachineID) sched.Time {
	if at := in.arrival[s]; at != nil {
		return at[m]
	}
	return 0
}

// nextInput returns the first time after now at which input arrives somewhere
// for a stage that still has use for it.
func (st *state) nextInput(now sched.Time) sched.Time {
	for ; len(st.inputs.due) > 0; st.inputs.due = st.inputs.due[1:] {
		d := st.inputs.due[0]
		if s := &st.stages[d.s]; d.at > now && !s.cancelled && s.done < s.total {
			return d.at
		}
	}
	return sched.Never
}
