// Package mutation holds no code. Its test proves that the tests of other packages
// can fail: it breaks one line of a source file at a time, in an overlay, and
// requires that the tests named for that line then fail.
package mutation
