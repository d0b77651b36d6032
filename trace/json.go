package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/fairlead-project/fairlead/workload"
)

// document is a JSON text with a name.
type document struct {
	name string
	data []byte
}

// Limits on what is in a document of at most MaxBytes. Real workflows of that size have a
// fraction of both.
const (
	maxObjects = 500_000
	maxEntries = 4_000_000
)

// decode reads the document into v and says where it is wrong.
func (d document) decode(v any) error {
	if !utf8.Valid(d.data) {
		return bad(d.name, 1, 1, workload.BadEncoding, "bytes that are not UTF-8", "a JSON text")
	}
	// Counted before it is parsed: {} and "" take far more memory than text.
	if n := bytes.Count(d.data, []byte("{")); n > maxObjects {
		return bad(d.name, 1, 1, workload.OverLimit, fmt.Sprintf("%d objects", n), fmt.Sprintf("at most %d", maxObjects))
	}
	if n := bytes.Count(d.data, []byte(",")); n > maxEntries {
		return bad(d.name, 1, 1, workload.OverLimit, fmt.Sprintf("%d entries", n), fmt.Sprintf("at most %d", maxEntries))
	}
	dec := json.NewDecoder(bytes.NewReader(d.data))
	err := dec.Decode(v)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		rest := d.data[dec.InputOffset():]
		if extra := bytes.TrimLeft(rest, " \t\r\n"); len(extra) > 0 {
			return d.at(int64(len(d.data)-len(extra)), workload.BadSyntax, "more after the end of the JSON value", "nothing")
		}
		return nil
	case errors.As(err, &kind):
		return d.at(d.begin(kind.Offset), workload.WrongType, "a "+kind.Value, fmt.Sprintf("%s (field %s)", jsonKind(kind.Type.Kind().String()), kind.Field))
	case errors.As(err, &syntax):
		return d.at(syntax.Offset-1, workload.BadSyntax, syntax.Error(), "JSON")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return d.at(int64(len(d.data)), workload.BadSyntax, "the end of the file", "the rest of a JSON value")
	}
	return d.at(0, workload.BadSyntax, err.Error(), "JSON")
}

// jsonKind says what JSON calls a kind of Go's.
func jsonKind(kind string) string {
	switch kind {
	case "struct", "map":
		return "an object"
	case "slice":
		return "a list"
	case "string":
		return "a text"
	}
	return "a number"
}

// begin returns where the literal begins that ends before offset; a list or
// an object is reported by where it begins or thereafter.
func (d document) begin(offset int64) int64 {
	i := min(offset, int64(len(d.data))) - 1
	if i < 0 {
		return 0
	}
	if d.data[i] == '"' {
		for i--; i > 0 && (d.data[i] != '"' || d.data[i-1] == '\\'); i-- {
		}
		return max(0, i)
	}
	for i > 0 && bytes.IndexByte([]byte("{}[],: \t\r\n\""), d.data[i-1]) < 0 {
		i--
	}
	return i
}

// at is the error at an offset in bytes.
func (d document) at(offset int64, class workload.Class, found, expected string) error {
	before := d.data[:max(0, min(offset, int64(len(d.data))))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return bad(d.name, line, column, class, found, expected)
}

// fail is the error at the value that path leads to, or at the last one on the way
// to it that is there.
func (d document) fail(class workload.Class, found, expected string, path ...any) error {
	return d.at(d.locate(path), class, found, expected)
}

// locate finds the value that a path of keys (string) and positions (int) leads to. The
// document has been decoded before, so it is JSON.
func (d document) locate(path []any) int64 {
	dec := json.NewDecoder(bytes.NewReader(d.data))
	start := func() int64 { // of the next value
		i := dec.InputOffset()
		for i < int64(len(d.data)) && bytes.IndexByte([]byte(" \t\r\n,:"), d.data[i]) >= 0 {
			i++
		}
		return i
	}
	at := start()
	for _, step := range path {
		tok, err := dec.Token()
		found := false
		for i := 0; err == nil && dec.More(); i++ {
			switch step := step.(type) {
			case string:
				if tok != json.Delim('{') {
					return at
				}
				var key json.Token
				if key, err = dec.Token(); err != nil {
					return at
				}
				found = key == step
			case int:
				if tok != json.Delim('[') {
					return at
				}
				found = i == step
			}
			if found {
				break
			}
			err = skip(dec)
		}
		if !found {
			return at
		}
		at = start()
	}
	return at
}

// skip passes over the next value.
func skip(dec *json.Decoder) error {
	for depth := 0; ; {
		tok, err := dec.Token()
		if err != nil {
			return err
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}
