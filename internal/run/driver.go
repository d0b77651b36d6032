package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/internal/supervise"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// defaultKillWait is how long the driver waits for processes after SIGKILL. Only one
// that hangs inside the kernel, as on a dead network disk, can need more.
const defaultKillWait = 10 * time.Second

// supervisor is what the driver needs of a [supervise.Client].
type supervisor interface {
	Stage(supervise.Stage) error
	Start(supervise.Start) error
	Stop(supervise.Key) error
	Events() <-chan supervise.Event
	Close() error
	Abandon()
}

// driver is the state of one run. All of it belongs to the goroutine that called
// Run; solvers know solved, done and stop only.
type driver struct {
	cfg      Config
	manifest *Manifest
	lock     *os.File
	e        *engine.Engine
	x        *sched.Index
	log      eventLog
	writer   *engine.LogWriter // into log
	env      []string
	stage    []*stage // by StageID, made at the first start

	open   func(context.Context, supervise.Config) (supervisor, supervise.Found, error)
	sup    supervisor // nil: none is needed yet, or it is gone
	events <-chan supervise.Event
	gone   []sched.Time // when supervisors died, since the last sign of life
	solved chan solved
	done   chan struct{} // closed when nobody listens to solved any more
	stop   atomic.Bool   // tells the solvers to stop

	killWait time.Duration

	clock    clock
	last     sched.Time // of the latest event
	arrivals []sched.JobID
	wake     sched.Time
	timer    *time.Timer
	solves   int
	running  []*attempt // in order of start
	unsent   []*attempt // those of running that the supervisor does not know yet

	// Of a run that is resumed: its log; the starts that this had and that it does not
	// call lost, until the supervisor's word is known; and whether all of it was done.
	old      *scan
	known    map[supervise.Key]bool
	finished bool

	full      error      // why the log cannot be written now
	nextWrite sched.Time // when to try again
	nextPoll  sched.Time
	record    recorder

	placed   []sched.Placement // per task: its latest attempt; Task None: where it was done is not known
	progress progress
	failedAt map[sched.JobID]int // first final failure of a job, in out.Failures
	failFast bool
	err      error // why the run had to stop
	out      Result
}

// attempt is a start that has not ended.
type attempt struct {
	stage    *stage
	task     sched.TaskID
	attempt  int32
	machine  sched.MachineID
	slot     int32
	at       sched.Time // of the decision
	progress float64    // the latest that it has reported
	first    policy.Mark
	stopping bool // it is ended, for its task is done
	end      sched.Time
}

// key names the start. The time of its decision is the nonce: no two decisions have
// the same time, and the log has it.
func (a *attempt) key() supervise.Key { return keyOf(a.task, a.attempt, a.at) }

// solved is the answer of a solver.
type solved struct {
	solution *policy.Solution
	err      error
}

func newDriver(cfg Config) (*driver, error) {
	if cfg.Instance == nil || cfg.Policy == nil && cfg.NewPolicy == nil || cfg.Dir == "" {
		return nil, errors.New("run: need an instance, a policy and a directory")
	}
	if err := runnable(cfg.Instance); err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	if err := bounded(cfg.Instance, openFiles()); err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	if cfg.Grace == 0 {
		cfg.Grace = DefaultGrace
	}
	cfg.Grace = max(0, cfg.Grace)
	if cfg.Env == nil {
		cfg.Env = os.Environ()
	}
	var err error
	for _, dir := range []*string{&cfg.BaseDir, &cfg.Dir} { // tasks have other working directories
		if *dir, err = filepath.Abs(*dir); err != nil {
			return nil, fmt.Errorf("run: %w", err)
		}
	}
	if cfg.Supervisor == nil {
		program, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("run: cannot find this program, to start its supervisor: %w", err)
		}
		cfg.Supervisor = []string{program, "supervise"}
	}
	cfg.Header = engine.LogHeader{
		Workload: cfg.Instance.Name, SHA256: cfg.Header.SHA256, Policy: cfg.Header.Policy, Seed: cfg.Seed,
		Sizes: cfg.Knowledge.Sizes.String(), Arrivals: cfg.Knowledge.Arrivals.String(),
		KeepGoing: cfg.KeepGoing, Backoff: cfg.Backoff,
	}
	x := sched.NewIndex(cfg.Instance)
	return &driver{
		cfg: cfg, x: x, wake: sched.Never, nextWrite: sched.Never,
		open:     openSupervisor,
		killWait: defaultKillWait,
		env:      baseEnv(cfg.Env),
		stage:    make([]*stage, x.Stages()),
		solved:   make(chan solved),
		done:     make(chan struct{}),
		placed:   make([]sched.Placement, x.Tasks()),
		failedAt: map[sched.JobID]int{},
	}, nil
}

func openSupervisor(ctx context.Context, cfg supervise.Config) (supervisor, supervise.Found, error) {
	c, found, err := supervise.Open(ctx, cfg)
	if err != nil {
		return nil, found, err // not c: an interface that holds a nil is not nil
	}
	return c, found, nil
}

func (d *driver) engineConfig() engine.Config {
	return engine.Config{
		Instance: d.cfg.Instance, Policy: d.cfg.Policy, Knowledge: d.cfg.Knowledge,
		Estimates: d.cfg.Estimates, Seed: d.cfg.Seed, KeepGoing: d.cfg.KeepGoing, Backoff: d.cfg.Backoff,
	}
}

// begin makes the run's directory and starts the event log.
func (d *driver) begin() (err error) {
	if d.e, err = engine.New(d.engineConfig()); err != nil {
		return err
	}
	d.manifest = d.cfg.manifest()
	if d.lock, err = create(d.cfg.Dir, d.manifest, d.cfg.Instance); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	if err = d.openLog(os.O_EXCL, 0); err == nil {
		d.writer, err = engine.NewLogWriter(&d.log, d.x, d.cfg.Header)
	}
	if err == nil {
		err = syncDir(d.cfg.Dir)
	}
	if err != nil {
		discard(d.cfg.Dir)
		d.lock.Close()
		return fmt.Errorf("run: cannot make the event log: %w", err)
	}
	d.arrivals = d.cfg.Instance.ByRelease()
	d.clock = clock{d.manifest.Began.At}
	d.progress.init(d)
	return nil
}

// openLog opens the event log, of which so many bytes are valid.
func (d *driver) openLog(flags int, valid int64) error {
	d.out.Log = filepath.Join(d.cfg.Dir, eventsName)
	f, err := os.OpenFile(d.out.Log, os.O_RDWR|os.O_CREATE|flags, 0o666)
	d.log = eventLog{file: f, durable: valid}
	return err
}

func (d *driver) run(ctx context.Context) (*Result, error) {
	defer close(d.done)
	defer d.lock.Close()
	d.timer = time.NewTimer(0)
	d.timer.Stop()
	if !d.e.Done() && ctx.Err() == nil {
		if err := d.supervised(); err != nil {
			return d.notBegun(err)
		}
	}
	d.loop(ctx)
	d.progress.last(d)
	d.end()
	return d.result(), d.err
}

// notBegun undoes begin, if this was to be the run's beginning.
func (d *driver) notBegun(err error) (*Result, error) {
	d.log.file.Close()
	if d.old == nil {
		discard(d.cfg.Dir)
	}
	return nil, fmt.Errorf("run: %w", err)
}

// now is the time on the run's clock.
func (d *driver) now() sched.Time { return d.clock.now() }

func (d *driver) fail(err error) {
	if d.err == nil {
		d.err = fmt.Errorf("run: %w", err)
	}
}

// tell tells the user something at once.
func (d *driver) tell(text string) {
	if d.cfg.Notify != nil {
		d.cfg.Notify(text)
	}
}

// note tells the user something that the Result has, too.
func (d *driver) note(text string) {
	d.out.Notes = append(d.out.Notes, text)
	d.tell(text)
}
