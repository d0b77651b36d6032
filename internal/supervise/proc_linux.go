package supervise

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// stat is what the system says about a process.
type stat struct {
	pid, parent, group, session int
	state                       byte
	born                        int64 // as [Now], see birthSlack
}

// tick is what a process's birth is counted in, in nanoseconds: the same on every
// processor that Go knows.
const tick = 1e7

func readStat(pid int) (s stat, ok bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return s, false
	}
	// Behind the command, which may contain anything, the state is the third field.
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 20 {
		return s, false
	}
	s.pid, s.state = pid, f[0][0]
	ticks, err := strconv.ParseInt(f[19], 10, 64)
	s.born = ticks * tick
	for i, v := range []*int{&s.parent, &s.group, &s.session} {
		if err == nil {
			*v, err = strconv.Atoi(f[1+i])
		}
	}
	return s, err == nil
}

// allProcesses returns those that this process may see.
func allProcesses() (all []stat) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what was read is better than nothing
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if s, ok := readStat(pid); ok {
				all = append(all, s)
			}
		}
	}
	return all
}

// markOf returns the start that a process descends from, by its environment as it
// was when it began. That is empty for a zombie and out of reach for some others.
func markOf(pid int, run string) (k Key, ok bool) {
	environ, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return parseMark(environ, run)
}

func parseMark(environ []byte, run string) (k Key, ok bool) {
	for _, kv := range bytes.Split(environ, []byte{0}) {
		if !bytes.HasPrefix(kv, []byte(markVar)) {
			continue
		}
		for _, mark := range strings.Fields(string(kv[len(markVar):])) {
			rest, found := strings.CutPrefix(mark, run+".")
			if !found {
				continue
			}
			if n, _ := fmt.Sscanf(rest, "%d.%d.%d", &k.Task, &k.Attempt, &k.Nonce); n == 3 {
				return k, true
			}
		}
	}
	return k, false
}

// kill sends sig to a process if it is still the one that was seen, or says why it
// could not. The descriptor makes sure that what was looked at gets the signal.
func (s stat) kill(sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(s.pid, 0)
	if err == nil {
		defer unix.Close(fd)
	}
	now, ok := readStat(s.pid)
	if !ok || now.born != s.born {
		return nil
	}
	if err == nil {
		return unix.PidfdSendSignal(fd, sig, nil, 0)
	}
	return unix.Kill(s.pid, sig) // before Linux 5.3: a stranger would have microseconds
}
