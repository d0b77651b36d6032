package supervise

import (
	"encoding/gob"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// linger is how long a supervisor stays when nothing runs and no driver is there.
	linger = 2 * time.Second
	// killWait is how long it waits for processes after SIGKILL. Only one that hangs
	// inside the kernel, as on a dead network disk, can need more.
	killWait = 10 * time.Second
	// settleWait is how long an exit is held back for what is left of its processes.
	settleWait = 2 * time.Second
	settlePoll = 10 * time.Millisecond
	// replaceWait is how long a new driver waits for the old one to be seen dead.
	replaceWait = time.Second
	// hangUpWait is how long a driver has to read the last replies.
	hangUpWait = 5 * time.Second
)

// supervisor is the state of the process. All of it belongs to one goroutine.
type supervisor struct {
	dir     string
	cfg     Config
	begun   bool // cfg is known, and predecessors' processes are gone
	was     past
	journal *journal
	null    int
	pins    pins
	kin     kin
	waiter  *waiter
	root    string  // of the file system, for limits
	limits  *limits // nil: there are none, or none have been needed yet
	tried   bool    // to make them

	stages map[int32]*stage
	procs  map[Key]*process // that have not ended
	pids   map[int]*process // those of them that have not been collected
	ending []*process       // those that have

	in      chan input
	peer    *peer // the driver; nil: there is none
	driver  int   // its process, or that of the last
	waiting *peer // who wants to be it
	refuse  time.Time
	notes   []note    // for the next driver
	leaveAt time.Time // when nothing runs and there is no driver

	spare []string // empty files for outputs
	held  []*Start // for want of space on the disk
	retry time.Time
	ready []*Exit // what is reported as soon as the journal has it

	over   bool      // nothing more is started
	asked  bool      // by the driver
	why    string    // or for this reason
	giveUp time.Time // when over

	timer *time.Timer
	armed time.Time // what timer is set to; zero: it is not
}

// input is what a connection brings.
type input struct {
	from *peer
	req  *request // nil: it has ended
}

// Main is the supervisor's process, which [Open] starts with a socket as its
// descriptor 3 and the run's directory as argument. It returns its exit code.
func Main(dir string) int {
	if err := serve(dir); err != nil {
		fmt.Fprintln(os.Stderr, "supervise:", err)
		return 1
	}
	return 0
}

func serve(dir string) error {
	// Almost all it does is to wait, in one goroutine; the heap is small.
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400)
	socket := os.NewFile(socketFD, "socket")
	listener, err := net.FileListener(socket)
	socket.Close() // it has been duplicated, unless this is no socket
	if err != nil {
		return errors.New("this command is started by `fairlead run`, not by hand")
	}
	s := &supervisor{
		dir: dir, root: "/", in: make(chan input, 64), timer: time.NewTimer(0), waiter: newWaiter(),
		stages: map[int32]*stage{}, procs: map[Key]*process{}, pids: map[int]*process{},
	}
	sigs := make(chan os.Signal, 1)
	signal.Notify(sigs, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT)
	if s.null, err = unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	if s.journal, s.was, err = openJournal(dir); err != nil {
		return err
	}
	s.kin.adopt()
	go s.accept(listener)
	s.idle()
	s.loop(sigs)
	return s.end()
}

func (s *supervisor) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil { // too many open files, for example
			fmt.Fprintln(os.Stderr, "supervise: a driver cannot attach:", err)
			time.Sleep(retryWrite)
			continue
		}
		go s.listen(newPeer(conn))
	}
}

// listen takes in what a driver sends.
func (s *supervisor) listen(p *peer) {
	dec := gob.NewDecoder(p.conn)
	for {
		req := new(request)
		if dec.Decode(req) != nil {
			s.in <- input{p, nil}
			return
		}
		s.in <- input{p, req}
	}
}

// loop serves until all is over. Outcomes are written before they are reported.
func (s *supervisor) loop(sigs chan os.Signal) {
	for !s.finished() {
		select {
		case in := <-s.in:
			s.take(in)
		case <-s.waiter.wake:
			s.reap()
		case sig := <-sigs:
			s.why = "the supervisor was told to end by " + unix.SignalName(sig.(unix.Signal))
			s.stopAll()
		case err := <-s.journal.synced:
			s.tell(note{Text: fmt.Sprintf("the journal of this run may not outlast a loss of power: %v", err)})
		case <-s.timer.C:
			s.armed = time.Time{}
			s.tick(time.Now())
		}
		s.flush()
		s.idle()
	}
}

// finished reports whether the supervisor has nothing left to do, or nothing that it
// could.
func (s *supervisor) finished() bool {
	return s.over && (len(s.procs) == 0 && !s.left(nil) || !time.Now().Before(s.giveUp))
}

// flush writes the journal, then reports what is in it.
func (s *supervisor) flush() {
	if err := s.journal.flush(time.Now()); err != nil {
		s.tell(note{Text: fmt.Sprintf("cannot write the journal of this run, will try again: %v", err)})
	}
	if s.journal.failed != nil {
		s.wakeAt(s.journal.retry)
	}
	for i, x := range s.ready {
		if s.peer != nil {
			s.peer.send(&reply{Exit: x})
		}
		s.ready[i] = nil
	}
	s.ready = s.ready[:0]
}

// idle sees to it that a supervisor without a driver and without tasks ends.
func (s *supervisor) idle() {
	switch {
	case s.over || s.peer != nil || len(s.procs) > 0:
		s.leaveAt = time.Time{}
	case s.leaveAt.IsZero():
		s.leaveAt = time.Now().Add(linger)
		s.wakeAt(s.leaveAt)
	}
}

// take carries out a request.
func (s *supervisor) take(in input) {
	switch req := in.req; {
	case req == nil:
		s.lost(in.from)
	case req.Hello != nil:
		s.greet(in.from, req.Hello)
	case in.from != s.peer: // it has been replaced
	case req.Stage != nil:
		s.stages[req.Stage.ID] = newStage(req.Stage, s.cfg.Run)
	case req.Start != nil:
		s.start(req.Start)
	case req.Stop != nil:
		s.stop(*req.Stop)
	case req.Close:
		s.asked = true
		s.stopAll()
	}
}

// stopAll ends everything; asked again, at once.
func (s *supervisor) stopAll() {
	now := time.Now()
	if s.over {
		for _, p := range s.procs {
			if p.told == toldTerm {
				p.due = now
			}
		}
		s.tick(now)
		return
	}
	s.over = true
	s.giveUp = now.Add(s.cfg.Grace + killWait)
	s.wakeAt(s.giveUp)
	s.look()
	strays := s.strays(nil)
	for _, p := range s.procs {
		if p.told == toldNothing && !p.collected {
			s.term(p)
		}
	}
	for _, r := range strays {
		_ = r.signal(unix.SIGTERM) // what is left will be seen
	}
}
