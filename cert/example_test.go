package cert_test

import (
	"fmt"
	"math"
	"os"

	"github.com/fairlead-project/fairlead/cert"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// Two machines of speed 1; a job of two tasks of 2 s, and one of 1 s and weight 3
// that cannot complete before 1 s. A multiplier of 2.75 on that proves 87/16.
func Example() {
	job := func(name string, weight, work float64, count int) sched.Job {
		return sched.Job{Name: name, Weight: weight, Stages: []sched.Stage{
			{Name: "s", Count: count, Sizes: []size.Dist{size.Exact(work)}},
		}}
	}
	in := &sched.Instance{
		Name:     "two jobs",
		Machines: []sched.Machine{{Name: "m", Speed: 1, Slots: 2, Port: math.Inf(1)}},
		Jobs:     []sched.Job{job("long", 1, 2, 2), job("short", 3, 1, 1)},
	}
	c, err := cert.New(in, cert.LP, nil, []cert.Multiplier{{To: "short/s", Value: 2.75}}, 5.4375)
	if err != nil {
		panic(err)
	}
	c.Write(os.Stdout)
	v, err := cert.Verify(c, in)
	fmt.Println(v.LowerBound, err)
	c.LowerBound = "5.4375000001"
	_, err = cert.Verify(c, in)
	fmt.Println(err)
	// Output:
	// {
	//   "apiVersion": "fairlead.dev/v1alpha1",
	//   "kind": "Certificate",
	//   "instance": "two jobs",
	//   "instanceSHA256": "f6e7a14d62ebdb97179d673e1e3232bb1ea37bba914e3675ff2e29c22ecbe7e8",
	//   "relaxation": "lp",
	//   "class": "preemptive",
	//   "dual": {
	//     "arcs": [],
	//     "heads": [
	//       {"node": "short/s", "value": "2.75"}
	//     ]
	//   },
	//   "lowerBound": "5.4375"
	// }
	// 5.4375 <nil>
	// cert: claim not proved: it claims 5.4375000001, its multipliers prove 5.4375
}
