package policy

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-project/fairlead/sched"
)

type stub struct {
	P struct {
		Mode    string  `json:"mode"`
		Samples int     `json:"samples"`
		Plain   bool    `json:"plain"`
		Gap     float64 `json:"gap"`
	}
}

func (*stub) Decide(sched.Time, View, *rand.Rand) (Decision, error) { return Decision{}, nil }

func registry() *Registry {
	e := func(family, name string) Entry {
		return Entry{Info: Info{Family: family, Name: name}, New: func(p json.RawMessage) (Policy, error) {
			s := &stub{}
			return s, Decode(p, &s.P)
		}}
	}
	return NewRegistry(e("dag", "spc"), e("dag", "fifo"), e("coflow", "fifo"))
}

func TestParse(t *testing.T) {
	e, p, err := registry().Parse("dag/spc:mode=fast,samples=20,plain=true,gap=1e-3")
	if err != nil {
		t.Fatal(err)
	}
	got := p.(*stub).P
	if e.Full() != "dag/spc" || got.Mode != "fast" || got.Samples != 20 || !got.Plain || got.Gap != 1e-3 {
		t.Errorf("%s %+v", e.Full(), got)
	}
}

func TestParseErrors(t *testing.T) {
	for spec, want := range map[string]string{
		"nope":                  `unknown policy "nope": use one of coflow/fifo, dag/fifo, dag/spc`,
		"fifo":                  "could be any of coflow/fifo, dag/fifo: use the full name",
		"spc:samples":           `parameter "samples": expected name=value`,
		"spc:samples=1,speed=2": `unknown parameter "speed"`,
		"spc:samples=x":         `parameter "samples": found a string, expected a int`,
		"spc:plain=3":           `parameter "plain": found a number, expected a bool`,
		"spc:mode=a,mode=b":     `parameter "mode" is given twice`,
	} {
		_, _, err := registry().Parse(spec)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", spec, err, want)
		}
	}
	if _, _, err := registry().Parse("nope"); !errors.Is(err, ErrUnknown) {
		t.Errorf("%v is not ErrUnknown", err)
	}
	if e, _, err := registry().Parse("fifo", "coflow"); err != nil || e.Family != "coflow" {
		t.Errorf("fifo among coflow policies: %v, %v", e.Full(), err)
	}
}

func TestSplitList(t *testing.T) {
	got := SplitList("spc:plain=true,subset=true, fifo ,dag/wspt,npscs:mode=fifo")
	want := []string{"spc:plain=true,subset=true", "fifo", "dag/wspt", "npscs:mode=fifo"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if SplitList(" , ") != nil {
		t.Error("something out of nothing")
	}
}

func TestKnowledgeNames(t *testing.T) {
	for k := SizesUnknown; k <= SizesExact; k++ {
		if got, err := ParseSizes(k.String()); got != k || err != nil {
			t.Errorf("%v parses to %v, %v", k, got, err)
		}
	}
	for a := Online; a <= Offline; a++ {
		if got, err := ParseArrivals(a.String()); got != a || err != nil {
			t.Errorf("%v parses to %v, %v", a, got, err)
		}
	}
	if _, err := ParseSizes("some"); err == nil {
		t.Error("some is a knowledge of sizes")
	}
}

func TestRegisteredTwice(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	NewRegistry(Entry{Info: Info{Family: "dag", Name: "a"}}, Entry{Info: Info{Family: "dag", Name: "a"}})
}
