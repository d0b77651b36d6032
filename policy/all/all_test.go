package all

import (
	"testing"

	"github.com/fairlead-project/fairlead/policy/policytest"
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
