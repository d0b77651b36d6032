package cli

import (
	"bufio"
	"errors"
	"strings"

	"github.com/spf13/cobra"
)

func newConvert(e *env) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "convert FILE",
		Short: "Convert a workload between YAML and JSON",
		Long: `Read a workload and write it to standard output in the other notation: YAML for
a file whose name ends in .json, JSON for any other; -o chooses. Defaults are
left out, comments are lost.` + exits(exitUsage),
		Example: `  fairlead convert jobs.yaml > jobs.json
  fairlead convert -o yaml - < jobs.yaml    tidy up`,
		Args: exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			if out == "" {
				out = "json"
				if strings.HasSuffix(strings.ToLower(args[0]), ".json") {
					out = "yaml"
				}
			}
			if out != "json" && out != "yaml" {
				return usage("-o %s: expected json or yaml", out)
			}
			f, err := e.loadFile(args[0])
			if err != nil {
				return err
			}
			w := bufio.NewWriter(e.stdout)
			encode := f.EncodeJSON
			if out == "yaml" {
				encode = f.EncodeYAML
			}
			return errors.Join(encode(w), w.Flush())
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "`notation` to write, json or yaml (default the other one)")
	completes(cmd, "output", "json", "yaml")
	return cmd
}
