package trace

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-project/fairlead/sched"
	"github.com/fairlead-project/fairlead/workload"
)

const joblogHeader = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand"

// ReadJoblog reads what GNU parallel writes with --joblog, and what `fairlead report
// --joblog` does. Every Seq becomes a job seq<number> of one task as large as
// JobRuntime, to be run by its command; of several lines for one Seq the last one
// counts. The jobs are all there from the beginning: Starttime is when parallel
// found room for them, not when they arrived.
func ReadJoblog(name string, data []byte) (*workload.File, []string, error) {
	if err := checkSize(name, data); err != nil {
		return nil, nil, err
	}
	l := lines{name: name, rest: data}
	index := map[int64]int{}
	var jobs []workload.Job
	var failed []bool
	repeated, silent := 0, 0
	if !l.next() || l.text != joblogHeader {
		return nil, nil, bad(name, 1, 1, workload.BadSyntax, quote(l.text), "the header "+quote(joblogHeader))
	}
	for l.next() {
		if l.text == "" || l.text == joblogHeader { // which --joblog +file repeats
			continue
		}
		fields := l.tabbed(9)
		if len(fields) != 9 {
			return nil, nil, l.bad(fields[len(fields)-1], workload.BadSyntax, plural(len(fields), "field"), "9, separated by tabs")
		}
		seq, err := l.integer(fields[0], "the number of a job")
		if err != nil {
			return nil, nil, err
		}
		if seq < 0 {
			return nil, nil, l.bad(fields[0], workload.OutOfRange, quote(fields[0].text), "the number of a job")
		}
		seconds, err := l.float(fields[3], "seconds")
		if err != nil {
			return nil, nil, err
		}
		if !validSeconds(seconds) {
			return nil, nil, l.bad(fields[3], workload.OutOfRange, quote(fields[3].text), secondsExpected)
		}
		code, err := l.integer(fields[6], "an exit value")
		if err != nil {
			return nil, nil, err
		}
		signal, err := l.integer(fields[7], "the number of a signal")
		if err != nil {
			return nil, nil, err
		}
		st := workload.Stage{Name: "run", Size: &workload.Size{Value: seconds}, Run: shell(fields[8].text)}
		if st.Run == nil {
			silent++
		}
		job := workload.Job{Name: "seq" + strconv.FormatInt(seq, 10), Weight: 1, Stages: []workload.Stage{st}}
		if j, seen := index[seq]; seen {
			jobs[j], failed[j] = job, code != 0 || signal != 0
			repeated++
			continue
		}
		if err := l.limit(len(jobs) + 1); err != nil {
			return nil, nil, err
		}
		index[seq] = len(jobs)
		jobs, failed = append(jobs, job), append(failed, code != 0 || signal != 0)
	}
	if len(jobs) == 0 {
		return nil, nil, empty(name, "job")
	}
	bad := 0
	for _, f := range failed {
		if f {
			bad++
		}
	}
	notes := []string{"hosts and start times are left out: jobs are all there from the beginning"}
	if repeated > 0 {
		notes = append(notes, plural(repeated, "earlier line")+" for a Seq that comes again left out")
	}
	if bad > 0 {
		notes = append(notes, plural(bad, "job")+" had failed: the runtime is what it took to fail")
	}
	if silent > 0 {
		notes = append(notes, plural(silent, "command")+" left out: empty, or what a workload cannot hold")
	}
	return &workload.File{Jobs: jobs}, notes, nil
}

// shell returns a command for sh, nil if there is none or if a workload could not
// have it: bytes that are no text, and what looks like the template of an argument.
func shell(s string) *sched.Command {
	if strings.TrimSpace(s) == "" || template.MatchString(s) || strings.ContainsRune(s, 0) || !utf8.ValidString(s) {
		return nil
	}
	return &sched.Command{Shell: s}
}

var template = regexp.MustCompile(`\{\{-?\s*\.(Job|Stage|Task|Machine|Attempt)\s*-?\}\}`)

// WriteJoblog writes jobs of one task that wait for nothing, as if each had run on
// this computer from its release, without failing. Runtimes are rounded to
// milliseconds. GNU parallel's --resume takes the jobs for done.
func WriteJoblog(w io.Writer, f *workload.File) ([]string, error) {
	all, err := rows(f)
	if err != nil {
		return nil, err
	}
	notes := left{weights: true, tenants: true, clusters: true, inputs: true, needs: true, pins: true, retries: true}.of(f)
	b := bufio.NewWriter(w)
	io.WriteString(b, joblogHeader+"\n")
	seqs := make(map[string]int64, len(all))
	renamed, rounded, argv := false, false, false
	for _, r := range all {
		n, err := strconv.ParseInt(strings.TrimPrefix(r.job.Name, "seq"), 10, 32)
		if err != nil || n < 0 || "seq"+strconv.FormatInt(n, 10) != r.job.Name {
			renamed = true
		}
		seqs[r.job.Name] = n
	}
	for i, r := range all {
		if len(r.job.Stages) != 1 || r.stage.Tasks() != 1 {
			return nil, fmt.Errorf("job %s has more than one task: %w", r.job.Name, ErrCannotHold)
		}
		seq := int64(i + 1)
		if !renamed {
			seq = seqs[r.job.Name]
		}
		command := ""
		if c := r.stage.Run; c != nil {
			if len(c.Argv) > 0 || strings.ContainsAny(c.Shell, "\n\r") {
				argv = true
			} else {
				command = c.Shell
			}
		}
		rounded = rounded || math.Round(r.seconds*1000)/1000 != r.seconds
		fmt.Fprintf(b, "%d\t:\t%.3f\t%10.3f\t0\t0\t0\t0\t%s\n", seq, r.job.Release, r.seconds, command)
	}
	if renamed {
		notes = append(notes, "jobs are numbered in their order: names are not seq and a number")
	}
	if rounded {
		notes = append(notes, "sizes are rounded to milliseconds")
	}
	if argv {
		notes = append(notes, "commands that are no single line for the shell are left out")
	}
	return notes, b.Flush()
}
