package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Info describes a policy to users and to the drivers.
type Info struct {
	Family string // "dag", "coflow" or "share"
	Name   string
	// Summary is one line; Problem its three-field notation.
	Summary string
	Problem string
	// Guarantee is the proved ratio, empty if none. Source says where from.
	Guarantee string
	Source    string
	Knowledge Knowledge
	// Random: it draws random numbers.
	Random bool
	// Params documents the parameters: name, then what it means.
	Params [][2]string
}

// Full is the name with its family, "dag/spc".
func (i Info) Full() string { return i.Family + "/" + i.Name }

// Entry is a registered policy. New reads the parameters, a JSON object or nil.
type Entry struct {
	Info
	New func(params json.RawMessage) (Policy, error)
}

// Registry holds the policies a program offers. It is a value, so that tests
// and other people's programs choose their own.
type Registry struct{ entries []Entry }

// NewRegistry returns a registry of the given policies, in order of full name.
// It panics if two have the same one.
func NewRegistry(entries ...Entry) *Registry {
	r := &Registry{slices.Clone(entries)}
	slices.SortFunc(r.entries, func(a, b Entry) int { return strings.Compare(a.Full(), b.Full()) })
	for i := 1; i < len(r.entries); i++ {
		if r.entries[i].Full() == r.entries[i-1].Full() {
			panic("policy: registered twice: " + r.entries[i].Full())
		}
	}
	return r
}

// Entries returns the registered policies by full name.
func (r *Registry) Entries() []Entry { return r.entries }

// ErrUnknown is wrapped by the error for a name that no policy has.
var ErrUnknown = errors.New("unknown policy")

// Lookup finds a policy by full name, or by short name where only one family
// (of those given; none given: any) has it.
func (r *Registry) Lookup(name string, families ...string) (Entry, error) {
	var found []Entry
	var names []string
	for _, e := range r.entries {
		if len(families) > 0 && !slices.Contains(families, e.Family) {
			continue
		}
		names = append(names, e.Full())
		if e.Full() == name || e.Name == name {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Entry{}, fmt.Errorf("%w %q: use one of %s", ErrUnknown, name, strings.Join(names, ", "))
	}
	full := make([]string, len(found))
	for i, e := range found {
		full[i] = e.Full()
	}
	return Entry{}, fmt.Errorf("%w: %q could be any of %s: use the full name", ErrUnknown, name, strings.Join(full, ", "))
}

// Parse makes the policy that spec describes: a name, then perhaps a colon and
// parameters, as in "spc:plain=true,patience=2".
func (r *Registry) Parse(spec string, families ...string) (Entry, Policy, error) {
	name, list, hasParams := strings.Cut(spec, ":")
	e, err := r.Lookup(strings.TrimSpace(name), families...)
	if err != nil {
		return Entry{}, nil, err
	}
	var params json.RawMessage
	if hasParams {
		if params, err = parseParams(list); err != nil {
			return Entry{}, nil, fmt.Errorf("policy %s: %w", e.Full(), err)
		}
	}
	p, err := e.New(params)
	if err != nil {
		return Entry{}, nil, fmt.Errorf("policy %s: %w", e.Full(), err)
	}
	return e, p, nil
}

func parseParams(list string) (json.RawMessage, error) {
	obj := map[string]any{}
	for item := range strings.SplitSeq(list, ",") {
		key, value, ok := strings.Cut(item, "=")
		if key = strings.TrimSpace(key); !ok || key == "" {
			return nil, fmt.Errorf("parameter %q: expected name=value", item)
		}
		if _, dup := obj[key]; dup {
			return nil, fmt.Errorf("parameter %q is given twice", key)
		}
		if b, err := strconv.ParseBool(value); err == nil && value != "0" && value != "1" {
			obj[key] = b
		} else if json.Valid([]byte(value)) && value != "null" {
			obj[key] = json.RawMessage(value)
		} else {
			obj[key] = value
		}
	}
	return json.Marshal(obj)
}

// Decode reads parameters into a typed struct and refuses unknown ones, naming
// those there are.
func Decode(params json.RawMessage, into any) error {
	if len(params) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(params))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return fmt.Errorf("parameter %q: found a %s, expected a %s", wrong.Field, wrong.Value, wrong.Type)
		}
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return fmt.Errorf("unknown parameter %s", name)
		}
		return fmt.Errorf("parameters: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("parameters: text after the object")
	}
	return nil
}

// SplitList splits a comma-separated list of policies; a parameter
// (name=value, no colon) belongs to the policy before it.
func SplitList(list string) []string {
	var specs []string
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		if n := len(specs); n > 0 && strings.Contains(item, "=") && !strings.Contains(item, ":") {
			specs[n-1] += "," + item
			continue
		}
		if item != "" {
			specs = append(specs, item)
		}
	}
	return specs
}
