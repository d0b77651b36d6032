package workload

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// compute expands stage s, which has tasks.
func (x *expander) compute(g *stages, s int) {
	st, out := &g.in[s], &g.out[s]
	if st.Count != 0 && st.Sizes != nil {
		x.fail(g.path(s, keyOf("count")), Conflict, "both count and sizes", "one of them: sizes has an entry per task")
	}
	if st.Size != nil && st.Sizes != nil {
		x.fail(g.path(s, keyOf("size")), Conflict, "both size and sizes", "one of them")
	}
	out.Count = st.Tasks()
	x.tasks += int64(out.Count)
	switch {
	case st.Size != nil:
		out.Sizes = []size.Dist{st.Size.Dist()}
		x.work += float64(out.Count) * out.Sizes[0].Mean()
	case st.Sizes != nil:
		out.Sizes = make([]size.Dist, len(st.Sizes))
		for k, z := range st.Sizes {
			out.Sizes[k] = z.Dist()
			x.work += out.Sizes[k].Mean()
		}
	}
	for _, i := range st.Input {
		at := g.path(s, "input", keyOf(i.From))
		if from, ok := g.data(at, i.From); ok {
			g.order(from, s, at, i.From, "a stage that completes before this one: one in its `after`, or before those")
			out.Input = append(out.Input, sched.Input{From: from, Bytes: i.Bytes})
		}
	}
	before := len(x.errs)
	out.Machines = x.pin(g.path(s, "machines"), st.Machines)
	x.share(g, s)
	x.needs(g, s)
	if x.known && out.Fluid == nil && len(x.errs) == before {
		x.fit(g, s)
	}
}

// needs converts the stage's needs to thousandths, and to units per unit of rate.
func (x *expander) needs(g *stages, s int) {
	st, out := &g.in[s], &g.out[s]
	if st.Needs == nil {
		return
	}
	if x.known {
		out.Needs = make([]int64, len(x.in.Resources))
		if out.Fluid != nil {
			out.Fluid.Needs = make([]float64, len(x.in.Resources))
		}
	}
	for _, q := range st.Needs {
		d, ok := x.resources[q.Name]
		milli, bad := thousandths(q.Amount)
		if bad == TooFine && out.Fluid != nil {
			bad = ""
		}
		x.failAmount(g.path(s, "needs", q.Name), bad, q.Amount)
		switch {
		case !x.known:
		case !ok:
			x.failUnknown(g.path(s, "needs", keyOf(q.Name)), UnknownResource, "resource that a machine has", q.Name, x.in.Resources)
		default:
			out.Needs[d] = milli
			if out.Fluid != nil {
				out.Fluid.Needs[d] = q.Amount
			}
		}
	}
}

// share expands the fields of rate sharing.
func (x *expander) share(g *stages, s int) {
	st, out := &g.in[s], &g.out[s]
	var fields, forms []string
	for _, f := range []struct {
		field, form string
		set         bool
	}{
		{"maxRate", "needs per unit of rate", st.MaxRate != 0},
		{"gang", "needs per unit of rate", st.Gang},
		{"rates", "rates", st.Rates != nil},
		{"speedup", "speedup", st.Speedup != nil},
		{"page", "page", st.Page != ""},
	} {
		if f.set && !slices.Contains(forms, f.form) {
			fields, forms = append(fields, f.field), append(forms, f.form)
		}
	}
	if len(forms) == 0 {
		return
	}
	packing := st.MaxRate != 0 || st.Gang
	switch {
	case len(forms) > 1:
		x.fail(g.path(s, keyOf(fields[1])), BadSharing, "two ways of sharing in one stage, "+strings.Join(forms[:2], " and "), "one of them")
	case !packing && st.Needs != nil:
		x.fail(g.path(s, keyOf("needs")), BadSharing, "two ways of sharing in one stage, needs and "+forms[0], "one of them")
	case x.sharing != "" && x.sharing != forms[0]:
		x.fail(g.path(s, keyOf(fields[0])), BadSharing, fmt.Sprintf("two ways of sharing in one file, %s and %s", x.sharing, forms[0]), "one of them in all stages")
	case packing && st.Needs == nil:
		x.fail(g.path(s, keyOf(fields[0])), MissingField, fields[0]+" without needs", "the needs per unit of rate")
	case st.Gang && st.MaxRate == 0:
		x.fail(g.path(s, keyOf("gang")), MissingField, "gang without maxRate", "the rate that the stage has while it holds its needs")
	}
	if x.sharing == "" {
		x.sharing = forms[0]
	}
	out.Fluid = &sched.Fluid{MaxRate: st.MaxRate, Gang: st.Gang, Speedup: st.Speedup, Page: st.Page}
	for i := 1; i < len(st.Speedup); i++ {
		if st.Speedup[i].Slope > st.Speedup[i-1].Slope {
			x.fail(g.path(s, "speedup", i, "slope"), NotConcave,
				fmt.Sprintf("the slope %v after %v", st.Speedup[i].Slope, st.Speedup[i-1].Slope), "slopes that never increase")
		}
	}
	seen := map[sched.MachineID]bool{}
	for _, r := range st.Rates {
		at := g.path(s, "rates", keyOf(r.Machine))
		for _, m := range x.group(at, r.Machine) {
			if seen[m] {
				x.fail(at, DuplicateEntry, fmt.Sprintf("a second rate on machine %q", x.in.Machines[m].Name), "one rate per machine")
				break
			}
			seen[m] = true
			out.Fluid.Rates = append(out.Fluid.Rates, sched.MachineRate{Machine: m, Rate: r.Rate})
		}
	}
	slices.SortFunc(out.Fluid.Rates, func(a, b sched.MachineRate) int { return int(a.Machine - b.Machine) })
}
