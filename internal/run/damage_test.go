package run

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead-project/fairlead/internal/supervise"
	"github.com/fairlead-project/fairlead/sched"
)

// Log and journal are damaged in random places after driver and supervisor have been
// killed. The run is resumed to its end, and what the journal still says has
// succeeded is not done again.
func TestDamaged(t *testing.T) {
	trials, seed := 8, uint64(2)
	if os.Getenv("FAIRLEAD_LONG") != "" {
		trials, seed = 200, uint64(time.Now().UnixNano())
	}
	t.Log("seed ", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	torn := 0
	for range trials {
		r := driven(t)
		cmd, _ := r.drive()
		r.eventually("it has begun", func() bool { return r.read("effects") != "" })
		time.Sleep(time.Duration(rng.IntN(500)) * time.Millisecond)
		if pid := r.supervisor(); pid != 0 {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		r.damage(rng, "run/events.jsonl")
		r.damage(rng, "run/journal.jsonl")

		exits, _, err := supervise.ReadJournal(r.cfg.Dir)
		if err != nil {
			t.Fatal(err)
		}
		var before string
		r.cfg.Progress = func(Progress) { // all that was left has been ended by now
			if before == "" {
				before = r.read("effects")
			}
		}
		res := r.resume(t.Context())
		equal(t, "states", r.states(res), "a:done b:done c:done")
		if _, err := os.Stat(r.cfg.Dir + "/events.jsonl.torn-1"); err == nil {
			torn++
		}
		again := r.read("effects")[len(before):]
		x := sched.NewIndex(r.cfg.Instance)
		for i := range exits {
			if task := r.nameOf(x, exits[i].Task); succeeded(&exits[i]) && strings.Contains(again, task+" ") {
				t.Errorf("%s was done again", task)
			}
		}
		all := r.read("effects")
		for k := range int32(x.Tasks()) {
			if task := r.nameOf(x, k); !strings.Contains(all, task+" ") {
				t.Errorf("%s has not been done", task)
			}
		}
		if attempts := must[[]Attempt](t)(ReadAttempts(r.cfg.Dir)); len(attempts) < x.Tasks() {
			t.Errorf("%d attempts", len(attempts))
		}
		if t.Failed() {
			return
		}
	}
	if torn < trials/4 {
		t.Errorf("only %d logs of %d were found damaged", torn, trials)
	}
}

// damage cuts a file off somewhere, or writes over a part of it, or appends to it.
func (r *trial) damage(rng *rand.Rand, name string) {
	r.t.Helper()
	b := []byte(r.read(name))
	garbage := make([]byte, 1+rng.IntN(200))
	for i := range garbage {
		garbage[i] = byte(rng.IntN(256))
	}
	at := rng.IntN(len(b) + 1)
	switch rng.IntN(4) {
	case 0:
		b = b[:at]
	case 1:
		copy(b[at:], garbage)
	case 2:
		b = append(b, garbage...)
	}
	r.write(name, string(b), 0o600)
}
