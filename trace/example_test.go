package trace_test

import (
	"fmt"
	"os"

	"github.com/fairlead-project/fairlead/trace"
)

// A log of a cluster becomes a workload, and notes say what was left out.
func ExampleReadSWF() {
	log := []byte(`; MaxProcs: 4
1 900 3 60 2 -1 -1 2 -1 -1 1 5 -1 -1 -1 -1 -1 -1
2 910 9 30 1 -1 -1 1 -1 -1 1 5 -1 -1 -1 -1 -1 -1
`)
	f, notes, err := trace.ReadSWF("log.swf", log)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range notes {
		fmt.Println("note:", n)
	}
	f.EncodeYAML(os.Stdout)
	// Output:
	// note: the processors of a job are tasks that need not run at the same time
	// apiVersion: fairlead.dev/v1alpha1
	// kind: Workload
	// cluster:
	//   machines:
	//     - {name: m, slots: 4}
	// jobs:
	//   - name: j1
	//     tenant: user-5
	//     stages:
	//       - name: run
	//         count: 2
	//         size: 60
	//   - name: j2
	//     release: 10
	//     tenant: user-5
	//     stages:
	//       - name: run
	//         size: 30
}
