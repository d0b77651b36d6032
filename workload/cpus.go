package workload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// cpuList is a list of processors as Linux writes it: 0-3,8. Ascending when read.
type cpuList struct{ to *[]int }

const (
	maxCPU  = 8191 // the largest number in Linux
	cpuRule = `processors such as "0-7" or "0,2,4-5", each at most 8191 and named once`
)

func (v cpuList) decode(d *decoder, n *yaml.Node) {
	s, ok := d.scalar(n, cpuRule)
	if !ok {
		return
	}
	cpus, ok := parseCPUs(s.Value)
	if d.cpus += len(cpus); d.cpus > MaxSlots {
		d.fail(s, OverLimit, "more processors than that in the file", fmt.Sprintf("at most %d in all lists", MaxSlots))
		d.abort = true
		return
	}
	if !ok {
		d.fail(s, BadCPUs, describe(s), cpuRule)
		return
	}
	*v.to = cpus
}

func parseCPUs(s string) ([]int, bool) {
	var cpus []int
	for part := range strings.SplitSeq(s, ",") {
		low, high, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			high = low
		}
		a, err1 := strconv.ParseUint(low, 10, 16)
		b, err2 := strconv.ParseUint(high, 10, 16)
		if err1 != nil || err2 != nil || a > b || b > maxCPU || len(cpus) > maxCPU {
			return nil, false
		}
		for c := a; c <= b; c++ {
			cpus = append(cpus, int(c))
		}
	}
	slices.Sort(cpus)
	n := len(cpus)
	return cpus, len(slices.Compact(cpus)) == n
}

func (v cpuList) encode() *yaml.Node {
	if len(*v.to) == 0 {
		return nil
	}
	var parts []string
	cpus := *v.to
	for i := 0; i < len(cpus); {
		k := i
		for k+1 < len(cpus) && cpus[k+1] == cpus[k]+1 {
			k++
		}
		part := strconv.Itoa(cpus[i])
		if k > i {
			part += "-" + strconv.Itoa(cpus[k])
		}
		parts = append(parts, part)
		i = k + 1
	}
	return textNode(strings.Join(parts, ","))
}
