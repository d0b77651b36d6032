package workload

import (
	"fmt"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// writeJSON writes the tree of nodes as JSON; newline is a line break with the
// current indentation. Mappings and lists that are on one line in YAML are here
// too.
func writeJSON(b *strings.Builder, n *yaml.Node, newline string) {
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag == "!!str" {
			writeJSONText(b, n.Value)
		} else {
			b.WriteString(n.Value)
		}
		return
	case yaml.SequenceNode:
		writeJSONItems(b, n, "[", "]", 1, newline)
	default:
		writeJSONItems(b, n, "{", "}", 2, newline)
	}
}

func writeJSONItems(b *strings.Builder, n *yaml.Node, open, shut string, step int, newline string) {
	inner, separator := newline+"  ", ","
	if n.Style&yaml.FlowStyle != 0 || newline == "" {
		inner, newline, separator = "", "", ", "
	}
	b.WriteString(open)
	for i := 0; i < len(n.Content); i += step {
		if i > 0 {
			b.WriteString(separator)
		}
		b.WriteString(inner)
		if step == 2 {
			writeJSONText(b, n.Content[i].Value)
			b.WriteString(": ")
		}
		writeJSON(b, n.Content[i+step-1], inner)
	}
	b.WriteString(newline + shut)
}

// writeJSONText quotes s so that YAML readers understand it too: what is not
// printable is escaped, except beyond the basic plane, where JSON's escapes are
// pairs of surrogates that YAML does not know.
func writeJSONText(b *strings.Builder, s string) {
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x10000 && !unicode.IsPrint(r):
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}
