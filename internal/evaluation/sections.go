package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fairlead-project/fairlead/report"
)

// streams measures the quality that is claimed.
func (e *evaluation) streams() error {
	var cells, online []*cell
	for _, t := range streamTargets {
		cells = append(cells, &cell{name: t.String(), seeds: streamSeeds, make: t.make, policies: everyone()})
		noisy := t.stream
		noisy.cv = onlineCV
		online = append(online, &cell{
			name: fmt.Sprintf("%s, CV %g", t, onlineCV), seeds: streamSeeds, make: noisy.make,
			policies: append([]string{"spc-online", "spc", "spc:plain=true"}, baselines...),
		})
	}
	var wait []*cell
	for _, s := range waiting {
		wait = append(wait, &cell{name: s.String(), seeds: streamSeeds, make: s.make, policies: everyone()})
	}
	if err := e.run("streams", slices.Concat(cells, online, wait)); err != nil {
		return err
	}
	d := &e.out
	d.say(`## Streams

Streams of 50 to 150 jobs, half MapReduce and half layered DAGs, on machines whose speeds are spread over up to a
factor of ten; weights 1 to 10. With load 0 all jobs are there from the beginning.`)
	measured := func(t stream) (string, func(sample) float64) {
		if t.load == 0 {
			return "ratio", sample.ratio
		}
		return "flowRatio", sample.flowRatio
	}
	var rows [][]string
	for i, t := range streamTargets {
		name, f := measured(t.stream)
		v, o := cells[i].of("spc", f), online[i].of("spc-online", f)
		e.claim(median(v), t.median, "`spc`, %s: median %s", t, name)
		e.claim(worst(v), t.worst, "`spc`, %s: worst %s", t, name)
		e.claim(median(o), t.median*onlineFactor, "`spc-online`, %s: median %s", online[i].name, name)
		rows = append(rows, []string{
			t.String(), name, spread(v), spread(cells[i].of("spc:plain=true", f)), spread(cells[i].of("wspt", f)),
			spread(cells[i].of("fifo", f)), spread(o), spread(online[i].of("wspt", f)),
		})
	}
	d.table([]string{"Stream", "Figure", "`spc`", "`spc:plain`", "`wspt`", "`fifo`", "`spc-online`, CV 0.5", "`wspt`, CV 0.5"}, rows)
	d.say("Never above another, on any of these instances: `spc` over")
	for _, rival := range []string{"spc:plain=true", "wspt"} {
		most := 0.0
		for _, c := range slices.Concat(cells, wait) {
			for i, s := range c.samples["spc"] {
				most = max(most, s.cost/c.samples[rival][i].cost)
			}
		}
		d.say("`%s`, the largest quotient of costs: %.6f.", rival, most)
		e.claim(most, 1+1e-9, "`spc` over `%s`, largest quotient on any instance", rival)
	}
	d.say("\n### Jobs that wait for others\n")
	d.say("Half of the jobs wait for one of those before them, and weights are skewed 1:100. `wspt` serves what a heavy\njob waits for by its own weight; the relaxation sees through.")
	rows = nil
	for _, c := range wait {
		var q []float64
		for i, s := range c.samples["spc"] {
			q = append(q, s.cost/c.samples["wspt"][i].cost)
		}
		e.claim(median(q), 1-waitingGain, "`spc` over `wspt`, %s: median", c.name)
		rows = append(rows, []string{
			c.name, spread(c.of("spc", sample.ratio)), spread(c.of("spc-online", sample.ratio)), spread(c.of("wspt", sample.ratio)),
			percent(median(q)) + " (" + percent(worst(q)) + ")",
		})
	}
	d.table([]string{"Stream", "`spc` ratio", "`spc-online` ratio", "`wspt` ratio", "`spc` below `wspt`, median (worst)"}, rows)
	d.say("### All policies on streams\n")
	d.say("Weighted flow time relative to `spc`, geometric mean with its interval; above 1 is worse than `spc`.")
	e.factors(cells, "spc", sample.flow)
	d.say("The same with sizes known as distributions only (CV %g), relative to `spc-online`, which like all but `spc` knows\nno arrivals in advance.", onlineCV)
	e.factors(online, "spc-online", sample.flow)
	return nil
}

// factors writes a table of costs relative to one policy, a column per cell.
func (e *evaluation) factors(cells []*cell, base string, f func(sample) float64) {
	header := []string{"Policy"}
	for _, c := range cells {
		header = append(header, c.name)
	}
	var rows [][]string
	for _, spec := range cells[0].policies {
		if spec == base {
			continue
		}
		row := []string{"`" + spec + "`"}
		for _, c := range cells {
			row = append(row, c.factor(spec, base, f).String())
		}
		rows = append(rows, row)
	}
	e.out.table(header, rows)
}

// seedExperiment is section (a).
func (e *evaluation) seedExperiment() error {
	type axis struct {
		name  string
		cells []*cell
	}
	policies := []string{"spc", "spc:plain=true", "spc-online", "wspt", "fifo", "identical", "map-only"}
	axes := []axis{{name: "Load"}, {name: "Jobs"}, {name: "Speed skew"}, {name: "Map tasks per job (D)"}}
	vary := func(a int, label string, set func(*experiment)) {
		x := middle
		set(&x)
		where := "(a) " + strings.ToLower(axes[a].name[:1]) + axes[a].name[1:] + " " + label
		axes[a].cells = append(axes[a].cells, &cell{name: label, where: where, seeds: seedSeeds, make: x.make, policies: policies})
	}
	for _, v := range loads {
		vary(0, fmt.Sprintf("%g", v), func(x *experiment) { x.load = v })
	}
	for _, v := range jobNumbers {
		vary(1, fmt.Sprint(v), func(x *experiment) { x.jobs = v })
	}
	for _, v := range skews {
		vary(2, fmt.Sprintf("1:%g", v), func(x *experiment) { x.skew = v })
	}
	for _, v := range taskNumbers {
		vary(3, fmt.Sprint(v), func(x *experiment) { x.tasks = v })
	}
	center := &cell{name: "the median configuration", seeds: 2 * seedSeeds, make: middle.make, policies: policies}
	all := []*cell{center}
	for _, a := range axes {
		all = append(all, a.cells...)
	}
	if err := e.run("seed experiment", all); err != nil {
		return err
	}
	d := &e.out
	d.say(`## (a) The seed paper's experiment, rebuilt

WordCount-, Sort- and TeraSort-like jobs on 16 machines of different speeds, weights skewed 1:100. The paper's cluster,
data and weights are not known; "up to 82 %%" less total weighted completion time is. Here one factor varies at a time;
the others stay at load %g, %d jobs, speeds 1:%g, %d map tasks per job.`, middle.load, middle.jobs, middle.skew, middle.tasks)
	d.say("\nIn that configuration, `spc` relative to")
	best, where := 1.0, ""
	var rows [][]string
	for _, rival := range []string{"fifo", "identical", "map-only", "wspt", "spc:plain=true"} {
		t, f := center.factor("spc", rival, func(s sample) float64 { return s.cost }), center.factor("spc", rival, sample.flow)
		rows = append(rows, []string{"`" + rival + "`", t.precise(), f.String(), percent(f.mean)})
		if rival == "fifo" || rival == "identical" || rival == "map-only" {
			e.claim(t.high, 1, "(a) `spc` over `%s`, total weighted completion, upper end of the interval", rival)
		}
	}
	d.table([]string{"Relative to", "Total weighted completion", "Weighted flow time", "Less flow time"}, rows)
	for _, a := range axes {
		rows = nil
		for _, c := range a.cells {
			row := []string{c.name}
			for _, rival := range []string{"fifo", "identical", "map-only", "wspt"} {
				row = append(row, c.factor("spc", rival, sample.flow).String())
				if rival == "wspt" {
					continue
				}
				if t := c.factor("spc", rival, func(s sample) float64 { return s.cost }); t.mean < best {
					best, where = t.mean, fmt.Sprintf("`%s`, %s %s", rival, strings.ToLower(a.name[:1])+a.name[1:], c.name)
				}
			}
			row = append(row, spread(c.of("spc", sample.ratio)), spread(c.of("spc", sample.flowRatio)))
			rows = append(rows, row)
		}
		d.say("### %s\n", a.name)
		d.say("Weighted flow time of `spc` relative to the rival, and the distance to the bound.")
		d.table([]string{a.name, "`fifo`", "`identical`", "`map-only`", "`wspt`", "ratio", "flowRatio"}, rows)
	}
	d.say("The largest improvement of total weighted completion time in these cells is **%s** (over %s); the paper says up to 82 %%.\n", percent(best), where)
	return nil
}

// multipleWaves is section (b).
func (e *evaluation) multipleWaves() error {
	var cells []*cell
	for _, v := range waves {
		x := middle
		x.tasks, x.jobs, x.load = max(1, int(16*v)), 30, 0
		cells = append(cells, &cell{
			name: fmt.Sprintf("%g", v), where: fmt.Sprintf("(b) waves %g", v), seeds: seedSeeds, make: x.make,
			policies: []string{"spc", "spc:plain=true", "spc-online", "wspt", "fifo", "identical", "map-only"},
		})
	}
	if err := e.run("waves", cells); err != nil {
		return err
	}
	e.out.say(`## (b) Multiple waves

The same jobs, 30 of them, all there at the start; a map stage has so many tasks per slot.`)
	var rows [][]string
	for _, c := range cells {
		row := []string{c.name}
		for _, rival := range []string{"fifo", "identical", "map-only", "wspt", "spc:plain=true"} {
			row = append(row, c.factor("spc", rival, func(s sample) float64 { return s.cost }).String())
		}
		rows = append(rows, append(row, spread(c.of("spc", sample.ratio))))
	}
	e.out.table([]string{"Waves", "`fifo`", "`identical`", "`map-only`", "`wspt`", "`spc:plain`", "`spc` ratio"}, rows)
	return nil
}

// distances is section (d).
func (e *evaluation) distances() error {
	var cells []*cell
	for _, m := range machineNumbers {
		for _, d := range dValues {
			cells = append(cells, &cell{
				name: fmt.Sprintf("m = %d, %d tasks per stage", m, d), seeds: 10, make: distance(m, d), policies: []string{"spc", "spc:plain=true"},
			})
		}
	}
	if err := e.run("distances", cells); err != nil {
		return err
	}
	d := &e.out
	d.say(`## (d) How far from the bound, and from what is proved

40 jobs, half MapReduce and half layered DAGs, all there at the start; speeds 1:4. Median ratio of ` + "`spc`" + `, that of the
paper's own plan, and the ratio that is proved for it (median over instances).`)
	var rows [][]string
	for _, c := range cells {
		var proved []float64
		for _, b := range c.bounds {
			proved = append(proved, b.published)
		}
		rows = append(rows, []string{c.name, spread(c.of("spc", sample.ratio)), spread(c.of("spc:plain=true", sample.ratio)), fmt.Sprintf("%.1f", median(proved))})
	}
	d.table([]string{"Machines, D", "`spc`", "`spc:plain`", "proved"}, rows)
	return e.loose()
}

// losing is section (e): every cell in which a policy is better than S-PC.
func (e *evaluation) losing() {
	d := &e.out
	d.say(`## (e) Losing cells

Every configuration above in which another policy has less weighted flow time than S-PC, in the geometric mean, with the
whole interval below 1: ` + "`spc`" + ` where sizes are exact, ` + "`spc-online`" + ` where they are not or jobs arrive unannounced.`)
	var rows [][]string
	for _, c := range e.cells {
		for _, mine := range []string{"spc", "spc-online"} {
			if c.samples[mine] == nil {
				continue
			}
			for _, rival := range c.policies {
				if strings.HasPrefix(rival, "spc") {
					continue
				}
				if f := c.factor(rival, mine, sample.flow); f.high < 1 {
					rows = append(rows, []string{cmp.Or(c.where, c.name), "`" + mine + "`", "`" + rival + "`", f.String()})
				}
			}
		}
	}
	if rows == nil {
		d.say("\nNone.")
		return
	}
	d.table([]string{"Configuration", "Policy", "Loses to", "Factor"}, rows)
	d.say(`They are small, and of one kind: ` + "`spc-online`" + ` beside ` + "`wspt`" + `, with jobs of two stages that wait for no other, and
queries of wide ones. It likes idle machines to be used, for jobs that may come (up to 2 %% of what is known); where none
come, or stages are wide, that is lost.`)
}

// factor compares the costs of two policies on the same instances.
func (c *cell) factor(spec, base string, f func(sample) float64) interval {
	a, b := c.samples[spec], c.samples[base]
	if a == nil || b == nil {
		return interval{math.NaN(), math.NaN(), math.NaN()}
	}
	values := func(list []sample) (out []float64) {
		for _, s := range list {
			out = append(out, f(s))
		}
		return out
	}
	e := report.Quotient(values(a), values(b))
	return interval{e.Mean, *e.Low, *e.High}
}

// interval is a factor with 95 % confidence.
type interval struct{ mean, low, high float64 }

func (i interval) String() string {
	if math.IsNaN(i.mean) {
		return "–"
	}
	return fmt.Sprintf("%.3f [%.3f, %.3f]", i.mean, i.low, i.high)
}

// precise is for factors that are very near to 1.
func (i interval) precise() string { return fmt.Sprintf("%.5f [%.5f, %.5f]", i.mean, i.low, i.high) }
