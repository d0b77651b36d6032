// Package lp holds linear programs as plain data and writes them in CPLEX LP
// format, so that anyone can solve them with a solver of their own. Fairlead's
// solvers do not use it: they know the structure of their programs (see the other
// packages under opt).
//
// All variables are nonnegative; anything else is a row. Subpackage exact solves
// small models in rational arithmetic, for tests.
package lp
