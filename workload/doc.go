// Package workload is the file: it parses, checks, expands and writes workloads
// in YAML, of which JSON is a subset.
//
// [Parse] reads a file strictly. Whatever is unknown, doubtful or impossible is
// an [Error] with line and column, saying what was found and what was expected;
// up to [MaxErrors] of them are reported at once. A [File] is the file's content
// with defaults filled in; [File.EncodeYAML] and [File.EncodeJSON] write it so that
// it parses back equal. [File.Instance] expands it to a [sched.Instance], the form
// that everything else works on:
//
//   - a machine with `count: 2` becomes name-0 and name-1; its name without the
//     number stands for all of them where a stage lists or rates machines;
//   - a machine with `cpus` and no `slots` gets one slot per processor, otherwise
//     one slot;
//   - resources are the names that machines declare, in alphabetical order, in
//     thousandths of a unit; needs finer than that are an error, except where they
//     are per unit of rate, whose tasks hold the next thousandth;
//   - names of jobs, stages and machines become positions.
//
// The tables in fields.go are the format: the decoder, the encoder and the test of
// the published JSON Schema ([Schema]) all read them, so a field cannot exist in
// one and be missing in another.
//
// # Ambiguous YAML
//
// Numbers are decimal: 0x10, 012, 1_000 and 1:30 mean different things to
// different YAML readers and are refused, as are .inf and .nan. Names must be
// text: yes, no, on, off, true, false, null and bare numbers need quotes.
// Arguments of `run` and values of `env` are taken as they are written. A null is
// refused everywhere: a field is left out to get its default. Anchors and aliases
// work; merge keys (<<), tags and a second document are refused.
//
// # Limits
//
// A file has at most [MaxBytes] bytes and, counted before it is parsed, about
// [MaxValues] keys and values, aliases counted as often as they are used; it describes
// at most [MaxTasks] tasks, [MaxMachines] machines with [MaxSlots] slots in total
// and [MaxResources] resources; lists of pinned machines have at most [MaxPins]
// entries in total once groups are expanded. Nesting is refused beyond 10,000 levels.
// Within these limits parsing and expanding stay below 1.5 GiB.
package workload
