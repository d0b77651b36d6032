// Package archtest holds Fairlead's architecture as a table and a test that
// fails when the code departs from it. It has no code outside its tests.
//
// Packages lie on five levels: 1 vocabulary, 2 mathematics, 3 decisions,
// 4 drivers, 5 faces. A package imports lower levels freely and, on its own
// level, only what the table says. Levels 1 to 3 and the simulator are pure:
// time, randomness and data come in as arguments and what happens goes out as
// results. That is what makes a simulation and a real run one and the same
// program, a log replayable, and a seed enough to repeat a run anywhere.
//
// The check is one of syntax and of direct imports: through fmt everything
// reaches os. To add a package, add its line to table_test.go.
package archtest
