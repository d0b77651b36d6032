package all

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fairlead-project/fairlead/policy/policytest"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
)

// Every policy, and every variant of one that takes parameters.
func TestPolicies(t *testing.T) {
	specs := []string{"dag/spc:plain=true", "dag/spc:plain=true,subset=true"}
	for _, e := range Registry().Entries() {
		specs = append(specs, e.Full())
	}
	for _, spec := range specs {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			policytest.Run(t, Registry(), spec)
		})
	}
}

// Info.Random is the truth: on given sizes, the seed changes what a policy does on some
// instance if and only if it says that it draws.
func TestRandomIsDeclared(t *testing.T) {
	for _, e := range Registry().Entries() {
		differs := false
		for k := range uint64(40) {
			in := policytest.Random(rand.New(rand.NewPCG(k, 7)))
			z, err := sim.Realise(sched.NewIndex(in), 1)
			if err != nil {
				t.Fatal(err)
			}
			var first []sched.Time
			for seed := range uint64(3) {
				p, err := e.New(nil)
				if err != nil {
					t.Fatal(err)
				}
				r, err := sim.Run(sim.Config{Instance: in, Policy: p, Knowledge: e.Knowledge, Sizes: z, Seed: seed})
				if err != nil {
					t.Fatal(err)
				}
				if seed == 0 {
					first = r.Schedule.Completion
				}
				differs = differs || !slices.Equal(first, r.Schedule.Completion)
			}
		}
		if differs != e.Random {
			t.Errorf("%s: the seed makes a difference: %v, declared: %v", e.Full(), differs, e.Random)
		}
	}
}
