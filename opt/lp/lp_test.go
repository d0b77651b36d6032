package lp

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	m := &Model{
		Comment:   "two lines\nof comment",
		Variables: []Variable{{"C a/map", 1}, {"C a.map", 0}, {"e9", -0.1}, {"free", 3e-9}},
		Rows: []Row{
			{"st", []Term{{0, 1}, {1, -1}, {2, 1.0 / 3}, {3, 1e300}}, GreaterEqual, 2},
			{"st", nil, LessEqual, 0},
			{"obj", []Term{{3, 1}}, Equal, -1.5},
		},
	}
	var b strings.Builder
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	const want = `\ two lines
\ of comment
Minimize
 obj: + 1 x_C_a_map - 0.1 x_e9 + 3e-09 x_free
Subject To
 c_st: + 1 x_C_a_map - 1 x_C_a_map_2 + 0.3333333333333333 x_e9 + 1e+300 x_free >= 2
 c_st_2: 0 x_C_a_map <= 0
 c_obj: + 1 x_free = -1.5
End
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// Lines stay short, names legal and different, numbers exact, however long the row.
func TestWriteLongRows(t *testing.T) {
	m := &Model{}
	r := Row{Name: strings.Repeat("row ", 100), Bound: math.Pi}
	for i := range 500 {
		m.Variables = append(m.Variables, Variable{strings.Repeat("näme ", 60) + fmt.Sprint(i%3), math.Exp(float64(i%40) - 20)})
		r.Terms = append(r.Terms, Term{i, -math.Sqrt(float64(i + 1))})
	}
	m.Rows = []Row{r}
	var b strings.Builder
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(b.String(), "\n") {
		if len(line) > 500 {
			t.Fatalf("a line of %d bytes: %.60s...", len(line), line)
		}
	}
	terms := regexp.MustCompile(`([+-]) ([0-9.e+-]+) ([a-zA-Z0-9_]+)`).FindAllStringSubmatch(b.String(), -1)
	if len(terms) != 1000 {
		t.Fatalf("%d terms, want 500 in the objective and 500 in the row", len(terms))
	}
	names := map[string]bool{}
	for i, f := range terms {
		x, err := strconv.ParseFloat(f[2], 64)
		if f[1] == "-" {
			x = -x
		}
		want := m.Variables[i%500].Cost
		if i >= 500 {
			want = r.Terms[i-500].Coef
		}
		if err != nil || x != want {
			t.Errorf("term %d is %v, want %v (%v)", i, x, want, err)
		}
		names[f[3]] = true
	}
	if len(names) != 500 {
		t.Errorf("%d different names, want 500", len(names))
	}
}

func TestValidate(t *testing.T) {
	ok := func() *Model {
		return &Model{Variables: []Variable{{"a", 1}, {"b", 1}}, Rows: []Row{{"r", []Term{{0, 1}, {1, 1}}, Equal, 1}}}
	}
	if err := ok().Validate(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*Model){
		"cost NaN":       func(m *Model) { m.Variables[0].Cost = math.NaN() },
		"bound +Inf":     func(m *Model) { m.Rows[0].Bound = math.Inf(1) },
		"no such sense":  func(m *Model) { m.Rows[0].Sense = 7 },
		"no variable 2":  func(m *Model) { m.Rows[0].Terms[0].Var = 2 },
		"appears twice":  func(m *Model) { m.Rows[0].Terms[0].Var = 1 },
		"coefficient Na": func(m *Model) { m.Rows[0].Terms[0].Coef = math.NaN() },
	} {
		m := ok()
		spoil(m)
		err := m.Write(&strings.Builder{})
		if !errors.Is(err, ErrModel) || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}
