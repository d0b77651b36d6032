package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/fairlead-project/fairlead/workload"
)

func newInit(e *env) *cobra.Command {
	return &cobra.Command{
		Use:     "init [FILE]",
		Short:   "Write a commented example workload",
		Long:    "Write a commented example workload to FILE, or to standard output.\nA file that exists is left alone." + exits(exitUsage),
		Example: "  fairlead init jobs.yaml && fairlead run jobs.yaml",
		Args:    atMost("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "-" {
				_, err := io.WriteString(e.stdout, workload.Example())
				return err
			}
			return writeNew(args[0], workload.Example())
		},
	}
}

func writeNew(path, content string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return usage("%s exists: choose another name or remove it first", path)
	}
	if err != nil {
		return wrote(path, err)
	}
	_, err = io.WriteString(f, content)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(path)
	}
	return wrote(path, err)
}
