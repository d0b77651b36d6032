package supervise

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// orders are what a driver that a test kills shall do. They are in DIR/orders.json.
type orders struct {
	Config Config // with the supervisor's command
	Tasks  int
	Slots  int
	Script string
}

// drive is that driver: it has each task succeed once, however often it is called,
// and makes the file "finished" then.
func drive(dir string) int {
	if err := carryOut(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func carryOut(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "orders.json"))
	if err != nil {
		return err
	}
	var o orders
	if err := json.Unmarshal(text, &o); err != nil {
		return err
	}
	o.Config.Command = []string{program, "supervise"}
	c, found, err := Open(context.Background(), o.Config)
	if err != nil {
		return err
	}
	err = c.Stage(Stage{Dir: dir, Logs: filepath.Join(o.Config.Dir, "logs"), Env: os.Environ()})
	attempts := make([]int32, o.Tasks)
	running := map[Key]bool{}
	done := map[int32]bool{}
	for _, k := range found.Running {
		running[k] = true
		attempts[k.Task] = k.Attempt
	}
	take := func(x *Exit) {
		delete(running, x.Key)
		attempts[x.Task] = max(attempts[x.Task], x.Attempt)
		done[x.Task] = done[x.Task] || x.Err == ""
	}
	for i := range found.Exits {
		take(&found.Exits[i])
	}
	next := int32(0)
	busy := func(task int32) bool {
		for k := range running {
			if k.Task == task {
				return true
			}
		}
		return false
	}
	for err == nil {
		for ; int(next) < o.Tasks && len(running) < o.Slots && err == nil; next++ {
			if done[next] || busy(next) {
				continue
			}
			attempts[next]++
			k := Key{Task: next, Attempt: attempts[next], Nonce: time.Now().UnixNano()}
			running[k] = true
			err = c.Start(Start{
				Key: k, Output: fmt.Sprintf("%d.%d", k.Task, k.Attempt), Argv: []string{"sh", "-c", o.Script},
				Env: []string{fmt.Sprintf("TASK=%d", k.Task), fmt.Sprintf("ATTEMPT=%d", k.Attempt)},
			})
		}
		if len(running) == 0 {
			break
		}
		ev, ok := <-c.Events()
		switch {
		case !ok || ev.Gone != nil:
			return fmt.Errorf("gone: %v", ev.Gone)
		case ev.Exit != nil:
			take(ev.Exit)
			if ev.Exit.Err != "" {
				next = min(next, ev.Exit.Task)
			}
		}
	}
	if err != nil {
		return err
	}
	if err := c.Close(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "finished"), nil, 0o666)
}

// driver starts a driver with orders.
func (r *trial) driver(o orders) *exec.Cmd {
	r.t.Helper()
	o.Config = r.cfg
	text, err := json.Marshal(o)
	r.ok(err)
	r.write("orders.json", string(text), 0o666)
	cmd := exec.Command(program, "drive", r.dir)
	cmd.Stderr = os.Stderr
	r.ok(cmd.Start())
	return cmd
}

func (r *trial) kill(pid int) {
	r.t.Helper()
	r.ok(unix.Kill(pid, unix.SIGKILL))
}

// When the driver dies, what it has started goes on, its time-outs hold, and the
// next driver learns all.
func TestDriverDies(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	d := r.driver(orders{Tasks: 4, Slots: 4, Script: "echo $TASK >>up; test $TASK = 3 && exit 0; until test -e go.$TASK; do sleep 0.01; done"})
	r.lines("up", 4)
	r.kill(d.Process.Pid)
	_ = d.Wait()
	r.write("go.0", "", 0o666)
	r.eventually("task 0 is in the journal", func() bool {
		exits, _, err := ReadJournal(r.cfg.Dir)
		return err == nil && len(exits) > 1
	})
	found := r.open()
	equal(t, "attached", found.Attached, true)
	equal(t, "running", len(found.Running), 2)
	codes := map[int32]int{}
	for _, x := range found.Exits {
		codes[x.Task] = x.Code
	}
	equal(t, "exits", fmt.Sprint(codes), "map[0:0 3:0]")
	r.write("go.1", "", 0o666)
	equal(t, "the next to end", r.next().Task, 1)
	r.write("go.2", "", 0o666)
	equal(t, "the last to end", r.next().Task, 2)
	r.close()
}

// Without a driver and without tasks the supervisor ends, after what its tasks did
// is in the journal and their time-outs have been kept.
func TestSupervisorLeaves(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	r.open()
	r.ok(r.c.Start(Start{Key: key(0), Output: "0", Argv: []string{"sh", "-c", "echo $$ >>pids; sleep 60"}, Timeout: 500 * time.Millisecond}))
	r.lines("pids", 1)
	pid := r.supervisor()
	r.c.Abandon()
	r.eventually("the supervisor has ended", func() bool { return !alive(pid) })
	r.ended("pids")
	exits, torn, err := ReadJournal(r.cfg.Dir)
	if err != nil || torn != "" || len(exits) != 1 || exits[0].Err != "timed out after 500ms" {
		t.Errorf("journal: %v, %q, %v", exits, torn, err)
	}
	found := r.open()
	equal(t, "attached", found.Attached, false)
	equal(t, "exits", len(found.Exits), 1)
	r.close()
}

// When the supervisor dies, the next one ends what it has left before it serves.
func TestSupervisorDies(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	r.open()
	r.sh(0, "exit 5")
	equal(t, "code", r.next().Code, 5)
	r.write("stubborn", stubborn, 0o666)
	r.sh(1, "exec sh stubborn")
	r.sh(2, `setsid sh -c 'echo $$ >>pids; sleep 61' & echo $$ >>pids; wait`)                        // another session
	r.sh(3, `(setsid sh -c 'echo $$ >>pids; sleep 62; true' &) ; echo $$ >>pids; sleep 63; true`)    // a daemon
	r.sh(4, `env -i sh -c 'echo $$ >>pids; sleep 64; true' & echo $$ >>pids; wait`)                  // without a mark
	r.sh(5, `env -i setsid sh -c 'echo $$ >>pids; sleep 65; true' & echo $$ >>pids; wait`)           // and in another session
	r.sh(6, `env -i sh -c 'echo $$ >>pids; trap "" TERM; sleep 66; true' & echo $! >leader; exit 0`) // ends by itself
	r.lines("pids", 10)
	equal(t, "the short one", r.next().Task, 6)
	r.kill(r.supervisor())
	exits, err := r.gone()
	if len(exits) != 0 || err == nil || !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("got %v, %v", exits, err)
	}
	equal(t, "a start now fails", r.c.Start(Start{Key: key(9)}) != nil, true)
	found := r.open()
	r.ended("pids")
	equal(t, "attached", found.Attached, false)
	equal(t, "running", len(found.Running), 0)
	lost := ""
	for _, x := range found.Exits {
		lost += fmt.Sprint(x.Task, x.Lost, " ")
	}
	equal(t, "exits", lost, "0 false 6 false 1 true 2 true 3 true 4 true 5 true ")
	r.sh(1, "echo again >>again")
	equal(t, "a lost start is not started again", r.next().Lost, true)
	r.close()
	equal(t, "again", r.read("again"), "")
}

// A supervisor that is told to end ends its tasks and journals that.
func TestSupervisorTerminated(t *testing.T) {
	t.Parallel()
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT} {
		r := newTrial(t)
		r.open()
		r.write("stubborn", stubborn, 0o666)
		r.sh(0, "exec sh stubborn")
		r.lines("pids", 2)
		r.ok(unix.Kill(r.supervisor(), sig))
		exits, err := r.gone()
		if want := "supervise: the supervisor was told to end by " + unix.SignalName(sig); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if len(exits) != 1 || exits[0].Signal != "SIGKILL" {
			t.Errorf("exits %v", exits)
		}
		r.ended("pids")
		equal(t, "exits in the journal", fmt.Sprint(r.open().Exits), fmt.Sprint(exits))
		r.close()
	}
}

// One driver at a time: a second is refused as long as the first lives.
func TestSecondDriver(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	r.open()
	_, _, err := Open(t.Context(), r.cfg)
	if want := fmt.Sprintf("supervise: the supervisor refuses this driver: another driver, process %d, carries out this run", os.Getpid()); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	r.sh(0, "true")
	equal(t, "the first goes on", r.next().Err, "")
	other := r.cfg
	other.Run = "another"
	if _, _, err := Open(t.Context(), other); err == nil || !strings.Contains(err.Error(), "it supervises run "+r.cfg.Run+", not another") {
		t.Errorf("got %v", err)
	}
	// One that comes just when the first dies takes its place.
	opened := make(chan *Client, 1)
	go func() {
		c, found, err := Open(t.Context(), r.cfg)
		if err != nil || !found.Attached {
			t.Error(found, err)
		}
		opened <- c
	}()
	time.Sleep(replaceWait / 4)
	r.c.Abandon()
	r.c = <-opened
	r.close()
}

// freeze stops a process, and waits until it has stopped.
func (r *trial) freeze(pid int) {
	r.t.Helper()
	r.ok(unix.Kill(pid, unix.SIGSTOP))
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		r.ok(err)
		if strings.Contains(string(stat), ") T ") {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// A supervisor that does not answer is reported, not waited for.
func TestHungSupervisor(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	r.open()
	pid := r.supervisor()
	r.freeze(pid)
	first := r.c
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := Open(ctx, r.cfg); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("got %v", err)
	}
	r.ok(unix.Kill(pid, unix.SIGCONT))
	r.c = first
	r.close()

	// It may also hang at the end.
	r.open()
	pid = r.supervisor()
	r.freeze(pid)
	r.c.wait = 100 * time.Millisecond
	if err := r.c.Close(); err == nil || !strings.HasPrefix(err.Error(), "supervise: the supervisor does not end: ") {
		t.Errorf("got %v", err)
	}
	r.kill(pid)
}

// Even a process that cannot be killed does not keep a supervisor from ending. The
// system makes none on request: here its exit is never seen.
func TestUnkillable(t *testing.T) {
	t.Parallel()
	const noProcess = 1 << 30
	s := &supervisor{
		journal: newJournal(&disk{space: 1000}), timer: time.NewTimer(time.Hour), waiter: &waiter{},
		pids: map[int]*process{}, procs: map[Key]*process{key(0): {key: key(0), pid: noProcess}},
	}
	s.stopAll()
	s.giveUp = time.Now().Add(20 * time.Millisecond)
	s.wakeAt(s.giveUp)
	s.loop(nil)
	if err := s.end(); err == nil || !strings.HasPrefix(err.Error(), "1 processes do not end even when killed; the first has the id 1073741824") {
		t.Errorf("got %v", err)
	}
}

// A supervisor that ends just when a driver comes is followed by another.
func TestEndsAsDriverComes(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	l, err := listen(r.cfg.Dir)
	r.ok(err)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		l.Close()
		conn.Close()
	}()
	equal(t, "attached", r.open().Attached, false)
	r.close()
}

// A driver of another version is told so.
func TestProtocol(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	r.open()
	r.c.Abandon()
	conn, err := dial(r.cfg.Dir)
	r.ok(err)
	c := newClient(r.cfg, conn)
	r.ok(c.send(&request{Hello: &hello{Protocol: protocol + 1, PID: 1, Config: r.cfg}}))
	var answer reply
	r.ok(c.dec.Decode(&answer))
	if w := answer.Welcome; w == nil || !strings.HasPrefix(w.Refused, "it is of another version of this program") {
		t.Errorf("got %+v", w)
	}
	r.ok(conn.Close())
	r.open()
	r.close()
}

// A journal that was damaged is noted.
func TestDamageIsNoted(t *testing.T) {
	t.Parallel()
	r := newTrial(t)
	r.ok(os.WriteFile(filepath.Join(r.cfg.Dir, journalName), []byte("torn"), 0o600))
	r.open()
	r.sh(0, "true")
	r.next()
	path := filepath.Join(r.cfg.Dir, journalName)
	equal(t, "notes", strings.Join(r.notes, "\n"), "the journal of this run was damaged: a line at byte 0 is damaged; 4 bytes at its end were moved to "+path+".torn-1")
	r.close()
}

// Drivers and supervisors are killed at random moments, until a driver gets to the
// end: every task has succeeded once, and the effects of what succeeded are there
// once.
func TestKills(t *testing.T) {
	t.Parallel()
	seed := uint64(1)
	rng := rand.New(rand.NewPCG(seed, 0))
	r := newTrial(t)
	o := orders{Tasks: 60, Slots: 3, Script: `sleep 0.0$((TASK % 7 + 1)); echo $TASK.$ATTEMPT >>effects`}
	kills, both := 0, 0
	for end := time.Now().Add(time.Minute); ; {
		if time.Now().After(end) {
			t.Fatal("no end in a minute")
		}
		d := r.driver(o)
		over := make(chan error, 1)
		go func() { over <- d.Wait() }()
		select {
		case err := <-over:
			if err != nil {
				t.Fatal("the driver failed: ", err)
			}
		case <-time.After(time.Duration(20+rng.IntN(250)) * time.Millisecond):
			kills++
			_ = d.Process.Kill()
			if rng.IntN(2) == 0 {
				if _, err := os.Stat(filepath.Join(r.cfg.Dir, journalName)); err == nil {
					if pid := r.supervisor(); pid != 0 && alive(pid) {
						both++
						_ = unix.Kill(pid, unix.SIGKILL)
					}
				}
			}
			<-over
			continue
		}
		break
	}
	t.Logf("%d kills, %d of them with the supervisor", kills, both)
	if kills < 5 || both < 2 {
		t.Error("too few to show anything")
	}
	effects := map[string]int{}
	for _, e := range strings.Fields(r.read("effects")) {
		effects[e]++
	}
	exits, torn, err := ReadJournal(r.cfg.Dir)
	r.ok(err)
	equal(t, "torn", torn, "")
	succeeded, ended := map[int32]int32{}, map[Key]bool{}
	for _, x := range exits {
		if ended[x.Key] {
			t.Errorf("%v ended twice", x.Key)
		}
		ended[x.Key] = true
		if x.Err != "" {
			if !x.Lost {
				t.Errorf("%v failed: %s", x.Key, x.Err)
			}
			continue
		}
		if a := succeeded[x.Task]; a != 0 {
			t.Errorf("task %d succeeded in attempts %d and %d", x.Task, a, x.Attempt)
		}
		succeeded[x.Task] = x.Attempt
	}
	for task := range int32(o.Tasks) {
		a := succeeded[task]
		if n := effects[fmt.Sprintf("%d.%d", task, a)]; a == 0 || n != 1 {
			t.Errorf("task %d: attempt %d succeeded, with %d effects", task, a, n)
		}
		if n := effects[fmt.Sprintf("%d.%d", task, a+1)]; n != 0 {
			t.Errorf("task %d was run again after it had succeeded", task)
		}
	}
}
