package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// seed of every workload.
const seed = 1

const header = "apiVersion: fairlead.dev/v1alpha1\nkind: Workload\n"

// input is a workload file to measure with.
type input struct {
	name, file string
	write      func(w *bufio.Writer)
}

var inputs = []input{
	w100k: {"w, 100,000 tasks, 100 machines", "w-100k.yaml", wide(100_000, 100)},
	w100x: {"w, 100,000 tasks, 1,000 machines", "w-100k-1000.yaml", wide(100_000, 1000)},
	w1m:   {"w, 1,000,000 tasks, 1,000 machines", "w-1m.yaml", wide(1_000_000, 1000)},
	e1m:   {"e, 1,000,000 tasks, 1,000 machines", "e-1m.yaml", equal(1_000_000, 1000)},

	l1k:   {"layered, 1,000 stages", "layered-1k.yaml", layered(1000)},
	l10k:  {"layered, 10,000 stages", "layered-10k.yaml", layered(10_000)},
	l100k: {"layered, 100,000 stages", "layered-100k.yaml", layered(100_000)},

	limitSizes:  {"1,990,000 tasks, each with its own size", "sizes.yaml", manySizes(1_990_000)},
	limitStages: {"660,000 stages of one task", "stages.yaml", manyStages(660_000)},
	limitTasks:  {"5,000,000 tasks of random size, 100,000 machines", "tasks.yaml", manyTasks},
}

// Positions in inputs.
const (
	w100k = iota
	w100x
	w1m
	e1m
	l1k
	l10k
	l100k
	limitSizes
	limitStages
	limitTasks
)

// path is where an input is.
func (b *bench) path(in int) string { return filepath.Join(b.dir, inputs[in].file) }

// generate writes an input.
func (b *bench) generate(in *input) error {
	f, err := os.Create(filepath.Join(b.dir, in.file))
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<16)
	in.write(w)
	return errors.Join(w.Flush(), f.Close())
}

const (
	stageTasks = 50 // tasks per stage of wide
	meanSize   = 10 // seconds, of its tasks
	speeds     = 4  // 1, 2, 3 and 4, on a quarter of its machines each
)

// wide writes jobs of two stages of 50 tasks, n in all, released over half of the time that
// the machines need for all of them, so that most tasks have to wait. Sizes are
// exponential, no two events coincide; each size is a value of its own in the file.
func wide(n, machines int) func(w *bufio.Writer) {
	return func(w *bufio.Writer) {
		rng := rand.New(rand.NewPCG(seed, 1))
		fmt.Fprintf(w, "%smetadata: {name: wide}\ncluster:\n  machines:\n", header)
		for v := range speeds {
			fmt.Fprintf(w, "  - {name: v%d, speed: %d, count: %d}\n", v+1, v+1, machines/speeds)
		}
		span := 0.5 * float64(n) * meanSize / (float64(machines) * (1 + speeds) / 2)
		io.WriteString(w, "jobs:\n")
		for j := range n / (2 * stageTasks) {
			fmt.Fprintf(w, "- {name: j%d, weight: %.3f, release: %.3f, stages: [\n", j, 1+rng.Float64(), span*rng.Float64())
			io.WriteString(w, "    {name: map, sizes: [")
			writeSizes(w, rng)
			io.WriteString(w, "]},\n    {name: reduce, after: [map], sizes: [")
			writeSizes(w, rng)
			io.WriteString(w, "]}]}\n")
		}
	}
}

func writeSizes(w *bufio.Writer, rng *rand.Rand) {
	var b []byte
	for i := range stageTasks {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, 0.001+meanSize*rng.ExpFloat64(), 'f', 4, 64)
	}
	w.Write(b)
}

// equal is wide with tasks of one size on machines of one speed, all released at
// the start: as many events coincide as there are machines.
func equal(n, machines int) func(w *bufio.Writer) {
	return func(w *bufio.Writer) {
		fmt.Fprintf(w, "%smetadata: {name: equal}\ncluster: {machines: [{name: m, count: %d}]}\njobs:\n", header, machines)
		for j := range n / (2 * stageTasks) {
			fmt.Fprintf(w, "- {name: j%d, stages: [{name: map, count: %d, size: %d}, {name: reduce, after: [map], count: %d, size: %d}]}\n",
				j, stageTasks, meanSize, stageTasks, meanSize)
		}
	}
}

// layered writes a random DAG of n jobs of one stage, in 6 layers with about 3n
// arcs, on 4 slots: lognormal sizes in 1, 2 or 4 equal tasks, releases over 0.3 of
// the time that the slots need for everything. Precedence, releases and slots all
// matter, which is what makes the relaxation hard to solve. A line holds many jobs
// because the limit on a file's values counts lines too.
func layered(n int) func(w *bufio.Writer) {
	return func(w *bufio.Writer) {
		rng := rand.New(rand.NewPCG(seed, 1))
		size, count := make([]float64, n), make([]int, n)
		total := 0.0
		for j := range n {
			size[j], count[j] = math.Exp(rng.NormFloat64()), 1<<rng.IntN(3)
			total += size[j]
		}
		fmt.Fprintf(w, "%smetadata: {name: layered}\ncluster: {machines: [{name: m, slots: 4}]}\njobs: [", header)
		const layers, perLine = 6, 100
		layer := func(l int) int { return l * n / layers }
		for l := range layers {
			for j := layer(l); j < layer(l+1); j++ {
				if j%perLine == 0 {
					io.WriteString(w, "\n")
				}
				fmt.Fprintf(w, "{name: j%d, weight: %.4f, release: %.4f, ", j, 0.1+rng.Float64(), 0.3*total/4*rng.Float64())
				if l > 0 {
					first, width := layer(l-1), layer(l)-layer(l-1)
					io.WriteString(w, "after: [")
					for i, a := range distinct(rng, 1+rng.IntN(6), width) {
						if i > 0 {
							io.WriteString(w, ",")
						}
						fmt.Fprintf(w, "j%d", first+a)
					}
					io.WriteString(w, "], ")
				}
				io.WriteString(w, "stages: [{name: s, ")
				if count[j] > 1 {
					fmt.Fprintf(w, "count: %d, ", count[j])
				}
				fmt.Fprintf(w, "size: %.6f}]},", size[j]/float64(count[j]))
			}
		}
		io.WriteString(w, "]\n")
	}
}

// distinct draws k different numbers below n, or all if there are no more.
func distinct(rng *rand.Rand, k, n int) []int {
	var out []int
	seen := map[int]bool{}
	for len(out) < min(k, n) {
		if a := rng.IntN(n); !seen[a] {
			seen[a] = true
			out = append(out, a)
		}
	}
	return out
}

// What follows comes close to the limits of the file format.

const hundredMachines = header + "cluster: {machines: [{name: m, count: 100}]}\n"

func manySizes(n int) func(w *bufio.Writer) {
	return func(w *bufio.Writer) {
		rng := rand.New(rand.NewPCG(seed, 1))
		io.WriteString(w, hundredMachines+"jobs: [{name: a, stages: [{name: s, sizes: [")
		for range n {
			fmt.Fprintf(w, "%.14f,", 10*rng.ExpFloat64())
		}
		io.WriteString(w, "]}]}]\n")
	}
}

func manyStages(n int) func(w *bufio.Writer) {
	return func(w *bufio.Writer) {
		io.WriteString(w, hundredMachines+"jobs: [{name: a, stages: [")
		for i := range n {
			fmt.Fprintf(w, "{name: s%d},", i)
		}
		io.WriteString(w, "]}]\n")
	}
}

func manyTasks(w *bufio.Writer) {
	io.WriteString(w, header+"cluster: {machines: [{name: m, count: 100000}]}\n"+
		"jobs: [{name: a, stages: [{name: s, count: 5000000, size: {exponential: {mean: 10}}}]}]\n")
}
