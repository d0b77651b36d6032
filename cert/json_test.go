package cert

import (
	"bytes"
	"errors"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadIsStrict(t *testing.T) {
	_, c := example()
	var b bytes.Buffer
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	good := b.String()
	for name, x := range map[string]struct{ old, new, says string }{
		"unknown field":  {`"kind"`, `"more": "x", "kind"`, `field "more"`},
		"repeated field": {`"kind"`, `"lowerBound": "1", "kind"`, `repeated field "lowerBound"`},
		"spelling":       {`"kind"`, `"Kind"`, `field "Kind"`},
		"missing field":  {`"class": "preemptive",`, ``, `field "class" is missing`},
		"missing value":  {`"value": "1.25"`, `"from": "x"`, `repeated field "from"`},
		"number":         {`"1.25"`, `1.25`, "expected a string, found 1.25"},
		"null":           {`"1.25"`, `null`, "expected a string, found <nil>"},
		"null list":      {`"arcs": [`, `"arcs": null, "x": [`, "expected [, found <nil>"},
		"trailing data":  {"}\n", "}\n{}", "something follows"},
		"trailing word":  {"}\n", "}\nx", "invalid character"},
		"cut":            {good[len(good)/2:], ``, "EOF"},
		"empty":          {good, ``, "EOF"},
		"no object":      {good, `[]`, "expected {, found ["},
		"comma":          {`"preemptive",`, `"preemptive"`, "invalid character"},
	} {
		i := strings.LastIndex(good, x.old)
		if i < 0 {
			t.Fatalf("%s: no %q", name, x.old)
		}
		_, err := Read(strings.NewReader(good[:i] + x.new + good[i+len(x.old):]))
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: got %v, want %q", name, err, x.says)
		}
	}
	if _, err := Read(iotest.ErrReader(errors.New("disk on fire"))); err == nil || errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("a reader's error becomes %v", err)
	}
	if err := c.Write(failing{}); err == nil {
		t.Error("a writer's error is lost")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// Whatever is read is written so that it reads back equal.
func FuzzRead(f *testing.F) {
	in, c := example()
	var b bytes.Buffer
	if err := c.Write(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(strings.Replace(b.String(), "1.25", "1e400", 1)))
	f.Add([]byte(`{"dual":{"arcs":[],"heads":[{}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		if _, err := Verify(c, in); err == nil && !proved(c, in, big.NewRat(1, 1)) {
			t.Fatalf("accepted: %+v", c)
		}
		var b bytes.Buffer
		if err := c.Write(&b); err != nil {
			t.Fatal(err)
		}
		if back, err := Read(&b); err != nil || !reflect.DeepEqual(back, c) {
			t.Fatalf("%+v reads back as %+v, %v", c, back, err)
		}
	})
}
