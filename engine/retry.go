package engine

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// Backoff is how long a failed task waits before it is repeated: after its k-th
// failure Base·2^(k−1), at most Max, times a factor in [0.5, 1.5) that is drawn from
// the seed, the task and the attempt, so that what failed together is not repeated
// together. Zero: no wait.
type Backoff struct {
	Base sched.Time `json:"base"`
	// Max bounds the wait before the factor is applied; 0: no bound.
	Max sched.Time `json:"max,omitempty"`
}

// longestBackoff is longer than anyone waits, and far from overflow.
const longestBackoff = sched.MaxTime / 4

// Validate refuses negative times and such as are longer than any run.
func (b Backoff) Validate() error {
	if b.Base < 0 || b.Max < 0 || b.Base > longestBackoff || b.Max > longestBackoff {
		return errors.New("engine: the back-off's base and max must be between 0 and a few decades")
	}
	return nil
}

// backoffStream tells the jitter's generators from the policy's and the simulator's
// of the same seed. Tasks and attempts fill the bits below it.
const backoffStream = 4 << 56

// after returns how long to wait after the given attempt, the k-th to have failed.
func (b Backoff) after(k int32, seed uint64, t sched.TaskID, attempt int32) sched.Time {
	if b.Base == 0 {
		return 0
	}
	most := longestBackoff
	if b.Max > 0 {
		most = b.Max
	}
	wait := min(b.Base, most)
	for ; k > 1 && wait < most; k-- {
		wait = min(2*wait, most)
	}
	rng := rand.New(rand.NewPCG(seed, backoffStream^uint64(t)<<24^uint64(attempt)))
	return sched.Time(math.Round(float64(wait) * (0.5 + rng.Float64())))
}

// delayedTask is a task that waits before its next attempt.
type delayedTask struct {
	until sched.Time
	task  sched.TaskID
}

func (d delayedTask) compare(e delayedTask) int {
	return cmp.Or(cmp.Compare(d.until, e.until), cmp.Compare(d.task, e.task))
}

// delay makes t, which has just failed and may be repeated, wait.
func (st *state) delay(now sched.Time, t sched.TaskID) {
	attempt := st.taskAttempt[t]
	wait := st.cfg.Backoff.after(attempt-st.taskLost[t], st.cfg.Seed, t, attempt)
	if wait == 0 {
		return
	}
	st.taskState[t] = policy.TaskDelayed
	st.stages[st.taskStage[t]].delayed++
	d := delayedTask{min(now+wait, sched.MaxTime), t}
	i, _ := slices.BinarySearchFunc(st.delayed, d, delayedTask.compare)
	st.delayed = slices.Insert(st.delayed, i, d)
}

// retry makes the tasks whose wait is over pending again.
func (st *state) retry(now sched.Time) {
	n := 0
	for ; n < len(st.delayed) && st.delayed[n].until <= now; n++ {
		if t := st.delayed[n].task; st.taskState[t] == policy.TaskDelayed { // not recovered meanwhile
			st.taskState[t] = policy.TaskBlocked
			st.stages[st.taskStage[t]].delayed--
			st.touch(st.taskStage[t])
		}
	}
	st.delayed = slices.Delete(st.delayed, 0, n)
}

// nextRetry returns when the next task that may still run ends its wait.
func (st *state) nextRetry() sched.Time {
	for n, d := range st.delayed {
		if st.taskState[d.task] == policy.TaskDelayed && !st.stages[st.taskStage[d.task]].cancelled {
			st.delayed = slices.Delete(st.delayed, 0, n)
			return d.until
		}
	}
	st.delayed = st.delayed[:0]
	return sched.Never
}
