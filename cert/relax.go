package cert

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// relaxation holds what the bound needs of an instance. Sizes, speeds and
// weights are integers in units of their scales.
type relaxation struct {
	nodes []node
	index map[string]int32 // by name: "job/stage", or "job" for its sink

	machines []speedClass // by falling speed
	units    int          // m, the number of slots

	sizes, speeds scale
	strong        bool // "lp-strong"
}

type node struct {
	name          string
	weight        float64
	release       sched.Time
	units         int      // min(t_j, m), 0 for a sink
	work, longest *big.Int // p_j and p_j1, nil for a sink
	preds         []int32  // tails of the arcs into it, ascending

	// Of "lp-strong", in units of its clock: h_j, A_j/p_j and r_j with heads.
	length, tail, start *big.Int
}

// speedClass is the machines up to and including one, in order of speed.
type speedClass struct {
	slots int      // units so far
	total *big.Int // their speeds together
	speed *big.Int // of this machine
}

// relax builds the relaxation of in; the error wraps ErrUnsupported if in has
// none, sched.ErrInstance if in makes no sense.
func relax(in *sched.Instance, strong bool) (*relaxation, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	r := &relaxation{index: map[string]int32{}, strong: strong}
	if err := r.addMachines(in); err != nil {
		return nil, err
	}
	if err := r.checkStages(in); err != nil {
		return nil, err
	}
	ends := make([]int32, len(in.Jobs))     // each job's last stage or sink
	starts := make([][]int32, len(in.Jobs)) // each job's stages without predecessors
	for j := range in.Jobs {
		var err error
		if ends[j], starts[j], err = r.addJob(&in.Jobs[j]); err != nil {
			return nil, err
		}
	}
	for j := range in.Jobs {
		var before []int32 // shared by all of starts[j]
		for _, a := range in.Jobs[j].After {
			before = append(before, ends[a])
		}
		slices.Sort(before)
		for _, b := range starts[j] {
			r.nodes[b].preds = before
		}
	}
	if strong {
		r.heads()
	}
	return r, nil
}

func (r *relaxation) addMachines(in *sched.Instance) error {
	var machines []*sched.Machine
	for i := range in.Machines {
		if m := &in.Machines[i]; m.Slots > 0 {
			machines = append(machines, m)
			r.speeds.cover(fractionDigits(m.Speed))
		}
	}
	slices.SortStableFunc(machines, func(a, b *sched.Machine) int { return cmp.Compare(b.Speed, a.Speed) })
	total := new(big.Int)
	for _, m := range machines {
		if m.Slots > math.MaxInt-r.units {
			return fmt.Errorf("%w: too many slots to count", ErrUnsupported)
		}
		r.units += m.Slots
		speed := r.speeds.float(m.Speed)
		total = new(big.Int).Add(total, new(big.Int).Mul(speed, big.NewInt(int64(m.Slots))))
		r.machines = append(r.machines, speedClass{r.units, total, speed})
	}
	if r.units == 0 {
		return fmt.Errorf("%w: the instance has no machine with a slot", ErrUnsupported)
	}
	return nil
}

// speed returns V_h, the total speed of the h fastest units, 1 <= h <= m.
func (r *relaxation) speed(h int) *big.Int {
	i, _ := slices.BinarySearchFunc(r.machines, h, func(c speedClass, h int) int { return cmp.Compare(c.slots, h) })
	c := r.machines[i]
	excess := new(big.Int).Mul(c.speed, big.NewInt(int64(c.slots-h)))
	return excess.Sub(c.total, excess)
}

// checkStages refuses what the relaxation does not model, and finds the scale
// in which all sizes are integers.
func (r *relaxation) checkStages(in *sched.Instance) error {
	for j := range in.Jobs {
		for s := range in.Jobs[j].Stages {
			st := &in.Jobs[j].Stages[s]
			if err := r.checkStage(st); err != nil {
				return fmt.Errorf("%w: stage %s/%s %w", ErrUnsupported, in.Jobs[j].Name, st.Name, err)
			}
		}
	}
	return nil
}

func (r *relaxation) checkStage(st *sched.Stage) error {
	switch {
	case st.Transfer():
		return errors.New("is a transfer: this relaxation bounds compute stages only")
	case st.Fluid != nil:
		return errors.New("shares rates: this relaxation bounds stages whose tasks hold slots only")
	case len(st.Sizes) == 0:
		return errors.New("has unknown sizes: give it sizes, or certify the instance with the sizes observed")
	}
	for _, d := range st.Sizes {
		p, ok := size.Value(d)
		switch {
		case !ok:
			return fmt.Errorf("has random sizes (%v): on several machines the relaxation on mean sizes bounds nothing; certify a realisation", d)
		case !(p >= 0) || math.IsInf(p, 1):
			return fmt.Errorf("has a task of size %v: sizes are finite and not negative", p)
		}
		r.sizes.cover(fractionDigits(p))
	}
	return nil
}

// addJob appends the nodes of a job with the arcs between them.
func (r *relaxation) addJob(job *sched.Job) (end int32, starts []int32, err error) {
	base := int32(len(r.nodes))
	last := make([]bool, len(job.Stages))
	for s := range last {
		last[s] = true
	}
	for s := range job.Stages {
		st := &job.Stages[s]
		n := node{name: job.Name + "/" + st.Name, release: job.Release, units: min(st.Count, r.units)}
		n.work, n.longest = r.stageSizes(st)
		if r.strong {
			r.spread(&n, st)
		}
		for _, a := range st.After {
			last[a] = false
			n.preds = append(n.preds, base+int32(a))
		}
		slices.Sort(n.preds)
		if n.preds == nil {
			starts = append(starts, base+int32(s))
		}
		if err := r.add(n); err != nil {
			return 0, nil, err
		}
	}
	var ends []int32
	for s, l := range last {
		if l {
			ends = append(ends, base+int32(s))
		}
	}
	if len(ends) > 1 {
		sink := node{name: job.Name, release: job.Release, preds: ends}
		if err := r.add(sink); err != nil {
			return 0, nil, err
		}
		ends = []int32{int32(len(r.nodes) - 1)}
	}
	r.nodes[ends[0]].weight = job.Weight
	return ends[0], starts, nil
}

func (r *relaxation) add(n node) error {
	if _, dup := r.index[n.name]; dup {
		return fmt.Errorf("%w: the name %q stands for two things; rename a job or a stage", ErrUnsupported, n.name)
	}
	r.index[n.name] = int32(len(r.nodes))
	r.nodes = append(r.nodes, n)
	return nil
}

func (r *relaxation) stageSizes(st *sched.Stage) (work, longest *big.Int) {
	most := 0.0
	work = new(big.Int)
	for _, d := range st.Sizes {
		p, _ := size.Value(d)
		most = max(most, p)
		work.Add(work, r.sizes.float(p))
	}
	if len(st.Sizes) == 1 {
		work.Mul(work, big.NewInt(int64(st.Count)))
	}
	return work, r.sizes.float(most)
}
