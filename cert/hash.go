package cert

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/size"
)

// Hash returns the SHA-256, in hexadecimal, of everything in the instance that
// bears on scheduling: all of it but what is needed only to run it for real
// (commands, directories, environments, images, retries, timeouts, processors), and
// where a speed comes from. The encoding that is hashed is injective: strings and
// lists carry their length, numbers are 8 bytes.
func Hash(in *sched.Instance) string {
	sum := sha256.New()
	e := encoder{bufio.NewWriter(sum)}
	e.text("fairlead.dev/instance/v1")
	e.instance(in)
	e.w.Flush() // writing to a hash does not fail
	return hex.EncodeToString(sum.Sum(nil))
}

type encoder struct{ w *bufio.Writer }

func (e encoder) bits(u uint64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], u)
	e.w.Write(b[:])
}

func (e encoder) int(i int)         { e.bits(uint64(i)) }
func (e encoder) float(x float64)   { e.bits(math.Float64bits(x)) }
func (e encoder) text(s string)     { e.int(len(s)); e.w.WriteString(s) }
func (e encoder) ints(list []int64) { list64(e, list) }

func list64[V ~int | ~int32 | ~int64](e encoder, list []V) {
	e.int(len(list))
	for _, v := range list {
		e.bits(uint64(int64(v)))
	}
}

func (e encoder) flag(b bool) bool {
	if b {
		e.int(1)
	} else {
		e.int(0)
	}
	return b
}

func (e encoder) instance(in *sched.Instance) {
	e.text(in.Name)
	e.int(len(in.Resources))
	for _, r := range in.Resources {
		e.text(r)
	}
	e.int(len(in.Machines))
	for i := range in.Machines {
		m := &in.Machines[i]
		e.text(m.Name)
		e.float(m.Speed)
		e.int(m.Slots)
		e.ints(m.Capacity)
		e.float(m.Port)
	}
	e.int(len(in.Jobs))
	for i := range in.Jobs {
		j := &in.Jobs[i]
		e.text(j.Name)
		e.float(j.Weight)
		e.bits(uint64(j.Release))
		e.text(j.Tenant)
		list64(e, j.After)
		e.int(len(j.Stages))
		for s := range j.Stages {
			e.stage(&j.Stages[s])
		}
	}
}

func (e encoder) stage(s *sched.Stage) {
	e.text(s.Name)
	list64(e, s.After)
	e.int(s.Count)
	e.int(len(s.Sizes))
	for _, d := range s.Sizes {
		e.dist(d)
	}
	e.ints(s.Needs)
	if e.flag(s.Machines != nil) { // nil: anywhere
		list64(e, s.Machines)
	}
	e.int(len(s.Input))
	for _, in := range s.Input {
		e.int(in.From)
		e.float(in.Bytes)
	}
	if e.flag(s.Fluid != nil) {
		e.fluid(s.Fluid)
	}
	if e.flag(s.Flows != nil) { // empty but not nil: a transfer stage all the same
		e.int(len(s.Flows))
		for _, f := range s.Flows {
			e.int(int(f.From))
			e.int(int(f.To))
			e.dist(f.Size)
		}
	}
	if e.flag(s.Shuffle != nil) {
		e.int(s.Shuffle.From)
		e.int(s.Shuffle.To)
		e.dist(s.Shuffle.Size)
	}
}

// dist encodes distributions by their Go syntax, which shows every float64 so
// that it reads back the same.
func (e encoder) dist(d size.Dist) {
	if x, ok := d.(size.Exact); e.flag(ok) {
		e.float(float64(x))
		return
	}
	e.text(fmt.Sprintf("%#v", d))
}

func (e encoder) fluid(f *sched.Fluid) {
	e.int(len(f.Needs))
	for _, n := range f.Needs {
		e.float(n)
	}
	e.float(f.MaxRate)
	e.flag(f.Gang)
	e.int(len(f.Rates))
	for _, r := range f.Rates {
		e.int(int(r.Machine))
		e.float(r.Rate)
	}
	e.int(len(f.Speedup))
	for _, s := range f.Speedup {
		e.float(s.Slope)
		e.float(s.Length)
	}
	e.text(f.Page)
}
