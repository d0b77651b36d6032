package run

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-project/fairlead/internal/supervise"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/workload"
)

// runnable reports the first thing in the instance that cannot be run for real.
func runnable(in *sched.Instance) error {
	if len(in.Machines) == 0 {
		return errors.New("there are no machines to run on")
	}
	for j := range in.Jobs {
		job := &in.Jobs[j]
		if !safeName(job.Name) {
			return fmt.Errorf("job name %q cannot be the name of a directory for logs", job.Name)
		}
		for s := range job.Stages {
			st := &job.Stages[s]
			switch {
			case !safeName(st.Name):
				return fmt.Errorf("job %s: stage name %q cannot be the name of a directory for logs", job.Name, st.Name)
			case st.Transfer():
				return fmt.Errorf("stage %s/%s is a transfer, which cannot be run for real", job.Name, st.Name)
			case st.Fluid != nil:
				return fmt.Errorf("stage %s/%s shares rates, which cannot be run for real", job.Name, st.Name)
			case st.Run == nil || len(st.Run.Argv) == 0 && st.Run.Shell == "":
				return fmt.Errorf("stage %s/%s has no command: say with `run` what its tasks do", job.Name, st.Name)
			}
			if _, err := workload.Argv(st.Run, fields(in, sched.JobID(j), st, 0, 0, 1)); err != nil {
				return fmt.Errorf("stage %s/%s: %w", job.Name, st.Name, err)
			}
		}
	}
	return nil
}

// safeName reports whether s names something inside a directory.
func safeName(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/\\\x00")
}

func fields(in *sched.Instance, j sched.JobID, st *sched.Stage, task int, m sched.MachineID, attempt int32) workload.Fields {
	return workload.Fields{
		Job: in.Jobs[j].Name, Stage: st.Name, Task: task,
		Machine: in.Machines[m].Name, Attempt: int(attempt),
	}
}

// stage is what the attempts of one stage have in common.
type stage struct {
	supervise.Stage
	sent  bool // the supervisor knows it
	stage *sched.Stage
	job   sched.JobID
	first sched.TaskID
	argv  []string // of all attempts; nil: it differs
	limit int64    // bytes of memory, 0: any
}

// perAttempt are variables that differ between attempts, besides FAIRLEAD_RUN, which
// the supervisor sets. They and those of the stage are our own, whatever is
// inherited; a workload cannot set them.
var perAttempt = []string{"FAIRLEAD_TASK", "FAIRLEAD_MACHINE", "FAIRLEAD_ATTEMPT", "FAIRLEAD_SPEED", "FAIRLEAD_PROGRESS"}

// baseEnv copies an environment without what is set per attempt; of a variable
// that occurs twice the last value counts, which not every program would see.
func baseEnv(environ []string) []string {
	var env []string
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok && !slices.Contains(perAttempt, name) {
			env = setenv(env, name, value)
		}
	}
	return env
}

// setenv sets a variable in env, in place if it is there.
func setenv(env []string, name, value string) []string {
	kv := name + "=" + value
	for i, old := range env {
		if strings.HasPrefix(old, kv[:len(name)+1]) {
			env[i] = kv
			return env
		}
	}
	return append(env, kv)
}

// prepare returns what the attempts of s have in common.
func (d *driver) prepare(s sched.StageID) *stage {
	if d.stage[s] != nil {
		return d.stage[s]
	}
	st, j := d.x.Stage(s), d.x.StageJob(s)
	job := &d.cfg.Instance.Jobs[j]
	first, _ := d.x.StageTasks(s)
	p := &stage{stage: st, job: j, first: first}
	p.ID, p.Dir, p.Logs = int32(s), st.Workdir, logsOf(d.cfg.Dir, job.Name, st.Name)
	if !filepath.IsAbs(p.Dir) {
		p.Dir = filepath.Join(d.cfg.BaseDir, p.Dir)
	}
	p.Env = setenv(slices.Clone(d.env), "PWD", p.Dir)
	for _, v := range st.Env {
		p.Env = setenv(p.Env, v.Name, v.Value)
	}
	p.Env = setenv(p.Env, "FAIRLEAD_JOB", job.Name)
	p.Env = setenv(p.Env, "FAIRLEAD_STAGE", st.Name)
	if !slices.ContainsFunc(st.Run.Argv, func(arg string) bool { return strings.Contains(arg, "{{") }) {
		p.argv, _ = workload.Argv(st.Run, workload.Fields{}) // without templates it cannot fail
	}
	if d.cfg.MemoryLimits != nil {
		p.limit = d.cfg.MemoryLimits[s]
	}
	d.stage[s] = p
	return p
}

// outputOf names the files of an attempt at a stage's k-th task, but for suffixes.
func outputOf(k int, attempt int32) string {
	return strconv.Itoa(k) + "." + strconv.Itoa(int(attempt))
}

// output is outputOf an attempt.
func (s *stage) output(t sched.TaskID, attempt int32) string {
	return outputOf(int(t-s.first), attempt)
}

// file returns the path of a file of an attempt: its outputs, its progress.
func (s *stage) file(a *attempt, suffix string) string {
	return s.Logs + "/" + s.output(a.task, a.attempt) + "." + suffix
}

// start describes an attempt to the supervisor.
func (d *driver) start(a *attempt) (supervise.Start, error) {
	s, machine := a.stage, &d.cfg.Instance.Machines[a.machine]
	k := int(a.task - s.first)
	argv := s.argv
	if argv == nil {
		var err error
		if argv, err = workload.Argv(s.stage.Run, fields(d.cfg.Instance, s.job, s.stage, k, a.machine, a.attempt)); err != nil {
			return supervise.Start{}, err
		}
	}
	return supervise.Start{
		Key: a.key(), Stage: s.ID, Output: s.output(a.task, a.attempt), Argv: argv,
		Env: []string{
			perAttempt[0] + "=" + strconv.Itoa(k),
			perAttempt[1] + "=" + machine.Name,
			perAttempt[2] + "=" + strconv.Itoa(int(a.attempt)),
			perAttempt[3] + "=" + strconv.FormatFloat(machine.Speed, 'f', -1, 64),
			perAttempt[4] + "=" + s.file(a, "progress"),
		},
		Machine: int32(a.machine), Timeout: s.stage.Timeout, Memory: s.limit,
	}, nil
}
