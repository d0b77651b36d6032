package workload

import _ "embed"

//go:embed schema.json
var schema []byte

//go:embed example.yaml
var example string

// Schema returns the JSON Schema (draft 2020-12) of the file. It checks structure;
// what depends on other fields, such as names and cycles, only [Parse] checks.
func Schema() []byte { return append([]byte(nil), schema...) }

// Example returns a commented workload that runs as it is, with sh, on any
// computer.
func Example() string { return example }
