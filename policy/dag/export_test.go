package dag

import (
	algo "github.com/fairlead-project/fairlead/algo/dag"
	"github.com/fairlead-project/fairlead/policy"
)

// Followed returns the policy that carries out s.
func Followed(s *policy.Solution) policy.Policy { return newFollowed(s) }

// Slotted returns the solution that keeps the slots of a plan.
func Slotted(p *algo.Problem, order []int32, plan *algo.Plan) *policy.Solution {
	return slotted(p, order, plan)
}

// Move and Place are what the local search moves by.
var (
	Move  = move
	Place = place
)
