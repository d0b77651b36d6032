package engine

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/sched"
)

// Every field of what an engine is told and of what it answers matters to the
// digest.
func TestDigestSeesEveryField(t *testing.T) {
	event := func(ev Event) digest {
		var d digest
		d.event(3, ev)
		return d
	}
	action := func(a Action) digest {
		var d digest
		d.action(&a)
		return d
	}
	solution := policy.Solution{
		ID: 1, Order: []sched.StageID{0}, Queues: [][]sched.TaskID{{0}}, Lower: 2, Upper: 3, Fallback: true, Note: "n",
	}
	for _, c := range []struct {
		of     string
		fields []any
		digest func(any) digest
	}{
		{"event", variants(Event{Solution: &solution}), func(v any) digest { return event(v.(Event)) }},
		{"action", variants(Action{Request: &policy.Request{ID: 1}}), func(v any) digest { return action(v.(Action)) }},
		{"solution", variants(solution), func(v any) digest {
			s := v.(policy.Solution)
			return event(Event{Kind: Solved, Solution: &s})
		}},
	} {
		seen := map[digest]any{}
		for _, v := range c.fields {
			d := c.digest(v)
			if other, ok := seen[d]; ok {
				t.Errorf("%s: %+v has the digest of %+v", c.of, v, other)
			}
			seen[d] = v
		}
		if n := reflect.TypeOf(c.fields[0]).NumField(); len(seen) != 1+n {
			t.Errorf("%s: %d digests for %d fields", c.of, len(seen), n)
		}
	}
	if event(Event{Kind: Wake}) == func() (d digest) { d.event(4, Event{Kind: Wake}); return d }() {
		t.Error("the time does not matter")
	}
}

// variants returns v, and v with each of its fields in turn changed.
func variants(v any) []any {
	all := []any{v}
	for i := range reflect.TypeOf(v).NumField() {
		p := reflect.New(reflect.TypeOf(v)).Elem()
		p.Set(reflect.ValueOf(v))
		switch f := p.Field(i); {
		case f.CanInt():
			f.SetInt(f.Int() + 7)
		case f.CanUint():
			f.SetUint(f.Uint() + 7)
		case f.CanFloat():
			f.SetFloat(f.Float() + 7)
		case f.Kind() == reflect.String:
			f.SetString(f.String() + "!")
		default: // not there
			f.SetZero()
		}
		all = append(all, p.Interface())
	}
	return all
}

// once decides one thing, at the first round.
type once struct{ d policy.Decision }

func (p *once) Decide(sched.Time, policy.View, *rand.Rand) (d policy.Decision, err error) {
	d, p.d = p.d, policy.Decision{}
	return d, nil
}

// Runs that differ in one thing only have different digests, pairwise.
func TestDigestTellsRunsApart(t *testing.T) {
	in, err := parseInstance(`
		machine a slots=2
		machine b slots=2
		job x
		stage s count=3
		transfer t a>a:1 b>b:1
		job y
		stage s`)
	if err != nil {
		t.Fatal(err)
	}
	type run struct {
		first Event // before the first round
		d     policy.Decision
		last  Event // after it
	}
	seen := map[uint64]string{}
	for name, change := range map[string]func(*run){
		"nothing":             func(*run) {},
		"another machine":     func(r *run) { r.d.Start[0].Machine = 1 },
		"another slot":        func(r *run) { r.d.Start[0].Slot = 1 },
		"another task":        func(r *run) { r.d.Start[0].Task = 3 },
		"no start":            func(r *run) { r.d.Start, r.last = nil, Event{Kind: Wake} },
		"another flow":        func(r *run) { r.d.Flows[0] = 1 },
		"no flow":             func(r *run) { r.d.Flows = nil },
		"another member":      func(r *run) { r.d.Join[0].Activity.Task = 2 },
		"a flow as a member":  func(r *run) { r.d.Join[0].Activity = policy.Activity{Task: sched.None, Flow: 1} },
		"another group":       func(r *run) { r.d.Join[0].Group, r.d.Rates[0].Group = 1, 1 },
		"another share":       func(r *run) { r.d.Join[0].Share = 2 },
		"another rate":        func(r *run) { r.d.Rates[0].Rate = 2 },
		"no rate":             func(r *run) { r.d.Rates = nil },
		"another wake":        func(r *run) { r.d.Wake++ },
		"no wake":             func(r *run) { r.d.Wake = 0 },
		"another request":     func(r *run) { r.d.Solve.ID = 2 },
		"no request":          func(r *run) { r.d.Solve = nil },
		"no solution":         func(r *run) { r.first = Event{Kind: Wake} },
		"another solution":    func(r *run) { r.first.Solution.ID = 9 },
		"another order":       func(r *run) { r.first.Solution.Order = []sched.StageID{1, 0} },
		"a shorter order":     func(r *run) { r.first.Solution.Order = []sched.StageID{0} },
		"no order":            func(r *run) { r.first.Solution.Order = nil },
		"no order, fallback":  func(r *run) { r.first.Solution.Order, r.first.Solution.Fallback = nil, true },
		"no queues":           func(r *run) { r.first.Solution.Queues = nil },
		"empty queues":        func(r *run) { r.first.Solution.Queues = make([][]sched.TaskID, 4) },
		"the queue elsewhere": func(r *run) { q := r.first.Solution.Queues; q[0], q[1] = q[1], q[0] },
		"the queue in two":    func(r *run) { q := r.first.Solution.Queues; q[0], q[1] = q[0][:1], q[0][1:] },
		"another queue":       func(r *run) { r.first.Solution.Queues[0][1] = 2 },
		"another bound below": func(r *run) { r.first.Solution.Lower = 3 },
		"another bound above": func(r *run) { r.first.Solution.Upper = 3 },
		"bounds exchanged":    func(r *run) { s := r.first.Solution; s.Lower, s.Upper = s.Upper, s.Lower },
		"another note":        func(r *run) { r.first.Solution.Note = "m" },
		"a fallback":          func(r *run) { r.first.Solution.Fallback = true },
		"a failure":           func(r *run) { r.last.Kind = TaskFailed },
		"another attempt":     func(r *run) { r.last.Attempt = 2 },
		"a lost machine":      func(r *run) { r.last = Event{Kind: MachineLost} },
		"another lost one":    func(r *run) { r.last = Event{Kind: MachineLost, Machine: 1} },
	} {
		r := run{
			first: Event{Kind: Solved, Solution: &policy.Solution{
				Order: []sched.StageID{0, 1}, Queues: [][]sched.TaskID{{0, 1}, {}, {}, {}}, Lower: 1, Upper: 2, Note: "n",
			}},
			d: policy.Decision{
				Start: []policy.Start{{}},
				Flows: []sched.FlowID{0},
				Join:  []policy.Join{{Activity: policy.Activity{Task: 1, Flow: sched.None}, Share: 1}},
				Rates: []policy.GroupRate{{Rate: 1}},
				Wake:  2 * sched.Second, Solve: &policy.Request{ID: 1},
			},
			last: Finished(0, 1),
		}
		change(&r)
		e := newEngine(t, config(in, &once{r.d}, policy.Knowledge{}, 1))
		for i, ev := range []Event{Arrived(0), Arrived(1), r.first, {Kind: Wake}, r.last} {
			now := sched.Time(i/4) * sched.Second // the last one is later
			if _, err := e.Step(now, ev); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if other, ok := seen[e.Digest()]; ok {
			t.Errorf("%s: the digest is that of %s", name, other)
		}
		seen[e.Digest()] = name
	}
}
