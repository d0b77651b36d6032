package run

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// defaultKillWait is how long the driver waits for processes after SIGKILL. Only one
// that hangs inside the kernel, as on a dead network disk, can need more.
const defaultKillWait = 10 * time.Second

const (
	// lookEvery is how often the driver looks for orphans that have ended while no
	// task does: until then they keep a process number each.
	lookEvery = sched.Time(time.Second)
	// lookSoon is when it looks after those that it has just killed.
	lookSoon = sched.Time(10 * time.Millisecond)
)

// message is what other goroutines tell the driver.
type message struct {
	kind     messageKind
	p        *process
	exit     *exit            // of notStarted
	solution *policy.Solution // of solved
	err      error            // of solved
}

type messageKind uint8

const (
	exited     messageKind = iota // p has exited and waits to be collected
	notStarted                    // p could not be started: exit
	timeout                       // p has used up its stage's time
	kill                          // p has had its grace
	solved                        // solution or err
)

// driver is the state of one run. All of it belongs to the goroutine that called
// Run; the others know msgs, done and stop only.
type driver struct {
	cfg   Config
	e     *engine.Engine
	x     *sched.Index
	file  *os.File
	log   *engine.LogWriter
	null  *os.File
	pins  pins
	env   []string
	id    string   // of the run, for mark
	stage []*stage // by StageID, made at the first start

	msgs chan message
	done chan struct{} // closed when nobody listens to msgs any more
	stop atomic.Bool   // tells the solvers to stop

	killWait time.Duration

	began    time.Time
	last     sched.Time // of the latest event
	arrivals []sched.JobID
	wake     sched.Time
	timer    *time.Timer
	solves   int
	pending  []message // from the driver to itself
	running  []*process
	leaders  map[int]bool // their process numbers
	kin      kin
	over     bool // nothing more is started

	placed   []sched.Placement // per task: its latest attempt
	progress progress
	failedAt map[sched.JobID]int // first final failure of a job, in out.Failures
	failFast bool
	err      error // why the run had to stop
	out      Result
}

func newDriver(cfg Config) (*driver, error) {
	if cfg.Instance == nil || cfg.Policy == nil || cfg.Dir == "" {
		return nil, errors.New("run: need an instance, a policy and a directory")
	}
	if err := runnable(cfg.Instance); err != nil {
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
	e, err := engine.New(engine.Config{
		Instance: cfg.Instance, Policy: cfg.Policy, Knowledge: cfg.Knowledge,
		Estimates: cfg.Estimates, Seed: cfg.Seed, KeepGoing: cfg.KeepGoing,
	})
	if err != nil {
		return nil, err
	}
	if err := bounded(cfg.Instance, openFiles()); err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	d := &driver{
		cfg: cfg, e: e, x: e.Index(), wake: sched.Never,
		killWait: defaultKillWait,
		env:      baseEnv(cfg.Env),
		id:       rand.Text(),
		stage:    make([]*stage, e.Index().Stages()),
		msgs:     make(chan message, 64),
		done:     make(chan struct{}),
		arrivals: cfg.Instance.ByRelease(),
		placed:   make([]sched.Placement, e.Index().Tasks()),
		failedAt: map[sched.JobID]int{},
		leaders:  map[int]bool{},
	}
	d.pins = newPins(cfg.Instance.Machines)
	d.progress.init(d)
	return d, d.open()
}

// open makes the run's directory and starts the event log.
func (d *driver) open() (err error) {
	if err := os.MkdirAll(d.cfg.Dir, 0o777); err != nil {
		return fmt.Errorf("run: cannot make the run's directory: %w", err)
	}
	d.out.Log = filepath.Join(d.cfg.Dir, "events.jsonl")
	d.file, err = os.OpenFile(d.out.Log, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("run: %s is the log of an earlier run: use another directory", d.out.Log)
	}
	if err != nil {
		return fmt.Errorf("run: cannot make the event log: %w", err)
	}
	if d.null, err = os.Open(os.DevNull); err == nil {
		d.log, err = engine.NewLogWriter(d.file, d.x, d.cfg.Header)
	}
	if err != nil {
		d.file.Close()
		return fmt.Errorf("run: %w", err)
	}
	return nil
}

func (d *driver) run(ctx context.Context) (*Result, error) {
	defer close(d.done)
	d.timer = time.NewTimer(0)
	d.timer.Stop()
	d.began = time.Now()
	d.adopt()
	defer d.disown()
	d.loop(ctx)
	d.progress.last(d)
	d.end()
	return d.result(), d.err
}
