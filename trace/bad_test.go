package trace_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-project/fairlead/trace"
	"github.com/fairlead-project/fairlead/workload"
)

const (
	joblogHead = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"
	swfTail    = " -1 -1 1 -1 -1 1 1 -1 -1 -1 -1 -1 -1\n"
)

// wf is a workflow of the given tasks and files, in one line.
func wf(tasks, rest string) string {
	return `{"name": "w", "workflow": {"specification": {"tasks": [` + tasks + `]` + rest + `}}}`
}

// Every kind of mistake is refused, with its position and what was expected.
func TestMalformed(t *testing.T) {
	for _, c := range []struct {
		format, data, want string
	}{
		{"swf", "", "f:1:1: found no job that has run, expected at least one"},
		{"swf", "; nothing\n", "f:1:1: found no job"},
		{"swf", "1 2 3\n", "f:1:5: found 3 fields, expected 18, separated by blanks"},
		{"swf", "1 0 0 5 1" + strings.TrimSuffix(swfTail, "\n") + " 7\n", "f:1:47: found 19 fields"},
		{"swf", "; c\n1 0 0 x 1" + swfTail, `f:2:7: found "x", expected a number, -1 if it is not known`},
		{"swf", "1 0 0 NaN 1" + swfTail, `f:1:7: found "NaN"`},
		{"swf", "1 0 0 0x10 1" + swfTail, `f:1:7: found "0x10"`},
		{"swf", "1 0 0 1e12 1" + swfTail, `f:1:7: found "1e12", expected 0 to 1e9 seconds`},
		{"swf", "1 0 0 1 1e7" + swfTail, `f:1:9: found 1e+07 processors`},
		{"swf", "1 0 0 1 1.5" + swfTail, `f:1:9: found 1.5 processors`},
		{"swf", "1.5 0 0 1 1" + swfTail, `f:1:1: found "1.5", expected a job number`},
		{"swf", "-1 0 0 1 1" + swfTail, `f:1:1: found "-1", expected a job number`},
		{"swf", "1 1e13 0 1 1" + swfTail, `f:1:3: found "1e13"`},
		{"swf", "1 0 0 1 1" + swfTail + "2 1e10 0 1 1" + swfTail, "f:2:1: found a job submitted 1e+10 seconds after the first"},
		{"swf", "1 0 0 1 1" + swfTail + "1 0 0 1 1" + swfTail, "f:2:1: found job 1 a second time, expected distinct numbers; the first is in line 1"},
		{"swf", "; MaxProcs: 99999999999\n", "f:1:1: found 99999999999"},
		{"swf", "; MaxProcs: 2000000\n1 0 0 1 1" + swfTail, "f:1:1: found 2000000 processors"},

		{"joblog", "", `f:1:1: found "", expected the header`},
		{"joblog", "Seq Host\n", `f:1:1: found "Seq Host", expected the header`},
		{"joblog", joblogHead, "f:1:1: found no job"},
		{"joblog", joblogHead + "1\t:\t0\t1\n", "f:2:7: found 4 fields, expected 9, separated by tabs"},
		{"joblog", joblogHead + "ä\t:\t0\t1\t0\t0\t0\t0\tx\n", `f:2:1: found "ä", expected the number of a job`},
		{"joblog", joblogHead + "-1\t:\t0\t1\t0\t0\t0\t0\tx\n", `f:2:1: found "-1"`},
		{"joblog", joblogHead + "1\tä\t0\tlong\t0\t0\t0\t0\tx\n", `f:2:7: found "long", expected seconds`},
		{"joblog", joblogHead + "1\t:\t0\t-2\t0\t0\t0\t0\tx\n", `f:2:7: found "-2", expected 0 to 1e9`},
		{"joblog", joblogHead + "1\t:\t0\t2\t0\t0\t?\t0\tx\n", `f:2:13: found "?", expected an exit value`},
		{"joblog", joblogHead + "1\t:\t0\t2\t0\t0\t0\tTERM\tx\n", `f:2:15: found "TERM", expected the number of a signal`},

		{"ninja", "", `f:1:1: found "", expected "# ninja log v5"`},
		{"ninja", "# ninja log v4\n", `f:1:1: found "# ninja log v4"`},
		{"ninja", "# ninja log v5\n", "f:1:1: found no command"},
		{"ninja", "# ninja log v5\n1\t2\n", "f:2:3: found 2 fields, expected 5"},
		{"ninja", "# ninja log v5\n1\tb\t0\to\th\n", `f:2:3: found "b", expected milliseconds`},
		{"ninja", "# ninja log v5\n1.5\t2\t0\to\th\n", `f:2:1: found "1.5"`},
		{"ninja", "# ninja log v5\n5\t2\t0\to\th\n", "f:2:3: found a command from 5 to 2, expected 0 <= start <= end"},
		{"ninja", "# ninja log v5\n5\t6\t0\t\th\n", "f:2:7: found no name"},

		{"nextflow", "", `f:1:1: found "", expected a header with name`},
		{"nextflow", "name\tstatus\n", "expected a header with realtime or duration"},
		{"nextflow", "name\tstatus\tname\n", `f:1:13: found "name" a second time`},
		{"nextflow", "name\tstatus\trealtime\n", "f:1:1: found no task that completed"},
		{"nextflow", "name\tstatus\trealtime\na\tCOMPLETED\n", "f:2:3: found 2 fields, expected 3, as in the header"},
		{"nextflow", "name\tstatus\trealtime\na\tDONE\t1\n", `f:2:3: found "DONE", expected COMPLETED, CACHED`},
		{"nextflow", "name\tstatus\trealtime\na\tCOMPLETED\t1 week\n", `f:2:13: found "1 week", expected a duration such as "1m 3s"`},
		{"nextflow", "name\tstatus\trealtime\na\tCOMPLETED\t-5s\n", `f:2:13: found "-5s"`},
		{"nextflow", "name\tstatus\trealtime\na\tCOMPLETED\t99999999d\n", "f:2:13: found \"99999999d\", expected 0 to 1e9 seconds"},
		{"nextflow", "name\tstatus\trealtime\n\tCOMPLETED\t1\n", "f:2:1: found no name"},
		{"nextflow", "name\tstatus\trealtime\tpeak_rss\na\tCOMPLETED\t1\tmuch\n", `f:2:15: found "much", expected an amount such as "1.2 GB"`},
		{"nextflow", "name\tstatus\trealtime\tpeak_rss\na\tCOMPLETED\t1\t9 PB\n", `f:2:15: found "9 PB", expected at most 1e15`},
		{"nextflow", "name\tstatus\trealtime\tcpus\na\tCOMPLETED\t1\ttwo\n", `f:2:15: found "two"`},
		{"nextflow", "name\tstatus\trealtime\tcpus\na\tCOMPLETED\t1\t1e9\n", `f:2:15: found "1e9", expected 0 to 1e6`},

		{"wfformat", "", "f:1:1: found the end of the file, expected the rest of a JSON value"},
		{"wfformat", "{\n  \"name\": ]\n}", "f:2:11: found invalid character ']'"},
		{"wfformat", `{"name": "w"`, "f:1:13: found the end of the file"},
		{"wfformat", `{"name": 5}`, "f:1:10: found a number, expected a text (field name)"},
		{"wfformat", `{"name": "w", "workflow": {"specification": {"tasks": "none"}}}`, "f:1:55: found a string, expected a list"},
		{"wfformat", `{"name": "w"} x`, "f:1:15: found more after the end"},
		{"wfformat", "{\"name\": \"\xff\"}", "f:1:1: found bytes that are not UTF-8"},
		{"wfformat", `{"name": "w"}`, "f:1:1: found no workflow"},
		{"wfformat", `{"workflow": {}}`, "f:1:14: found neither specification nor tasks"},
		{"wfformat", wf("", ""), "f:1:55: found no tasks"},
		{"wfformat", wf(`{"name": "a"}`, ""), "f:1:56: found a task without id"},
		{"wfformat", wf(`{"id": "a"}, {"id": "a"}`, ""), `f:1:76: found a second task "a", expected distinct ids; the first is tasks[0]`},
		{"wfformat", wf(`{"id": "a", "parents": ["b"]}`, ""), `f:1:80: found the unknown task "b", expected the id of a task`},
		{"wfformat", wf(`{"id": "a", "children": ["c"]}`, ""), `f:1:81: found the unknown task "c"`},
		{"wfformat", wf(`{"id": "a", "children": ["b"]}, {"id": "b", "children": ["a"]}`, ""), "found the cycle"},
		{"wfformat", wf(`{"id": "a", "parents": ["a"]}`, ""), `found the cycle "a" -> "a"`},
		{"wfformat", wf(`{"id": "a"}`, `, "files": [{"id": "f", "sizeInBytes": -1}]`), "f:1:107: found -1 bytes, expected 0 to 1e15"},
		{"wfformat", `{"workflow": {"tasks": [{"name": "a", "runtime": -4}]}}`, "found -4, expected 0 to 1e+09"},
		{"wfformat", `{"workflow": {"tasks": [{"name": "a", "files": [{"link": "both"}]}]}}`, `f:1:58: found the link "both"`},
		{"wfformat", `{"workflow": {"tasks": [{"name": "a"}], "machines": [{"nodeName": "m", "cpu": {"coreCount": 0.5}}]}}`, "f:1:93: found 0.5 cores"},
		{"wfformat", `{"workflow": {"tasks": [{"name": "a"}], "machines": [{"nodeName": "m", "memoryInBytes": -1}]}}`, "f:1:89: found -1 bytes"},
	} {
		format, _ := trace.Lookup(c.format)
		f, _, err := format.Read("f", []byte(c.data))
		switch {
		case err == nil:
			t.Errorf("%s %q: accepted as %+v", c.format, c.data, f.Jobs)
			continue
		case !strings.Contains(err.Error(), c.want):
			t.Errorf("%s %q:\n%v\nwant\n%s", c.format, c.data, err, c.want)
		}
		checkError(t, err)
	}
}

// checkError is what must hold of every error of a reader.
func checkError(t testing.TB, err error) {
	t.Helper()
	var list workload.Errors
	if !errors.As(err, &list) || list[0].Class == "" || list[0].Line < 1 || list[0].Column < 1 || !strings.HasPrefix(list[0].Msg, "found ") {
		t.Errorf("no position in %v", err)
	}
}

// What is made to cost much is refused, or costs little.
func TestLimits(t *testing.T) {
	big := make([]byte, trace.MaxBytes+1)
	for _, format := range trace.Formats() {
		if _, _, err := format.Read("f", big); err == nil || !strings.Contains(err.Error(), "bytes") {
			t.Errorf("%s: a file of more than 64 MiB: %v", format.Name, err)
		}
	}
	for _, c := range []string{`{},`, `"",`} {
		data := wf(strings.Repeat(c, trace.MaxBytes/3-100), "")
		if _, _, err := trace.ReadWfFormat("f", []byte(data)); err == nil || !strings.Contains(err.Error(), "at most") {
			t.Errorf("a file full of %s: %v", c, err)
		}
	}
	var tasks []string
	for i := range 8000 {
		tasks = append(tasks, fmt.Sprintf(`{"id": "%d", "inputFiles": ["f"], "outputFiles": ["f"]}`, i))
	}
	if _, _, err := trace.ReadWfFormat("f", []byte(wf(strings.Join(tasks, ","), ""))); err == nil || !strings.Contains(err.Error(), "too many tasks that write the same files") {
		t.Errorf("everybody writes and reads one file: %v", err)
	}
	var b strings.Builder
	b.WriteString("# ninja log v5\n")
	for i := range 50_000 { // names that all become the same
		fmt.Fprintf(&b, "0\t%d\t0\to%s\th\n", i, strings.Repeat("é", i%50+1)+strings.Repeat("ö", i/50))
		if b.Len() > 30<<20 {
			break
		}
	}
	f, _, err := trace.ReadNinja("f", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, st := range f.Jobs[0].Stages {
		if names[st.Name] {
			t.Fatalf("two stages named %s", st.Name)
		}
		names[st.Name] = true
	}
}
