// Package all gathers the policies that Fairlead comes with.
package all

import (
	"encoding/json"
	"errors"

	"github.com/fairlead-project/fairlead/policy"
	"github.com/fairlead-project/fairlead/policy/dag"
	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/sim"
)

const problem = "Q|prec,r_j|Σw_jC_j"

// Registry returns a registry of every policy.
func Registry() *policy.Registry {
	return policy.NewRegistry(
		policy.Entry{
			Info: policy.Info{
				Family: "dag", Name: "fifo", Problem: problem,
				Summary:   "jobs in order of release, on the fastest idle machine; work-conserving",
				Source:    "Hadoop's default",
				Knowledge: policy.Knowledge{Sizes: policy.SizesUnknown, Arrivals: policy.Online},
			},
			New: plain(dag.NewFIFO),
		},
		policy.Entry{
			Info: policy.Info{
				Family: "dag", Name: "spc", Problem: problem,
				Summary:   "the best, by simulation, of LP order, wspt and list placement, improved by local search",
				Guarantee: "2(1+(m-1)/D), +1 with releases, for exact sizes",
				Source:    "Aggarwal, Lan, Subramaniam, Xu, IEEE TNSM 2021",
				Knowledge: policy.Knowledge{Sizes: policy.SizesDistribution, Arrivals: policy.Offline},
				Params: [][2]string{
					{"plain=false", "true: keep the machine queues of the plan (the paper's Algorithm 1)"},
					{"subset=false", "true, with plain: the best plan on the m' fastest slots, for all m'"},
					{"tolerance=1e-4", "relative gap at which to stop solving the relaxation"},
					{"iterations=0", "budget of the solve; 0: by size"},
					{"patience=1", "seconds to wait for the plan before starting in Smith's order"},
				},
			},
			New: func(params json.RawMessage) (policy.Policy, error) {
				var p dag.SPCParams
				if err := policy.Decode(params, &p); err != nil {
					return nil, err
				}
				return dag.NewSPC(p, simulate)
			},
		},
		policy.Entry{
			Info: policy.Info{
				Family: "dag", Name: "spc-online", Problem: problem,
				Summary:   "spc for jobs that arrive and sizes that are estimates: solves again as things change",
				Source:    "Aggarwal, Lan, Subramaniam, Xu, IEEE TNSM 2021 (re-optimisation)",
				Knowledge: policy.Knowledge{Sizes: policy.SizesDistribution, Arrivals: policy.Online},
				Params: [][2]string{
					{"tolerance=1e-4", "relative gap at which to stop solving the relaxation"},
					{"iterations=0", "budget of each solve; 0: by size"},
					{"patience=1", "seconds to wait for the first plan before starting in Smith's order"},
				},
			},
			New: func(params json.RawMessage) (policy.Policy, error) {
				var p dag.OnlineParams
				if err := policy.Decode(params, &p); err != nil {
					return nil, err
				}
				return dag.NewSPCOnline(p, simulate)
			},
		},
		policy.Entry{
			Info: policy.Info{
				Family: "dag", Name: "wspt", Problem: problem,
				Summary:   "greatest weight over remaining work first, each task where it finishes first",
				Source:    "Smith 1956, on the level of jobs",
				Knowledge: policy.Knowledge{Sizes: policy.SizesDistribution, Arrivals: policy.Online},
			},
			New: plain(dag.NewWSPT),
		},
		policy.Entry{
			Info: policy.Info{
				Family: "dag", Name: "identical", Problem: problem,
				Summary:   "spc as if all machines were equally fast",
				Source:    "Aggarwal, Lan, Subramaniam, Xu, IEEE TNSM 2021 (its baseline)",
				Knowledge: policy.Knowledge{Sizes: policy.SizesDistribution, Arrivals: policy.Offline},
			},
			New: plain(dag.NewIdentical),
		},
		policy.Entry{
			Info: policy.Info{
				Family: "dag", Name: "map-only", Problem: problem,
				Summary:   "spc that orders jobs by their first stages only",
				Source:    "Aggarwal, Lan, Subramaniam, Xu, IEEE TNSM 2021 (its baseline); Im, Li, FOCS 2016",
				Knowledge: policy.Knowledge{Sizes: policy.SizesDistribution, Arrivals: policy.Offline},
			},
			New: plain(dag.NewMapOnly),
		},
		policy.Entry{
			Info: policy.Info{
				Family: "dag", Name: "sjf", Problem: problem,
				Summary:   "least work of the whole job first, each task where it finishes first",
				Source:    "folklore; Smith 1956",
				Knowledge: policy.Knowledge{Sizes: policy.SizesDistribution, Arrivals: policy.Online},
			},
			New: plain(dag.NewSJF),
		},
		policy.Entry{
			Info: policy.Info{
				Family: "dag", Name: "critical-path", Problem: "Q|prec,r_j|C_max",
				Summary:   "longest way to the end of the job first, each task where it finishes first",
				Source:    "Hu 1961",
				Knowledge: policy.Knowledge{Sizes: policy.SizesDistribution, Arrivals: policy.Online},
			},
			New: plain(dag.NewCriticalPath),
		},
		policy.Entry{
			Info: policy.Info{
				Family: "dag", Name: "heft", Problem: "Q|prec,comm,online|C_max per job",
				Summary:   "every job planned as it arrives: upward rank, earliest finish with insertion",
				Source:    "Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002",
				Knowledge: policy.Knowledge{Sizes: policy.SizesDistribution, Arrivals: policy.Online},
			},
			New: plain(dag.NewHEFT),
		},
		policy.Entry{
			Info: policy.Info{
				Family: "dag", Name: "peft", Problem: "Q|prec,comm,online|C_max per job",
				Summary:   "every job planned as it arrives: optimistic cost table, with insertion",
				Source:    "Arabnejad, Barbosa, IEEE TPDS 25(3), 2014",
				Knowledge: policy.Knowledge{Sizes: policy.SizesDistribution, Arrivals: policy.Online},
			},
			New: plain(dag.NewPEFT),
		},
		policy.Entry{
			Info: policy.Info{
				Family: "dag", Name: "min-min", Problem: "Q|prec,r_j|C_max",
				Summary:   "the ready task that can finish earliest first",
				Source:    "Ibarra, Kim, J. ACM 24, 1977",
				Knowledge: policy.Knowledge{Sizes: policy.SizesDistribution, Arrivals: policy.Online},
			},
			New: plain(dag.NewMinMin),
		},
		policy.Entry{
			Info: policy.Info{
				Family: "dag", Name: "max-min", Problem: "Q|prec,r_j|C_max",
				Summary:   "the ready task whose earliest finish is latest first",
				Source:    "Ibarra, Kim, J. ACM 24, 1977",
				Knowledge: policy.Knowledge{Sizes: policy.SizesDistribution, Arrivals: policy.Online},
			},
			New: plain(dag.NewMaxMin),
		},
		policy.Entry{
			Info: policy.Info{
				Family: "dag", Name: "tetris", Problem: "Q|prec,r_j,needs|ΣC_j",
				Summary:   "packing: the task most alike to what is free, of short jobs",
				Source:    "Grandl et al., SIGCOMM 2014",
				Knowledge: policy.Knowledge{Sizes: policy.SizesDistribution, Arrivals: policy.Online},
			},
			New: plain(dag.NewTetris),
		},
		policy.Entry{
			Info: policy.Info{
				Family: "dag", Name: "random", Problem: problem,
				Summary:   "stages in random order on random machines; the floor",
				Random:    true,
				Knowledge: policy.Knowledge{Sizes: policy.SizesUnknown, Arrivals: policy.Online},
			},
			New: plain(dag.NewRandom),
		},
	)
}

// simulate is the simulator with which policies plan.
func simulate(in *sched.Instance, z *sched.Sizes, p policy.Policy, stop func() bool) (*sched.Schedule, error) {
	r, err := sim.Run(sim.Config{
		Instance: in, Policy: p, Sizes: z, Estimates: z, Stop: stop,
		Knowledge: policy.Knowledge{Sizes: policy.SizesDistribution, Arrivals: policy.Offline},
	})
	if errors.Is(err, sim.ErrInterrupted) {
		return nil, dag.ErrStopped
	}
	if err != nil {
		return nil, err
	}
	return &r.Schedule, nil
}

// plain makes a policy that has no parameters.
func plain(make func() policy.Policy) func(json.RawMessage) (policy.Policy, error) {
	return func(params json.RawMessage) (policy.Policy, error) {
		return make(), policy.Decode(params, &struct{}{})
	}
}
