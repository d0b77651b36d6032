//go:build !linux

package supervise

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stat is what the system says about a process.
type stat struct {
	pid, parent, group, session int
	state                       byte
	born                        int64 // as [Now], see birthSlack
}

// birthSlack is how far [stat.born] may be from what Now was: it comes from a clock
// that is set.
const birthSlack = time.Second

// allProcesses returns those that this process may see.
func allProcesses() (all []stat) {
	infos, _ := unix.SysctlKinfoProcSlice("kern.proc.all")
	ahead := time.Now().UnixNano() - Now()
	for i := range infos {
		p, e := &infos[i].Proc, &infos[i].Eproc
		s := stat{
			pid: int(p.P_pid), parent: int(e.Ppid), group: int(e.Pgid),
			born: p.P_starttime.Nano() - ahead,
		}
		if p.P_stat == 5 { // SZOMB
			s.state = 'Z'
		}
		all = append(all, s)
	}
	return all
}

// markOf would return the start that a process descends from.
func markOf(int, string) (Key, bool) { return Key{}, false }

// kill sends sig to a process; a stranger that got its number since it was seen has
// microseconds for that.
func (s stat) kill(sig syscall.Signal) error { return unix.Kill(s.pid, sig) }
