package workload

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// A value reads and writes one value of the file. It is bound to the variable that
// holds it.
type value interface {
	decode(d *decoder, n *yaml.Node)
	encode() *yaml.Node // nil: leave the field out
}

// decoder holds the state of decoding one file.
type decoder struct {
	file  string
	path  path
	errs  Errors
	seen  int // nodes decoded, aliases expanded
	cpus  int // entries of all lists of processors
	abort bool
}

// fail notes an error at n, a node of the value at the current path.
func (d *decoder) fail(n *yaml.Node, class Class, found, expected string) {
	if d.abort {
		return
	}
	n = target(n)
	d.errs = append(d.errs, &Error{d.file, n.Line, n.Column, d.path.String(), class, message(found, expected)})
	d.abort = len(d.errs) == MaxErrors
}

// open follows an alias and counts the node: aliases of aliases may expand to more
// than the file has text for.
func (d *decoder) open(n *yaml.Node) *yaml.Node {
	if d.seen++; d.seen > 2*MaxValues {
		d.fail(n, OverLimit, "more values than that once aliases are expanded", fmt.Sprintf("at most %d", 2*MaxValues))
		d.abort = true
	}
	n = target(n)
	if n.Style&yaml.TaggedStyle != 0 {
		d.fail(n, BadTag, "the tag "+quoteShort(n.Tag), "a value without a tag")
	}
	return n
}

func (d *decoder) at(step any, v value, n *yaml.Node) {
	if d.abort {
		return
	}
	d.path = append(d.path, step)
	v.decode(d, n)
	d.path = d.path[:len(d.path)-1]
}

// scalar returns n's text, if n is a scalar and not null.
func (d *decoder) scalar(n *yaml.Node, expected string) (s *yaml.Node, ok bool) {
	n = d.open(n)
	switch {
	case isNull(n):
		d.fail(n, NullValue, "no value", expected)
	case n.Kind != yaml.ScalarNode:
		d.fail(n, WrongType, describe(n), expected)
	default:
		return n, n.Style&yaml.TaggedStyle == 0
	}
	return nil, false
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func quoted(n *yaml.Node) bool { return n.Style&^yaml.TaggedStyle != 0 }

// describe says what n is, for "found ...".
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(n):
		return "no value"
	case quoted(n) || n.Tag == "!!str":
		return quoteShort(n.Value)
	}
	return strings.Trim(quoteShort(n.Value), `"`)
}

// A field is one key of a mapping that holds a T.
type field[T any] struct {
	name     string
	required bool
	of       func(*T) value
}

// object is a mapping with the given fields.
type object[T any] struct {
	to     *T
	what   string
	fields []field[T]
	inline bool // written on one line
}

func (o object[T]) decode(d *decoder, n *yaml.Node) {
	n = d.open(n)
	if n.Kind != yaml.MappingNode {
		class := WrongType
		if isNull(n) {
			class = NullValue
		}
		d.fail(n, class, describe(n), "a mapping with the fields of "+o.what)
		return
	}
	seen := make([]bool, len(o.fields))
	complete := d.keys(n, func(key *yaml.Node, v *yaml.Node) {
		i := slices.IndexFunc(o.fields, func(f field[T]) bool { return f.name == key.Value })
		if i < 0 {
			names := fieldNames(o.fields)
			expected := "one of the fields of " + o.what + ": " + strings.Join(names, ", ")
			if s := similar(key.Value, names); s != "" {
				expected = fmt.Sprintf("a field of %s; did you mean %q?", o.what, s)
			}
			d.fail(key, UnknownField, "the unknown field "+quoteShort(key.Value), expected)
			return
		}
		seen[i] = true
		d.at(key.Value, o.fields[i].of(o.to), v)
	})
	for i, f := range o.fields {
		if f.required && !seen[i] && complete {
			expected := "the field " + f.name
			if c, ok := f.of(o.to).(constant); ok {
				expected += ": " + string(c)
			}
			d.fail(n, MissingField, o.what+" without "+f.name, expected)
		}
	}
}

// keys calls f for each key of the mapping n that is a proper one. It is not
// complete if there is a merge key, which stands for keys unknown.
func (d *decoder) keys(n *yaml.Node, f func(key, v *yaml.Node)) (complete bool) {
	complete = true
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content) && !d.abort; i += 2 {
		key := d.open(n.Content[i])
		switch {
		case key.Kind != yaml.ScalarNode:
			d.fail(key, WrongType, describe(key)+" as a key", "text as a key")
		case key.Value == "<<" && !quoted(key):
			complete = false
			d.fail(key, MergeKey, "the merge key <<", "the fields themselves: merge keys are not supported, aliases of whole values are")
		case seen[key.Value]:
			d.fail(key, DuplicateField, quoteShort(key.Value)+" a second time", "each key once")
		default:
			seen[key.Value] = true
			f(key, n.Content[i+1])
		}
	}
	return complete
}

func fieldNames[T any](fields []field[T]) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

func (o object[T]) encode() *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	if o.inline {
		n.Style = yaml.FlowStyle
	}
	for _, f := range o.fields {
		if v := f.of(o.to).encode(); v != nil {
			n.Content = append(n.Content, textNode(f.name), v)
		}
	}
	return n
}

// optional is a mapping behind a pointer, nil if the field is absent.
type optional[T any] struct {
	to   **T
	item func(*T) value
}

func (o optional[T]) decode(d *decoder, n *yaml.Node) {
	*o.to = new(T)
	o.item(*o.to).decode(d, n)
}

func (o optional[T]) encode() *yaml.Node {
	if *o.to == nil {
		return nil
	}
	return o.item(*o.to).encode()
}

// list is a list of T. An empty list and an absent one are the same, unless some
// entries are required.
type list[T any] struct {
	to     *[]T
	what   string // of what, for messages
	empty  bool   // may be empty
	inline bool
	item   func(*T) value
	start  T // defaults of an entry
}

func (l list[T]) decode(d *decoder, n *yaml.Node) {
	n = d.open(n)
	switch {
	case isNull(n):
		d.fail(n, NullValue, "no value", "a list of "+l.what)
		return
	case n.Kind != yaml.SequenceNode:
		d.fail(n, WrongType, describe(n), "a list of "+l.what)
		return
	case len(n.Content) == 0 && !l.empty:
		d.fail(n, EmptyList, "an empty list", "a list of "+l.what+" with at least one entry")
		return
	case len(n.Content) == 0:
		return
	}
	items := make([]T, len(n.Content))
	for i, c := range n.Content {
		if d.abort {
			return
		}
		items[i] = l.start
		d.at(i, l.item(&items[i]), c)
	}
	*l.to = items
}

func (l list[T]) encode() *yaml.Node {
	if len(*l.to) == 0 {
		return nil
	}
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	if l.inline {
		n.Style = yaml.FlowStyle
	}
	for i := range *l.to {
		n.Content = append(n.Content, l.item(&(*l.to)[i]).encode())
	}
	return n
}

// dict is a mapping with keys of the user's choice, kept in the file's order.
type dict[T any] struct {
	to    *[]T
	what  string // of what to what, for messages
	empty bool   // may be empty
	key   func(*T) *string
	check func(d *decoder, key *yaml.Node) bool
	item  func(*T) value
}

func (m dict[T]) decode(d *decoder, n *yaml.Node) {
	n = d.open(n)
	switch {
	case isNull(n):
		d.fail(n, NullValue, "no value", "a mapping of "+m.what)
		return
	case n.Kind != yaml.MappingNode:
		d.fail(n, WrongType, describe(n), "a mapping of "+m.what)
		return
	case len(n.Content) == 0 && !m.empty:
		d.fail(n, EmptyList, "an empty mapping", "a mapping of "+m.what+" with at least one entry")
		return
	case len(n.Content) == 0:
		return
	}
	items := make([]T, 0, len(n.Content)/2)
	d.keys(n, func(key, v *yaml.Node) {
		d.path = append(d.path, keyOf(key.Value))
		ok := m.check(d, key)
		d.path = d.path[:len(d.path)-1]
		if ok {
			items = append(items, *new(T))
			last := &items[len(items)-1]
			*m.key(last) = key.Value
			d.at(key.Value, m.item(last), v)
		}
	})
	*m.to = items
}

func (m dict[T]) encode() *yaml.Node {
	if len(*m.to) == 0 {
		return nil
	}
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle}
	for i := range *m.to {
		it := &(*m.to)[i]
		n.Content = append(n.Content, textNode(*m.key(it)), m.item(it).encode())
	}
	return n
}

// number is a number of some unit.
type number struct {
	to       *float64
	unit     unit
	positive bool    // zero is refused
	absent   float64 // not written if equal to this
	always   bool    // always written
	max      float64 // 0: no limit
}

func (v number) decode(d *decoder, n *yaml.Node) {
	s, ok := d.scalar(n, v.unit.expected)
	if !ok {
		return
	}
	x, ok := d.number(s, v.unit)
	switch {
	case !ok:
	case v.positive && x == 0:
		d.fail(s, OutOfRange, describe(s), "a number greater than 0")
	case v.max > 0 && x > v.max:
		d.fail(s, OutOfRange, describe(s), "at most "+formatNumber(v.max))
	default:
		*v.to = x
	}
}

// digitsRE matches what was meant to be a number.
var digitsRE = regexp.MustCompile(`^[-+]?\.?[0-9]`)

// number parses the scalar s as a number of u.
func (d *decoder) number(s *yaml.Node, u unit) (x float64, ok bool) {
	if quoted(s) && !u.quotable {
		d.fail(s, WrongType, "the text "+quoteShort(s.Value), u.expected+", without quotes")
		return 0, false
	}
	x, bad := u.parse(s.Value)
	switch {
	case bad == "":
		return x, true
	case bad == OutOfRange && strings.HasPrefix(s.Value, "-"):
		d.fail(s, bad, describe(s), "a number of at least 0")
	case bad == OutOfRange:
		d.fail(s, bad, describe(s), "a number below 1.8e308")
	case bad == BadNumber && digitsRE.MatchString(s.Value):
		d.fail(s, bad, describe(s), u.expected+"; plain decimal, without leading zeros or separators")
	case bad == BadNumber && s.Tag == "!!float":
		d.fail(s, bad, describe(s), "a finite number; where there is no limit leave the field out")
	case bad == BadNumber:
		d.fail(s, WrongType, describe(s), u.expected)
	case u.scales == nil && !u.duration:
		d.fail(s, bad, describe(s), "a number without a unit")
	case u.duration:
		d.fail(s, bad, describe(s), u.expected+"; units are ns, us, ms, s, m and h")
	default:
		d.fail(s, bad, describe(s), u.expected+"; 1 kB is 1000 bytes, 1 KiB is 1024")
	}
	return 0, false
}

func (v number) encode() *yaml.Node {
	if *v.to == v.absent && !v.always {
		return nil
	}
	return numberNode(*v.to, v.unit)
}

func numberNode(x float64, u unit) *yaml.Node {
	s := formatNumber(x)
	switch u.expected {
	case bytes_.expected:
		s = formatBytes(x, "B")
	case amount.expected:
		s = formatBytes(x, "")
	}
	if c := s[len(s)-1]; !isDigit(c) {
		return textNode(s)
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: s} // no tag: the emitter infers it
}

// integer is a whole number.
type integer struct {
	to       *int
	min, max int
	absent   int
	unit     string // of what, where max is a stated limit
}

func (v integer) decode(d *decoder, n *yaml.Node) {
	s, ok := d.scalar(n, "a whole number")
	if !ok {
		return
	}
	x, ok := d.number(s, plain)
	i, err := strconv.Atoi(strings.TrimPrefix(s.Value, "+"))
	switch {
	case !ok:
	case x < float64(v.min):
		d.fail(s, OutOfRange, describe(s), fmt.Sprintf("a whole number of at least %d", v.min))
	case x > float64(v.max):
		d.fail(s, OverLimit, describe(s), fmt.Sprintf("at most %d%s", v.max, v.unit))
	case err != nil:
		d.fail(s, BadNumber, describe(s), "a whole number, without point or exponent")
	default:
		*v.to = i
	}
}

func (v integer) encode() *yaml.Node {
	if *v.to == v.absent {
		return nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.Itoa(*v.to)}
}

// duration is a span that is exact in nanoseconds.
type duration struct{ to *time.Duration }

func (v duration) decode(d *decoder, n *yaml.Node) {
	var x float64
	before := len(d.errs)
	number{to: &x, unit: seconds, positive: true, max: maxTimeout.Seconds()}.decode(d, n)
	if len(d.errs) == before {
		*v.to = max(1, time.Duration(math.Round(x*float64(time.Second))))
	}
}

// maxTimeout leaves room to add times without overflow.
const maxTimeout = 100 * 365 * 24 * time.Hour

func (v duration) encode() *yaml.Node {
	if *v.to == 0 {
		return nil
	}
	return textNode(formatDuration(*v.to))
}

// boolean is true or false.
type boolean struct{ to *bool }

func (v boolean) decode(d *decoder, n *yaml.Node) {
	s, ok := d.scalar(n, "true or false")
	if !ok {
		return
	}
	if quoted(s) || s.Value != "true" && s.Value != "false" {
		d.fail(s, WrongType, describe(s), "true or false")
		return
	}
	*v.to = s.Value == "true"
}

func (v boolean) encode() *yaml.Node {
	if !*v.to {
		return nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: "true"}
}

// constant is a text that must be what it is.
type constant string

func (v constant) decode(d *decoder, n *yaml.Node) {
	if s, ok := d.scalar(n, string(v)); ok && s.Value != string(v) {
		d.fail(s, BadVersion, describe(s), string(v))
	}
}

func (v constant) encode() *yaml.Node { return textNode(string(v)) }

// name is a name: restricted, so that job/stage is unambiguous.
type name struct{ to *string }

var nameRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

const (
	maxName  = 253 // as in Kubernetes
	nameRule = "a name: letters, digits, '.', '_' and '-', beginning with a letter or digit"
)

func (v name) decode(d *decoder, n *yaml.Node) {
	if s, ok := d.scalar(n, nameRule); ok && d.name(s, nameRE, nameRule) {
		*v.to = s.Value
	}
}

// ambiguousRE matches plain scalars that YAML 1.1 readers take for booleans.
var ambiguousRE = regexp.MustCompile(`^(yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)$`)

// name checks that s is text and matches re, which rule describes.
func (d *decoder) name(s *yaml.Node, re *regexp.Regexp, rule string) bool {
	switch {
	case !quoted(s) && (s.Tag != "!!str" || ambiguousRE.MatchString(s.Value)):
		kind := map[string]string{"!!int": "number", "!!float": "number", "!!timestamp": "date"}[s.Tag]
		if kind == "" {
			kind = "boolean"
		}
		d.fail(s, WrongType, "the "+kind+" "+s.Value, fmt.Sprintf("text; in quotes it is: %q", s.Value))
	case !re.MatchString(s.Value):
		d.fail(s, BadName, quoteShort(s.Value), rule)
	case len(s.Value) > maxName:
		d.fail(s, BadName, fmt.Sprintf("a name of %d bytes", len(s.Value)), fmt.Sprintf("at most %d", maxName))
	default:
		return true
	}
	return false
}

func (v name) encode() *yaml.Node { return nonEmpty(*v.to) }

// text is taken as it is written, be it a number in the eyes of YAML or not.
type text struct {
	to    *string
	empty bool // may be empty
}

func (v text) decode(d *decoder, n *yaml.Node) {
	s, ok := d.scalar(n, "text")
	switch {
	case !ok:
	case s.Value == "" && !v.empty:
		d.fail(s, BadText, "an empty text", "text that is not empty")
	case strings.ContainsRune(s.Value, 0):
		d.fail(s, BadText, "a NUL character", "text that can be passed to a process")
	default:
		*v.to = s.Value
	}
}

func (v text) encode() *yaml.Node {
	if v.empty {
		return textNode(*v.to)
	}
	return nonEmpty(*v.to)
}

func nonEmpty(s string) *yaml.Node {
	if s == "" {
		return nil
	}
	return textNode(s)
}

var (
	plainRE   = regexp.MustCompile(`^[A-Za-z_./][A-Za-z0-9_./-]*$|^[0-9]+(\.[0-9]+)?[A-Za-z]+[A-Za-z0-9]*$`)
	literalRE = regexp.MustCompile(`^[!-~]([ -~]*[!-~])?\n+( *[!-~]([ -~]*[!-~])?\n+)*$`)
	escapesRE = regexp.MustCompile(`^[ -~]*["\\][ -~]*$`) // ugly in double quotes
)

// textNode writes text so that every YAML reader takes it for text, without
// quotes where that is safe.
func textNode(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	switch {
	case literalRE.MatchString(s):
		n.Style = yaml.LiteralStyle
	case escapesRE.MatchString(s):
		n.Style = yaml.SingleQuotedStyle
	case !plainRE.MatchString(s), ambiguousRE.MatchString(s):
		n.Style = yaml.DoubleQuotedStyle
	} // the emitter quotes true, null, 1e3 and the like by itself
	return n
}

// similar returns the candidate that s is most likely a misspelling of, or "".
func similar(s string, candidates []string) string {
	best, bestDistance := "", 1+min(2, len(s)/3)
	for i, c := range candidates {
		if i == maxCandidates {
			break
		}
		if strings.EqualFold(s, c) {
			return c
		}
		if d := len(s) - len(c); d < bestDistance && -d < bestDistance {
			if d := distance(s, c); d < bestDistance {
				best, bestDistance = c, d
			}
		}
	}
	return best
}

// maxCandidates bounds the time that a suggestion may take.
const maxCandidates = 10_000

// distance is the number of insertions, deletions, replacements and swaps of
// neighbours that turn a into b (optimal string alignment).
func distance(a, b string) int {
	prev2, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], prev2[j-2]+1)
			}
		}
		prev2, prev, row = prev, row, prev2
	}
	return prev[len(b)]
}
