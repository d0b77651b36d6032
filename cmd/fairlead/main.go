// Command fairlead schedules data-parallel work: it runs or simulates jobs that
// are DAGs of stages on machines of different speeds, and certifies how far from
// optimal the result can be at most. See `fairlead --help`.
package main

import (
	"os"

	"github.com/fairlead-project/fairlead/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
