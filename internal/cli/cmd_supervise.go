package cli

import (
	"github.com/spf13/cobra"

	"github.com/fairlead-project/fairlead/internal/supervise"
)

// newSupervise is the process that `fairlead run` starts, and that outlives it.
func newSupervise() *cobra.Command {
	return &cobra.Command{
		Use: "supervise DIR", Short: "Watch the tasks of a run (started by fairlead run)",
		Hidden: true,
		Args:   exactly("DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			if code := supervise.Main(args[0]); code != 0 {
				return fail(code, nil)
			}
			return nil
		},
	}
}
