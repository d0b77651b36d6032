package trace

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-project/fairlead/workload"
)

// ReadNextflow reads a trace.txt of Nextflow, with the default fields or others, as
// long as name, status and realtime or duration are among them, in text or
// raw. The run becomes one job, every process a stage whose tasks are as large as
// realtime says, or duration where it does not: that includes the wait. The largest
// peak_rss of a stage becomes what each task needs of memory; the largest cpus what
// it needs of cpu, if any task has more than one. Only tasks that completed, now or
// earlier (cached), count. The trace has no dependencies, so none are read.
func ReadNextflow(name string, data []byte) (*workload.File, []string, error) {
	if err := checkSize(name, data); err != nil {
		return nil, nil, err
	}
	r := nextflowReader{lines: lines{name: name, rest: data}, index: map[string]int{}}
	if err := r.header(); err != nil {
		return nil, nil, err
	}
	for r.next() {
		if r.text == "" {
			continue
		}
		if err := r.line(); err != nil {
			return nil, nil, err
		}
	}
	if len(r.processes) == 0 {
		return nil, nil, empty(name, "task that completed")
	}
	job := workload.Job{Name: "nextflow", Weight: 1}
	names := newNamer()
	parallel := slices.ContainsFunc(r.processes, func(p process) bool { return p.cpus > 1 })
	for _, p := range r.processes {
		st := workload.Stage{Name: names.name(p.name)}
		sizesOf(&st, p.seconds)
		if parallel {
			st.Needs = append(st.Needs, workload.Quantity{Name: "cpu", Amount: max(1, p.cpus)})
		}
		if p.memory > 0 {
			st.Needs = append(st.Needs, workload.Quantity{Name: "memory", Amount: p.memory})
		}
		job.Stages = append(job.Stages, st)
	}
	notes := []string{"a Nextflow trace has no dependencies: all processes may run at once"}
	if r.unfinished > 0 {
		notes = append(notes, plural(r.unfinished, "task")+" left out: not completed, or of unknown duration")
	}
	if r.waited > 0 {
		notes = append(notes, plural(r.waited, "task")+" of which only the duration is known, which includes the wait")
	}
	return &workload.File{Jobs: []workload.Job{job}}, names.note(notes, "process name"), nil
}

type process struct {
	name         string
	seconds      []float64
	cpus, memory float64
}

type nextflowReader struct {
	lines
	columns            map[string]int
	fields             int
	processes          []process
	index              map[string]int
	tasks              int
	unfinished, waited int
}

// nextflowFields is more than Nextflow knows.
const nextflowFields = 200

func (r *nextflowReader) header() error {
	r.next()
	r.columns = map[string]int{}
	for i, f := range r.tabbed(nextflowFields) {
		if _, twice := r.columns[f.text]; twice {
			return r.bad(f, workload.DuplicateField, quote(f.text)+" a second time", "each field once")
		}
		r.columns[f.text] = i
		r.fields++
	}
	for _, c := range []string{"name", "status"} {
		if _, ok := r.columns[c]; !ok {
			return bad(r.name, 1, 1, workload.MissingField, quote(r.text), "a header with "+c+", separated by tabs")
		}
	}
	_, realtime := r.columns["realtime"]
	if _, duration := r.columns["duration"]; !realtime && !duration {
		return bad(r.name, 1, 1, workload.MissingField, quote(r.text), "a header with realtime or duration, separated by tabs")
	}
	return nil
}

func (r *nextflowReader) line() error {
	fields := r.tabbed(nextflowFields)
	if len(fields) != r.fields {
		return r.bad(fields[len(fields)-1], workload.BadSyntax, plural(len(fields), "field"), fmt.Sprintf("%d, as in the header", r.fields))
	}
	get := func(column string) (field, bool) {
		i, ok := r.columns[column]
		if !ok {
			return field{}, false
		}
		f := fields[i]
		return f, f.text != "" && f.text != "-"
	}
	status := fields[r.columns["status"]]
	switch status.text {
	case "COMPLETED", "CACHED":
	case "FAILED", "ABORTED", "NEW", "SUBMITTED", "RUNNING":
		r.unfinished++
		return nil
	default:
		return r.bad(status, workload.WrongType, quote(status.text), "COMPLETED, CACHED, FAILED, ABORTED, NEW, SUBMITTED or RUNNING")
	}
	took, ok := get("realtime")
	if !ok {
		if took, ok = get("duration"); ok {
			r.waited++
		} else {
			r.unfinished++
			return nil
		}
	}
	seconds, err := r.duration(took)
	if err != nil {
		return err
	}
	who := fields[r.columns["name"]]
	if p, ok := get("process"); ok {
		who = p
	}
	// NAME (TAG)
	name := who.text
	if i := strings.Index(name, " ("); i > 0 {
		name = name[:i]
	}
	if strings.TrimSpace(name) == "" {
		return r.bad(who, workload.BadText, "no name", "a process")
	}
	i, seen := r.index[name]
	if !seen {
		i = len(r.processes)
		r.index[name] = i
		r.processes = append(r.processes, process{name: name})
	}
	p := &r.processes[i]
	if r.tasks++; r.tasks > MaxTasks {
		return r.limit(r.tasks)
	}
	p.seconds = append(p.seconds, seconds)
	if f, ok := get("cpus"); ok {
		n, err := r.float(f, "a number of CPUs")
		if err != nil {
			return err
		}
		if !(n >= 0 && n <= 1e6) {
			return r.bad(f, workload.OutOfRange, quote(f.text), "0 to 1e6 CPUs")
		}
		p.cpus = max(p.cpus, math.Ceil(n))
	}
	if f, ok := get("peak_rss"); ok {
		bytes, err := r.memory(f)
		if err != nil {
			return err
		}
		p.memory = max(p.memory, bytes)
	}
	return nil
}

var nextflowPart = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)$`)

var nextflowUnit = map[string]float64{"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}

// duration reads "1d 2h 3m 4.5s" or "120ms", or raw milliseconds.
func (r *nextflowReader) duration(f field) (float64, error) {
	const expected = `a duration such as "1m 3s", or milliseconds`
	total := 0.0
	if ms, err := strconv.ParseUint(f.text, 10, 53); err == nil {
		total = float64(ms) / 1000
	} else {
		for _, part := range strings.Fields(f.text) {
			m := nextflowPart.FindStringSubmatch(part)
			if m == nil {
				return 0, r.bad(f, workload.BadUnit, quote(f.text), expected)
			}
			x, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				return 0, r.bad(f, workload.BadNumber, quote(f.text), expected)
			}
			if m[2] == "ms" {
				total += x / 1000 // exact where a thousandth is not
			} else {
				total += float64(x * nextflowUnit[m[2]])
			}
		}
	}
	if !validSeconds(total) {
		return 0, r.bad(f, workload.OutOfRange, quote(f.text), secondsExpected)
	}
	return total, nil
}

var nextflowMemory = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([KMGTP]?B)?$`)

// memory reads "1.2 GB", whose units are powers of 1024, or raw bytes.
func (r *nextflowReader) memory(f field) (float64, error) {
	m := nextflowMemory.FindStringSubmatch(f.text)
	if m == nil {
		return 0, r.bad(f, workload.BadUnit, quote(f.text), `an amount such as "1.2 GB", or bytes`)
	}
	x, err := strconv.ParseFloat(m[1], 64)
	if err == nil && m[2] != "" {
		x = math.Ldexp(x, 10*strings.Index("BKMGTP", m[2][:1]))
	}
	if err != nil || x > 1e15 {
		return 0, r.bad(f, workload.OutOfRange, quote(f.text), "at most 1e15 bytes")
	}
	return math.Ceil(x), nil
}

// WriteNextflow writes one job whose stages wait for nothing, raw, as a task each
// that completed. Sizes are rounded to milliseconds.
func WriteNextflow(w io.Writer, f *workload.File) ([]string, error) {
	if err := oneJob(f); err != nil {
		return nil, err
	}
	all, err := rows(f)
	if err != nil {
		return nil, err
	}
	notes := left{weights: true, releases: true, tenants: true, clusters: true, commands: true, inputs: true, pins: true, retries: true}.of(f)
	b := bufio.NewWriter(w)
	io.WriteString(b, "task_id\thash\tnative_id\tname\tstatus\texit\tsubmit\tduration\trealtime\tcpus\tpeak_rss\n")
	rounded, other := false, false
	for i, r := range all {
		ms := math.Round(r.seconds * 1000)
		rounded = rounded || ms/1000 != r.seconds
		cpus, memory := "-", "-"
		for _, q := range r.stage.Needs {
			switch {
			case q.Name == "cpu":
				cpus = strconv.FormatFloat(math.Ceil(q.Amount), 'f', 0, 64)
			case q.Name == "memory":
				memory = strconv.FormatFloat(math.Ceil(q.Amount), 'f', 0, 64)
			default:
				other = true
			}
		}
		fmt.Fprintf(b, "%d\t-\t-\t%s (%d)\tCOMPLETED\t0\t0\t%.0f\t%.0f\t%s\t%s\n", i+1, r.stage.Name, r.task+1, ms, ms, cpus, memory)
	}
	if rounded {
		notes = append(notes, "sizes are rounded to milliseconds")
	}
	if other {
		notes = append(notes, "needs other than cpu and memory left out: the format has no place for that")
	}
	return notes, b.Flush()
}
