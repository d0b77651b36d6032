package workload_test

import (
	"fmt"
	"os"

	"github.com/fairlead-project/fairlead/workload"
)

func Example() {
	text := `
apiVersion: fairlead.dev/v1alpha1
kind: Workload
cluster: {machines: [{name: fast, count: 2, speed: 3}, {name: slow}]}
jobs:
- name: report
  stages:
  - {name: map, count: 16, size: 12s, machines: [fast]}
  - {name: reduce, after: [map], size: 1m}
`
	f, err := workload.Parse("report.yaml", []byte(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	in, err := f.Instance(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range in.Machines {
		fmt.Println(m.Name, m.Speed)
	}
	if err := f.EncodeJSON(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// fast-0 3
	// fast-1 3
	// slow 1
	// {
	//   "apiVersion": "fairlead.dev/v1alpha1",
	//   "kind": "Workload",
	//   "cluster": {
	//     "machines": [
	//       {"name": "fast", "count": 2, "speed": 3},
	//       {"name": "slow"}
	//     ]
	//   },
	//   "jobs": [
	//     {
	//       "name": "report",
	//       "stages": [
	//         {
	//           "name": "map",
	//           "count": 16,
	//           "size": 12,
	//           "machines": ["fast"]
	//         },
	//         {
	//           "name": "reduce",
	//           "after": ["map"],
	//           "size": 60
	//         }
	//       ]
	//     }
	//   ]
	// }
}

func ExampleParse_errors() {
	_, err := workload.Parse("jobs.yaml", []byte(`
apiVersion: fairlead.dev/v1alpha1
kind: Workload
jobs:
- name: a
  wieght: 4
  stages: [{name: s, size: twelve}]
`))
	fmt.Println(err)
	// Output:
	// jobs.yaml:6:3: jobs[0]: found the unknown field "wieght", expected a field of a job; did you mean "weight"?
	// jobs.yaml:7:28: jobs[0].stages[0].size: found "twelve", expected seconds: a number, or a duration such as 250ms, 12s or 1h30m
}
