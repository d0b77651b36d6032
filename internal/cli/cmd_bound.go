package cli

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fairlead-project/fairlead/cert"
	"github.com/fairlead-project/fairlead/opt/queyranne"
)

type boundOptions struct {
	given
	out         format
	method      string
	certificate string
	lp          string
	solve       solveFlags
}

type boundResult struct {
	header
	LowerBound float64 `json:"lowerBound"`
	Method     string  `json:"method"`
	Class      string  `json:"class"`
	Converged  bool    `json:"converged"`
	Gap        float64 `json:"gap"`
	Seconds    float64 `json:"seconds"`
	// Upper is the relaxation's own primal value: no schedule, but the bound
	// cannot get better than this.
	Upper      float64  `json:"relaxationUpper"`
	Iterations int      `json:"iterations"`
	Guarantee  *float64 `json:"guarantee"`
}

// nonPreemptive is the class of the bound for random sizes: pausing a task after
// seeing how long it takes can do better.
const nonPreemptive = "non-preemptive"

func newBound(e *env) *cobra.Command {
	var o boundOptions
	cmd := &cobra.Command{
		Use:   "bound FILE",
		Short: "Prove that no schedule of a workload can cost less",
		Long: `Solve a relaxation of the workload and print a lower bound on the total weighted
completion time of every schedule, preemptive ones included. The bound is valid
however early the solve ends; Ctrl-C ends it with the best bound so far.

The relaxation lp-strong knows when the predecessors of a stage can be done at
the earliest, and how its tasks fit on the machines; lp does not, but is solved
faster.

On a single slot, random sizes count with their means: the bound is then on the
expected cost of every non-preemptive policy.

--certificate OUT writes the proof, which fairlead verify checks independently.
With --history the workload that it holds for is OUT.workload.json.
--write-lp writes the relaxation lp in CPLEX LP format for a solver of your own.
Given - as the file, either is all that is printed.` + exits(exitUsage, exitInterrupted),
		Example: `  fairlead bound jobs.yaml --certificate proof.json
  fairlead verify proof.json jobs.yaml`,
		Args: exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error { return e.bound(args[0], o) },
	}
	o.out.addTo(cmd)
	f := cmd.Flags()
	o.given.addTo(f)
	o.given.addFromTo(cmd)
	o.given.addHistoryTo(f)
	f.StringVar(&o.method, "method", "", "`relaxation` to solve: lp or lp-strong (default lp-strong; lp for random sizes)")
	completes(cmd, "method", cert.LP, cert.LPStrong)
	f.StringVar(&o.certificate, "certificate", "", "write a certificate to this `file`")
	f.StringVar(&o.lp, "write-lp", "", "write the relaxation lp to this `file` in CPLEX LP format")
	o.solve.addTo(f)
	return cmd
}

func (e *env) bound(path string, o boundOptions) error {
	if o.method != "" && o.method != cert.LP && o.method != cert.LPStrong {
		return usage("--method %s: expected lp or lp-strong", o.method)
	}
	if err := o.solve.validate(); err != nil {
		return err
	}
	if err := o.validateCertificate(o.certificate); err != nil {
		return err
	}
	if isStdout(o.certificate) && isStdout(o.lp) {
		return usage("--certificate and --write-lp cannot both go to standard output: name a file for one of them")
	}
	x, z, random, err := e.loadSized(path, o.given)
	if err != nil {
		return err
	}
	in := x.Instance
	switch {
	case random != "" && slots(in) > 1:
		return usage("%s: stage %s %w", nameOf(path), random, errRandomSizes)
	case random != "" && o.method == cert.LPStrong:
		return usage("%s: stage %s %w", nameOf(path), random, errRandomHeads)
	case random != "" && o.certificate != "":
		return usage("%s: stage %s has random sizes: a certificate needs exact ones", nameOf(path), random)
	}
	switch {
	case o.method != "":
	case random != "":
		o.method = cert.LP
	default:
		o.method = cert.LPStrong
	}
	b, err := e.relaxBy(o.method, x, z, o.solve)
	if err != nil {
		return err
	}
	if o.lp != "" {
		m, err := b.Model()
		if err != nil {
			return fail(exitUsage, err)
		}
		if err := e.writeTo(o.lp, m.Write); err != nil {
			return err
		}
		if o.method != cert.LP {
			e.say("--write-lp writes the relaxation lp, whose bound is at most that of %s", o.method)
		}
	}
	if o.certificate != "" {
		if err := e.writeCertificate(o.certificate, b, in, o.given); err != nil {
			return err
		}
	}
	if !isStdout(o.certificate) && !isStdout(o.lp) {
		if err := e.printBound(b, random, o); err != nil {
			return err
		}
	}
	if b.Status == queyranne.Interrupted {
		return fail(exitInterrupted, errors.New("interrupted: the bound is valid, but not the best there is"))
	}
	return nil
}

func (e *env) printBound(b *bound, random string, o boundOptions) error {
	r := boundResult{
		header: header{apiVersion, "Bound"}, LowerBound: b.Lower, Method: b.method, Class: cert.Preemptive,
		Converged: b.Status == queyranne.Optimal, Gap: b.Gap, Seconds: b.seconds,
		Upper: b.Primal, Iterations: b.Iterations,
	}
	if random != "" {
		r.Class = nonPreemptive
	} else if g, ok := b.Guarantee(); ok {
		r.Guarantee = &g
	}
	return o.out.print(e.stdout, r, func(w *bytes.Buffer) {
		t := newTable("lower bound", "method", "class", "gap", "solve", "time", "S-PC costs")
		guarantee := "-"
		if r.Guarantee != nil {
			guarantee = fmt.Sprintf("<= %.3g x bound", *r.Guarantee)
		}
		t.AppendRow(table.Row{
			down(r.LowerBound, 10), r.Method, r.Class, fmt.Sprintf("%.1e", r.Gap),
			fmt.Sprintf("%v, %d iterations", b.Status, r.Iterations), fmt.Sprintf("%.2f s", r.Seconds), guarantee,
		})
		render(w, t)
	})
}
