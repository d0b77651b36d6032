package engine

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// state is everything the engine knows. Stages, tasks, flows and slots are
// numbered through the instance and kept in flat arrays, so that an event costs
// a few array accesses and no allocation.
type state struct {
	in      *sched.Instance // the whole truth except sizes
	x       *sched.Index
	visible *sched.Index // what the policy may see
	cfg     *Config
	now     sched.Time

	jobs    []jobState
	stages  []stageState
	next    [][]sched.StageID // stages of the same job that follow a stage
	nextJob [][]sched.JobID
	known   []sched.JobID
	shown   *sched.Sizes // what the policy may see of Config.Estimates
	reasons []policy.Reason

	taskState   []policy.TaskState
	taskAttempt []int32
	taskLost    map[sched.TaskID]int32 // attempts lost with their machines, which use up no retries
	taskRan     []sched.Time           // how long a finished task ran in its slot, plus 1; 0: not known
	finished    []sched.TaskID         // since the last round
	delayed     []delayedTask          // ascending
	early       []sched.TaskID         // ascending: recovered before their jobs have arrived
	progress    map[sched.TaskID]progress
	taskSlot    []int32
	taskStage   []sched.StageID
	flowState   []policy.TaskState

	machines  []machineState
	outages   int     // machines lost and joined so far
	slotFirst []int32 // first slot of each machine; one more at the end
	slotTask  []sched.TaskID
	slotSince []sched.Time
	slotFree  []uint64 // bit set
	free      []int64  // machine-major, thousandths of each resource
	bySpeed   []sched.MachineID
	rank      []int32
	idle      []uint64 // bit set over ranks: up, and a slot is free

	sourceBusy, sinkBusy []bool // per machine

	changed   []sched.StageID
	inChanged []bool
	solution  *policy.Solution

	inputs     inputs
	groups     groups
	running    int
	unresolved int // jobs neither done nor failed nor unable to run
}

type jobState struct {
	state      policy.JobState
	arrived    bool
	failed     bool // some task failed for good; the job fails once it has drained
	waitsFor   int32
	stagesLeft int32
	running    int32
	completion sched.Time
	remaining  float64
}

type stageState struct {
	ready               bool
	cancelled           bool
	waitsFor            int32
	total, done, active int32
	failed              int32 // tasks that failed for good
	delayed             int32 // tasks that wait before their next attempt
}

type machineState struct {
	up   bool
	free int32
}

func newState(cfg Config) *state {
	in := cfg.Instance
	x := sched.NewIndex(in)
	st := &state{in: in, x: x, cfg: &cfg, unresolved: len(in.Jobs)}
	st.initJobs()
	st.initTasks()
	st.initMachines()
	st.inputs.init(st)
	st.visible = sched.NewIndex(st.redacted())
	switch {
	case cfg.Knowledge.Arrivals == policy.Offline:
		st.shown = cfg.Estimates
		st.known = in.ByRelease()
		for _, j := range st.known {
			st.makeKnown(j)
		}
	case cfg.Estimates != nil:
		st.shown = sched.NewSizes(x)
	}
	return st
}

func (st *state) initJobs() {
	in, x := st.in, st.x
	st.jobs = make([]jobState, len(in.Jobs))
	st.reasons = make([]policy.Reason, len(in.Jobs))
	st.nextJob = make([][]sched.JobID, len(in.Jobs))
	st.stages = make([]stageState, x.Stages())
	st.next = make([][]sched.StageID, x.Stages())
	st.inChanged = make([]bool, x.Stages())
	for j := range in.Jobs {
		job := &in.Jobs[j]
		st.jobs[j] = jobState{
			waitsFor: int32(len(job.After)), stagesLeft: int32(len(job.Stages)), completion: sched.Never,
		}
		for _, a := range job.After {
			st.nextJob[a] = append(st.nextJob[a], sched.JobID(j))
		}
		first, _ := x.JobStages(sched.JobID(j))
		for k := range job.Stages {
			stage := &job.Stages[k]
			s := first + sched.StageID(k)
			st.stages[s] = stageState{waitsFor: int32(len(stage.After)), total: int32(stage.Count + len(stage.Flows))}
			for _, a := range stage.After {
				st.next[first+sched.StageID(a)] = append(st.next[first+sched.StageID(a)], s)
			}
		}
	}
}

// showEstimates lets the policy see the estimates of stage s and returns their
// sum.
func (st *state) showEstimates(s sched.StageID) (work float64) {
	z, reveal := st.cfg.Estimates, st.shown != st.cfg.Estimates
	t, end := st.x.StageTasks(s)
	if p, ok := z.Uniform(s); ok {
		if reveal {
			st.shown.SetAll(s, p)
		}
		return p * float64(end-t)
	}
	var each []float64
	for ; t < end; t++ {
		p := z.Of(s, t)
		work += p
		if reveal {
			each = append(each, p)
		}
	}
	if reveal {
		st.shown.SetEach(s, each)
	}
	return work
}

func (st *state) initTasks() {
	n := st.x.Tasks()
	st.taskState = make([]policy.TaskState, n)
	st.taskAttempt = make([]int32, n)
	st.taskSlot = make([]int32, n)
	st.taskRan = make([]sched.Time, n)
	st.taskStage = taskStages(st.x)
	st.flowState = make([]policy.TaskState, st.x.Flows())
}

// taskStages lists the stage of every task: Index.TaskStage in O(1), for those
// who ask at every event.
func taskStages(x *sched.Index) []sched.StageID {
	stages := make([]sched.StageID, x.Tasks())
	for s := range sched.StageID(x.Stages()) {
		for t, end := x.StageTasks(s); t < end; t++ {
			stages[t] = s
		}
	}
	return stages
}

func (st *state) initMachines() {
	in := st.in
	m := len(in.Machines)
	st.machines = make([]machineState, m)
	st.slotFirst = make([]int32, m+1)
	st.sourceBusy, st.sinkBusy = make([]bool, m), make([]bool, m)
	st.free = make([]int64, m*len(in.Resources))
	st.bySpeed = make([]sched.MachineID, m)
	st.rank = make([]int32, m)
	st.idle = make([]uint64, (m+63)/64)
	slots := int32(0)
	for i := range in.Machines {
		st.bySpeed[i] = sched.MachineID(i)
		st.slotFirst[i] = slots
		slots += int32(in.Machines[i].Slots)
		copy(st.free[i*len(in.Resources):], in.Machines[i].Capacity)
	}
	st.slotFirst[m] = slots
	st.slotTask = make([]sched.TaskID, slots)
	st.slotSince = make([]sched.Time, slots)
	st.slotFree = make([]uint64, (slots+63)/64)
	for i := range st.slotTask {
		st.slotTask[i] = sched.None
		st.slotFree[i/64] |= 1 << (i % 64)
	}
	slices.SortStableFunc(st.bySpeed, func(a, b sched.MachineID) int {
		return cmp.Compare(in.Machines[b].Speed, in.Machines[a].Speed)
	})
	for r, id := range st.bySpeed {
		st.rank[id] = int32(r)
	}
	for i := range in.Machines {
		st.machines[i] = machineState{up: true, free: int32(in.Machines[i].Slots)}
		st.setIdle(sched.MachineID(i))
	}
}

// setIdle keeps the set of idle machines in step with machine m.
func (st *state) setIdle(m sched.MachineID) {
	r := st.rank[m]
	bit := uint64(1) << (r % 64)
	if st.machines[m].up && st.machines[m].free > 0 {
		st.idle[r/64] |= bit
	} else {
		st.idle[r/64] &^= bit
	}
}

// redacted copies the instance without what the policy may not know. Commands
// and other matters of execution are left out as well.
func (st *state) redacted() *sched.Instance {
	in := *st.in
	in.Jobs = make([]sched.Job, len(st.in.Jobs))
	for j := range in.Jobs {
		src := &st.in.Jobs[j]
		in.Jobs[j] = sched.Job{Release: sched.Never, Stages: make([]sched.Stage, len(src.Stages))}
		for s := range src.Stages {
			// Identifiers need the counts; a policy has no business with them
			// before the job is known.
			in.Jobs[j].Stages[s] = sched.Stage{Count: src.Stages[s].Count, Flows: make([]sched.Flow, len(src.Stages[s].Flows))}
		}
	}
	return &in
}

// makeKnown shows job j to the policy.
func (st *state) makeKnown(j sched.JobID) {
	src, dst := &st.in.Jobs[j], &st.visible.Instance.Jobs[j]
	stages := dst.Stages
	*dst = *src
	dst.Stages = stages
	for s := range src.Stages {
		from := &src.Stages[s]
		to := &stages[s]
		*to = *from
		to.Run, to.Workdir, to.Env, to.Image = nil, "", nil, ""
		if st.cfg.Knowledge.Sizes == policy.SizesUnknown {
			to.Sizes = nil
			if from.Flows != nil {
				to.Flows = slices.Clone(from.Flows)
				for i := range to.Flows {
					to.Flows[i].Size = nil
				}
			}
		}
	}
	if z := st.cfg.Estimates; z != nil {
		for s, end := st.x.JobStages(j); s < end; s++ {
			if z.Known(s) {
				st.jobs[j].remaining += st.showEstimates(s)
			}
		}
	}
}

func (st *state) byRelease(a, b sched.JobID) int {
	return cmp.Or(cmp.Compare(st.in.Jobs[a].Release, st.in.Jobs[b].Release), cmp.Compare(a, b))
}

func (st *state) touch(s sched.StageID) {
	if !st.inChanged[s] {
		st.inChanged[s] = true
		st.changed = append(st.changed, s)
	}
}

func (st *state) beginRound(now sched.Time) {
	st.now = now
	slices.Sort(st.changed)
	// Only here, in order of TaskID: a sum of floats depends on the order.
	slices.Sort(st.finished)
	for _, t := range st.finished {
		s := st.taskStage[t]
		if z := st.cfg.Estimates; z.Known(s) {
			st.jobs[st.x.StageJob(s)].remaining -= z.Of(s, t)
		}
	}
	st.finished = st.finished[:0]
}

func (st *state) endRound() {
	for _, s := range st.changed {
		st.inChanged[s] = false
	}
	st.changed = st.changed[:0]
}

// apply takes in an event other than Wake; changed reports whether it needs a
// round of decisions.
func (st *state) apply(now sched.Time, ev Event) (changed bool, err error) {
	st.now = now
	switch ev.Kind {
	case JobArrived:
		return true, st.arrive(ev.Job)
	case TaskFinished, TaskFailed, TaskLost, TaskProgress:
		if ev.Task < 0 || int(ev.Task) >= len(st.taskState) {
			return false, fmt.Errorf("engine: no task %d", ev.Task)
		}
		if st.taskState[ev.Task] != policy.TaskRunning || st.taskAttempt[ev.Task] != ev.Attempt {
			return false, nil // of an attempt that is no longer ours, such as one on a lost machine
		}
		switch ev.Kind {
		case TaskLost:
			st.lose(ev.Task)
		case TaskProgress:
			st.progressed(now, ev.Task, ev.Value)
			return false, nil
		default:
			st.end(now, ev.Task, ev.Kind == TaskFinished)
		}
	case TaskRecovered:
		return st.recover(now, ev.Task)
	case FlowFinished:
		if ev.Flow < 0 || int(ev.Flow) >= len(st.flowState) || st.flowState[ev.Flow] != policy.TaskRunning {
			return false, fmt.Errorf("engine: flow %d finished, but is not running", ev.Flow)
		}
		st.endFlow(now, ev.Flow)
	case MachineLost, MachineJoined:
		if ev.Machine < 0 || int(ev.Machine) >= len(st.machines) {
			return false, fmt.Errorf("engine: no machine %d", ev.Machine)
		}
		if st.machines[ev.Machine].up == (ev.Kind == MachineJoined) {
			return false, nil
		}
		st.setUp(ev.Machine, ev.Kind == MachineJoined)
	case Solved:
		if ev.Solution == nil {
			return false, fmt.Errorf("engine: solved without a solution")
		}
		if err := st.checkSolution(ev.Solution); err != nil {
			return false, err
		}
		st.solution = ev.Solution
		// Nobody waits for the first plan any more.
		for j := range st.reasons {
			if st.reasons[j].Code == policy.Planning {
				st.reasons[j] = policy.Reason{}
			}
		}
	default:
		return false, fmt.Errorf("engine: unknown kind of event %d", ev.Kind)
	}
	return true, nil
}

// checkSolution refuses what a policy could trip over.
func (st *state) checkSolution(sol *policy.Solution) error {
	for _, s := range sol.Order {
		if s < 0 || int(s) >= len(st.stages) {
			return fmt.Errorf("engine: solution %d: no stage %d", sol.ID, s)
		}
	}
	if n := len(sol.Queues); n != 0 && n != len(st.slotTask) {
		return fmt.Errorf("engine: solution %d: %d queues for %d slots", sol.ID, n, len(st.slotTask))
	}
	for _, q := range sol.Queues {
		for _, t := range q {
			if t < 0 || int(t) >= len(st.taskState) {
				return fmt.Errorf("engine: solution %d: no task %d", sol.ID, t)
			}
		}
	}
	return nil
}

func (st *state) arrive(j sched.JobID) error {
	if j < 0 || int(j) >= len(st.jobs) || st.jobs[j].arrived {
		return fmt.Errorf("engine: job %d arrives, but does not exist or has arrived before", j)
	}
	job := &st.jobs[j]
	job.arrived = true
	if st.cfg.Knowledge.Arrivals == policy.Online {
		st.makeKnown(j)
		at, _ := slices.BinarySearchFunc(st.known, j, st.byRelease)
		st.known = slices.Insert(st.known, at, j)
	}
	st.activate(j)
	st.recoverEarly(j)
	return nil
}

// activate makes the first stages of j ready once it has arrived and the jobs
// before it are done.
func (st *state) activate(j sched.JobID) {
	job := &st.jobs[j]
	if !job.arrived || job.waitsFor > 0 || job.state != policy.JobWaiting {
		return
	}
	st.setJob(j, policy.JobActive)
	for s, end := st.x.JobStages(j); s < end; s++ {
		if st.stages[s].waitsFor == 0 && !st.stages[s].ready {
			st.ready(s)
		}
	}
}

// setJob changes the state of a job; why it waited in the old one is history.
func (st *state) setJob(j sched.JobID, state policy.JobState) {
	st.jobs[j].state = state
	st.reasons[j] = policy.Reason{}
	if state != policy.JobActive {
		st.unresolved--
	}
}

func (st *state) ready(s sched.StageID) {
	st.stages[s].ready = true
	st.inputs.ready(s)
	st.touch(s)
	if st.stages[s].done == st.stages[s].total { // a transfer of nothing, or all of it was recovered
		st.complete(st.now, s)
	}
}

// start checks and carries out the start of a task.
func (st *state) start(now sched.Time, a policy.Start) (slot, attempt int32, err error) {
	if a.Task < 0 || int(a.Task) >= len(st.taskState) || a.Machine < 0 || int(a.Machine) >= len(st.machines) {
		return 0, 0, fmt.Errorf("start of task %d on machine %d: no such thing", a.Task, a.Machine)
	}
	s := st.taskStage[a.Task]
	v := (*view)(st)
	if got := v.Task(a.Task); got != policy.TaskPending {
		return 0, 0, fmt.Errorf("start of task %d of %s, which is %v", a.Task, st.x.StageName(s), got)
	}
	if why := v.obstacle(s, a.Machine); why != nothing {
		return 0, 0, fmt.Errorf("start of task %d of %s on machine %s, %s", a.Task, st.x.StageName(s), st.in.Machines[a.Machine].Name, why)
	}
	global := st.freeSlot(a.Machine, a.Slot)
	if global < 0 {
		return 0, 0, fmt.Errorf("start of task %d of %s in slot %d of machine %s, which is not free", a.Task, st.x.StageName(s), a.Slot, st.in.Machines[a.Machine].Name)
	}
	st.slotTask[global], st.slotSince[global] = a.Task, now
	st.slotFree[global/64] &^= 1 << (global % 64)
	st.taskSlot[a.Task] = global
	st.machines[a.Machine].free--
	st.setIdle(a.Machine)
	st.hold(a.Machine, s, -1)
	return global - st.slotFirst[a.Machine], st.begin(s, a.Task), nil
}

// begin marks a task as running and returns the number of its attempt.
func (st *state) begin(s sched.StageID, t sched.TaskID) int32 {
	st.taskState[t] = policy.TaskRunning
	st.taskAttempt[t]++
	st.begun(s)
	return st.taskAttempt[t]
}

// begun counts a task or flow of s that starts. Why its job waited is history.
func (st *state) begun(s sched.StageID) {
	j := st.x.StageJob(s)
	st.stages[s].active++
	st.jobs[j].running++
	st.running++
	st.reasons[j] = policy.Reason{}
}

// freeSlot returns the global number of the wanted slot of m if it is free (None:
// the lowest free one), or -1.
func (st *state) freeSlot(m sched.MachineID, want int32) int32 {
	first, end := st.slotFirst[m], st.slotFirst[m+1]
	if want != sched.None {
		g := first + want
		if want < 0 || g >= end || st.slotTask[g] != sched.None {
			return -1
		}
		return g
	}
	for w := first / 64; w <= (end-1)/64; w++ {
		set := st.slotFree[w]
		if w == first/64 {
			set &= ^uint64(0) << (first % 64)
		}
		if set != 0 {
			if g := w*64 + int32(bits.TrailingZeros64(set)); g < end {
				return g
			}
			return -1
		}
	}
	return -1
}

func (st *state) hold(m sched.MachineID, s sched.StageID, sign int64) {
	base := int(m) * len(st.in.Resources)
	for d, n := range st.x.Stage(s).Needs {
		st.free[base+d] += sign * n
	}
}

// release frees what a running task holds and returns where it ran (None if it
// ran in a group).
func (st *state) release(t sched.TaskID) sched.MachineID {
	s := st.taskStage[t]
	st.stages[s].active--
	st.jobs[st.x.StageJob(s)].running--
	st.running--
	if st.progress != nil {
		delete(st.progress, t)
	}
	if st.groups.leave(taskActivity(t)) {
		return sched.None
	}
	g := st.taskSlot[t]
	m := st.slotMachine(g)
	st.slotTask[g] = sched.None
	st.slotFree[g/64] |= 1 << (g % 64)
	st.machines[m].free++
	st.setIdle(m)
	st.hold(m, s, +1)
	return m
}

// slotMachine returns the machine that has slot g.
func (st *state) slotMachine(g int32) sched.MachineID {
	after, _ := slices.BinarySearch(st.slotFirst, g+1) // the first that begins after g
	return sched.MachineID(after - 1)
}

// end takes in the end of an attempt.
func (st *state) end(now sched.Time, t sched.TaskID, ok bool) {
	s := st.taskStage[t]
	j := st.x.StageJob(s)
	m := st.release(t)
	switch {
	case ok:
		if m != sched.None {
			st.taskRan[t] = now - st.slotSince[st.taskSlot[t]] + 1
			st.inputs.finished(s, m, now)
		}
		st.succeed(now, t)
	case int(st.taskAttempt[t]-st.taskLost[t]) <= st.x.Stage(s).Retries:
		st.taskState[t] = policy.TaskBlocked // pending again, unless the stage is cancelled
		st.delay(now, t)
	default:
		st.taskState[t] = policy.TaskFailed
		st.stages[s].failed++
		st.failTask(j, s)
	}
	st.touch(s)
	st.settle(j)
}

// succeed counts a task that has succeeded.
func (st *state) succeed(now sched.Time, t sched.TaskID) {
	s := st.taskStage[t]
	st.taskState[t] = policy.TaskDone
	st.stages[s].done++
	if st.cfg.Estimates != nil {
		st.finished = append(st.finished, t)
	}
	if st.stages[s].ready && st.stages[s].done == st.stages[s].total {
		st.complete(now, s)
	}
}

// complete passes on that all of stage s is done.
func (st *state) complete(now sched.Time, s sched.StageID) {
	j := st.x.StageJob(s)
	st.stages[s].cancelled = false // too late: what ran has succeeded
	st.jobs[j].stagesLeft--
	for _, n := range st.next[s] {
		if st.stages[n].waitsFor--; st.stages[n].waitsFor == 0 {
			st.ready(n)
		}
	}
	st.touch(s)
	if st.jobs[j].stagesLeft > 0 || st.jobs[j].state == policy.JobDone {
		return // or an empty stage after s has completed the job already
	}
	st.setJob(j, policy.JobDone)
	st.jobs[j].completion = now
	for _, n := range st.nextJob[j] {
		st.jobs[n].waitsFor--
		st.activate(n)
	}
}

// failTask cancels what cannot or shall not run after a task of s has failed for
// good: all that follows s, and without KeepGoing the whole job; and all jobs
// that wait for this one.
func (st *state) failTask(j sched.JobID, s sched.StageID) {
	st.jobs[j].failed = true
	if st.cfg.KeepGoing {
		st.cancelAfter(s)
	} else {
		for k, end := st.x.JobStages(j); k < end; k++ {
			st.cancel(k)
		}
	}
	st.notRun(j)
}

func (st *state) cancel(s sched.StageID) {
	if stage := &st.stages[s]; !stage.cancelled && (stage.done < stage.total || !stage.ready) {
		stage.cancelled = true
		st.touch(s)
	}
}

func (st *state) cancelAfter(s sched.StageID) {
	for _, n := range st.next[s] {
		if !st.stages[n].cancelled {
			st.cancel(n)
			st.cancelAfter(n)
		}
	}
}

func (st *state) notRun(j sched.JobID) {
	for _, n := range st.nextJob[j] {
		if st.jobs[n].state == policy.JobWaiting {
			st.setJob(n, policy.JobNotRun)
			for k, end := st.x.JobStages(n); k < end; k++ {
				st.stages[k].cancelled = true // no touch: n may not be known yet
			}
			st.notRun(n)
		}
	}
}

// settle marks a failed job as failed once nothing more of it can run.
func (st *state) settle(j sched.JobID) {
	job := &st.jobs[j]
	if !job.failed || job.state != policy.JobActive || job.running > 0 {
		return
	}
	for s, end := st.x.JobStages(j); s < end; s++ {
		stage := &st.stages[s]
		if st.pending(s) > 0 || stage.delayed > 0 && !stage.cancelled {
			return
		}
	}
	st.setJob(j, policy.JobFailed)
}

// pending counts the tasks and flows of a ready stage that could start.
func (st *state) pending(s sched.StageID) int32 {
	stage := &st.stages[s]
	if !stage.ready || stage.cancelled {
		return 0
	}
	return stage.total - stage.done - stage.active - stage.failed - stage.delayed
}

// setUp takes in that a machine is lost or back. What ran on a lost machine is
// pending again.
func (st *state) setUp(m sched.MachineID, up bool) {
	st.machines[m].up = up
	st.outages++
	if !up {
		for g := st.slotFirst[m]; g < st.slotFirst[m+1]; g++ {
			if t := st.slotTask[g]; t != sched.None {
				st.lose(t)
			}
		}
	}
	st.setIdle(m)
}
