package cert

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxBytes is the largest certificate that Read accepts: more than a million
// multipliers.
const MaxBytes = 256 << 20

// Write writes c as JSON, one multiplier per line.
func (c *Certificate) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	field := func(name, value, end string) { fmt.Fprintf(b, "  %q: %s%s\n", name, quote(value), end) }
	fmt.Fprintln(b, "{")
	field("apiVersion", c.APIVersion, ",")
	field("kind", c.Kind, ",")
	field("instance", c.Instance, ",")
	field("instanceSHA256", c.InstanceSHA256, ",")
	field("relaxation", c.Relaxation, ",")
	field("class", c.Class, ",")
	fmt.Fprint(b, "  \"dual\": {\n    \"arcs\": [")
	for i, a := range c.Dual.Arcs {
		comma(b, i)
		fmt.Fprintf(b, `{"from": %s, "to": %s, "value": %s}`, quote(a.From), quote(a.To), quote(a.Value))
	}
	closing(b, len(c.Dual.Arcs))
	fmt.Fprint(b, "],\n    \"heads\": [")
	for i, h := range c.Dual.Heads {
		comma(b, i)
		fmt.Fprintf(b, `{"node": %s, "value": %s}`, quote(h.Node), quote(h.Value))
	}
	closing(b, len(c.Dual.Heads))
	fmt.Fprint(b, "]\n  },\n")
	field("lowerBound", c.LowerBound, "")
	fmt.Fprintln(b, "}")
	return b.Flush() // reports any earlier error
}

func comma(w io.Writer, i int) {
	if i > 0 {
		io.WriteString(w, ",")
	}
	io.WriteString(w, "\n      ")
}

func closing(w io.Writer, entries int) {
	if entries > 0 {
		io.WriteString(w, "\n    ")
	}
}

func quote(s string) []byte {
	q, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always marshal
	}
	return q
}

// Read reads one certificate. It is stricter than encoding/json: unknown,
// repeated, missing or differently spelt fields, null, and anything after the
// certificate are errors, which wrap ErrFormat or come from r.
func Read(r io.Reader) (*Certificate, error) {
	limited := &io.LimitedReader{R: r, N: MaxBytes + 1}
	d := reader{json.NewDecoder(limited)}
	c := &Certificate{}
	err := d.certificate(c)
	if err == nil {
		switch _, err = d.Token(); {
		case err == nil:
			err = d.bad("something follows the certificate")
		case errors.Is(err, io.EOF):
			err = nil
		default:
			err = d.wrap(err)
		}
	}
	switch {
	case limited.N <= 0:
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrFormat, MaxBytes)
	case err != nil:
		return nil, err
	}
	return c, nil
}

type reader struct{ *json.Decoder }

func (d reader) bad(format string, args ...any) error {
	return fmt.Errorf("%w: byte %d: %s", ErrFormat, d.InputOffset(), fmt.Sprintf(format, args...))
}

// wrap turns errors of syntax into ErrFormat and leaves those of the reader.
func (d reader) wrap(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return d.bad("%v", err)
	}
	return fmt.Errorf("cert: %w", err)
}

func (d reader) certificate(c *Certificate) error {
	return d.object(map[string]func() error{
		"apiVersion":     d.text(&c.APIVersion),
		"kind":           d.text(&c.Kind),
		"instance":       d.text(&c.Instance),
		"instanceSHA256": d.text(&c.InstanceSHA256),
		"relaxation":     d.text(&c.Relaxation),
		"class":          d.text(&c.Class),
		"dual": func() error {
			return d.object(map[string]func() error{
				"arcs":  func() error { return d.list(func() error { return d.arc(&c.Dual) }) },
				"heads": func() error { return d.list(func() error { return d.head(&c.Dual) }) },
			})
		},
		"lowerBound": d.text(&c.LowerBound),
	})
}

func (d reader) arc(to *Dual) error {
	var a Arc
	err := d.object(map[string]func() error{"from": d.text(&a.From), "to": d.text(&a.To), "value": d.text(&a.Value)})
	to.Arcs = append(to.Arcs, a)
	return err
}

func (d reader) head(to *Dual) error {
	var h Head
	err := d.object(map[string]func() error{"node": d.text(&h.Node), "value": d.text(&h.Value)})
	to.Heads = append(to.Heads, h)
	return err
}

// object reads an object that has exactly the given fields, in any order; it
// uses up the map.
func (d reader) object(fields map[string]func() error) error {
	if err := d.delim('{'); err != nil {
		return err
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return d.wrap(err)
		}
		key, _ := t.(string) // the decoder refuses other keys
		read := fields[key]
		if read == nil {
			return d.bad("unknown or repeated field %q", key)
		}
		delete(fields, key)
		if err := read(); err != nil {
			return err
		}
	}
	if err := d.delim('}'); err != nil {
		return err
	}
	missing := ""
	for key := range fields {
		if missing == "" || key < missing {
			missing = key
		}
	}
	if missing != "" {
		return d.bad("field %q is missing", missing)
	}
	return nil
}

func (d reader) list(element func() error) error {
	if err := d.delim('['); err != nil {
		return err
	}
	for d.More() {
		if err := element(); err != nil {
			return err
		}
	}
	return d.delim(']')
}

func (d reader) delim(want json.Delim) error {
	t, err := d.Token()
	if err != nil {
		return d.wrap(err)
	}
	if t != want {
		return d.bad("expected %v, found %v", want, t)
	}
	return nil
}

func (d reader) text(to *string) func() error {
	return func() error {
		t, err := d.Token()
		if err != nil {
			return d.wrap(err)
		}
		s, ok := t.(string)
		if !ok {
			return d.bad("expected a string, found %v", t)
		}
		*to = s
		return nil
	}
}
