package workload

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A path leads from the top of a file to a value: field names and keys (string),
// positions in lists (int), and at the end possibly a key itself (keyOf).
type path []any

type keyOf string

// String formats p like jobs[0].stages[1].needs.cpu.
func (p path) String() string {
	var b strings.Builder
	for _, step := range p {
		var name string
		switch s := step.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(s) + "]")
			continue
		case string:
			name = s
		case keyOf:
			name = string(s)
		}
		switch {
		case !nameRE.MatchString(name) || len(name) > maxShown:
			b.WriteString("[" + quoteShort(name) + "]")
		case b.Len() > 0:
			b.WriteString("." + name)
		default:
			b.WriteString(name)
		}
	}
	return b.String()
}

// find returns the node that p leads to, or the last one on the way to it.
func (p path) find(root *yaml.Node) *yaml.Node {
	n := target(root)
	for _, step := range p {
		var next *yaml.Node
		switch s := step.(type) {
		case int:
			if n.Kind == yaml.SequenceNode && s < len(n.Content) {
				next = n.Content[s]
			}
		case string:
			_, next = entry(n, s)
		case keyOf:
			next, _ = entry(n, string(s))
		}
		if next == nil {
			return n
		}
		n = target(next)
	}
	return n
}

func entry(n *yaml.Node, name string) (key, value *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if target(n.Content[i]).Value == name {
				return n.Content[i], n.Content[i+1]
			}
		}
	}
	return nil, nil
}

// target follows an alias, and a document to its content.
func target(n *yaml.Node) *yaml.Node {
	for {
		switch {
		case n.Kind == yaml.AliasNode:
			n = n.Alias
		case n.Kind == yaml.DocumentNode && len(n.Content) > 0:
			n = n.Content[0]
		default:
			return n
		}
	}
}

// maxShown bounds how much of a value a message repeats.
const maxShown = 60

// quoteShort quotes s, cut where it is long.
func quoteShort(s string) string {
	if r := []rune(s); len(r) > maxShown {
		s = string(r[:maxShown]) + "..."
	}
	return strconv.Quote(s)
}
