package cli

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func newMan(e *env) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages into a directory",
		Hidden: true, // for packagers
		Args:   exactly("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return fail(exitUsage, err)
			}
			h := &doc.GenManHeader{Section: "1", Source: "Fairlead", Manual: "Fairlead manual"}
			if err := doc.GenManTree(cmd.Root(), h, args[0]); err != nil {
				return fail(exitUsage, err)
			}
			e.say("manual pages are in %s", args[0])
			return nil
		},
	}
}
