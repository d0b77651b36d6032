package generate_test

import (
	"fmt"
	"os"

	"github.com/fairlead-project/fairlead/trace/generate"
)

// Two MapReduce jobs that arrive at half of what two machines can do, one of them
// four times as fast as the other.
func ExampleFile() {
	f, err := generate.File(generate.Options{
		Kind: generate.MapReduce, Jobs: 2, Machines: 2, SpeedSkew: 4, Load: 0.5, Seed: 1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	f.EncodeYAML(os.Stdout)
	// Output:
	// apiVersion: fairlead.dev/v1alpha1
	// kind: Workload
	// metadata: {name: mapreduce-1}
	// cluster:
	//   machines:
	//     - {name: m0, speed: 1}
	//     - {name: m1, speed: 4}
	// jobs:
	//   - name: j0
	//     stages:
	//       - name: map
	//         count: 29
	//         size: 3.001
	//       - name: reduce
	//         after: [map]
	//         count: 16
	//         size: 7.002
	//   - name: j1
	//     release: 165.589
	//     stages:
	//       - name: map
	//         count: 28
	//         size: 5.251
	//       - name: reduce
	//         after: [map]
	//         count: 8
	//         size: 1.5
}
