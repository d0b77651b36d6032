package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fairlead-project/fairlead/cert"
	"github.com/fairlead-project/fairlead/engine"
	"github.com/fairlead-project/fairlead/internal/run"
	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
)

type replayResult struct {
	header
	Policy string `json:"policy"`
	Seed   uint64 `json:"seed"`
	Events int64  `json:"events"`
	Digest string `json:"digest"`
}

// replayLog feeds a log to a fresh engine and compares decisions and digest.
func (e *env) replayLog(path string, o simulateOptions) error {
	in, err := e.load(path, o.given)
	if err != nil {
		return err
	}
	name, f, err := e.open(o.replay)
	if err != nil {
		return err
	}
	defer f.Close()
	log, err := engine.NewLogReader(bufio.NewReaderSize(f, 1<<16))
	if err != nil {
		return fail(exitInvalid, fmt.Errorf("%s: %w", name, err))
	}
	h := log.Header
	if h.SHA256 != cert.Hash(in) {
		remedy := "if it was made with -j, --assume or --history, give the same"
		if resolved := filepath.Join(filepath.Dir(name), run.WorkloadFile); !h.Simulated {
			if _, err := os.Stat(resolved); err == nil {
				remedy = "what the run took from earlier ones is in " + resolved + ": replay it with that"
			}
		}
		return fail(exitInvalid, fmt.Errorf("%s is not a log of %s as it is now; %s", name, nameOf(path), remedy))
	}
	_, p, err := e.parsePolicy(h.Policy)
	if err != nil {
		return fail(exitInvalid, fmt.Errorf("%s: %w", name, err))
	}
	var k policy.Knowledge
	if k.Sizes, err = policy.ParseSizes(h.Sizes); err == nil {
		k.Arrivals, err = policy.ParseArrivals(h.Arrivals)
	}
	if err != nil {
		return fail(exitInvalid, fmt.Errorf("%s: %w", name, err))
	}
	x := sched.NewIndex(in)
	estimates := sim.MeansWhereKnown(x)
	if h.Simulated {
		z, err := sim.Realise(x, h.Seed)
		if err != nil {
			return noSizes(path, err)
		}
		estimates = sim.Estimates(x, k, z)
	}
	eng, err := engine.Replay(engine.Config{
		Instance: in, Policy: p, Knowledge: k, Estimates: estimates, Seed: h.Seed, KeepGoing: h.KeepGoing, Backoff: h.Backoff,
	}, log)
	if err != nil {
		return fail(exitInvalid, fmt.Errorf("%s: %w", name, err))
	}
	r := replayResult{
		header{apiVersion, "Replay"}, h.Policy, h.Seed, eng.Stats().Events, fmt.Sprintf("%016x", eng.Digest()),
	}
	return o.out.print(e.stdout, r, func(w *bytes.Buffer) {
		fmt.Fprintf(w, "replayed %d events of %s under %s: the same decisions (digest %s)\n", r.Events, name, r.Policy, r.Digest)
	})
}
