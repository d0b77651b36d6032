package generate

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"

	"github.com/fairlead-project/fairlead/workload"
)

//go:embed alibaba2018/spar_quantiles.json
var quantilesJSON []byte

// quantile is a distribution as pairs (probability, value), both ascending.
type quantile [][2]float64

// draw inverts the distribution function, linear between the pairs.
func (q quantile) draw(r *rand.Rand) float64 {
	u := r.Float64()
	for i := 1; i < len(q); i++ {
		if a, b := q[i-1], q[i]; u < b[0] {
			return a[1] + float64((b[1]-a[1])*(u-a[0])/(b[0]-a[0]))
		}
	}
	return q[len(q)-1][1]
}

// whole draws a whole number from low to high.
func (q quantile) whole(r *rand.Rand, low, high int) int {
	return min(high, max(low, int(math.Ceil(q.draw(r)))))
}

// distributions are what is known of the DAG jobs in Alibaba's trace of 2018. What
// the trace calls a task is a stage here, its instances are the tasks.
type distributions struct {
	stages   quantile         // stages per job
	longest  map[int]quantile // by the number of stages: the most on a path
	levels   map[int]quantile // by that: the level of a stage, from 1
	tasks    quantile         // tasks per stage
	seconds  quantile         // duration of a task
	cpu      quantile         // of a task, in hundredths of a core
	memory   quantile         // of a task, in hundredths of a machine's
	interval quantile         // seconds from one job to the next
}

var alibaba = sync.OnceValue(func() *distributions {
	var raw struct {
		Stages   quantile            `json:"task_num_dist"`
		Longest  map[string]quantile `json:"cpl_dist"`
		Levels   map[string]quantile `json:"level_dist"`
		Tasks    quantile            `json:"instance_num_dist"`
		Seconds  quantile            `json:"instance_duration_dist"`
		CPU      quantile            `json:"instance_cpu_dist"`
		Memory   quantile            `json:"instance_mem_dist"`
		Interval quantile            `json:"job_interval_dist"`
	}
	if err := json.Unmarshal(quantilesJSON, &raw); err != nil {
		panic(err) // it is part of the program
	}
	return &distributions{
		stages: raw.Stages, longest: byNumber(raw.Longest), levels: byNumber(raw.Levels),
		tasks: raw.Tasks, seconds: raw.Seconds, cpu: raw.CPU, memory: raw.Memory, interval: raw.Interval,
	}
})

func byNumber(m map[string]quantile) map[int]quantile {
	out := make(map[int]quantile, len(m))
	for key, q := range m {
		n, err := strconv.Atoi(key)
		if err != nil {
			panic(err)
		}
		out[n] = q
	}
	return out
}

// The largest keys of the tables; larger jobs are drawn from the last table.
const (
	maxLongestKey = 35
	maxLevelKey   = 20
)

// alibabaJob draws a job: how many stages, the longest path among them, the level of
// each, then tasks and durations. Which stage of a level reads which of the level
// before is not in the distributions: each is read by one drawn at random, and one
// that would read nothing reads one drawn at random, so that jobs converge, as most
// in the trace do, and the longest path is as drawn.
func (g *generator) alibabaJob(shape, size *rand.Rand) []workload.Stage {
	q := g.quantiles
	n := q.stages.whole(shape, 1, maxStages)
	depth := 1
	if n > 1 {
		depth = q.longest[min(n, maxLongestKey)].whole(shape, 1, n)
	}
	count := make([]int, depth)
	for i := range n {
		level := i // one stage on every level
		if i >= depth {
			key := min(depth, maxLevelKey)
			u := q.levels[key].draw(shape) * float64(depth) / float64(key)
			level = min(depth, max(1, int(math.Ceil(u)))) - 1
		}
		count[level]++
	}
	var out []workload.Stage
	for l, k := range count {
		first := len(out)
		for s := range k {
			st := workload.Stage{Name: fmt.Sprintf("l%d-%d", l, s)}
			tasks := q.tasks.whole(shape, 1, g.MaxTasks)
			g.fill(&st, tasks, g.duration(size), size)
			out = append(out, st)
		}
		if l == 0 {
			continue
		}
		last := out[first-count[l-1] : first]
		for p := range last {
			st := &out[first+shape.IntN(k)]
			st.After = append(st.After, last[p].Name)
		}
		for s := first; s < len(out); s++ {
			if out[s].After == nil {
				out[s].After = []string{last[shape.IntN(len(last))].Name}
			}
		}
	}
	return out
}

// duration draws the mean size of a stage's tasks. The trace has whole seconds: 0 is
// anything below one, so half a second.
func (g *generator) duration(r *rand.Rand) float64 {
	return max(0.5, math.Ceil(g.quantiles.seconds.draw(r)))
}
