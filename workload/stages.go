package workload

import (
	"fmt"
	"slices"

	"github.com/fairlead-project/fairlead/sched"
)

// stages is one job's stages while they are expanded.
type stages struct {
	x     *expander
	job   int
	in    []Stage
	out   []sched.Stage
	index map[string]int
	mark  []int // of the latest search that visited a stage
	marks int
	near  []int // 1 + the latest stage with this one in its `after`, of those asked about
	asked int   // the latest of them
}

func newStages(x *expander, j int) *stages {
	g := &stages{x: x, job: j, in: x.file.Jobs[j].Stages, out: x.in.Jobs[j].Stages}
	g.index = x.index(g.path(), len(g.in), func(s int) string { return g.in[s].Name }, "stage")
	return g
}

func (g *stages) path(steps ...any) path {
	return slices.Concat(path{"jobs", g.job, "stages"}, path(steps))
}

func (g *stages) names() []string {
	names := make([]string, len(g.in))
	for i := range g.in {
		names[i] = g.in[i].Name
	}
	return names
}

// maxSteps bounds the time of all searches for stages that come before others.
const maxSteps = 200_000_000

// before reports whether stage a must complete before stage b starts. Once the
// searches have taken too long it finds only what is in b's `after`.
func (g *stages) before(a, b int) bool {
	if g.near == nil {
		g.near, g.asked = make([]int, len(g.in)), -1
	}
	if g.asked != b { // once per stage, as both lists may be long
		g.asked = b
		for _, u := range g.out[b].After {
			g.near[u] = b + 1
		}
	}
	if g.near[a] == b+1 {
		return true
	}
	if g.mark == nil {
		g.mark = make([]int, len(g.in))
	}
	g.marks++
	stack := []int{b}
	for len(stack) > 0 && g.x.steps <= maxSteps {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, u := range g.out[v].After {
			g.x.steps++
			if u == a {
				return true
			}
			if g.mark[u] != g.marks {
				g.mark[u] = g.marks
				stack = append(stack, u)
			}
		}
	}
	return false
}

// order reports it, at the name that says otherwise, if stage a need not complete
// before stage b starts.
func (g *stages) order(a, b int, at path, name, expected string) {
	switch {
	case g.before(a, b):
	case g.x.steps > maxSteps:
		g.x.fail(at, OverLimit, quoteShort(name)+", too many stages away to check", "the two stages linked directly by `after`")
	default:
		g.x.fail(at, NotBefore, quoteShort(name), expected)
	}
}

// data resolves the name of a stage whose data moves: it must be a compute stage.
func (g *stages) data(at path, name string) (s int, ok bool) {
	s, ok = g.index[name]
	switch {
	case !ok:
		g.x.failUnknown(at, UnknownStage, "stage", name, g.names())
	case g.in[s].Shuffle != nil || g.in[s].Flows != nil:
		g.x.fail(at, NotCompute, fmt.Sprintf("%q, a transfer stage", name), "a stage with tasks")
		ok = false
	}
	return s, ok
}

// transfer expands stage s, which moves data.
func (x *expander) transfer(g *stages, s int) {
	st, out := &g.in[s], &g.out[s]
	if st.Shuffle != nil && st.Flows != nil {
		x.fail(g.path(s, "flows"), Conflict, "both shuffle and flows", "one of them")
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"count", st.Count != 0},
		{"size", st.Size != nil},
		{"sizes", st.Sizes != nil},
		{"needs", st.Needs != nil},
		{"machines", st.Machines != nil},
		{"input", st.Input != nil},
		{"run", st.Run != nil},
		{"workdir", st.Workdir != "" && st.Shuffle != nil},
		{"env", st.Env != nil && st.Shuffle != nil},
		{"image", st.Image != "" && st.Shuffle != nil},
		{"retries", st.Retries != 0 && st.Shuffle != nil},
		{"timeout", st.Timeout != 0 && st.Shuffle != nil},
		{"maxRate", st.MaxRate != 0},
		{"gang", st.Gang},
		{"rates", st.Rates != nil},
		{"speedup", st.Speedup != nil},
		{"page", st.Page != ""},
	} {
		if f.set {
			expected := "only name, after and shuffle"
			if st.Shuffle == nil {
				expected = "only name, after, flows, workdir, env, image, retries and timeout"
			}
			x.fail(g.path(s, keyOf(f.name)), WrongStageKind, "the field "+f.name+" on a transfer stage", expected)
		}
	}
	if z := st.Shuffle; z != nil {
		from, ok1 := g.data(g.path(s, "shuffle", "from"), z.From)
		to, ok2 := g.data(g.path(s, "shuffle", "to"), z.To)
		if ok1 {
			g.order(from, s, g.path(s, "shuffle", "from"), z.From, "a stage that completes before the shuffle: one in its `after`, or before those")
		}
		if ok2 {
			g.order(s, to, g.path(s, "shuffle", "to"), z.To, "a stage that waits for the shuffle: one with it in its `after`, or after those")
		}
		out.Shuffle = &sched.Shuffle{From: from, To: to, Size: z.Size.Dist()}
		return
	}
	out.Flows = make([]sched.Flow, len(st.Flows))
	for i, f := range st.Flows {
		out.Flows[i] = sched.Flow{
			From: x.oneMachine(g.path(s, "flows", i, "from"), f.From),
			To:   x.oneMachine(g.path(s, "flows", i, "to"), f.To),
			Size: f.Size.Dist(), Run: f.Run,
		}
	}
}
