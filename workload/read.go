package workload

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Limits on a file, checked before it is parsed. A value takes up to 200 bytes while
// it is parsed, a stage another kilobyte, so that a file within the limits needs
// less than 1.5 GiB.
const (
	MaxBytes  = 64 << 20
	MaxValues = 2_000_000
)

// read parses data to the root node of its only document.
func read(name string, data []byte) (*yaml.Node, *Error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if e := prescan(data); e != nil {
		e.File = name
		return nil, e
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	doc, err := decodeDocument(dec)
	if err == nil && (len(doc.Content) == 0 || doc.Content[0].ShortTag() == "!!null") {
		err = io.EOF
	}
	if errors.Is(err, io.EOF) {
		return nil, &Error{
			File: name, Line: 1, Column: 1, Class: EmptyFile,
			Msg: message("an empty file", "a workload; `fairlead init` writes an example"),
		}
	}
	if err != nil {
		return nil, syntaxError(name, dec, err)
	}
	second, err := decodeDocument(dec)
	switch {
	case err == nil:
		return nil, &Error{
			File: name, Line: second.Line, Column: second.Column, Class: ManyDocuments,
			Msg: message("a second YAML document", "one workload per file"),
		}
	case !errors.Is(err, io.EOF):
		return nil, syntaxError(name, dec, err)
	}
	return doc.Content[0], nil
}

// decodeDocument returns the next document. The library panics on some inputs
// that it did not foresee; to the user that is a syntax error like any other.
func decodeDocument(dec *yaml.Decoder) (doc *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	doc = new(yaml.Node)
	return doc, dec.Decode(doc)
}

// prescan refuses what must not reach the parser: files too large, other
// encodings, control characters, and more values than memory is meant to hold.
// Values, keys and collections are announced by the characters counted, in whatever
// style they are written, so the count is no less than half their number.
func prescan(data []byte) *Error {
	if len(data) > MaxBytes {
		return &Error{Class: OverLimit, Msg: message(fmt.Sprintf("%d bytes", len(data)), fmt.Sprintf("at most %d bytes in a file", MaxBytes))}
	}
	line, column, values := 1, 0, 1
	for i := 0; i < len(data); {
		r, n := rune(data[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(data[i:])
		}
		column++
		blankNext := i+1 == len(data) || data[i+1] == ' ' || data[i+1] == '\t' || data[i+1] == '\n' || data[i+1] == '\r'
		switch {
		case r == '\n':
			line, column = line+1, 0
			values++
		case r == ',' || r == '[' || r == '{' || r == ':' || r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029,
			(r == '-' || r == '?') && blankNext:
			values++
		case r == utf8.RuneError && n == 1:
			return &Error{
				Line: line, Column: column, Class: BadEncoding,
				Msg: message(fmt.Sprintf("the byte 0x%02x, which is not UTF-8", data[i]), "text in UTF-8"),
			}
		case r < ' ' && r != '\t', r == 0x7f, r > 0x7f && r < 0xa0, r == 0xfffe, r == 0xffff:
			return &Error{
				Line: line, Column: column, Class: BadEncoding,
				Msg: message(fmt.Sprintf("the control character U+%04X", r), "printable text"),
			}
		}
		i += n
	}
	if values > MaxValues {
		return &Error{Class: OverLimit, Msg: message(fmt.Sprintf("about %d keys and values", values),
			fmt.Sprintf("at most %d; tasks of equal size can share one entry with `count`", MaxValues))}
	}
	return nil
}

// syntaxHelp explains the parser's terse messages.
var syntaxHelp = []struct {
	problem, found, expected string
	class                    Class
	atContext                bool // the mistake is where the construct began
}{
	{"found a tab character that violates indentation", "a tab in the indentation", "spaces", TabIndent, false},
	{"mapping values are not allowed in this context", `a second ": " in one value, or a line indented deeper than its neighbours`, "quotes around the value, or the neighbours' indentation", BadSyntax, false},
	{"did not find expected key", "text that continues no mapping", "`key: value` with the indentation of its neighbours", BadSyntax, false},
	{"did not find expected '-' indicator", "text that continues no list", "`- ` with the indentation of its neighbours", BadSyntax, false},
	{"could not find expected ':'", "text without a value", "`key: value`, with a space after the colon", BadSyntax, true},
	{"did not find expected ',' or '}'", "text that continues no {mapping}", "`,` or `}`", BadSyntax, false},
	{"did not find expected ',' or ']'", "text that continues no [list]", "`,` or `]`", BadSyntax, false},
	{"did not find expected node content", "no value", "a value, in quotes if it begins with a special character", BadSyntax, false},
	{"found unexpected end of stream", "an opening quote", "a closing quote before the end of the file", BadSyntax, true},
	{"found unexpected document indicator", "an opening quote", "a closing quote before the next document", BadSyntax, true},
	{"found character that cannot start any token", "a character that begins no value", "quotes around the value", BadSyntax, false},
	{"found unknown escape character", "an unknown escape", "one of JSON's escapes, or single quotes", BadSyntax, false},
	{"exceeded max depth", "too many levels of nesting", "at most 10000", OverLimit, false},
}

var (
	yamlPrefix    = regexp.MustCompile(`^yaml: (line \d+: )?`)
	unknownAnchor = regexp.MustCompile(`unknown anchor '(.*)' referenced`)
)

// syntaxError turns the library's error into one with line and column.
func syntaxError(name string, dec *yaml.Decoder, err error) *Error {
	problem := yamlPrefix.ReplaceAllString(err.Error(), "")
	at, context := marks(dec)
	e := &Error{File: name, Class: BadSyntax, Msg: message("invalid YAML ("+problem+")", "YAML or JSON")}
	if m := unknownAnchor.FindStringSubmatch(problem); m != nil {
		e.Class, e.Msg = BadAlias, message("the alias *"+m[1], "the name of an anchor above, or quotes around text that begins with *")
	}
	for _, h := range syntaxHelp {
		if strings.HasPrefix(problem, h.problem) {
			e.Class, e.Msg = h.class, message(h.found, h.expected)
			if h.atContext {
				at, context = context, [2]int{}
			}
			if strings.HasPrefix(h.found, "text that") && context[0] > 0 && context[0] < at[0] {
				e.Msg += fmt.Sprintf("; what it stands in began in line %d", context[0])
			}
			break
		}
	}
	e.Line, e.Column = at[0], at[1]
	return e
}

// marks returns line and column of the syntax error that dec met, and of the
// beginning of what it was reading. The library's messages give only one of the two
// lines, now counted from 0 and now from 1, and no column; it has them in
// unexported fields, which reflection may read. If a later version of the library
// renames them positions are lost, nothing else; the golden files would notice.
func marks(dec *yaml.Decoder) (problem, context [2]int) {
	p := reflect.ValueOf(dec).Elem().FieldByName("parser")
	if p.Kind() != reflect.Pointer || p.IsNil() || p.Elem().Kind() != reflect.Struct {
		return
	}
	scanner := p.Elem().FieldByName("parser")
	problem, context = mark(scanner, "problem_mark"), mark(scanner, "context_mark")
	if problem == mark1 { // not the scanner's error: an unknown alias, which is the current event
		problem, context = mark(p.Elem().FieldByName("event"), "start_mark"), [2]int{}
	}
	return
}

// mark1 is the mark that was never set.
var mark1 = [2]int{1, 1}

func mark(owner reflect.Value, name string) [2]int {
	if owner.Kind() != reflect.Struct {
		return [2]int{}
	}
	m := owner.FieldByName(name)
	if m.Kind() != reflect.Struct {
		return [2]int{}
	}
	line, column := m.FieldByName("line"), m.FieldByName("column")
	if !line.CanInt() || !column.CanInt() {
		return [2]int{}
	}
	return [2]int{int(line.Int()) + 1, int(column.Int()) + 1}
}
