package lp

import (
	"bufio"
	"io"
	"strconv"
	"strings"
)

// Write writes m in CPLEX LP format. Numbers have full precision: reading them
// back gives the same float64 values. Names are changed where the format forbids
// them: characters other than letters, digits and _ become _, names are cut at
// maxName bytes, start with a letter that is not e, and are made different from
// each other by a number. Cost: linear in the size of the model.
func (m *Model) Write(w io.Writer) error {
	if err := m.Validate(); err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	if m.Comment != "" {
		for _, line := range strings.Split(m.Comment, "\n") {
			b.WriteString("\\ " + line + "\n")
		}
	}
	vars := make([]string, len(m.Variables))
	cost := make([]Term, 0, len(m.Variables))
	used := make(map[string]bool)
	for i, v := range m.Variables {
		vars[i] = unique(sanitise(v.Name, "x"), used)
		if v.Cost != 0 {
			cost = append(cost, Term{i, v.Cost})
		}
	}
	b.WriteString("Minimize\n obj:")
	writeTerms(b, cost, vars)
	b.WriteString("\nSubject To\n")
	clear(used)
	used["obj"] = true
	for _, r := range m.Rows {
		b.WriteString(" " + unique(sanitise(r.Name, "c"), used) + ":")
		writeTerms(b, r.Terms, vars)
		b.WriteString(" " + r.Sense.String() + " " + format(r.Bound) + "\n")
	}
	b.WriteString("End\n") // the default bounds, x ≥ 0, are the model's
	return b.Flush()       // also any earlier write error
}

// perLine keeps lines well below the 560 bytes that readers of the format promise:
// a term takes at most maxName + 30 bytes.
const (
	perLine = 4
	maxName = 80
)

func writeTerms(b *bufio.Writer, terms []Term, vars []string) {
	if len(terms) == 0 && len(vars) > 0 {
		b.WriteString(" 0 " + vars[0]) // readers want a term
	}
	for i, t := range terms {
		if i > 0 && i%perLine == 0 {
			b.WriteString("\n  ")
		}
		sign, coef := " + ", t.Coef
		if coef < 0 {
			sign, coef = " - ", -coef
		}
		b.WriteString(sign + format(coef) + " " + vars[t.Var])
	}
}

func format(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// sanitise makes name legal. A leading e could be read as an exponent, and words
// like "st" or "free" are keywords; so the prefix stands before every name.
func sanitise(name, prefix string) string {
	s := []byte(prefix + "_" + name)
	s = s[:min(len(s), maxName-10)] // leave room for a number
	for i, c := range s {
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			s[i] = '_'
		}
	}
	return string(s)
}

// unique returns name, or name with the least number that is not used yet.
func unique(name string, used map[string]bool) string {
	candidate := name
	for i := 2; used[candidate]; i++ {
		candidate = name + "_" + strconv.Itoa(i)
	}
	used[candidate] = true
	return candidate
}
