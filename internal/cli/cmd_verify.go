package cli

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fairlead-project/fairlead/cert"
)

type verifyResult struct {
	header
	Valid      bool     `json:"valid"`
	LowerBound *float64 `json:"lowerBound,omitempty"`
	Error      string   `json:"error,omitempty"`
}

func newVerify(e *env) *cobra.Command {
	var out format
	var g given
	cmd := &cobra.Command{
		Use:   "verify CERTIFICATE FILE",
		Short: "Check a certificate of a lower bound, independently of the solver",
		Long: `Recompute a lower bound from a certificate's multipliers and the workload alone,
in exact arithmetic. The certificate is accepted if and only if it is for this
workload, its multipliers are feasible, and its claim does not exceed what they
prove. A bound computed with -j or --assume is verified with the same.` + exits(exitUsage, exitInvalid),
		Example: `  fairlead bound jobs.yaml --certificate proof.json
  fairlead verify proof.json jobs.yaml`,
		Args: exactly("CERTIFICATE", "FILE"),
		RunE: func(_ *cobra.Command, args []string) error { return e.verify(args[0], args[1], g, out) },
	}
	out.addTo(cmd)
	g.addTo(cmd.Flags())
	g.addFromTo(cmd)
	return cmd
}

func (e *env) verify(certificate, file string, g given, out format) error {
	name, data, err := e.readFile(certificate, cert.MaxBytes)
	if err != nil {
		return err
	}
	in, err := e.load(file, g)
	if err != nil {
		return err
	}
	c, err := cert.Read(bytes.NewReader(data))
	var v cert.Verified
	if err == nil {
		v, err = cert.Verify(c, in)
	}
	r := verifyResult{header: header{apiVersion, "Verification"}, Valid: err == nil}
	if err == nil {
		r.LowerBound = &v.LowerBound
	} else {
		r.Error = err.Error()
	}
	if perr := out.print(e.stdout, r, func(w *bytes.Buffer) {
		if err == nil { // otherwise it is said on stderr
			fmt.Fprintf(w, "valid: no schedule of %s costs less than %s (%s; the multipliers prove %s)\n",
				nameOf(file), down(v.LowerBound, 10), c.Class, down(v.Value, 10))
		}
	}); perr != nil {
		return perr
	}
	if err != nil {
		return fail(exitInvalid, fmt.Errorf("%s is not a proof for %s: %w", name, nameOf(file), err))
	}
	return nil
}
