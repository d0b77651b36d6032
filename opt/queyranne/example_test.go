package queyranne_test

import (
	"fmt"

	"github.com/fairlead-project/fairlead/opt/queyranne"
)

// Three jobs on machines of speed 3 together; job 2 follows job 0.
func ExampleSolve() {
	p := &queyranne.Problem{
		Mu:     3,
		Size:   []float64{4, 2, 1},
		Tail:   []float64{2.0 / 3, 1, 0.25},
		Lo:     []float64{4.0 / 3, 2, 0.5},
		Lag:    []float64{4.0 / 3, 2, 0.5},
		Weight: []float64{0, 1, 3},
		Arcs:   []queyranne.Arc{{From: 0, To: 2}},
	}
	r, err := queyranne.Solve(p, queyranne.Options{Tolerance: 1e-6})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v: between %.4f and %.4f\n", r.Status, r.Lower, r.Primal)
	// Output: optimal: between 8.4583 and 8.4583
}
