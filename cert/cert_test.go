package cert

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// single builds an instance of single-stage jobs on machines of one slot.
func single(speeds []float64, jobs ...sched.Job) *sched.Instance {
	in := &sched.Instance{Name: "single"}
	for i, v := range speeds {
		in.Machines = append(in.Machines, sched.Machine{Name: fmt.Sprint("m", i), Speed: v, Slots: 1, Port: math.Inf(1)})
	}
	for i := range jobs {
		jobs[i].Name = string(rune('a' + i))
	}
	in.Jobs = jobs
	return in
}

func job(w float64, after []sched.JobID, sizes ...float64) sched.Job {
	st := sched.Stage{Name: "s", Count: len(sizes)}
	for _, p := range sizes {
		st.Sizes = append(st.Sizes, size.Exact(p))
	}
	return sched.Job{Weight: w, After: after, Stages: []sched.Stage{st}}
}

// known are hand-checked instances, with the exact value of (S1)-(S2) alone (all
// multipliers 0) and of the whole relaxation.
var known = map[string]struct {
	in        *sched.Instance
	bare, all *big.Rat
}{
	"one job":      {single([]float64{2, 1}, job(1, nil, 2, 2)), big.NewRat(4, 3), big.NewRat(4, 3)},
	"short job":    {single([]float64{1, 1}, job(1, nil, 2, 2), job(3, nil, 1)), big.NewRat(19, 4), big.NewRat(87, 16)},
	"chain":        {single([]float64{3, 1}, job(1, nil, 3), job(4, []sched.JobID{0}, 3, 3), job(1, nil, 6)), big.NewRat(99, 8), big.NewRat(235, 16)},
	"identical":    {single([]float64{1, 1, 1}, job(1, nil, 3), job(1, nil, 3), job(1, nil, 3), job(2, nil, 1, 1, 1)), big.NewRat(14, 1), big.NewRat(14, 1)},
	"map, reduce":  {single([]float64{2, 1}, job(0, nil, 2, 2), job(3, []sched.JobID{0}, 4), job(0, nil, 1, 1), job(2, []sched.JobID{2}, 1)), big.NewRat(41, 6), big.NewRat(91, 6)},
	"two branches": {single([]float64{3, 1}, job(0, nil, 3), job(0, nil, 3), job(4, []sched.JobID{0, 1}, 6), job(0, nil, 3), job(1, []sched.JobID{3}, 3)), big.NewRat(75, 8), big.NewRat(143, 8)},
}

func TestKnownValues(t *testing.T) {
	for name, k := range known {
		bare, err := Value(LP, Dual{}, k.in)
		if err != nil || bare != roundDown(k.bare) {
			t.Errorf("%s: without multipliers %v, %v; want %v", name, bare, err, roundDown(k.bare))
		}
		best := 0.0
		ascend(k.in, func(d Dual) {
			v, err := Value(LP, d, k.in)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			best = max(best, v)
		})
		if rat(best).Cmp(k.all) > 0 {
			t.Errorf("%s: some multipliers prove %v, above the relaxation's value %v", name, best, k.all)
		}
		if want, _ := k.all.Float64(); best < want*(1-1e-3) {
			t.Errorf("%s: subgradient ascent reaches %v only, the relaxation's value is %v", name, best, want)
		}
	}
}

// ascend is projected subgradient ascent over the multipliers; it shows each of
// its points, which are feasible exactly.
func ascend(in *sched.Instance, show func(Dual)) {
	nodes, muRat := slowNodes(in)
	mu, _ := muRat.Float64()
	f := func(r *big.Rat) float64 {
		if r == nil {
			return 0
		}
		x, _ := r.Float64()
		return x
	}
	type arc struct{ a, b int }
	var arcs []arc
	for b := range nodes {
		for _, a := range nodes[b].preds {
			arcs = append(arcs, arc{a, b})
		}
	}
	lambda, nu := make([]float64, len(arcs)), make([]float64, len(nodes))
	order := reverseTopological(nodes)
	const grid = 1 << 20 // multipliers are multiples of 1/grid, so that sums are exact
	for it := 1; it <= 1500; it++ {
		// Repair: from last to first, hand on at most what there is.
		left := make([]float64, len(nodes))
		for j := range nodes {
			left[j] = f(nodes[j].w)
		}
		d := Dual{}
		for _, j := range order {
			want := nu[j]
			for e, a := range arcs {
				if a.b == j {
					want += lambda[e]
				}
			}
			scale := 1.0
			if want > left[j] {
				scale = left[j] / want
			}
			nu[j] = math.Floor(nu[j]*scale*grid) / grid
			left[j] -= nu[j]
			d.Heads = append(d.Heads, Head{nodes[j].name, exactly(nu[j]).String()})
			for e, a := range arcs {
				if a.b == j {
					lambda[e] = math.Floor(lambda[e]*scale*grid) / grid
					left[j] -= lambda[e]
					left[a.a] += lambda[e]
					d.Arcs = append(d.Arcs, Arc{nodes[a.a].name, nodes[j].name, exactly(lambda[e]).String()})
				}
			}
		}
		show(d)
		c := make([]float64, len(nodes))
		before := 0.0
		pending := make([]bool, len(nodes))
		for range nodes { // Smith's rule by selection
			pick := -1
			for j := range nodes {
				if !pending[j] && (pick < 0 || left[j]*f(nodes[pick].p) > left[pick]*f(nodes[j].p)) {
					pick = j
				}
			}
			pending[pick] = true
			p := f(nodes[pick].p)
			c[pick] = (before+p/2)/mu + p/(2*f(nodes[pick].mu))
			before += p
		}
		step := 0.5 / math.Sqrt(float64(it))
		for e, a := range arcs {
			lambda[e] = max(0, lambda[e]+step*(c[a.a]+f(nodes[a.b].l)-c[a.b]))
		}
		for j := range nodes {
			nu[j] = max(0, nu[j]+step*(f(nodes[j].r)+f(nodes[j].l)-c[j]))
		}
	}
}

func TestExactClaim(t *testing.T) {
	in := known["identical"].in // its value is 14, without multipliers
	for claim, ok := range map[string]bool{
		"14": true, "14.0": true, "1.4e1": true, "13.999999999999999999999999999999": true, "0": true, "-3": true,
		"14.0000000000000000000000000000000000000000000000001": false, "15": false, "1e400": false,
	} {
		v, err := Verify(certify(in, Dual{}, claim), in)
		if ok && (err != nil || v.Value != 14 || v.LowerBound > 14) {
			t.Errorf("claim %s: %+v, %v", claim, v, err)
		}
		if !ok && !errors.Is(err, ErrClaim) {
			t.Errorf("claim %s: got %v, want ErrClaim", claim, err)
		}
	}
}

// The value of every drawn dual vector equals that of the slow twin, a claim of
// it is verified after writing and reading, and a claim of one unit in the last
// place more is refused.
func TestValueMatchesOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := small.draw(t)
		d := drawDual(t, in)
		for _, relaxation := range []string{LP, LPStrong} {
			want, ok := slowValue(relaxation, d, in)
			if !ok {
				t.Fatal("the drawn dual vector is not feasible")
			}
			got, err := Value(relaxation, d, in)
			if err != nil || rat(got).Cmp(want) > 0 || got < roundDown(new(big.Rat).Mul(want, loss(relaxation))) {
				t.Fatalf("%s: value %v, %v; the oracle says %v", relaxation, got, err, roundDown(want))
			}
			c := certify(in, d, exactly(got).String())
			c.Relaxation = relaxation
			v, err := Verify(rewrite(t, c), in)
			if err != nil || v.LowerBound != got || v.Value != got {
				t.Fatalf("%s: %+v, %v; want %v", relaxation, v, err, got)
			}
			c.LowerBound = exactly(math.Nextafter(got, math.Inf(1))).String()
			if _, err := Verify(rewrite(t, c), in); !errors.Is(err, ErrClaim) {
				t.Fatalf("%s: a claim of one unit in the last place too much: %v", relaxation, err)
			}
		}
	})
}

// loss is what the verifier may lose by rounding down, as a factor: nothing for "lp".
func loss(relaxation string) *big.Rat {
	if relaxation == LPStrong {
		return new(big.Rat).Sub(big.NewRat(1, 1), new(big.Rat).SetFrac64(1, 1<<60))
	}
	return big.NewRat(1, 1)
}

// Where nobody waits and tasks are alike, both relaxations are the same; otherwise the
// same multipliers prove no less by the stronger one.
func TestStrongIsStronger(t *testing.T) {
	more, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		in := small.draw(t)
		d := drawDual(t, in)
		all++
		weak, err := Value(LP, d, in)
		strong, err2 := Value(LPStrong, d, in)
		if err != nil || err2 != nil || strong < weak*(1-1e-15) {
			t.Fatalf("lp proves %v (%v), lp-strong %v (%v)", weak, err, strong, err2)
		}
		if strong > weak*(1+1e-6) {
			more++
		}
	})
	if more < all/3 {
		t.Errorf("lp-strong proves more %d of %d times only", more, all)
	}
}

// No dual vector proves more than the best schedule costs.
func TestValueBelowOptimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := tiny.draw(t)
		if sched.NewIndex(in).Tasks() > 5 {
			t.Skip("too many tasks for brute force")
		}
		d, opt := drawDual(t, in), optimum(in)
		for _, relaxation := range []string{LP, LPStrong} {
			if v, err := Value(relaxation, d, in); err != nil || v > opt {
				t.Fatalf("%s: bound %v (%v) above the optimum %v", relaxation, v, err, opt)
			}
		}
	})
}

func rewrite(t interface{ Fatal(...any) }, c *Certificate) *Certificate {
	var b bytes.Buffer
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	out, err := Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Dual.Arcs) == 0 {
		out.Dual.Arcs = c.Dual.Arcs // empty or nil
	}
	if len(out.Dual.Heads) == 0 {
		out.Dual.Heads = c.Dual.Heads
	}
	if !reflect.DeepEqual(c, out) {
		t.Fatal("a certificate reads back differently")
	}
	return out
}

// numbers returns every number in v that can be set, with its path.
func numbers(v reflect.Value, path string, add func(string, reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			numbers(v.Elem(), path, add)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			numbers(v.Field(i), path+"."+v.Type().Field(i).Name, add)
		}
	case reflect.Slice:
		for i := range v.Len() {
			numbers(v.Index(i), fmt.Sprintf("%s[%d]", path, i), add)
		}
	case reflect.Interface, reflect.Float64, reflect.Int, reflect.Int32, reflect.Int64:
		add(path, v)
	}
}

// Altering any one number of the instance, or of the certificate, leaves a valid
// certificate only if what it claims is still proved; with the hash renewed,
// exactly then.
func TestAlterAnyNumber(t *testing.T) {
	accepted, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		in := small.draw(t)
		d := drawDual(t, in)
		relaxation := rapid.SampledFrom([]string{LP, LPStrong}).Draw(t, "relaxation")
		value, _ := Value(relaxation, d, in)
		c := certify(in, d, exactly(value*rapid.SampledFrom([]float64{1, 1, 0.999, 0.5}).Draw(t, "modesty")).String())
		c.Relaxation = relaxation
		hash := c.InstanceSHA256

		if rapid.Bool().Draw(t, "certificate") {
			list := []*string{&c.LowerBound}
			for i := range d.Arcs {
				list = append(list, &d.Arcs[i].Value)
			}
			for i := range d.Heads {
				list = append(list, &d.Heads[i].Value)
			}
			s := rapid.SampledFrom(list).Draw(t, "number")
			old, _ := new(big.Rat).SetString(*s)
			f, _ := old.Float64()
			*s = exactly(alter(t, f)).String()
		} else {
			var paths []string
			var values []reflect.Value
			numbers(reflect.ValueOf(in), "", func(p string, v reflect.Value) {
				paths, values = append(paths, p), append(values, v)
			})
			i := rapid.IntRange(0, len(paths)-1).Draw(t, "which")
			switch v := values[i]; v.Kind() {
			case reflect.Interface: // a size
				v.Set(reflect.ValueOf(size.Exact(alter(t, float64(v.Interface().(size.Exact))))))
			case reflect.Float64:
				v.SetFloat(alter(t, v.Float()))
			default:
				v.SetInt(v.Int() + rapid.SampledFrom([]int64{-2, -1, 1, 2}).Draw(t, "add"))
			}
			if _, err := Verify(c, in); err == nil && Hash(in) != hash {
				t.Fatalf("%s altered: accepted, though the hash is another's", paths[i])
			}
			c.InstanceSHA256 = Hash(in)
		}

		_, err := Verify(c, in)
		one := big.NewRat(1, 1)
		if err == nil && !proved(c, in, one) || err != nil && proved(c, in, loss(relaxation)) {
			t.Fatalf("proved: %v; Verify says %v", proved(c, in, one), err)
		}
		if err == nil {
			accepted++
		} else {
			refused++
		}
	})
	if accepted == 0 || refused == 0 {
		t.Errorf("%d accepted, %d refused: one side was not tested", accepted, refused)
	}
}

func alter(t *rapid.T, x float64) float64 {
	return rapid.SampledFrom([]float64{
		x + 1, x / 2, 2 * x, -x - 1, x * 1.000001, x - 1e-9, math.Nextafter(x, math.Inf(1)), math.Nextafter(x, math.Inf(-1)), 0,
	}).Draw(t, "altered")
}

// proved decides independently of the package whether c's claim is at most a part of
// what its multipliers prove.
func proved(c *Certificate, in *sched.Instance, part *big.Rat) bool {
	if in.Validate() != nil {
		return false
	}
	for j := range in.Jobs {
		for _, st := range in.Jobs[j].Stages {
			for _, d := range st.Sizes {
				if d.Mean() < 0 {
					return false
				}
			}
		}
	}
	value, ok := slowValue(c.Relaxation, c.Dual, in)
	claim, ok2 := new(big.Rat).SetString(c.LowerBound)
	return ok && ok2 && claim.Cmp(value.Mul(value, part)) <= 0
}

// Tasks of 3 and 1 on two machines: the work is centred no earlier than at 1, and what
// is left in the last s seconds is at most 2s up to s = 1, then s + 1: an area of 5.
// As a whole they take 3.
func TestStrongByHand(t *testing.T) {
	in := single([]float64{1, 1}, job(1, nil, 3, 1), job(0, []sched.JobID{0}, 2))
	for _, c := range []struct {
		d          Dual
		lp, strong float64
	}{
		{Dual{}, 2, 1 + 5./4},
		{Dual{Heads: []Head{{"a/s", "1"}}}, 3, 3},
	} {
		lp, err := Value(LP, c.d, in)
		strong, err2 := Value(LPStrong, c.d, in)
		if err != nil || err2 != nil || lp != c.lp || strong != c.strong {
			t.Errorf("%+v: lp %v (%v), lp-strong %v (%v), want %v and %v", c.d, lp, err, strong, err2, c.lp, c.strong)
		}
	}
	in.Jobs[1].Weight = 1 // b cannot start before 3: its work of 2 on two machines is centred at 3.5
	if v, err := Value(LPStrong, Dual{}, in); err != nil || v != 1+5./4+3.5+1 {
		t.Errorf("with a successor %v (%v), want %v", v, err, 1+5./4+3.5+1)
	}
	if _, err := Value("magic", Dual{}, in); !errors.Is(err, ErrFormat) {
		t.Errorf("an unknown relaxation: %v", err)
	}
}

func example() (*sched.Instance, *Certificate) {
	in := single([]float64{2, 1}, job(0, nil, 2, 2), job(3, []sched.JobID{0}, 4), job(2, nil, 1, 1))
	in.Name = "e"
	in.Jobs[1].Release = sched.Second
	d := Dual{
		Arcs:  []Arc{{"a/s", "b/s", "1.25"}},
		Heads: []Head{{"b/s", "0.5"}, {"c/s", "1e-1"}},
	}
	v, err := Value(LP, d, in)
	if err != nil {
		panic(err)
	}
	return in, certify(in, d, exactly(v).String())
}

// Every replacement, deletion and insertion of one character.
func TestCorruptAnyCharacter(t *testing.T) {
	in, c := example()
	var b bytes.Buffer
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	tried, accepted := 0, 0
	try := func(s string) {
		tried++
		got, err := Read(strings.NewReader(s))
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("not an ErrFormat: %v\n%s", err, s)
			}
			return
		}
		if _, err := Verify(got, in); err == nil {
			accepted++
			if !proved(got, in, big.NewRat(1, 1)) {
				t.Fatalf("accepted:\n%s", s)
			}
		}
	}
	const chars = "0123456789.-+eE \n\"\\/{}[],:asbx\x00\xff"
	for i := range text {
		try(text[:i] + text[i+1:])
		for k := range len(chars) {
			try(text[:i] + chars[k:k+1] + text[i+1:])
			try(text[:i] + chars[k:k+1] + text[i:])
		}
	}
	if accepted < 100 || accepted > tried/2 {
		t.Errorf("%d of %d accepted: the corruptions do not corrupt", accepted, tried)
	}
}

func TestFirstThingWrong(t *testing.T) {
	long := strings.Repeat("1", maxNumber+1)
	for name, c := range map[string]struct {
		break_ func(*Certificate, *sched.Instance)
		is     error
		says   string
	}{
		"api version": {func(c *Certificate, _ *sched.Instance) { c.APIVersion = "v9" }, ErrFormat, `apiVersion: found "v9"`},
		"kind":        {func(c *Certificate, _ *sched.Instance) { c.Kind = "Workload" }, ErrFormat, `expected "Certificate"`},
		"relaxation":  {func(c *Certificate, _ *sched.Instance) { c.Relaxation = "magic" }, ErrFormat, `relaxation: found "magic"`},
		"class":       {func(c *Certificate, _ *sched.Instance) { c.Class = "all" }, ErrFormat, "class"},
		"name":        {func(c *Certificate, _ *sched.Instance) { c.Instance = "f" }, ErrMismatch, `it names "f"`},
		"hash":        {func(_ *Certificate, in *sched.Instance) { in.Jobs[0].Weight = 9 }, ErrMismatch, "instanceSHA256"},
		"claim":       {func(c *Certificate, _ *sched.Instance) { c.LowerBound = "99" }, ErrClaim, "it claims 99"},
		"claim NaN":   {func(c *Certificate, _ *sched.Instance) { c.LowerBound = "NaN" }, ErrFormat, "lowerBound"},
		"node":        {func(c *Certificate, _ *sched.Instance) { c.Dual.Heads[0].Node = "b" }, ErrDual, `head of "b"`},
		"tail":        {func(c *Certificate, _ *sched.Instance) { c.Dual.Arcs[0].From = "x" }, ErrDual, `"x" -> "b/s"`},
		"no such arc": {func(c *Certificate, _ *sched.Instance) { c.Dual.Arcs[0].From = "c/s" }, ErrDual, "no such precedence"},
		"backwards":   {func(c *Certificate, _ *sched.Instance) { c.Dual.Arcs[0] = Arc{"b/s", "a/s", "0"} }, ErrDual, "no such precedence"},
		"twice":       {func(c *Certificate, _ *sched.Instance) { c.Dual.Arcs = append(c.Dual.Arcs, c.Dual.Arcs[0]) }, ErrDual, "two multipliers"},
		"head twice":  {func(c *Certificate, _ *sched.Instance) { c.Dual.Heads[1] = c.Dual.Heads[0] }, ErrDual, "two multipliers"},
		"negative":    {func(c *Certificate, _ *sched.Instance) { c.Dual.Arcs[0].Value = "-0.1" }, ErrDual, "negative"},
		"too much":    {func(c *Certificate, _ *sched.Instance) { c.Dual.Arcs[0].Value = "2.6" }, ErrDual, `at "b/s" the multipliers in exceed`},
		"hex":         {func(c *Certificate, _ *sched.Instance) { c.Dual.Arcs[0].Value = "0x1" }, ErrFormat, "not a decimal"},
		"long":        {func(c *Certificate, _ *sched.Instance) { c.Dual.Arcs[0].Value = long }, ErrFormat, "longer than 800"},
		"exponent":    {func(c *Certificate, _ *sched.Instance) { c.LowerBound = "1e999999999999999999999" }, ErrFormat, "exponent beyond 400"},
		"random": {
			func(_ *Certificate, in *sched.Instance) {
				in.Jobs[0].Stages[0].Sizes = []size.Dist{size.Uniform{Low: 1, High: 2}}
			}, ErrUnsupported, "stage a/s has random sizes (uniform(1, 2))",
		},
		"unknown size": {func(_ *Certificate, in *sched.Instance) { in.Jobs[0].Stages[0].Sizes = nil }, ErrUnsupported, "stage a/s has unknown sizes"},
		"transfer": {
			func(_ *Certificate, in *sched.Instance) {
				in.Jobs[0].Stages[0].Flows, in.Jobs[0].Stages[0].Count = []sched.Flow{{Size: size.Exact(1)}}, 0
			},
			ErrUnsupported, "stage a/s is a transfer",
		},
		"fluid":    {func(_ *Certificate, in *sched.Instance) { in.Jobs[0].Stages[0].Fluid = &sched.Fluid{} }, ErrUnsupported, "stage a/s shares rates"},
		"no slots": {func(_ *Certificate, in *sched.Instance) { in.Machines = nil }, ErrUnsupported, "no machine with a slot"},
		"same names": {
			func(_ *Certificate, in *sched.Instance) { in.Jobs[2].Name = "a" },
			ErrUnsupported, `"a/s" stands for two things`,
		},
		"invalid": {func(_ *Certificate, in *sched.Instance) { in.Jobs[1].After[0] = 1 }, sched.ErrInstance, "b -> b"},
	} {
		in, cert := example()
		if _, err := Verify(cert, in); err != nil {
			t.Fatalf("the example itself: %v", err)
		}
		c.break_(cert, in)
		_, err := Verify(cert, in)
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %v with %q", name, err, c.is, c.says)
		}
	}
}

func TestNewLPKeepsEveryBit(t *testing.T) {
	in := single([]float64{1}, job(1, nil, 1), job(1, []sched.JobID{0}, 1))
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		x := math.Float64frombits(r.Uint64() &^ (1 << 63))
		if !finite(x) {
			continue
		}
		c, err := New(in, LP, []Multiplier{{"a/s", "b/s", x}, {"a/s", "b/s", 0}}, []Multiplier{{"", "a/s", 0}}, -x)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{c.Dual.Arcs[0].Value, strings.TrimPrefix(c.LowerBound, "-")} {
			v, ok := new(big.Rat).SetString(s)
			if d, err := parseDecimal(s); !ok || v.Cmp(rat(x)) != 0 || err != nil || d.String() != s {
				t.Fatalf("%v is written %s, parsed %v", x, s, err)
			}
		}
		if len(c.Dual.Heads) != 0 {
			t.Fatal("a zero multiplier is written")
		}
	}
	c, err := New(in, LP, []Multiplier{{"b", "c", 0.1}, {"a", "c", 1}, {"b", "c", 0.2}}, nil, 1)
	if err != nil || len(c.Dual.Arcs) != 2 || c.Dual.Arcs[0].From != "a" {
		t.Fatalf("%+v, %v", c, err)
	}
	if v, _ := new(big.Rat).SetString(c.Dual.Arcs[1].Value); v.Cmp(new(big.Rat).Add(rat(0.1), rat(0.2))) != 0 {
		t.Errorf("0.1 + 0.2 is written %s", c.Dual.Arcs[1].Value)
	}
	for _, x := range []float64{math.NaN(), math.Inf(1)} {
		if _, err := New(in, LP, nil, nil, x); !errors.Is(err, ErrFormat) {
			t.Errorf("bound %v: %v", x, err)
		}
		if _, err := New(in, LP, nil, []Multiplier{{"", "a/s", x}}, 1); !errors.Is(err, ErrFormat) {
			t.Errorf("multiplier %v: %v", x, err)
		}
	}
}

// fraction.floor against big.Rat, from subnormal to beyond the largest float64.
func TestFloor(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		f := fraction{big.NewInt(r.Int64N(1<<40) - 1<<39), big.NewInt(r.Int64N(1<<40) + 1)}
		if shift := uint(r.IntN(1150)); r.IntN(2) == 0 {
			f.num.Lsh(f.num, shift)
		} else {
			f.den.Lsh(f.den, shift)
		}
		v := new(big.Rat).SetFrac(f.num, f.den)
		got := f.floor()
		next := math.Nextafter(got, math.Inf(1))
		below := math.IsInf(got, -1) || rat(got).Cmp(v) <= 0
		above := math.IsInf(next, 1) || rat(next).Cmp(v) > 0
		if !below || !above {
			t.Fatalf("%v rounded down is %v", f, got)
		}
	}
}

// Ratios that no float tells apart are ordered exactly, and so are those outside
// its range.
func TestSmithOrderIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	long := func(bits uint) *big.Int {
		z := new(big.Int)
		for range bits / 32 {
			z.Lsh(z, 32).Or(z, big.NewInt(int64(r.Uint32())))
		}
		return z.SetBit(z, int(bits), 1)
	}
	for trial := range 1000 {
		// Half way between two float64, the smallest difference decides.
		common := big.NewInt(1<<53 + r.Int64N(1<<53) | 1)
		if trial%10 == 1 {
			common.SetInt64(r.Int64N(1<<14) | 1)
		}
		relax := relaxation{nodes: make([]node, 20)}
		left := make([]*big.Int, 20)
		for j := range left {
			relax.nodes[j].work = long(192)
			left[j] = new(big.Int).Mul(relax.nodes[j].work, common)
			left[j].Add(left[j], new(big.Int).Sub(long(128), long(128)))
			switch trial % 10 {
			case 0:
				left[j].Lsh(left[j], 1000) // beyond the largest float64
			case 1:
				relax.nodes[j].work.Lsh(relax.nodes[j].work, 1075) // subnormal
			}
		}
		order := relax.smithOrder(left)
		if len(order) != len(left) {
			t.Fatalf("%d of %d nodes ordered", len(order), len(left))
		}
		for k := 1; k < len(order); k++ {
			a, b := order[k-1], order[k]
			x := new(big.Rat).SetFrac(left[a], relax.nodes[a].work)
			if c := x.Cmp(new(big.Rat).SetFrac(left[b], relax.nodes[b].work)); c < 0 || c == 0 && a > b {
				t.Fatalf("trial %d: %d before %d", trial, a, b)
			}
		}
	}
}
