package supervise

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Which processes a supervisor that died has left: by number, group, session and
// birth. None of these has an environment here.
func TestFindOrphans(t *testing.T) {
	t.Parallel()
	const dead = 1 << 30 // no process has such a number, so none has a mark
	const ms = int64(time.Millisecond)
	was := &past{last: opened{PID: dead, Boot: BootID()}, open: []started{
		{Key: key(0), Born: 1000 * ms, PID: dead + 10, At: 1005 * ms},
		{Key: key(1), Born: 2000 * ms}, // may not have come into being
	}}
	const leader = dead + 10
	for _, c := range []struct {
		name string
		s    []stat
		want string
	}{
		{"what was started", []stat{{pid: leader, group: leader, session: dead, state: 'S', born: 1000 * ms}}, "10 "},
		{"as late as can be", []stat{{pid: leader, group: leader, session: dead, state: 'S', born: 1005 * ms}}, "10 "},
		{"its number, born before", []stat{{pid: leader, group: leader, session: dead, state: 'S', born: 980 * ms}}, ""},
		{"its number, born after", []stat{{pid: leader, group: leader, session: dead, state: 'S', born: 1020 * ms}}, ""},
		{"its zombie", []stat{{pid: leader, group: leader, session: dead, state: 'Z', born: 1000 * ms}}, ""},
		{"its group", []stat{{pid: leader, group: leader, session: dead, state: 'Z', born: 1000 * ms}, {pid: dead + 11, group: leader, session: dead, state: 'R', born: 3000 * ms}}, "11 "},
		{"its group, without it", []stat{{pid: dead + 11, group: leader, session: dead, state: 'R', born: 3000 * ms}}, "11 "},
		{"a stranger's group of that number", []stat{{pid: leader, group: leader, session: 7, state: 'S', born: 2000 * ms}, {pid: dead + 11, group: leader, session: 7, state: 'S', born: 3000 * ms}}, ""},
		{"that without its leader", []stat{{pid: dead + 11, group: leader, session: 7, state: 'S', born: 3000 * ms}}, ""},
		{"descendants", []stat{{pid: dead + 13, parent: dead + 12, group: 5, session: 5, state: 'S', born: 9000 * ms}, {pid: dead + 12, parent: leader, group: 5, session: 5, state: 'S', born: 9000 * ms}, {pid: leader, group: leader, session: dead, state: 'S', born: 1000 * ms}}, "13 12 10 "},
		{"kernel threads", []stat{{pid: dead + 1, group: 0, session: 0, state: 'I'}}, ""},
		{"others", []stat{{pid: dead + 1, parent: 1, group: dead + 1, session: dead, state: 'S', born: 1000 * ms}}, ""},
	} {
		o := &orphans{run: "run", was: was, self: os.Getpid(), denied: map[int]bool{}}
		got := ""
		for _, s := range o.find(c.s) {
			got += fmt.Sprint(s.pid-dead, " ")
		}
		equal(t, c.name, got, c.want)
	}
}

func TestParseMark(t *testing.T) {
	for _, c := range []struct {
		environ string
		want    string
	}{
		{"A=b\x00FAIRLEAD_RUN=run.1.2.3\x00C=d", "{1 2 3} true"},
		{"FAIRLEAD_RUN=outer.9.9.9 run.1.2.3 inner.8.8.8", "{1 2 3} true"},
		{"FAIRLEAD_RUN=run.1.2", "false"},
		{"FAIRLEAD_RUN=rerun.1.2.3", "false"},
		{"FAIRLEAD_RUN=run2.1.2.3", "false"},
		{"OTHER=run.1.2.3 FAIRLEAD_RUN=run.1.2.3", "false"},
		{"", "false"},
	} {
		k, ok := parseMark([]byte(c.environ), "run")
		got := fmt.Sprint(ok)
		if ok {
			got = fmt.Sprint(k, ok)
		}
		equal(t, c.environ, got, c.want)
	}
}

// A journal from before the computer was started again, or with a number that has
// passed to a stranger, costs nobody's life; what it leaves open is lost.
func TestStrangersLive(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "69")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	before := Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	after := Now()
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	for _, c := range []struct {
		name string
		boot string
		born int64
		dies bool
	}{
		{"an earlier process's number", BootID(), before - int64(time.Second), false},
		{"an earlier life of the computer", "another", before, false},
		{"the very process", BootID(), before, true},
	} {
		r := newTrial(t)
		s := &started{Key: key(0), Born: c.born, PID: cmd.Process.Pid, At: c.born + after - before}
		text := (&opened{Run: r.cfg.Run, PID: 1 << 30, Boot: c.boot}).appendTo(nil)
		text = s.appendAfter(s.appendBefore(text))
		r.ok(os.WriteFile(filepath.Join(r.cfg.Dir, journalName), text, 0o600))
		found := r.open()
		if len(found.Exits) != 1 || !found.Exits[0].Lost || found.Exits[0].Key != key(0) {
			t.Errorf("%s: exits %+v", c.name, found.Exits)
		}
		equal(t, c.name+": it has ended", !alive(cmd.Process.Pid), c.dies)
		r.close()
	}
}
