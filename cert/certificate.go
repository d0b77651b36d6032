package cert

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/fairlead-project/fairlead/sched"
)

// What a certificate says about itself.
const (
	APIVersion = "fairlead.dev/v1alpha1"
	Kind       = "Certificate"
	// LP is the relaxation (S1) to (S4) of the package comment.
	LP = "lp"
	// LPStrong is (S1) with (S2+) to (S4+).
	LPStrong = "lp-strong"
	// Preemptive is the class of schedules that both bound: those in which a
	// task may be interrupted and continued on another machine, hence also the
	// non-preemptive ones.
	Preemptive = "preemptive"
)

// What can be wrong; errors of this package wrap exactly one of these, or
// [sched.ErrInstance].
var (
	// ErrFormat: not a certificate that this package can read.
	ErrFormat = errors.New("cert: malformed certificate")
	// ErrMismatch: a certificate for another instance.
	ErrMismatch = errors.New("cert: certificate of another instance")
	// ErrDual: multipliers that are not a feasible dual vector.
	ErrDual = errors.New("cert: multipliers prove nothing")
	// ErrClaim: the claimed bound is more than the multipliers prove.
	ErrClaim = errors.New("cert: claim not proved")
	// ErrUnsupported: an instance outside the relaxation.
	ErrUnsupported = errors.New("cert: instance cannot be certified")
)

// Certificate claims that no schedule of an instance costs less than LowerBound,
// in weight × seconds. Numbers are decimal strings, in the grammar of JSON.
type Certificate struct {
	APIVersion     string `json:"apiVersion"`
	Kind           string `json:"kind"`
	Instance       string `json:"instance"` // its name, may be empty
	InstanceSHA256 string `json:"instanceSHA256"`
	Relaxation     string `json:"relaxation"`
	Class          string `json:"class"`
	Dual           Dual   `json:"dual"`
	LowerBound     string `json:"lowerBound"`
}

// Dual holds multipliers; those left out are 0. Nodes are named "job/stage", or
// "job" for the sink of a job with several last stages.
type Dual struct {
	Arcs  []Arc  `json:"arcs"`
	Heads []Head `json:"heads"`
}

// Arc is the multiplier of a precedence, (S4) or (S4+).
type Arc struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Value string `json:"value"`
}

// Head is the multiplier of an earliest completion, (S3) or (S3+).
type Head struct {
	Node  string `json:"node"`
	Value string `json:"value"`
}

// Multiplier is a solver's number for the arc From -> To, or, if From is empty,
// for the head of To. Nodes are named as in [Dual].
type Multiplier struct {
	From, To string
	Value    float64
}

// New writes down what a solver of a relaxation, [LP] or [LPStrong], found. It keeps every number exactly,
// leaves out zeros, adds up what it is given twice, and sorts by name; it does
// not judge: Verify does. Numbers must be finite.
func New(in *sched.Instance, relaxation string, arcs, heads []Multiplier, lowerBound float64) (*Certificate, error) {
	c := &Certificate{
		APIVersion: APIVersion, Kind: Kind,
		Instance: in.Name, InstanceSHA256: Hash(in),
		Relaxation: relaxation, Class: Preemptive,
		Dual: Dual{Arcs: []Arc{}, Heads: []Head{}},
	}
	if !finite(lowerBound) {
		return nil, fmt.Errorf("%w: the bound is %v", ErrFormat, lowerBound)
	}
	c.LowerBound = exactly(lowerBound).String()
	err := canonical(arcs, func(m Multiplier, value string) {
		c.Dual.Arcs = append(c.Dual.Arcs, Arc{m.From, m.To, value})
	})
	if err != nil {
		return nil, err
	}
	err = canonical(heads, func(m Multiplier, value string) {
		c.Dual.Heads = append(c.Dual.Heads, Head{m.To, value})
	})
	return c, err
}

// canonical emits the sums of equally named multipliers in order of name.
func canonical(list []Multiplier, emit func(Multiplier, string)) error {
	names := func(a, b Multiplier) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) }
	list = slices.SortedStableFunc(slices.Values(list), names)
	for i := 0; i < len(list); {
		m := list[i]
		total := exactly(0)
		for ; i < len(list) && names(m, list[i]) == 0; i++ {
			if !finite(list[i].Value) {
				return fmt.Errorf("%w: the multiplier of %q -> %q is %v", ErrFormat, m.From, m.To, list[i].Value)
			}
			total = total.add(exactly(list[i].Value))
		}
		if total.mant.Sign() != 0 {
			emit(m, total.String())
		}
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// Verified is what a valid certificate proves.
type Verified struct {
	// LowerBound is the claim, rounded down.
	LowerBound float64
	// Value is what the multipliers prove, rounded down; at least LowerBound.
	Value float64
}

// Verify checks that c proves its claim for in: that it is a certificate of a
// known relaxation, for this instance, with a feasible dual vector, and that the
// claim is at most the value of that vector, all exactly. The error says the
// first thing that is wrong. Cost: that of [Value].
func Verify(c *Certificate, in *sched.Instance) (Verified, error) {
	for _, f := range []struct{ field, found, want string }{
		{"apiVersion", c.APIVersion, APIVersion},
		{"kind", c.Kind, Kind},
		{"class", c.Class, Preemptive},
	} {
		if f.found != f.want {
			return Verified{}, fmt.Errorf("%w: %s: found %q, expected %q", ErrFormat, f.field, f.found, f.want)
		}
	}
	if c.Relaxation != LP && c.Relaxation != LPStrong {
		return Verified{}, fmt.Errorf("%w: relaxation: found %q, expected %q or %q", ErrFormat, c.Relaxation, LP, LPStrong)
	}
	claim, err := parseDecimal(c.LowerBound)
	if err != nil {
		return Verified{}, fmt.Errorf("%w: lowerBound: %w", ErrFormat, err)
	}
	r, err := relax(in, c.Relaxation == LPStrong)
	if err != nil {
		return Verified{}, err
	}
	if c.Instance != in.Name {
		return Verified{}, fmt.Errorf("%w: it names %q, the instance is called %q", ErrMismatch, c.Instance, in.Name)
	}
	if hash := Hash(in); c.InstanceSHA256 != hash {
		return Verified{}, fmt.Errorf("%w: its instanceSHA256 is %q, this instance's is %q", ErrMismatch, c.InstanceSHA256, hash)
	}
	value, err := r.value(c.Dual)
	if err != nil {
		return Verified{}, err
	}
	if !value.atLeast(claim) {
		return Verified{}, fmt.Errorf("%w: it claims %s, its multipliers prove %v", ErrClaim, c.LowerBound, value.floor())
	}
	one := scale{digits: max(0, -claim.exp)}
	return Verified{LowerBound: fraction{one.decimal(claim), one.unit()}.floor(), Value: value.floor()}, nil
}
