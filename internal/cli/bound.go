package cli

import (
	"errors"
	"io"
	"math"
	"time"

	"github.com/spf13/pflag"

	"github.com/fairlead-project/fairlead/algo/dag"
	"github.com/fairlead-project/fairlead/cert"
	"github.com/fairlead-project/fairlead/internal/run"
	"github.com/fairlead-project/fairlead/opt/queyranne"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// solveFlags bound the solve of the relaxation.
type solveFlags struct {
	tolerance  float64
	iterations int
}

// defaultTolerance is what a certificate is worth: far more digits than anyone reads.
const defaultTolerance = 1e-6

// looseTolerance is for bounds beside simulations: far below what separates a
// schedule from the bound.
const looseTolerance = 1e-4

func (s *solveFlags) addTo(flags *pflag.FlagSet) {
	flags.Float64Var(&s.tolerance, "tolerance", defaultTolerance, "relative `gap` at which to stop solving")
	flags.IntVar(&s.iterations, "iterations", 0, "stop each solve after `N` iterations (default by size)")
}

func (s *solveFlags) validate() error {
	if !(s.tolerance > 0 && s.tolerance < 1) {
		return usage("--tolerance %v: expected a number between 0 and 1", s.tolerance)
	}
	if s.iterations < 0 {
		return usage("--iterations %d: expected at least 1", s.iterations)
	}
	return nil
}

// bound is a solved relaxation.
type bound struct {
	*dag.Relaxation
	method  string // its name in a certificate
	problem *dag.Problem
	seconds float64
}

// relax brackets the least total weighted completion time for sizes z by the best
// method there is.
func (e *env) relax(x *sched.Index, z *sched.Sizes, s solveFlags) (*bound, error) {
	return e.relaxBy(cert.LPStrong, x, z, s)
}

// relaxBy does the same by the given method.
func (e *env) relaxBy(method string, x *sched.Index, z *sched.Sizes, s solveFlags) (*bound, error) {
	began := time.Now()
	p, err := dag.NewProblem(x, z, nil)
	if err != nil {
		return nil, fail(exitUsage, err)
	}
	defer e.newBar("proving a bound", 0).stop()
	solve := p.RelaxStrong
	if method == cert.LP {
		solve = p.Relax
	}
	r, err := solve(queyranne.Options{Tolerance: s.tolerance, MaxIterations: s.iterations, Stop: e.stopped})
	if err != nil {
		return nil, fail(exitUsage, err)
	}
	return &bound{r, method, p, time.Since(began).Seconds()}, nil
}

// hindsight returns the lower bound for realised sizes, NaN if there is none.
func (e *env) hindsight(x *sched.Index, z *sched.Sizes) float64 {
	b, err := e.relax(x, z, solveFlags{tolerance: looseTolerance})
	if err != nil {
		e.say("no lower bound: %v", err)
		return math.NaN()
	}
	return b.Lower
}

// certificate writes down the multipliers by name.
func (b *bound) certificate(in *sched.Instance) (*cert.Certificate, error) {
	var arcs, heads []cert.Multiplier
	for i, a := range b.problem.Arcs {
		if b.Arc[i] != 0 {
			arcs = append(arcs, cert.Multiplier{From: b.problem.Name(a.From), To: b.problem.Name(a.To), Value: b.Arc[i]})
		}
	}
	for j, v := range b.Head {
		if v != 0 {
			heads = append(heads, cert.Multiplier{To: b.problem.Name(int32(j)), Value: v})
		}
	}
	return cert.New(in, b.method, arcs, heads, b.Lower)
}

// writeCertificate writes the proof of b for in to a file. With a history the workload
// that it was resolved to goes beside it, since the history goes on changing.
func (e *env) writeCertificate(path string, b *bound, in *sched.Instance, g given) error {
	c, err := b.certificate(in)
	if err != nil {
		return fail(exitUsage, err)
	}
	if g.history {
		text, err := run.EncodeInstance(in)
		if err != nil {
			return fail(exitUsage, err)
		}
		resolved := path + ".workload.json"
		if err := e.writeTo(resolved, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
			return err
		}
		e.say("%s is what the workload was resolved to: fairlead verify %s %s", resolved, path, resolved)
	}
	return e.writeTo(path, c.Write)
}

// validateCertificate refuses to print a certificate that nothing could be checked against.
func (g *given) validateCertificate(path string) error {
	if g.history && isStdout(path) {
		return usage("--certificate -: with --history the resolved workload is written beside it: name a file")
	}
	return nil
}

// errRandomHeads refuses the stronger relaxation where it is no bound: that a stage
// starts after others holds for their mean sizes only on average, and a policy may
// make use of what it sees meanwhile.
var errRandomHeads = errors.New("has random sizes, for which lp-strong is not a lower bound: use --method lp")

// errRandomSizes refuses the mean-size relaxation where it is no bound.
var errRandomSizes = errors.New("has random sizes and there is more than one slot, where the relaxation on mean sizes is not a lower bound: " +
	"on parallel machines even the optimal policy can cost less than it on average. " +
	"`fairlead simulate` compares every run with the bound for the sizes that it realised")

// randomStage names a stage whose sizes are random, "" if there is none.
func randomStage(x *sched.Index) string {
	for s := range sched.StageID(x.Stages()) {
		for _, d := range x.Stage(s).Sizes {
			if _, exact := size.Value(d); !exact {
				return x.StageName(s)
			}
		}
	}
	return ""
}

func slots(in *sched.Instance) int {
	n := 0
	for m := range in.Machines {
		n += in.Machines[m].Slots
	}
	return n
}
