// Package sim runs the engine on a virtual clock: it carries out the engine's
// actions by computing when they end, and feeds those ends back as events.
// Nothing else distinguishes a simulation from a real run.
//
// Sizes are realised before the run starts, from a stream of the seed that
// nothing else draws from, so every policy meets the same sizes.
package sim
