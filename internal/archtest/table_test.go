package archtest

// entry says where one package stands and what it may import beyond the lower
// levels and the standard library.
type entry struct {
	path  string // below the module's root
	level int    // 1 vocabulary, 2 mathematics, 3 decisions, 4 drivers, 5 faces
	pure  bool   // no clock, I/O, goroutine, select or global generator; implied by levels 1 to 3

	// peers are the packages of the same level that it imports.
	peers []string
	// external are the packages of other modules that a pure package imports:
	// their purity is not checked here, so each one is a decision.
	external []string
	// higher are the packages of higher levels that its tests import.
	higher []string
	// support marks a package of help for tests: only tests, and other support
	// packages, import it, tests of every level.
	support bool
}

// table is the architecture: every package of the repository, bottom up. A
// package that is missing here fails the test, and so does a line, or an import
// that a line allows, that no longer exists.
var table = []entry{
	// Vocabulary: what everything else speaks.
	{path: "size", level: 1},
	{path: "sched", level: 1, peers: []string{"size"}},
	{path: "workload", level: 1, peers: []string{"sched", "size"}, external: []string{"go.yaml.in/yaml/v3"}},

	// Mathematics. cert and check stand alone on purpose: a verifier that shares
	// code with what it verifies shares its mistakes (TestVerifiersAreIndependent).
	{path: "opt/lp", level: 2},
	{path: "opt/lp/exact", level: 2, peers: []string{"opt/lp"}, support: true},
	{path: "opt/queyranne", level: 2},
	{path: "algo/dag", level: 2, peers: []string{"opt/lp", "opt/queyranne"}},
	{path: "algo/dag/brute", level: 2}, // an oracle: imports none of the above
	{path: "algo/progress", level: 2},
	{path: "cert", level: 2},
	{path: "check", level: 2},

	// Decisions. The simulator's clock is virtual.
	{path: "policy", level: 3},
	{path: "policy/dag", level: 3, peers: []string{"policy"}},
	{path: "engine", level: 3, peers: []string{"policy"}},
	{path: "sim", level: 3, peers: []string{"engine", "policy"}},
	{path: "policy/all", level: 3, peers: []string{"policy", "policy/dag", "sim"}}, // spc plans by simulating

	// Drivers: they own clocks, files and processes.
	{path: "policy/policytest", level: 4, support: true},
	{path: "report", level: 4},
	{path: "trace", level: 4, pure: true},
	{path: "trace/generate", level: 4, pure: true},
	{path: "internal/supervise", level: 4},
	{path: "internal/run", level: 4, peers: []string{"internal/supervise"}},
	{path: "internal/history", level: 4},
	{path: "internal/adversary", level: 4},

	// Faces: commands, and the checks of the whole.
	{path: "internal/cli", level: 5},
	{path: "cmd/fairlead", level: 5, peers: []string{"internal/cli"}},
	{path: "internal/bench", level: 5},
	{path: "internal/evaluation", level: 5},
	{path: "internal/browser", level: 5, support: true},
	{path: "internal/archtest", level: 5},
	{path: "internal/lpcheck", level: 5},
	{path: "internal/mutation", level: 5},
	{path: "examples/mapreduce", level: 5},
}
