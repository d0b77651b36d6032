package trace

import (
	"bufio"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/fairlead-project/fairlead/workload"
)

// ReadNinja reads a .ninja_log of version 5, 6 or 7. The build becomes one job, each
// command that has run a stage of one task, named after its first output; of
// several lines for an output the last one counts. The log has no dependencies, so
// none are read.
func ReadNinja(name string, data []byte) (*workload.File, []string, error) {
	if err := checkSize(name, data); err != nil {
		return nil, nil, err
	}
	l := lines{name: name, rest: data}
	if !l.next() || l.text != "# ninja log v5" && l.text != "# ninja log v6" && l.text != "# ninja log v7" {
		return nil, nil, bad(name, 1, 1, workload.BadVersion, quote(l.text), `"# ninja log v5", v6 or v7`)
	}
	// A command with several outputs has a line for each, alike but for its name.
	type command struct {
		start, end int64
		hash       string
	}
	type entry struct {
		output string
		command
	}
	var entries []entry
	latest := map[string]int{} // entry by output
	again := 0
	for l.next() {
		if l.text == "" || strings.HasPrefix(l.text, "#") {
			continue
		}
		fields := l.tabbed(5)
		if len(fields) != 5 {
			return nil, nil, l.bad(fields[len(fields)-1], workload.BadSyntax, plural(len(fields), "field"), "5, separated by tabs")
		}
		var x command
		var err error
		if x.start, err = l.integer(fields[0], "milliseconds"); err != nil {
			return nil, nil, err
		}
		if x.end, err = l.integer(fields[1], "milliseconds"); err != nil {
			return nil, nil, err
		}
		if x.start < 0 || x.end < x.start || x.end > maxSeconds*1000 {
			return nil, nil, l.bad(fields[1], workload.OutOfRange, fmt.Sprintf("a command from %d to %d", x.start, x.end), "0 <= start <= end <= 1e12 milliseconds")
		}
		if fields[3].text == "" {
			return nil, nil, l.bad(fields[3], workload.BadText, "no name", "the output of a command")
		}
		x.hash = fields[4].text
		if i, seen := latest[fields[3].text]; seen {
			entries[i].command = x
			again++
			continue
		}
		if err := l.limit(len(entries) + 1); err != nil {
			return nil, nil, err
		}
		latest[fields[3].text] = len(entries)
		entries = append(entries, entry{fields[3].text, x})
	}
	if len(entries) == 0 {
		return nil, nil, empty(name, "command")
	}
	job := workload.Job{Name: "build", Weight: 1}
	names := newNamer()
	seen := map[command]bool{}
	more := 0
	for _, e := range entries {
		if seen[e.command] {
			more++
			continue
		}
		seen[e.command] = true
		st := workload.Stage{Name: names.name(e.output), Size: &workload.Size{Value: float64(e.end-e.start) / 1000}}
		job.Stages = append(job.Stages, st)
	}
	notes := []string{"a ninja log has no dependencies: all commands may run at once"}
	if again > 0 {
		notes = append(notes, plural(again, "earlier line")+" for an output that comes again left out")
	}
	if more > 0 {
		notes = append(notes, plural(more, "output")+" left out: further ones of the same commands")
	}
	return &workload.File{Jobs: []workload.Job{job}}, names.note(notes, "output"), nil
}

// WriteNinja writes one job whose stages have one task each and wait for nothing, in
// version 6, as if each had begun when the build did. Sizes are rounded to
// milliseconds. Hashes of commands are not ninja's: it would build anew.
func WriteNinja(w io.Writer, f *workload.File) ([]string, error) {
	if err := oneJob(f); err != nil {
		return nil, err
	}
	all, err := rows(f)
	if err != nil {
		return nil, err
	}
	notes := left{weights: true, releases: true, tenants: true, clusters: true, commands: true, inputs: true, needs: true, pins: true, retries: true}.of(f)
	b := bufio.NewWriter(w)
	io.WriteString(b, "# ninja log v6\n")
	rounded := false
	for _, r := range all {
		if r.stage.Tasks() != 1 {
			return nil, fmt.Errorf("stage %s has %d tasks: %w", r.stage.Name, r.stage.Tasks(), ErrCannotHold)
		}
		ms := math.Round(r.seconds * 1000)
		rounded = rounded || ms/1000 != r.seconds
		h := fnv.New64a()
		io.WriteString(h, r.stage.Name)
		fmt.Fprintf(b, "0\t%.0f\t0\t%s\t%s\n", ms, r.stage.Name, strconv.FormatUint(h.Sum64(), 16))
	}
	if rounded {
		notes = append(notes, "sizes are rounded to milliseconds")
	}
	return notes, b.Flush()
}
