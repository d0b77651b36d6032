package trace

import (
	"bufio"
	"container/heap"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/fairlead-project/fairlead/workload"
)

// Fields of a line of SWF, counted from 0.
const (
	swfNumber = iota
	swfSubmit
	swfWait
	swfRun
	swfProcs
	swfCPU
	swfMemory
	swfWantedProcs
	swfWantedTime
	swfWantedMemory
	swfStatus
	swfUser
	swfGroup
	swfProgram
	swfQueue
	swfPartition
	swfPreceding
	swfThink
	swfFields
)

// ReadSWF reads a log in the Standard Workload Format (Chapin et al. 1999; version
// 2.2). Every line becomes a job j<number> of one stage with a task per processor,
// each as large as the job took; submit times become releases, counted from the first one,
// users become tenants. Jobs whose run time or processors are not known are left out, as
// are the parts of jobs that were suspended (status 2 to 4). The header's MaxProcs
// and MaxNodes become the cluster.
func ReadSWF(name string, data []byte) (*workload.File, []string, error) {
	if err := checkSize(name, data); err != nil {
		return nil, nil, err
	}
	r := swfReader{lines: lines{name: name, rest: data}, index: map[int64]int{}, first: math.Inf(1)}
	for r.next() {
		if err := r.line(); err != nil {
			return nil, nil, err
		}
	}
	if len(r.jobs) == 0 {
		return nil, nil, empty(name, "job that has run")
	}
	f := &workload.File{Jobs: r.jobs}
	for j := range f.Jobs {
		f.Jobs[j].Release -= r.first
		if !validSeconds(f.Jobs[j].Release) {
			return nil, nil, bad(name, r.lineOf[j], 1, workload.OutOfRange, fmt.Sprintf("a job submitted %g seconds after the first", f.Jobs[j].Release), secondsExpected)
		}
	}
	r.precede(f.Jobs)
	if err := r.cluster(f); err != nil {
		return nil, nil, err
	}
	r.note(r.tasks > len(r.jobs), "the processors of a job are tasks that need not run at the same time")
	r.note(r.unknown > 0, plural(r.unknown, "job")+" left out: run time or processors are not known")
	r.note(r.parts > 0, plural(r.parts, "line")+" left out: parts of jobs that were suspended (status 2 to 4)")
	return f, r.notes, nil
}

type swfReader struct {
	lines
	jobs      []workload.Job
	lineOf    []int
	preceding []int64
	index     map[int64]int // of job numbers
	first     float64       // earliest submit time
	tasks     int

	procs, nodes   int64 // of the header
	unknown, parts int
	notes          []string
}

func (r *swfReader) note(say bool, note string) {
	if say {
		r.notes = append(r.notes, note)
	}
}

var swfHeader = regexp.MustCompile(`^;\s*(MaxProcs|MaxNodes):\s*([0-9]+)`)

func (r *swfReader) line() error {
	text := strings.TrimSpace(r.text)
	if strings.HasPrefix(text, ";") {
		if m := swfHeader.FindStringSubmatch(text); m != nil {
			n, err := strconv.ParseInt(m[2], 10, 32)
			if err != nil {
				return r.bad(field{}, workload.OutOfRange, m[2], "a 32-bit number")
			}
			if m[1] == "MaxProcs" {
				r.procs = n
			} else {
				r.nodes = n
			}
		}
		return nil
	}
	if text == "" {
		return nil
	}
	fields := r.spaced(swfFields + 1)
	if len(fields) != swfFields {
		return r.bad(fields[min(len(fields), swfFields+1)-1], workload.BadSyntax, plural(len(fields), "field"), fmt.Sprintf("%d, separated by blanks", swfFields))
	}
	var x [swfFields]float64
	for i, f := range fields {
		var err error
		if x[i], err = r.float(f, "a number, -1 if it is not known"); err != nil {
			return err
		}
	}
	number := int64(x[swfNumber])
	if float64(number) != x[swfNumber] || number < 0 {
		return r.bad(fields[swfNumber], workload.BadNumber, quote(fields[swfNumber].text), "a job number")
	}
	if s := x[swfStatus]; s >= 2 && s <= 4 {
		r.parts++
		return nil
	}
	procs := x[swfProcs]
	if procs <= 0 {
		procs = x[swfWantedProcs]
	}
	if x[swfRun] < 0 || procs <= 0 {
		r.unknown++
		return nil
	}
	switch {
	case procs != math.Trunc(procs) || procs > workload.MaxTasks:
		return r.bad(fields[swfProcs], workload.OutOfRange, fmt.Sprintf("%g processors", procs), fmt.Sprintf("1 to %d", workload.MaxTasks))
	case !validSeconds(x[swfRun]):
		return r.bad(fields[swfRun], workload.OutOfRange, quote(fields[swfRun].text), secondsExpected)
	case math.Abs(x[swfSubmit]) > maxUnix:
		return r.bad(fields[swfSubmit], workload.OutOfRange, quote(fields[swfSubmit].text), "seconds since 1970, or since the log begins")
	}
	if first, taken := r.index[number]; taken {
		return r.bad(fields[swfNumber], workload.DuplicateName, fmt.Sprintf("job %d a second time", number), fmt.Sprintf("distinct numbers; the first is in line %d", r.lineOf[first]))
	}
	if err := r.limit(len(r.jobs) + 1); err != nil {
		return err
	}
	st := workload.Stage{Name: "run", Size: &workload.Size{Value: x[swfRun]}}
	if procs > 1 {
		st.Count = int(procs)
	}
	job := workload.Job{Name: "j" + strconv.FormatInt(number, 10), Weight: 1, Release: x[swfSubmit], Stages: []workload.Stage{st}}
	if u := x[swfUser]; u >= 0 && u == math.Trunc(u) && u < maxUnix {
		job.Tenant = "user-" + strconv.FormatInt(int64(u), 10)
	}
	r.index[number] = len(r.jobs)
	r.jobs, r.lineOf = append(r.jobs, job), append(r.lineOf, r.number)
	r.preceding = append(r.preceding, int64(max(-1, min(x[swfPreceding], maxUnix))))
	r.first = min(r.first, x[swfSubmit])
	r.tasks += int(procs)
	return nil
}

// maxUnix is far beyond any time that a log can speak of, and exact as a float.
const maxUnix = 1e12

// precede links the jobs that wait for others. Some logs fill the field with
// a number that means nothing: a job that waits for itself or for a later one shows that.
func (r *swfReader) precede(jobs []workload.Job) {
	waits := 0
	for j, p := range r.preceding {
		if p < 0 {
			continue
		}
		i, ok := r.index[p]
		if ok && i >= j {
			r.note(true, fmt.Sprintf("field 17, the preceding job, is left out: line %d names a job that is not an earlier one", r.lineOf[j]))
			return
		}
		if ok {
			waits++
		}
	}
	for j, p := range r.preceding {
		if i, ok := r.index[p]; ok && p >= 0 {
			jobs[j].After = []string{jobs[i].Name}
		}
	}
	r.note(waits > 0, "think times after preceding jobs are left out")
}

// cluster makes the machines that the header speaks of.
func (r *swfReader) cluster(f *workload.File) error {
	if r.procs == 0 {
		return nil
	}
	m := workload.Machine{Name: "m", Speed: 1, SpeedAssumed: true, Slots: int(r.procs), Port: math.Inf(1)}
	if r.nodes > 1 && r.procs%r.nodes == 0 {
		m.Count, m.Slots = int(r.nodes), int(r.procs/r.nodes)
	}
	if r.procs > workload.MaxSlots || m.Count > workload.MaxMachines {
		return bad(r.name, 1, 1, workload.OverLimit, fmt.Sprintf("%d processors of %d nodes", r.procs, r.nodes),
			fmt.Sprintf("at most %d processors and %d nodes", workload.MaxSlots, workload.MaxMachines))
	}
	f.Cluster = &workload.Cluster{Machines: []workload.Machine{m}}
	return nil
}

// WriteSWF writes jobs of one stage whose tasks are equal, each waiting for at most
// one other job. SWF has whole seconds: sizes are rounded up, releases to the
// nearest.
func WriteSWF(w io.Writer, f *workload.File) ([]string, error) {
	notes := left{weights: true, speeds: true, ports: true, commands: true, inputs: true, needs: true, pins: true, retries: true, clusters: !oneKind(f.Cluster)}.of(f)
	order, err := waitedForFirst(f.Jobs)
	if err != nil {
		return nil, err
	}
	number, renamed := swfNumbers(f.Jobs)
	if renamed {
		notes = append(notes, "jobs are numbered in their order: names are not j and a number")
	}
	b := bufio.NewWriter(w)
	io.WriteString(b, "; Version: 2.2\n")
	if c := f.Cluster; c != nil && oneKind(c) {
		n := max(1, c.Machines[0].Count)
		fmt.Fprintf(b, "; MaxNodes: %d\n; MaxProcs: %d\n", n, n*c.Machines[0].Slots)
	}
	users, named := swfUsers(f.Jobs)
	rounded := false
	for _, j := range order {
		job := &f.Jobs[j]
		if len(job.Stages) != 1 || len(job.After) > 1 {
			return nil, fmt.Errorf("job %s has more than one stage, or waits for more than one job: %w", job.Name, ErrCannotHold)
		}
		sizes, err := known(&job.Stages[0])
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", job.Name, err)
		}
		for _, z := range sizes {
			if z != sizes[0] {
				return nil, fmt.Errorf("job %s has tasks of different sizes: %w", job.Name, ErrCannotHold)
			}
		}
		preceding := int64(-1)
		if len(job.After) == 1 {
			preceding = number[job.After[0]]
		}
		user := -1
		if job.Tenant != "" {
			user = users[job.Tenant]
		}
		run, submit := math.Ceil(sizes[0]), math.Round(job.Release)
		rounded = rounded || run != sizes[0] || submit != job.Release
		fmt.Fprintf(b, "%d %.0f -1 %.0f %d -1 -1 %d -1 -1 1 %d -1 -1 -1 -1 %d -1\n",
			number[job.Name], submit, run, len(sizes), len(sizes), user, preceding)
	}
	if rounded {
		notes = append(notes, "times are rounded to whole seconds, sizes up")
	}
	if named {
		notes = append(notes, "tenants are numbered in the order in which they appear")
	}
	return notes, b.Flush()
}

// oneKind reports whether SWF can name the machines of a cluster: equal ones.
func oneKind(c *workload.Cluster) bool {
	return c != nil && len(c.Machines) == 1 && c.Machines[0].Slots > 0
}

// swfNumbers takes the numbers from the jobs' names if all have one, and if those
// of jobs that are waited for come first.
func swfNumbers(jobs []workload.Job) (number map[string]int64, renamed bool) {
	number = make(map[string]int64, len(jobs))
	for j := range jobs {
		n, err := strconv.ParseInt(strings.TrimPrefix(jobs[j].Name, "j"), 10, 32)
		if err != nil || n < 0 || "j"+strconv.FormatInt(n, 10) != jobs[j].Name {
			renamed = true
			break
		}
		number[jobs[j].Name] = n
	}
	if renamed {
		for j := range jobs {
			number[jobs[j].Name] = int64(j + 1)
		}
	}
	return number, renamed
}

// swfUsers takes the users' numbers from the tenants' names if all have one, else
// it counts them.
func swfUsers(jobs []workload.Job) (users map[string]int, counted bool) {
	users = map[string]int{}
	for j := range jobs {
		t := jobs[j].Tenant
		id, err := strconv.ParseInt(strings.TrimPrefix(t, "user-"), 10, 32)
		if t != "" && (err != nil || id < 0 || "user-"+strconv.FormatInt(id, 10) != t) {
			counted = true
			break
		}
		users[t] = int(id)
	}
	if counted {
		clear(users)
		for j := range jobs {
			if t := jobs[j].Tenant; t != "" && users[t] == 0 {
				users[t] = len(users) + 1 // the key is added after its value is known
			}
		}
	}
	return users, counted
}

// waitedForFirst orders jobs so that those that others wait for come first, and
// otherwise as they are.
func waitedForFirst(jobs []workload.Job) ([]int, error) {
	index := make(map[string]int, len(jobs))
	for j := range jobs {
		index[jobs[j].Name] = j
	}
	readers := make([][]int, len(jobs))
	waits := make([]int, len(jobs))
	ready := intHeap{}
	for j := range jobs {
		for _, a := range jobs[j].After {
			readers[index[a]] = append(readers[index[a]], j)
			waits[j]++
		}
		if waits[j] == 0 {
			heap.Push(&ready, j)
		}
	}
	order := make([]int, 0, len(jobs))
	for ready.Len() > 0 {
		j := heap.Pop(&ready).(int)
		order = append(order, j)
		for _, k := range readers[j] {
			if waits[k]--; waits[k] == 0 {
				heap.Push(&ready, k)
			}
		}
	}
	if len(order) < len(jobs) {
		return nil, fmt.Errorf("jobs wait for each other: %w", ErrCannotHold)
	}
	return order, nil
}

// intHeap has the least number on top.
type intHeap []int

func (h intHeap) Len() int           { return len(h) }
func (h intHeap) Less(a, b int) bool { return h[a] < h[b] }
func (h intHeap) Swap(a, b int)      { h[a], h[b] = h[b], h[a] }
func (h *intHeap) Push(x any)        { *h = append(*h, x.(int)) }
func (h *intHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
