package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-project/fairlead/sched"
)

// WriteJoblog writes a log as GNU parallel's --joblog does, for the tools that read
// it: tab-separated, a line per task, in order of its end. Seq numbers the tasks of
// the workload from 1, Host is the machine, Starttime is in seconds of Unix time
// (from 0 if the clock was virtual), JobRuntime in seconds. Exitval and Signal are
// those of the last attempt that has ended: a task that a signal has ended has
// Exitval 0 and the signal's number, unless it was its shell that reported it. Tasks
// of which no attempt is known to have ended are not in it. Send and Receive are 0.
//
// Where a command contains a tab or an end of line, which the format cannot hold, it
// is replaced by eval and a string that bash, ksh and zsh take for the same command.
func WriteJoblog(w io.Writer, t *Timeline) error {
	last := map[sched.TaskID]int{} // attempt of each task
	for i := range t.Attempts {
		a := &t.Attempts[i]
		if a.State != Done && a.State != Failed {
			continue
		}
		if k, seen := last[a.ID]; !seen || t.Attempts[k].Attempt < a.Attempt {
			last[a.ID] = i
		}
	}
	order := make([]int, 0, len(last))
	for _, i := range last {
		order = append(order, i)
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := &t.Attempts[i], &t.Attempts[j]
		return cmp.Or(cmp.Compare(a.Finish, b.Finish), cmp.Compare(a.ID, b.ID))
	})
	b := bufio.NewWriter(w) // keeps the first error
	fmt.Fprint(b, "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n")
	for _, i := range order {
		a := &t.Attempts[i]
		start := float64(a.Start) / 1e9
		if !t.Began.IsZero() {
			start = float64(t.wall(a.Start).UnixMilli()) / 1e3
		}
		code, signal := a.ExitCode, 0
		if a.Signal != "" && code > 128 {
			code, signal = 0, code-128
		}
		fmt.Fprintf(b, "%d\t%s\t%.3f\t%10.3f\t0\t0\t%d\t%d\t%s\n",
			a.ID+1, oneField(t.machine(a)), start, (t.end(a) - a.Start).Seconds(), code, signal, oneCommand(a.Command))
	}
	return b.Flush()
}

// oneField keeps a name from ending its field or line.
func oneField(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, s)
}

// oneCommand puts a command on one line without tabs.
func oneCommand(s string) string {
	if !strings.ContainsAny(s, "\t\n\r") {
		return s
	}
	var b strings.Builder
	b.WriteString("eval $'")
	for _, c := range []byte(s) {
		switch {
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			b.WriteString(`\` + octal(c))
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

func octal(c byte) string {
	s := strconv.FormatUint(uint64(c), 8)
	return strings.Repeat("0", 3-len(s)) + s
}
