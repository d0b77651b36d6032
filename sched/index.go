package sched

import "sort"

// Index numbers the stages, tasks and flows of an instance consecutively, in file
// order, and finds them by number. The numbers are fixed when it is built. What
// it finds are the instance's own stages: whoever owns the instance may change
// them, but not how many stages, tasks and flows there are.
type Index struct {
	Instance *Instance

	jobStage  []StageID // first stage of each job; one more entry at the end
	stageTask []TaskID  // first task of each stage; one more entry at the end
	stageFlow []FlowID
	stageJob  []JobID
}

// NewIndex numbers the stages of in. Cost: O(jobs + stages).
func NewIndex(in *Instance) *Index {
	x := &Index{Instance: in}
	n := 0
	for i := range in.Jobs {
		n += len(in.Jobs[i].Stages)
	}
	x.jobStage = make([]StageID, 0, len(in.Jobs)+1)
	x.stageTask = make([]TaskID, 0, n+1)
	x.stageFlow = make([]FlowID, 0, n+1)
	x.stageJob = make([]JobID, 0, n)
	var t TaskID
	var f FlowID
	for j := range in.Jobs {
		x.jobStage = append(x.jobStage, StageID(len(x.stageJob)))
		for s := range in.Jobs[j].Stages {
			st := &in.Jobs[j].Stages[s]
			x.stageJob = append(x.stageJob, JobID(j))
			x.stageTask = append(x.stageTask, t)
			x.stageFlow = append(x.stageFlow, f)
			t += TaskID(st.Count)
			f += FlowID(len(st.Flows))
		}
	}
	x.jobStage = append(x.jobStage, StageID(n))
	x.stageTask = append(x.stageTask, t)
	x.stageFlow = append(x.stageFlow, f)
	return x
}

// Stages is the number of stages, compute and transfer.
func (x *Index) Stages() int { return len(x.stageJob) }

// Tasks is the number of tasks.
func (x *Index) Tasks() int { return int(x.stageTask[len(x.stageJob)]) }

// Flows is the number of explicit flows.
func (x *Index) Flows() int { return int(x.stageFlow[len(x.stageJob)]) }

// JobStages returns the range [first, end) of j's stages.
func (x *Index) JobStages(j JobID) (first, end StageID) { return x.jobStage[j], x.jobStage[j+1] }

// StageTasks returns the range [first, end) of s's tasks.
func (x *Index) StageTasks(s StageID) (first, end TaskID) { return x.stageTask[s], x.stageTask[s+1] }

// StageFlows returns the range [first, end) of s's explicit flows.
func (x *Index) StageFlows(s StageID) (first, end FlowID) { return x.stageFlow[s], x.stageFlow[s+1] }

// StageJob returns the job of s.
func (x *Index) StageJob(s StageID) JobID { return x.stageJob[s] }

// Stage returns the stage numbered s.
func (x *Index) Stage(s StageID) *Stage {
	j := x.stageJob[s]
	return &x.Instance.Jobs[j].Stages[s-x.jobStage[j]]
}

// StageName returns "job/stage".
func (x *Index) StageName(s StageID) string {
	return x.Instance.Jobs[x.stageJob[s]].Name + "/" + x.Stage(s).Name
}

// TaskStage returns the stage of t. Cost: O(log stages).
func (x *Index) TaskStage(t TaskID) StageID {
	return StageID(sort.Search(len(x.stageJob), func(i int) bool { return x.stageTask[i+1] > t }))
}

// FlowStage returns the stage of f. Cost: O(log stages).
func (x *Index) FlowStage(f FlowID) StageID {
	return StageID(sort.Search(len(x.stageJob), func(i int) bool { return x.stageFlow[i+1] > f }))
}

// Last returns the stages of j that no other stage of j follows.
func (x *Index) Last(j JobID) []StageID {
	job := &x.Instance.Jobs[j]
	followed := make([]bool, len(job.Stages))
	for s := range job.Stages {
		for _, a := range job.Stages[s].After {
			followed[a] = true
		}
	}
	var last []StageID
	for s, f := range followed {
		if !f {
			last = append(last, x.jobStage[j]+StageID(s))
		}
	}
	return last
}
