// Command evaluation measures what S-PC is worth, and where it is not, and writes the
// result as Markdown. It is deterministic: the same commit gives the same document on
// any computer. Where a target is missed, it says so and fails.
//
//	go run ./internal/evaluation > docs/evaluation.md
//	go run ./internal/evaluation -quick    a fifth of the instances, to try things
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"
)

func main() {
	quick := flag.Bool("quick", false, "take a fifth of the instances; targets are not checked")
	only := flag.String("only", "", "only this `section`: a, b, c, d or s")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	e := &evaluation{quick: *quick, only: *only, workers: runtime.GOMAXPROCS(0), began: time.Now()}
	w := bufio.NewWriter(os.Stdout)
	missed, err := e.write(w)
	if err == nil {
		err = w.Flush()
	}
	switch {
	case err != nil:
		progress("%v", err)
		os.Exit(1)
	case missed > 0 && !*quick:
		progress("%d targets missed", missed)
		os.Exit(1)
	}
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "evaluation: "+format+"\n", args...)
}
