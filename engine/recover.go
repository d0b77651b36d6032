package engine

import (
	"fmt"
	"slices"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// lose takes in that a running attempt is lost, which uses up no retry.
func (st *state) lose(t sched.TaskID) {
	st.release(t)
	st.taskState[t] = policy.TaskBlocked
	if st.taskLost == nil {
		st.taskLost = map[sched.TaskID]int32{}
	}
	st.taskLost[t]++
	st.touch(st.taskStage[t])
	st.settle(st.x.StageJob(st.taskStage[t]))
}

// recover takes in that t has succeeded, though it was not seen to. Tasks of a job
// that has not arrived are kept until it does: the policy may not know of it. Tasks
// of a stage that is not ready count when it gets ready. So the order of
// recoveries does not matter.
func (st *state) recover(now sched.Time, t sched.TaskID) (changed bool, err error) {
	if t < 0 || int(t) >= len(st.taskState) {
		return false, fmt.Errorf("engine: no task %d", t)
	}
	s := st.taskStage[t]
	j := st.x.StageJob(s)
	switch state := st.taskState[t]; {
	case state == policy.TaskDone:
		return false, nil
	case state == policy.TaskRunning || state == policy.TaskFailed:
		return false, fmt.Errorf("engine: task %d of %s is recovered, but %v", t, st.x.StageName(s), state)
	case !st.jobs[j].arrived:
		i, _ := slices.BinarySearch(st.early, t)
		st.early = slices.Insert(st.early, i, t)
		return false, nil
	case state == policy.TaskDelayed:
		st.stages[s].delayed--
	}
	st.succeed(now, t)
	st.touch(s)
	st.settle(j)
	return true, nil
}

// recoverEarly recovers what is kept for job j, which has just arrived.
func (st *state) recoverEarly(j sched.JobID) {
	first, end := st.x.JobStages(j)
	from, _ := st.x.StageTasks(first)
	_, to := st.x.StageTasks(end - 1)
	i, _ := slices.BinarySearch(st.early, from)
	k, _ := slices.BinarySearch(st.early, to)
	tasks := slices.Clone(st.early[i:k])
	st.early = slices.Delete(st.early, i, k)
	for _, t := range tasks {
		_, _ = st.recover(st.now, t) // valid, and not running before its job arrives
	}
}

// progress is what a running attempt has reported.
type progress struct{ first, last policy.Mark }

// progressed keeps the first and the latest progress of a running task.
func (st *state) progressed(now sched.Time, t sched.TaskID, value float64) {
	p, ok := st.progress[t]
	if !(value > p.last.Value) || value > 1 {
		return // going back, out of range, or no number
	}
	p.last = policy.Mark{At: now, Value: value}
	if !ok {
		p.first = p.last
	}
	if st.progress == nil {
		st.progress = map[sched.TaskID]progress{}
	}
	st.progress[t] = p
}
