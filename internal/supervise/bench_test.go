package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func childrenCPU(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func ownCPU(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// cpuOf returns what a process, without its children, has used.
func cpuOf(b *testing.B, pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0 // not here
	}
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, err1 := strconv.Atoi(f[11])
	system, err2 := strconv.Atoi(f[12])
	if err := errors.Join(err1, err2); err != nil {
		b.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// BenchmarkTrue starts processes that do nothing, two at a time, and reports what
// that takes of CPU per start: in the supervisor and the tasks, and in this process.
func BenchmarkTrue(b *testing.B) {
	b.ReportAllocs()
	r := newTrial(b)
	r.open()
	own, children := ownCPU(b), childrenCPU(b)
	b.ResetTimer()
	running := 0
	for i := range b.N {
		if running == 2 {
			if x := r.next(); x.Code != 0 {
				b.Fatal(x.Err)
			}
			running--
		}
		r.start(i, "true")
		running++
	}
	for ; running > 0; running-- {
		r.next()
	}
	b.StopTimer()
	own = ownCPU(b) - own
	supervisor := cpuOf(b, r.c.child.Process.Pid)
	r.close()
	b.ReportMetric(float64((childrenCPU(b)-children).Microseconds())/float64(b.N), "us-all/op")
	b.ReportMetric(float64(supervisor.Microseconds())/float64(b.N), "us-supervisor/op")
	b.ReportMetric(float64(own.Microseconds())/float64(b.N), "us-driver/op")
}

// BenchmarkForkExec is what the system alone takes for BenchmarkTrue's processes
// and their files, two at a time.
func BenchmarkForkExec(b *testing.B) {
	st := newStage(&Stage{Env: os.Environ(), Logs: b.TempDir(), Dir: "."}, "x")
	path, err := st.lookup("true")
	if err != nil {
		b.Fatal(err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	sup := &supervisor{}
	own, children := ownCPU(b), childrenCPU(b)
	pids := make(chan int, 2)
	wait := func() {
		if _, err := syscall.Wait4(<-pids, nil, 0, nil); err != nil {
			b.Fatal(err)
		}
	}
	for i := range b.N {
		if len(pids) == 2 {
			wait()
		}
		var fds [2]int
		for k, suffix := range []string{".out", ".err"} {
			if fds[k], err = sup.create(st, fmt.Sprint(i)+suffix); err != nil {
				b.Fatal(err)
			}
		}
		pid, err := syscall.ForkExec(path, []string{"true"}, &syscall.ProcAttr{
			Env:   st.attemptEnv(&Start{Key: key(i)}),
			Files: []uintptr{null.Fd(), uintptr(fds[0]), uintptr(fds[1])},
			Sys:   &syscall.SysProcAttr{Setpgid: true},
		})
		if err != nil {
			b.Fatal(err)
		}
		syscall.Close(fds[0])
		syscall.Close(fds[1])
		pids <- pid
	}
	for len(pids) > 0 {
		wait()
	}
	b.ReportMetric(float64((ownCPU(b)-own+childrenCPU(b)-children).Microseconds())/float64(b.N), "us-all/op")
}

// BenchmarkLimited is BenchmarkTrue with a limit of memory, and so with a control
// group, per start.
func BenchmarkLimited(b *testing.B) {
	r := newTrial(b)
	r.open()
	for i := range b.N {
		r.ok(r.c.Start(Start{Key: key(i), Output: "x", Argv: []string{"true"}, Memory: 1 << 30}))
		if x := r.next(); x.Code != 0 {
			b.Fatal(x.Err)
		}
	}
	r.close()
}
