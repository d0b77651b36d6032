package report

import (
	"fmt"
	"strings"
)

// fact is one number about the whole.
type fact struct{ Name, Value, Note string }

// facts lists what is known of the costs, and how busy the machines were.
func (t *Timeline) facts() []fact {
	r := &t.Run
	var out []fact
	add := func(name, value, note string) { out = append(out, fact{name, value, note}) }
	done := 0
	for _, j := range r.Jobs {
		if j.Completion != nil {
			done++
		}
	}
	cost := "sum of weight × completion time"
	if done < len(r.Jobs) {
		cost += ", of completed jobs only"
	}
	add("cost", quantity(r.WeightedCompletion), cost)
	if r.LowerBound != nil {
		add("bound", quantity(*r.LowerBound), "no schedule of these tasks costs less")
	}
	if r.Ratio != nil {
		add("ratio", fmt.Sprintf("%.3f", *r.Ratio), "cost / bound: at most so many times the best possible")
	}
	add("jobs done", fmt.Sprintf("%d of %d", done, len(r.Jobs)), "")
	add("duration", long(t.span()), "from the beginning to the last known instant")
	machines, _ := t.Usage()
	all, slots := Usage{}, 0
	for m := range machines {
		all.Busy += machines[m].Busy
		slots += t.Machines[m].Slots
		for s, n := range machines[m].Attempts {
			all.Attempts[s] += n
		}
	}
	add("slots busy", fmt.Sprintf("%.0f %%", 100*t.Utilisation(&all, slots)), fmt.Sprintf("share of the time of all %d slots", slots))
	for _, s := range []AttemptState{Failed, Lost, Stopped, Running} {
		if n := all.Attempts[s]; n > 0 {
			add("attempts "+s.String(), fmt.Sprint(n), "")
		}
	}
	return out
}

// heading names the whole.
func (t *Timeline) heading() string {
	if t.Name == "" {
		return "workload"
	}
	return clean(t.Name)
}

// subtitle says what it is a picture of.
func (t *Timeline) subtitle() string {
	parts := []string{t.Kind}
	if t.Run.Policy != "" {
		parts = append(parts, "policy "+clean(t.Run.Policy))
	}
	if !t.Began.IsZero() {
		parts = append(parts, "began "+t.Began.Format("2006-01-02 15:04:05 -07:00"))
	}
	if t.Unfinished {
		parts = append(parts, "not finished")
	}
	return strings.Join(parts, " · ")
}
