// Package lpcheck holds a test only: it asks another solver. Every lower bound is
// the value of a linear program, which "fairlead bound --write-lp" writes down;
// here HiGHS, compiled to WebAssembly and run by node, solves what was written,
// and must agree.
//
// HiGHS comes from npm and is never shipped. "npm ci" in this directory installs
// it; or set FAIRLEAD_HIGHS to another directory with a node_modules in it.
// Without it the test is skipped, unless CI=true: then it fails.
package lpcheck
