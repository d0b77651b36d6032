package supervise

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// greet takes p as the driver, unless there is another that lives.
func (s *supervisor) greet(p *peer, h *hello) {
	if p.pid != 0 {
		return // it has said so before
	}
	p.pid = h.PID
	switch {
	case h.Protocol != protocol:
		s.refused(p, fmt.Sprintf("it is of another version of this program, whose protocol is %d, not %d", protocol, h.Protocol))
	case s.begun && h.Config.Run != s.cfg.Run:
		s.refused(p, fmt.Sprintf("it supervises run %s, not %s", s.cfg.Run, h.Config.Run))
	case s.over:
		s.refused(p, ending)
	case s.waiting != nil:
		s.refused(p, fmt.Sprintf("another driver, process %d, is about to carry out this run", s.waiting.pid))
	case s.peer != nil: // its death may not have been noticed yet
		s.waiting, s.refuse = p, time.Now().Add(replaceWait)
		s.wakeAt(s.refuse)
	default:
		if !s.begun {
			s.begin(h.Config)
		}
		s.welcome(p)
	}
}

// ending is why a supervisor refuses a driver that had better start another.
const ending = "it is about to end"

func (s *supervisor) refused(p *peer, why string) {
	p.send(&reply{Welcome: &welcome{Refused: why}})
	p.hangUp()
}

// lost takes in that a connection has ended: if it was the driver's, all goes on
// without.
func (s *supervisor) lost(p *peer) {
	switch p {
	case s.waiting:
		s.waiting = nil
	case s.peer:
		s.peer, s.held = nil, nil // the next driver decides anew
		if s.waiting != nil && !s.over {
			next := s.waiting
			s.waiting = nil
			s.welcome(next)
		}
	default: // it has been refused, or has never said who it is
		if p.pid != 0 {
			return
		}
	}
	p.hangUp()
}

// begin ends what a predecessor has left, before anything is started.
func (s *supervisor) begin(cfg Config) {
	s.cfg, s.begun = cfg, true
	if s.was.torn != "" {
		s.tell(note{Text: "the journal of this run was damaged: " + s.was.torn})
	}
	endOrphans(cfg.Run, &s.was, s.outOfReach)
	removeGroups(s.was.last.Group)
	for _, r := range s.was.open {
		s.journal.ended(&Exit{Key: r.Key, At: Now(), Code: cannotStart, Lost: true, Err: "its supervisor died"})
	}
	s.journal.opened(&opened{Run: cfg.Run, PID: os.Getpid(), Boot: BootID(), At: Now()})
	s.was.open = nil
	s.pins = newPins(cfg.CPUs, func(m int, why error) {
		name := fmt.Sprint(m)
		if m < len(cfg.Machines) {
			name = cfg.Machines[m]
		}
		s.tell(note{Text: fmt.Sprintf("tasks of machine %s are not bound to its CPUs: %v", name, why)})
	})
	s.flush()
}

// welcome makes p the driver.
func (s *supervisor) welcome(p *peer) {
	w := &welcome{Journal: s.journal.size, OutOfReach: !s.kin.reaper()}
	_, err := readRecords(bytes.NewReader(s.journal.buf), func(_ int64, r record) {
		if r.exited != nil {
			w.Exits = append(w.Exits, *r.exited)
		}
	})
	if err != nil {
		panic(err) // memory can be read
	}
	for k := range s.procs {
		w.Running = append(w.Running, k)
	}
	slices.SortFunc(w.Running, func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Nonce, b.Nonce))
	})
	s.peer, s.driver = p, p.pid
	p.send(&reply{Welcome: w})
	for i := range s.notes {
		p.send(&reply{Note: &s.notes[i]})
	}
	s.notes = nil
}

// tell gives the driver something to tell the user, or the next if there is none.
func (s *supervisor) tell(n note) {
	if s.peer == nil {
		s.notes = append(s.notes, n)
		return
	}
	s.peer.send(&reply{Note: &n})
}

func (s *supervisor) outOfReach(text string) { s.tell(note{text, true}) }

// end says goodbye when all is over.
func (s *supervisor) end() error {
	var stuck error
	if n := len(s.procs); n > 0 {
		first := 0
		for _, p := range s.procs {
			if first == 0 || p.pid < first {
				first = p.pid
			}
		}
		stuck = fmt.Errorf("%d processes do not end even when killed; the first has the id %d: see what it waits for with ps -o stat,wchan", n, first)
	}
	s.limits.remove()
	s.removeSpare()
	err := s.journal.close()
	if err != nil {
		err = fmt.Errorf("the journal of this run is incomplete: %w", err)
	}
	err = errors.Join(stuck, err)
	if s.peer == nil {
		return err
	}
	b := &bye{Asked: s.asked, Err: s.why}
	if err != nil {
		b.Err = err.Error()
	}
	s.peer.send(&reply{Bye: b})
	s.peer.hangUp()
	select {
	case <-s.peer.done:
	case <-time.After(hangUpWait): // it does not read
	}
	return err
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
