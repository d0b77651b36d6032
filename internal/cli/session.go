package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/fairlead-project/fairlead/cert"
	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/internal/history"
	"github.com/fairlead-project/fairlead/internal/run"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
)

// session is a run that is about to begin, or to go on.
type session struct {
	e       *env
	path    string // of the workload, for messages
	spec    string // of the policy
	seed    uint64
	x       *sched.Index // with what was learnt; sizes are means
	likely  *sched.Index // the same, with sizes as distributions
	keeper  *keeper
	cfg     run.Config
	resumed bool
	made    bool // the run's directory is new, and ours to remove
	sized   bool // every stage has a size
}

// openFile says, in the run's directory, what the workload leaves open: what of
// workload.json has been learnt, or assumed.
const openFile = "open.json"

// leftOpen is the content of openFile.
type leftOpen struct {
	Machines []sched.MachineID `json:"machines"` // their speeds
	Stages   []sched.StageID   `json:"stages"`   // their sizes
}

// begin prepares a new run.
func (e *env) begin(path string, o runOptions) (s *session, err error) {
	in, err := e.read(path, o.given)
	if err != nil {
		return nil, err
	}
	s = &session{e: e, path: path, seed: o.seed}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.keeper, err = e.openKeeper(); err != nil {
		return s, err
	}
	s.keeper.given = sched.NewIndex(called(in, path))
	resolved, learned := in, (*history.Learned)(nil)
	if s.keeper.db != nil && !o.noHistory {
		if resolved, learned, err = e.learnFrom(s.keeper.db, in, path, o.budget()); err != nil { // in as it was
			if e.stopped() {
				return s, errInterrupted
			}
			e.say("going on as if nothing was known from earlier runs: %v", err)
		}
	}
	resolved = assume(resolved, o.assume)
	s.likely = sched.NewIndex(resolved)
	if resolved, err = run.AsRecorded(resolved); err != nil {
		return s, usage("%s: %w", nameOf(path), err)
	}
	s.x = sched.NewIndex(resolved)
	s.tell()
	entry, p, err := s.choosePolicy(o.policy)
	if err != nil {
		return s, err
	}
	s.cfg = run.Config{
		Instance: resolved, Policy: p, Knowledge: entry.Knowledge, Seed: o.seed,
		BaseDir: dirOf(path), Path: absolute(path), Version: versionString(),
		KeepGoing: o.keepGoing, FailFast: o.failFast,
		Backoff:      engine.Backoff{Base: sched.Time(o.backoff), Max: sched.Time(max(o.backoff, maxBackoff))},
		MemoryLimits: memoryLimits(s.keeper.given), MemoryBudget: memoryBudget(resolved, learned != nil && len(learned.Memory) > 0),
		Header: engine.LogHeader{SHA256: cert.Hash(resolved), Policy: s.spec},
	}
	if s.cfg.Dir, s.made, err = e.runDir(o.dir, s.keeper.given.Instance.Name); err != nil {
		return s, fail(exitUsage, err)
	}
	s.keeper.dir = s.cfg.Dir
	if earlier := filepath.Join(s.cfg.Dir, manifestFile); !s.made {
		if _, err := os.Lstat(earlier); err == nil { // nothing of that run may change
			return s, usage("%s is of an earlier run: use another directory, or resume that run", earlier)
		}
	}
	return s, s.writeOpen()
}

// absolute is a path that means the same elsewhere; that of standard input is empty.
func absolute(path string) string {
	if path == "-" {
		return ""
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// tell says what nobody knows.
func (s *session) tell() {
	unknown := sim.Unsized(s.x)
	s.sized = unknown == nil
	if !s.sized {
		s.e.say("%s has no size, and earlier runs do not tell it (%s): running blind", unknown[0], count(len(unknown), "such stage"))
	}
}

// count prints a number of things.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Policies to run under, where all sizes are known and where not.
const (
	sizedPolicy = "spc-online"
	blindPolicy = "fifo"
)

func (s *session) choosePolicy(spec string) (policy.Entry, policy.Policy, error) {
	s.spec = spec
	if spec == "" {
		s.spec = sizedPolicy
		if !s.sized {
			s.spec = blindPolicy
			s.e.say("the policy is %s, which needs no sizes", s.spec)
		}
	}
	entry, p, err := s.e.parsePolicy(s.spec)
	if err == nil && !s.sized && entry.Knowledge.Sizes != policy.SizesUnknown {
		missing := sim.Unsized(s.x)
		err = usage("%s: %s has no size (%s), and %s needs one of every stage; give them a `size`, or use --policy %s",
			nameOf(s.path), missing[0], count(len(missing), "such stage"), entry.Full(), blindPolicy)
	}
	return entry, p, err
}

// writeOpen makes the run's directory and puts down what the workload leaves open.
func (s *session) writeOpen() error {
	var open leftOpen
	given := s.keeper.given
	for m := range given.Instance.Machines {
		if given.Instance.Machines[m].SpeedAssumed {
			open.Machines = append(open.Machines, sched.MachineID(m))
		}
	}
	for g := range sched.StageID(given.Stages()) {
		if len(given.Stage(g).Sizes) == 0 {
			open.Stages = append(open.Stages, g)
		}
	}
	text, err := json.Marshal(open)
	if err == nil {
		if err = os.MkdirAll(s.cfg.Dir, 0o777); err == nil {
			err = os.WriteFile(filepath.Join(s.cfg.Dir, openFile), text, 0o666)
		}
	}
	if err != nil {
		return fail(exitUsage, fmt.Errorf("cannot make the run's directory: %w; name another one with --dir", err))
	}
	return nil
}

// readOpen returns the workload of a run as it was written, from what it was run as.
func readOpen(r *run.Recorded) (*sched.Index, error) {
	var open leftOpen
	text, err := os.ReadFile(filepath.Join(r.Dir, openFile))
	if err == nil {
		err = json.Unmarshal(text, &open)
	}
	if err != nil {
		return nil, err
	}
	in := *called(r.Instance, r.Manifest.Path)
	in.Machines, in.Jobs = slices.Clone(in.Machines), slices.Clone(in.Jobs)
	for j := range in.Jobs {
		in.Jobs[j].Stages = slices.Clone(in.Jobs[j].Stages)
	}
	x := sched.NewIndex(&in)
	for _, m := range open.Machines {
		if m < 0 || int(m) >= len(in.Machines) {
			return nil, fmt.Errorf("%s names a machine that there is not", openFile)
		}
		in.Machines[m].SpeedAssumed = true
	}
	for _, s := range open.Stages {
		if s < 0 || int(s) >= x.Stages() {
			return nil, fmt.Errorf("%s names a stage that there is not", openFile)
		}
		x.Stage(s).Sizes = nil
	}
	return x, nil
}

// resume prepares to go on with a run; path may be empty.
func (e *env) resume(path string, o runOptions) (s *session, err error) {
	r, err := e.unfinished(o.dir, func(r *run.Recorded) bool { return path == "" || r.Manifest.Path == absolute(path) })
	if err != nil {
		code := exitUsage
		if errors.Is(err, errNothing) {
			code = exitNotFound
		}
		return nil, fail(code, err)
	}
	m := &r.Manifest
	s = &session{e: e, path: r.Dir, spec: m.Policy, seed: m.Seed, resumed: true, x: sched.NewIndex(r.Instance)}
	s.sized = sim.Unsized(s.x) == nil
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if path != "" && m.Path != absolute(path) {
		return s, usage("the run in %s is of %s, not of %s", r.Dir, m.Path, path)
	}
	if info, err := os.Stat(m.Path); err == nil && info.ModTime().After(m.Began.Wall) {
		e.say("%s has changed since the run began: it goes on as it began", m.Path)
	}
	if s.cfg, err = r.Config(); err != nil {
		return s, fail(exitUsage, err)
	}
	s.cfg.NewPolicy = func() (policy.Policy, error) {
		_, p, err := e.parsePolicy(m.Policy)
		return p, err
	}
	if _, err = s.cfg.NewPolicy(); err != nil {
		return s, err
	}
	if s.keeper, err = e.openKeeper(); err != nil {
		return s, err
	}
	s.keeper.dir = r.Dir
	if s.keeper.given, err = readOpen(r); err != nil {
		if s.keeper.db != nil {
			s.keeper.drop(fmt.Errorf("it is not known what was learnt for this run: %w", err))
		}
		err = nil
	}
	e.say("going on with the run in %s", r.Dir)
	return s, nil
}

// carryOut runs, or goes on.
func (s *session) carryOut(progress func(run.Progress)) (*run.Result, error) {
	s.cfg.Estimates = sim.MeansWhereKnown(s.x)
	s.cfg.Progress, s.cfg.Record = progress, s.keeper.record
	s.cfg.Notify = func(text string) { s.e.say("%s", text) }
	do := run.Run
	if s.resumed {
		do = run.Resume
	}
	s.e.guarded.Store(true)
	defer s.e.guarded.Store(false)
	r, err := do(s.e.ctx, s.cfg)
	if r == nil && !s.resumed {
		// Nothing of the run is there: nor is what was there before it.
		_ = os.Remove(filepath.Join(s.cfg.Dir, openFile))
		if s.made {
			_ = os.Remove(s.cfg.Dir)
		}
	}
	return r, err
}

// predict says how long a new run is expected to take, if that can be known.
func (s *session) predict() *prediction {
	if s.resumed {
		return nil
	}
	p := s.e.predict(s.likely, s.spec, s.seed, predictWithin)
	if p != nil {
		s.e.say("expected to take %v", p)
	}
	return p
}

func (s *session) close() {
	if s.keeper != nil {
		s.keeper.close()
	}
}

var errNothing = errors.New("there is nothing to resume")

// hint says how to go on with an earlier run of the same file that was cut short, and
// with what still runs of others: it takes processors and memory that this run counts on.
func (s *session) hint() {
	dirs, err := s.e.runs()
	for _, dir := range dirs {
		if dir != s.cfg.Dir && !ended(dir) && supervised(dir) {
			s.e.say("tasks of the run in %s are still running: if nobody watches them, fairlead run --resume --dir %s does", dir, dir)
		}
	}
	var r *run.Recorded
	if err == nil {
		r, err = s.e.unfinished("", func(r *run.Recorded) bool { return r.Manifest.Path == s.cfg.Path && r.Dir != s.cfg.Dir })
	}
	if err == nil {
		s.e.say("an earlier run of this file was cut short: fairlead run --resume --dir %s goes on with it", r.Dir)
	} else if !errors.Is(err, errNothing) && !errors.Is(err, fs.ErrNotExist) {
		s.e.say("%v", err)
	}
}
