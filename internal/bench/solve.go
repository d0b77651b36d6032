package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-project/fairlead/algo/dag"
	"github.com/fairlead-project/fairlead/cert"
	"github.com/fairlead-project/fairlead/opt/queyranne"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
	"github.com/fairlead-project/fairlead/workload"
)

// solverTargets are CPU seconds for a certified relative gap, by stages; also are
// gaps without a target, down to what takes seconds.
var solverTargets = []struct {
	input        int
	gap, seconds float64
	also         []float64
}{
	{l1k, 1e-4, 1, []float64{1e-2, 1e-3, 1e-5, 1e-6}},
	{l10k, 1e-3, 3, []float64{1e-2, 1e-4}},
	{l100k, 1e-2, 15, []float64{1e-3}},
}

// budget is more iterations than any of these needs.
const budget = 100_000

// endToEnd measures `fairlead bound --certificate` and `fairlead verify`.
func (b *bench) endToEnd() error {
	t := table{
		title: "Bound and certificate, end to end",
		text: `The commands, reading and writing their files, on layered random DAGs: lognormal sizes
in 1, 2 or 4 tasks, 6 layers, 4 slots, releases up to 0.3 of the total work per slot.`,
		head: []string{"Workload", "Gap", "Command", "Wall", "CPU", "Peak memory", "Certificate"},
	}
	for _, c := range solverTargets {
		file, proof := b.path(c.input), filepath.Join(b.dir, "certificate.json")
		gap := strconv.FormatFloat(c.gap, 'g', -1, 64)
		for _, args := range [][]string{
			{"bound", file, "--tolerance", gap, "--certificate", proof},
			{"verify", proof, file},
		} {
			progress("%s: %s", inputs[c.input].name, args[0])
			run, _, err := b.command(args...)
			if err != nil {
				return err
			}
			info, err := os.Stat(proof)
			if err != nil {
				return err
			}
			t.row(inputs[c.input].name, showGap(c.gap), "`"+args[0]+"`", seconds(run.wall.Seconds()), seconds(run.cpu.Seconds()),
				memory(float64(run.peak)), fileSize(info.Size()))
		}
	}
	b.tables = append(b.tables, t)
	return nil
}

// showGap prints a power of ten as such.
func showGap(gap float64) string { return strings.Replace(fmt.Sprintf("%.0e", gap), "e-0", "e-", 1) }

// problem reads a workload and states its problem.
func problem(file string) (*dag.Problem, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	f, err := workload.Parse(file, data)
	if err != nil {
		return nil, err
	}
	in, err := f.Instance(nil)
	if err != nil {
		return nil, err
	}
	x := sched.NewIndex(in)
	z, err := sim.Means(x)
	if err != nil {
		return nil, err
	}
	return dag.NewProblem(x, z, nil)
}

// relaxations measures the solver, and the verifier on what it found.
func (b *bench) relaxations() error {
	t := table{
		title: "Relaxation: CPU time to a certified gap",
		text: `The same DAGs, one thread, without reading the file. The gap is that between the primal
point and the lower bound that the verifier recomputes, exactly, from the multipliers.`,
		head: []string{"Workload", "Arcs", "Gap", "Iterations", "CPU", "per iteration", "per iteration, stage and arc", "Allocations", "Verifier's CPU"},
	}
	for _, c := range solverTargets {
		p, err := problem(b.path(c.input))
		if err != nil {
			return err
		}
		gaps := append([]float64{c.gap}, c.also...)
		slices.Sort(gaps)
		for _, gap := range slices.Backward(gaps) {
			runs := 1
			if gap == c.gap {
				runs = b.runs
			}
			progress("%s: relaxation to a gap of %s", inputs[c.input].name, showGap(gap))
			var spent []float64
			var r *dag.Relaxation
			var used cost
			for range runs {
				used, err = call(func() (err error) {
					r, err = p.Relax(queyranne.Options{Tolerance: gap, MaxIterations: budget})
					return err
				})
				if err != nil {
					return err
				}
				spent = append(spent, used.cpu.Seconds())
			}
			verified, proved, err := verify(p, cert.LP, r)
			if reached := (r.Primal - proved) / r.Primal; err == nil && reached > gap {
				err = fmt.Errorf("the gap is %.3g after %d iterations (%v)", reached, r.Iterations, r.Status)
			}
			if err != nil {
				return fmt.Errorf("%s, gap %s: %w", inputs[c.input].name, showGap(gap), err)
			}
			if gap == c.gap {
				b.claims = append(b.claims, claim{
					what: fmt.Sprintf("certified gap %s, %s: CPU", showGap(gap), inputs[c.input].name), show: seconds,
					target: c.seconds, runs: spent,
				})
			}
			each := median(spent) / float64(r.Iterations)
			t.row(inputs[c.input].name, grouped(int64(len(p.Arcs))), showGap(gap), grouped(int64(r.Iterations)),
				seconds(median(spent)), seconds(each), fmt.Sprintf("%.1f ns", each*1e9/float64(len(p.Nodes)+len(p.Arcs))),
				grouped(int64(used.allocs)), seconds(verified.cpu.Seconds()))
		}
	}
	b.tables = append(b.tables, t)
	return b.strong()
}

// strong compares the two relaxations at the default tolerance.
func (b *bench) strong() error {
	t := table{
		title: "The stronger relaxation",
		text: `What heads and the fit of tasks to machines add to the bound, and what it costs: "lp-strong"
solves "lp" first, starts from it and is given as much work again. Both bounds are
those that the verifier recomputes from the multipliers.`,
		head: []string{"Workload", "lp", "its CPU", "lp-strong", "its CPU", "Gap", "Bound higher by", "Verifier's CPU"},
	}
	for _, input := range []int{l1k, l10k, w100k, w1m} {
		p, err := problem(b.path(input))
		if err != nil {
			return err
		}
		var bound, spent [2]float64
		var gap float64
		var checking cost
		for i, method := range []string{cert.LP, cert.LPStrong} {
			progress("%s: %s", inputs[input].name, method)
			relax := p.Relax
			if method == cert.LPStrong {
				relax = p.RelaxStrong
			}
			var r *dag.Relaxation
			used, err := call(func() (err error) {
				r, err = relax(queyranne.Options{})
				return err
			})
			if err != nil {
				return err
			}
			spent[i], gap = used.cpu.Seconds(), r.Gap
			if checking, bound[i], err = verify(p, method, r); err != nil {
				return fmt.Errorf("%s: %w", inputs[input].name, err)
			}
		}
		t.row(inputs[input].name, fmt.Sprintf("%.6g", bound[0]), seconds(spent[0]), fmt.Sprintf("%.6g", bound[1]), seconds(spent[1]),
			fmt.Sprintf("%.1e", gap), fmt.Sprintf("%.2f %%", 100*(bound[1]/bound[0]-1)), seconds(checking.cpu.Seconds()))
	}
	b.tables = append(b.tables, t)
	return nil
}

// verify writes the certificate of r, reads it back and verifies it. It returns what
// the verifier took and proved.
func verify(p *dag.Problem, method string, r *dag.Relaxation) (cost, float64, error) {
	var arcs, heads []cert.Multiplier
	for k, a := range p.Arcs {
		arcs = append(arcs, cert.Multiplier{From: p.Name(a.From), To: p.Name(a.To), Value: r.Arc[k]})
	}
	for j, v := range r.Head {
		heads = append(heads, cert.Multiplier{To: p.Name(int32(j)), Value: v})
	}
	c, err := cert.New(p.Instance(), method, arcs, heads, r.Lower)
	if err != nil {
		return cost{}, 0, err
	}
	var text bytes.Buffer
	if err := c.Write(&text); err != nil {
		return cost{}, 0, err
	}
	var v cert.Verified
	used, err := call(func() error {
		c, err := cert.Read(&text)
		if err == nil {
			v, err = cert.Verify(c, p.Instance())
		}
		return err
	})
	return used, v.LowerBound, err
}
