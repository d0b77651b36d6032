// Command bench measures Fairlead against its targets and writes the result as
// Markdown: what users run as they run it, the rest in this process. Each claim is
// measured several times. It is met if the median meets the target; within noise if
// only the best run does, as on a computer that is busy with other things; and
// missed if no run does, which makes the command fail.
//
//	go run ./internal/bench > docs/benchmarks.md
//	go run ./internal/bench -overhead            only the cost of running tasks
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// bench is one run of the program: it collects claims and tables.
type bench struct {
	dir      string // of the workloads
	fairlead string // the command
	runs     int

	onlyOverhead bool

	load   float64 // average before anything ran
	claims []claim
	tables []table
}

func main() {
	runs := flag.Int("runs", 3, "measure everything that has a target this often")
	only := flag.Bool("overhead", false, "measure only what running tasks costs, beside make")
	flag.Parse()
	if *runs < 1 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	b := &bench{runs: *runs, onlyOverhead: *only}
	bad, err := b.run(os.Stdout)
	switch {
	case err != nil:
		progress("%v", err)
		os.Exit(1)
	case bad > 0:
		progress("%d targets missed by every run", bad)
		os.Exit(1)
	}
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
}

// run measures everything and writes the document. It returns how many targets
// were missed.
func (b *bench) run(w io.Writer) (bad int, err error) {
	b.dir, err = os.MkdirTemp("", "fairlead-bench-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(b.dir)
	if b.load = loadAverage(); b.load > 0.5 {
		progress("the load average is %.1f: other work on this computer makes everything slower", b.load)
	}
	progress("building fairlead and generating workloads")
	b.fairlead = filepath.Join(b.dir, "fairlead")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", b.fairlead, "./cmd/fairlead") // as `make build` does
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return 0, fmt.Errorf("%w: run it in the root of the repository", err)
	}
	if b.onlyOverhead {
		if err := b.overhead(); err != nil {
			return 0, err
		}
		return b.write(w)
	}
	for i := range inputs {
		if err := b.generate(&inputs[i]); err != nil {
			return 0, err
		}
	}
	for _, part := range []func() error{b.simulations, b.atTheLimits, b.endToEnd, b.overhead} {
		if err := part(); err != nil {
			return 0, err
		}
	}
	// What follows runs in this process, on one thread: the garbage collector's
	// work then counts in full.
	runtime.GOMAXPROCS(1)
	for _, part := range []func() error{b.relaxations, b.placement, b.parsing} {
		if err := part(); err != nil {
			return 0, err
		}
	}
	return b.write(w)
}
