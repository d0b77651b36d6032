package run

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// What a run's directory holds, besides what its supervisor keeps there and logs,
// the outputs of its tasks.
const (
	manifestName = "run.json"     // a Manifest, written first
	workloadName = WorkloadFile   // what is run, with all that was filled in
	eventsName   = "events.jsonl" // the engine's log
	lockName     = "lock"         // held by the one who drives the run
)

// WorkloadFile is the workload that is run, in the run's directory, with all that was
// filled in: the instance of which events.jsonl is the log.
const WorkloadFile = "workload.json"

// Version of the manifest's format.
const apiVersion = "fairlead.dev/v1alpha1"

// Manifest says what a run was asked to do: all that resuming it needs besides the
// workload.
type Manifest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"` // Run
	ID         string `json:"id"`   // which no other run has
	// Workload is the workload's name, and Path the file it was read from.
	Workload string `json:"workload,omitempty"`
	Path     string `json:"path,omitempty"`
	BaseDir  string `json:"baseDir"`
	Policy   string `json:"policy"` // as it was asked for, with parameters
	Seed     uint64 `json:"seed"`
	// What the policy knows.
	Sizes    string `json:"sizes"`
	Arrivals string `json:"arrivals"`
	// SHA256 of the instance, see [Config.Header].
	SHA256  string  `json:"instanceSHA256,omitempty"`
	Options Options `json:"options"`
	Began   Began   `json:"began"`
	Version string  `json:"version,omitempty"` // of the program
}

// Options are those of [Config] of the same names.
type Options struct {
	KeepGoing    bool           `json:"keepGoing,omitempty"`
	FailFast     bool           `json:"failFast,omitempty"`
	Grace        time.Duration  `json:"grace"`
	Backoff      engine.Backoff `json:"backoff,omitzero"`
	MemoryBudget int64          `json:"memoryBudget,omitempty"`
	MemoryLimits []int64        `json:"memoryLimits,omitempty"`
}

// longestGrace is longer than anyone waits, and far from overflow.
const longestGrace = 365 * 24 * time.Hour

// ErrBusy is wrapped by the error of a run that another process drives.
var ErrBusy = errors.New("is driven by another process")

// manifest describes a run that begins now.
func (c *Config) manifest() *Manifest {
	return &Manifest{
		APIVersion: apiVersion, Kind: "Run", ID: rand.Text(),
		Workload: c.Instance.Name, Path: c.Path, BaseDir: c.BaseDir, Policy: c.Header.Policy, Seed: c.Seed,
		Sizes: c.Knowledge.Sizes.String(), Arrivals: c.Knowledge.Arrivals.String(), SHA256: c.Header.SHA256,
		Options: Options{
			KeepGoing: c.KeepGoing, FailFast: c.FailFast, Grace: c.Grace, Backoff: c.Backoff,
			MemoryBudget: c.MemoryBudget, MemoryLimits: c.MemoryLimits,
		},
		Began: beginsNow(), Version: c.Version,
	}
}

// create makes the run's directory with manifest and workload, on the disk before
// anything is started. It returns the lock on it.
func create(dir string, m *Manifest, in *sched.Instance) (lock *os.File, err error) {
	text, err := EncodeInstance(in)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("cannot make the run's directory: %w", err)
	}
	for _, name := range []string{manifestName, eventsName} {
		if path := filepath.Join(dir, name); exists(path) {
			return nil, fmt.Errorf("%s is of an earlier run: use another directory, or resume that run", path)
		}
	}
	if lock, err = lockDir(dir); err != nil {
		return nil, err
	}
	manifest, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = writeDurably(filepath.Join(dir, manifestName), append(manifest, '\n'))
	}
	if err == nil {
		err = writeDurably(filepath.Join(dir, workloadName), text)
	}
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		discard(dir)
		lock.Close()
		return nil, fmt.Errorf("cannot write to the run's directory: %w", err)
	}
	return lock, nil
}

// discard removes what create has made, and the log, of a run that has not begun.
func discard(dir string) {
	for _, name := range []string{manifestName, workloadName, eventsName, lockName} {
		_ = os.Remove(filepath.Join(dir, name)) // it was not there before, and does no harm
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func writeDurably(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// lockWait is how long the lock is waited for: a process that a driver was just
// starting when it was killed holds it too, until it has become what it is to be.
const lockWait = 2 * time.Second

// lockDir makes sure that one process at a time drives a run. The system gives the
// lock back when that ends, however it does.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(lockWait); ; time.Sleep(10 * time.Millisecond) {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if busy := errors.Is(err, unix.EWOULDBLOCK); !busy && !errors.Is(err, unix.EINTR) || busy && time.Now().After(end) {
			break
		}
	}
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		err = fmt.Errorf("the run in %s %w: wait until that one has ended", dir, ErrBusy)
	case err != nil:
		err = fmt.Errorf("cannot lock %s: %w", f.Name(), err)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Recorded is what a run's directory says about the run.
type Recorded struct {
	Dir      string
	Manifest Manifest
	Instance *sched.Instance
}

// Open reads a run's directory, whether the run has ended, goes on or was cut short.
func Open(dir string) (*Recorded, error) {
	r := &Recorded{Dir: dir}
	path := filepath.Join(dir, manifestName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("run: %s is not the directory of a run: it has no %s", dir, manifestName)
	}
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	if err := json.Unmarshal(data, &r.Manifest); err != nil {
		return nil, fmt.Errorf("run: %s is damaged: %w", path, err)
	}
	if m := &r.Manifest; m.APIVersion != apiVersion || m.Kind != "Run" {
		return nil, fmt.Errorf("run: %s: found kind %q, apiVersion %q, expected Run of %s", path, m.Kind, m.APIVersion, apiVersion)
	}
	if data, err = os.ReadFile(filepath.Join(dir, workloadName)); err != nil {
		return nil, fmt.Errorf("run: the run in %s had not begun: %w", dir, err)
	}
	if r.Instance, err = decodeInstance(filepath.Join(dir, workloadName), data); err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	return r, nil
}

// Config returns what [Resume] needs, but for Policy, Estimates and what the caller
// wants to be told.
func (r *Recorded) Config() (Config, error) {
	m := &r.Manifest
	sizes, err := policy.ParseSizes(m.Sizes)
	if err != nil {
		return Config{}, fmt.Errorf("run: %s: %w", manifestName, err)
	}
	arrivals, err := policy.ParseArrivals(m.Arrivals)
	if err != nil {
		return Config{}, fmt.Errorf("run: %s: %w", manifestName, err)
	}
	o := &m.Options
	if n := len(o.MemoryLimits); n > 0 && n != sched.NewIndex(r.Instance).Stages() {
		return Config{}, fmt.Errorf("run: %s has %d memory limits for other than as many stages", manifestName, n)
	}
	if len(o.MemoryLimits) == 0 {
		o.MemoryLimits = nil
	}
	if o.Grace < 0 || o.Grace > longestGrace {
		return Config{}, fmt.Errorf("run: %s: a grace of %v is not between 0 and %v", manifestName, o.Grace, longestGrace)
	}
	return Config{
		Instance: r.Instance, Knowledge: policy.Knowledge{Sizes: sizes, Arrivals: arrivals}, Seed: m.Seed,
		Path: m.Path, BaseDir: m.BaseDir, Dir: r.Dir, Version: m.Version,
		KeepGoing: o.KeepGoing, FailFast: o.FailFast, Grace: cmp.Or(o.Grace, -1), Backoff: o.Backoff,
		MemoryBudget: o.MemoryBudget, MemoryLimits: o.MemoryLimits,
		Header: engine.LogHeader{
			Workload: m.Workload, SHA256: m.SHA256, Policy: m.Policy, Seed: m.Seed,
			Sizes: m.Sizes, Arrivals: m.Arrivals, KeepGoing: o.KeepGoing, Backoff: o.Backoff,
		},
	}, nil
}
