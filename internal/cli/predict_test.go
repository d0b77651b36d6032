package cli

import (
	"io"
	"math"
	"testing"

	"github.com/fairlead-project/fairlead/policy/all"
)

// A run that is about to begin does not wait for its prediction, not even where one
// simulation is all it takes, or a solve is cut short and the simulation goes on.
func TestPredictionIsGivenUp(t *testing.T) {
	e := &env{ctx: t.Context(), stderr: io.Discard, getenv: func(string) string { return "" }, policies: all.Registry()}
	for name, size := range map[string]string{"exact": "3s", "random": "{uniform: [1s, 5s]}"} {
		x, _, _, err := e.loadSized(file(t, name+".yaml", preamble+`
cluster: {machines: [{name: a, slots: 2}]}
jobs:
- {name: j, stages: [{name: s, count: 9, size: `+size+`}]}
`), given{})
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range []string{sizedPolicy, blindPolicy} {
			if p := e.predict(x, spec, 1, -1); p != nil {
				t.Errorf("%s, %s: late, it is %+v", name, spec, *p)
			}
			if p := e.predict(x, spec, 1, math.MaxInt64); p == nil || p.Makespan < 9 || p.Low > p.Makespan || p.High < p.Makespan {
				t.Errorf("%s, %s: in time, it is %+v", name, spec, p)
			}
		}
	}
}
