package cli

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-project/fairlead/trace"
	"github.com/fairlead-project/fairlead/workload"
)

func newConvert(e *env) *cobra.Command {
	var out, from, to string
	cmd := &cobra.Command{
		Use:   "convert FILE",
		Short: "Convert a workload between notations and formats",
		Long: `Read a workload and write it to standard output in the other notation: YAML for
a file whose name ends in .json or that is not a workload, JSON for any other;
-o chooses. Defaults are left out, comments are lost.

--from reads, and --to writes, one of these formats instead:
` + formatList() + `
What a format leaves out is said on standard error; a workload that it cannot
hold without becoming another one is refused. docs/formats/traces.md says what
becomes of what, and in which units.` + exits(exitUsage),
		Example: `  fairlead convert jobs.yaml > jobs.json
  fairlead convert -o yaml - < jobs.yaml    tidy up
  fairlead convert --from wfformat montage.json > montage.yaml
  fairlead convert --from swf log.swf --to swf > cleaned.swf`,
		Args: exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			encode, err := e.encoder(out, to, from != "" || strings.HasSuffix(strings.ToLower(args[0]), ".json"))
			if err != nil {
				return err
			}
			f, err := e.loadFrom(args[0], from)
			if err != nil {
				return err
			}
			var b bytes.Buffer // so that nothing is written of what is refused
			if err := encode(&b, f); errors.Is(err, trace.ErrCannotHold) {
				return usage("%s: %w", nameOf(args[0]), err)
			} else if err != nil {
				return err
			}
			_, err = b.WriteTo(e.stdout)
			return wrote("standard output", err)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&out, "output", "o", "", "`notation` to write, json or yaml (default the other one)")
	completes(cmd, "output", "json", "yaml")
	f.StringVar(&from, "from", "", "`format` of FILE (default a workload)")
	completes(cmd, "from", trace.Names()...)
	f.StringVar(&to, "to", "", "`format` to write (default a workload)")
	completes(cmd, "to", trace.Names()...)
	cmd.MarkFlagsMutuallyExclusive("output", "to")
	return cmd
}

// formatList has a line per format.
func formatList() string {
	var b strings.Builder
	for _, f := range trace.Formats() {
		b.WriteString("  " + f.Name + strings.Repeat(" ", 10-len(f.Name)) + f.Title + "\n")
	}
	return b.String()
}

// encoder returns what writes a workload as a command line says.
func (e *env) encoder(out, to string, yaml bool) (func(io.Writer, *workload.File) error, error) {
	if to != "" {
		format, ok := trace.Lookup(to)
		if !ok {
			return nil, usage("--to %s: expected %s", to, strings.Join(trace.Names(), ", "))
		}
		return func(w io.Writer, f *workload.File) error {
			notes, err := format.Write(w, f)
			e.tell("--to "+to, notes)
			return err
		}, nil
	}
	switch {
	case out == "yaml", out == "" && yaml:
		return func(w io.Writer, f *workload.File) error { return f.EncodeYAML(w) }, nil
	case out == "json", out == "":
		return func(w io.Writer, f *workload.File) error { return f.EncodeJSON(w) }, nil
	}
	return nil, usage("-o %s: expected json or yaml", out)
}
