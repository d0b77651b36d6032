package workload

import (
	"fmt"
	"slices"
	"strings"
)

// MaxErrors is how many errors are collected before giving up on a file.
const MaxErrors = 20

// Class says what kind of mistake an [Error] is about.
type Class string

// The classes of error.
const (
	BadEncoding     Class = "encoding"         // not UTF-8 text
	OverLimit       Class = "limit"            // larger than this package handles
	BadSyntax       Class = "syntax"           // not YAML
	TabIndent       Class = "tab"              // a tab in the indentation
	EmptyFile       Class = "empty"            // nothing in the file
	ManyDocuments   Class = "documents"        // more than one YAML document
	MergeKey        Class = "merge-key"        // <<
	BadTag          Class = "tag"              // !tag
	BadAlias        Class = "alias"            // *name without &name
	UnknownField    Class = "unknown-field"    // a key that means nothing here
	DuplicateField  Class = "duplicate-field"  // the same key twice in a mapping
	MissingField    Class = "missing-field"    // a required key is absent
	BadVersion      Class = "version"          // wrong apiVersion or kind
	NullValue       Class = "null"             // a key without a value
	WrongType       Class = "type"             // a list for a mapping, text for a number, ...
	EmptyList       Class = "empty-list"       // a list that must have entries
	BadName         Class = "name"             // characters or length
	BadText         Class = "text"             // empty, or cannot be passed to a process
	BadNumber       Class = "number"           // not a decimal number
	BadUnit         Class = "unit"             // a number with a unit that is not one
	OutOfRange      Class = "range"            // a number too small or too large
	TooFine         Class = "precision"        // finer than a thousandth of a resource
	BadDistribution Class = "distribution"     // parameters that describe none
	BadCPUs         Class = "cpus"             // not a list of processors
	BadTemplate     Class = "template"         // a command's template
	BadEnv          Class = "env"              // name of an environment variable
	DuplicateName   Class = "duplicate-name"   // two jobs, stages or machines of one name
	DuplicateEntry  Class = "duplicate-entry"  // the same entry twice in a list
	UnknownJob      Class = "unknown-job"      // a name that no job has
	UnknownStage    Class = "unknown-stage"    // a name that no stage of the job has
	UnknownMachine  Class = "unknown-machine"  // a name that no machine or group has
	GroupForOne     Class = "group"            // a group of machines where one is needed
	UnknownResource Class = "unknown-resource" // needs what no machine has
	SelfReference   Class = "self"             // waits for itself
	Cycle           Class = "cycle"            // wait for each other
	Conflict        Class = "conflict"         // two fields that exclude each other
	WrongStageKind  Class = "stage-kind"       // a compute field on a transfer stage
	NotCompute      Class = "not-compute"      // data from or to a stage without tasks
	NotBefore       Class = "not-before"       // data from a stage that need not come first
	NoMachineFits   Class = "no-fit"           // a task that can run nowhere
	BadSharing      Class = "sharing"          // two ways of sharing rates
	NotConcave      Class = "speedup"          // slopes that increase
	NoCluster       Class = "no-cluster"       // machines are needed, the file has none
	TooLong         Class = "time"             // longer than time can count
)

// Error is one mistake in a file. Line and Column start at 1 and count
// characters; they are 0 if the File was not parsed from text.
type Error struct {
	File         string
	Line, Column int
	Path         string // jobs[0].stages[1].size; empty for the file as a whole
	Class        Class
	Msg          string // found ..., expected ...
}

// Error returns file:line:column: path: message.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	if e.Path != "" {
		b.WriteString(": " + e.Path)
	}
	b.WriteString(": " + e.Msg)
	return strings.TrimPrefix(b.String(), ": ")
}

// Errors is what Parse and Instance return: at least one error, in order of
// position.
type Errors []*Error

// Error returns one line per error.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, x := range e {
		lines[i] = x.Error()
	}
	if len(e) == MaxErrors {
		lines = append(lines, fmt.Sprintf("%s: stopped after %d errors", e[0].File, MaxErrors))
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find an *Error.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, x := range e {
		out[i] = x
	}
	return out
}

// sorted returns the errors in order of position, nil if there are none.
func (e Errors) sorted() error {
	if len(e) == 0 {
		return nil
	}
	slices.SortStableFunc(e, func(a, b *Error) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return e
}

// message is the one form of all messages.
func message(found, expected string) string { return "found " + found + ", expected " + expected }
