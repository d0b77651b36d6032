package dag

import (
	"cmp"
	"slices"

	"github.com/fairlead-project/fairlead/sched"
)

// JobOrder returns the nodes by c, one value per node, job by job: jobs by the largest
// c of their nodes, heavier ones first among equals, the stages of a job by the longest
// way to its end. Only completions of jobs have a cost, so the value of a stage that is
// not the last says less about when its job should be served than that of the job's end.
//
// If c satisfies (S4), every node comes after its predecessors, and the ratios of
// [Problem.Published] hold for list placement in this order as well. For let S be the
// stages up to those of job k. All their jobs end, in c, by c_k, so
// Σ_S p_i c_i ≤ p(S) c_k, and (S2) gives p(S) ≤ 2μ c_k; the rest of the proof looks at
// the order of placement only.
func (p *Problem) JobOrder(c []float64) []int32 {
	end := make([]float64, len(p.x.Instance.Jobs))
	for i, n := range p.Nodes {
		end[n.Job] = max(end[n.Job], c[i])
	}
	way := p.ways()
	depth := p.jobLevels()
	place := make([]int32, len(p.x.Instance.Jobs))
	for i, j := range p.jobs {
		place[j] = int32(i)
	}
	order := make([]int32, len(p.Nodes))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		ja, jb := p.Nodes[a].Job, p.Nodes[b].Job
		if ja != jb {
			return cmp.Or(cmp.Compare(end[ja], end[jb]), cmp.Compare(depth[ja], depth[jb]),
				cmp.Compare(p.x.Instance.Jobs[jb].Weight, p.x.Instance.Jobs[ja].Weight), cmp.Compare(place[ja], place[jb]))
		}
		return cmp.Or(cmp.Compare(way[b], way[a]), cmp.Compare(p.level[a], p.level[b]), cmp.Compare(a, b))
	})
	return order
}

// jobLevels returns, per job of the instance, the number of jobs on the longest path
// of precedence to it.
func (p *Problem) jobLevels() []int32 {
	level := make([]int32, len(p.x.Instance.Jobs))
	for _, i := range p.topological() {
		n := p.Nodes[i]
		for _, k := range p.preds[i] {
			if from := p.Nodes[k].Job; from != n.Job {
				level[n.Job] = max(level[n.Job], level[from]+1)
			}
		}
	}
	return level
}

// topological returns the nodes, predecessors first.
func (p *Problem) topological() []int32 { return p.Order(make([]float64, len(p.Nodes))) }

// ways returns, per node, the least time in seconds from its start to the end of its
// job, on the machines as fast and as many as they are: the upward rank.
func (p *Problem) ways() []float64 {
	way := make([]float64, len(p.Nodes))
	for _, i := range slices.Backward(p.topological()) {
		n := p.Nodes[i]
		way[i] += p.head(n)
		for _, k := range p.preds[i] {
			if p.Nodes[k].Job == n.Job {
				way[k] = max(way[k], way[i])
			}
		}
	}
	return way
}

// Stages returns the stages among nodes, in their order.
func (p *Problem) Stages(nodes []int32) []sched.StageID {
	stages := make([]sched.StageID, 0, len(nodes))
	for _, i := range nodes {
		if s := p.Nodes[i].Stage; s != sched.None {
			stages = append(stages, s)
		}
	}
	return stages
}
