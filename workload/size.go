package workload

import (
	"fmt"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fairlead-project/fairlead/size"
)

// Size is a size as the file has it, in seconds at speed 1 or in bytes: a value or a
// random one.
type Size struct {
	Value  float64 // if Random is nil
	Random *Random
}

// Dist returns the distribution of s.
func (s Size) Dist() size.Dist {
	if s.Random != nil {
		return s.Random.dist
	}
	return size.Exact(s.Value)
}

// Random is a random size with the parameters it was written with.
type Random struct {
	form   string // discrete, uniform, exponential, lognormal, empirical
	params []float64
	p      []float64 // of discrete: probabilities of the values in params
	dist   size.Dist
}

// The forms of a random size.
const (
	formDiscrete    = "discrete"
	formUniform     = "uniform"
	formExponential = "exponential"
	formLognormal   = "lognormal"
	formEmpirical   = "empirical"
)

// formRules says what the parameters of each form must be.
var formRules = map[string]string{
	formDiscrete:    "probabilities in (0, 1] that sum to 1",
	formUniform:     "[low, high] with 0 <= low < high",
	formExponential: "a mean greater than 0",
	formLognormal:   "a mean and a cv greater than 0, small enough to compute with",
	formEmpirical:   "a list of sizes, small enough to compute with",
}

// describe shows the parameters for a message.
func (r *Random) describe() string {
	if r.form == formDiscrete {
		sum := 0.0
		for _, p := range r.p {
			sum += p
		}
		return fmt.Sprintf("probabilities %s that sum to %.12g", showNumbers(r.p), sum)
	}
	return r.form + " " + showNumbers(r.params)
}

func showNumbers(x []float64) string {
	s := fmt.Sprint(x[:min(len(x), maxListed)])
	if len(x) > maxListed {
		s = s[:len(s)-1] + " ...]"
	}
	return s
}

// build makes the distribution from the parameters.
func (r *Random) build() (err error) {
	switch r.form {
	case formDiscrete:
		r.dist, err = size.NewDiscrete(r.params, r.p)
	case formUniform:
		if len(r.params) != 2 {
			return fmt.Errorf("size: uniform: %d numbers", len(r.params))
		}
		r.dist, err = size.NewUniform(r.params[0], r.params[1])
	case formExponential:
		r.dist, err = size.NewExponential(r.params[0])
	case formLognormal:
		r.dist, err = size.NewLognormal(r.params[0], r.params[1])
	default:
		r.dist, err = size.NewEmpirical(r.params)
	}
	if err == nil {
		if m := r.dist.Mean(); !(m >= 0) || math.IsInf(m, 1) {
			err = fmt.Errorf("size: %s: the mean cannot be computed", r.form)
		}
	}
	return err
}

// sizeValue is a number, a quantity with unit, or a distribution.
type sizeValue struct {
	to   *Size
	unit unit
}

func (v sizeValue) decode(d *decoder, n *yaml.Node) {
	if target(n).Kind != yaml.MappingNode {
		number{to: &v.to.Value, unit: v.unit}.decode(d, n)
		return
	}
	var r Random
	before := len(d.errs)
	object[Random]{to: &r, what: "a distribution", fields: distFields(v.unit)}.decode(d, n)
	if len(d.errs) > before || d.abort {
		return
	}
	if n = target(n); len(n.Content) != 2 {
		d.fail(n, BadDistribution, fmt.Sprintf("%d distributions", len(n.Content)/2), "exactly one of "+strings.Join(fieldNames(distFields(v.unit)), ", "))
		return
	}
	if r.build() != nil {
		d.path = append(d.path, r.form)
		d.fail(n.Content[1], BadDistribution, r.describe(), formRules[r.form])
		d.path = d.path[:len(d.path)-1]
		return
	}
	v.to.Random = &r
}

func (v sizeValue) encode() *yaml.Node {
	if v.to.Random != nil {
		return object[Random]{to: v.to.Random, fields: distFields(v.unit), inline: true}.encode()
	}
	return numberNode(v.to.Value, v.unit)
}

// distFields are the forms of a distribution. A form's fields write it only if it
// is the one.
func distFields(u unit) []field[Random] {
	return []field[Random]{
		{formDiscrete, false, func(r *Random) value { return form{r, formDiscrete, discrete{r, u}} }},
		{formUniform, false, func(r *Random) value { return form{r, formUniform, samples(r, u)} }},
		{formExponential, false, func(r *Random) value {
			return form{r, formExponential, object[Random]{to: r, what: "an exponential distribution", fields: exponentialFields(u), inline: true}}
		}},
		{formLognormal, false, func(r *Random) value {
			return form{r, formLognormal, object[Random]{to: r, what: "a lognormal distribution", fields: lognormalFields(u), inline: true}}
		}},
		{formEmpirical, false, func(r *Random) value { return form{r, formEmpirical, samples(r, u)} }},
	}
}

func exponentialFields(u unit) []field[Random] {
	return []field[Random]{{"mean", true, func(r *Random) value { return r.param(0, u) }}}
}

func lognormalFields(u unit) []field[Random] {
	return []field[Random]{
		{"mean", true, func(r *Random) value { return r.param(0, u) }},
		{"cv", true, func(r *Random) value { return r.param(1, plain) }},
	}
}

func samples(r *Random, u unit) value {
	return list[float64]{to: &r.params, what: "sizes", inline: true, item: func(x *float64) value {
		return number{to: x, unit: u, always: true}
	}}
}

// param is the i-th parameter.
func (r *Random) param(i int, u unit) value {
	for len(r.params) <= i {
		r.params = append(r.params, 0)
	}
	return number{to: &r.params[i], unit: u, always: true}
}

// form marks the form of a distribution when it is read.
type form struct {
	r    *Random
	name string
	value
}

func (f form) decode(d *decoder, n *yaml.Node) {
	f.r.form = f.name
	f.value.decode(d, n)
}

func (f form) encode() *yaml.Node {
	if f.r.form != f.name {
		return nil
	}
	return f.value.encode()
}

// discrete is a mapping of values to probabilities.
type discrete struct {
	r    *Random
	unit unit
}

func (v discrete) decode(d *decoder, n *yaml.Node) {
	n = d.open(n)
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		d.fail(n, WrongType, describe(n), "a mapping of sizes to probabilities")
		return
	}
	values := make(map[float64]bool, len(n.Content)/2)
	d.keys(n, func(key, pn *yaml.Node) {
		var p float64
		x, ok := d.number(key, v.unit)
		if ok && values[x] {
			d.fail(key, DuplicateField, "the value "+quoteShort(key.Value)+" a second time", "each value once")
		}
		values[x] = true
		d.at(key.Value, number{to: &p, unit: plain}, pn)
		v.r.params, v.r.p = append(v.r.params, x), append(v.r.p, p)
	})
}

func (v discrete) encode() *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle}
	for i, x := range v.r.params {
		key := numberNode(x, v.unit)
		key.Tag, key.Style = "!!str", yaml.DoubleQuotedStyle
		n.Content = append(n.Content, key, numberNode(v.r.p[i], plain))
	}
	return n
}

// Lognormal returns a size that is lognormal with the given mean and coefficient of
// variation, both greater than 0.
func Lognormal(mean, cv float64) (Size, error) {
	r := &Random{form: formLognormal, params: []float64{mean, cv}}
	if err := r.build(); err != nil {
		return Size{}, err
	}
	return Size{Random: r}, nil
}
