package cli

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker in releases.
var version = ""

type versionResult struct {
	header
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func newVersion(e *env) *cobra.Command {
	var out format
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long:  "Print the version of fairlead, the Go release that built it, and the platform." + exits(exitUsage),
		Args:  exactly(),
		RunE: func(*cobra.Command, []string) error {
			r := versionResult{header{apiVersion, "Version"}, versionString(), runtime.Version(), runtime.GOOS, runtime.GOARCH}
			return out.print(e.stdout, r, func(w *bytes.Buffer) {
				fmt.Fprintf(w, "fairlead %s (%s, %s/%s)\n", r.Version, r.Go, r.OS, r.Arch)
			})
		},
	}
	out.addTo(cmd)
	return cmd
}

func versionString() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
