// Package policytest is the suite that every policy must pass:
//
//	policytest.Run(t, entry, "dag/spc:plain=true")
//
// Feasible schedules on random instances, as package check sees them; the same
// seed gives the same bytes; neither names nor the order in the file matter; what
// the policy may not know changes no decision; the View stays untouched; replaying
// a log gives the same digest; tasks that fail and machines that vanish leave no
// job behind. To test a policy of your own, register it and call Run.
package policytest
