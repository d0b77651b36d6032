package supervise

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// due has tick see to p when t has passed.
func (s *supervisor) due(p *process, t time.Duration) {
	p.due = time.Now().Add(t)
	s.wakeAt(p.due)
}

// wakeAt has tick called at t, or soon after.
func (s *supervisor) wakeAt(t time.Time) {
	if s.armed.IsZero() || t.Before(s.armed) {
		s.armed = t
		s.timer.Reset(time.Until(t))
	}
}

// tick does what is due.
func (s *supervisor) tick(now time.Time) {
	for _, p := range s.procs {
		switch {
		case p.due.IsZero():
		case p.due.After(now):
			s.wakeAt(p.due)
		case p.collected:
			s.settle(p, now)
		case p.told == toldNothing:
			p.timedOut = true
			s.term(p)
		case p.told == toldTerm:
			p.told, p.due = toldKill, time.Time{}
			s.signal(p, unix.SIGKILL)
		}
	}
	switch {
	case s.waiting == nil:
	case s.refuse.After(now):
		s.wakeAt(s.refuse)
	default:
		s.refused(s.waiting, fmt.Sprintf("another driver, process %d, carries out this run", s.driver))
		s.waiting = nil
	}
	if s.over && s.giveUp.After(now) {
		s.wakeAt(s.giveUp)
	}
	if len(s.held) > 0 {
		if s.retry.After(now) {
			s.wakeAt(s.retry)
		} else {
			s.unhold()
		}
	}
	if s.leaveAt.IsZero() {
		return
	}
	if s.leaveAt.After(now) || s.journal.failed != nil { // not before all is in the journal
		s.wakeAt(later(s.leaveAt, s.journal.retry))
		return
	}
	s.stopAll() // there may be orphans that nobody knows whose they are
}
