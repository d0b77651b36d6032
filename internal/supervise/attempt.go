package supervise

import (
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// start starts a process, unless it has been started before.
func (s *supervisor) start(r *Start) {
	if s.over || s.procs[r.Key] != nil {
		return
	}
	if _, ok := s.journal.exited[r.Key]; ok {
		s.repeat(r.Key)
		return
	}
	st := s.stages[r.Stage]
	p := &process{key: r.Key, timeout: r.Timeout, memory: r.Memory}
	x, full := failure{cannotStart, "the driver has not said what its stage is"}, error(nil)
	if st != nil {
		x, full = s.launch(st, r, p)
	}
	if full != nil {
		p.group.remove()
		s.hold(r, full)
		return
	}
	s.procs[p.key] = p
	if x.code != 0 {
		p.group.remove()
		p.exit = Exit{Key: p.key, At: Now(), Code: x.code, Err: x.text}
		s.report(p)
		return
	}
	s.pids[p.pid] = p
	s.journal.started(&started{Key: p.key, PID: p.pid, At: Now()})
	s.waiter.started(p.pid)
	if p.timeout > 0 {
		s.due(p, p.timeout)
	}
}

// announce has the journal say that p is about to be started, and reports whether
// it could.
func (s *supervisor) announce(p *process) bool {
	if s.flush(); s.journal.failed != nil {
		return false
	}
	s.journal.starting(&started{Key: p.key, Born: Now()})
	if s.flush(); s.journal.failed != nil {
		s.journal.buf = s.journal.buf[:0] // that was all
		return false
	}
	return true
}

// hold keeps a start until there is space.
func (s *supervisor) hold(r *Start, full error) {
	if len(s.held) == 0 {
		s.retry = time.Now().Add(retryWrite)
		s.wakeAt(s.retry)
		s.tell(note{Text: fmt.Sprintf("nothing more can be started, will try again: %v", full)})
	}
	s.held = append(s.held, r)
}

// unhold tries again.
func (s *supervisor) unhold() {
	held := s.held
	s.held = nil
	for _, r := range held {
		s.start(r)
	}
}

// repeat reports an exit again.
func (s *supervisor) repeat(k Key) {
	x, err := s.journal.find(k)
	if err != nil {
		x = &Exit{Key: k, At: Now(), Code: cannotStart, Lost: true, Err: fmt.Sprintf("how it ended cannot be read in the journal: %v", err)}
	}
	s.peer.send(&reply{Exit: x})
}

// stop ends one start.
func (s *supervisor) stop(k Key) {
	if p := s.procs[k]; p != nil {
		if p.told == toldNothing && !p.collected {
			s.term(p)
		}
		return
	}
	if _, ok := s.journal.exited[k]; ok {
		s.repeat(k)
		return
	}
	s.held = slices.DeleteFunc(s.held, func(r *Start) bool { return r.Key == k })
	s.peer.send(&reply{Exit: &Exit{Key: k, At: Now(), Code: cannotStart, Lost: true, Err: "it was never started"}})
}

// term asks a process to end, and has it killed after its grace.
func (s *supervisor) term(p *process) {
	p.told = toldTerm
	s.signal(p, unix.SIGTERM)
	s.due(p, s.cfg.Grace)
}

// signal sends sig to all processes of an attempt: its group and those that have
// left it, which are looked for first, as long as their parents still live.
func (s *supervisor) signal(p *process, sig unix.Signal) {
	s.look()
	strays := s.strays(p)
	p.signal(sig)
	for _, r := range strays {
		_ = r.signal(sig) // as for a group; what is left will be seen
	}
}

// reap collects all children that have exited and ends what they have left behind.
func (s *supervisor) reap() {
	for pid := s.waiter.next(); pid != 0; pid = s.waiter.next() {
		p := s.pids[pid]
		if p == nil {
			s.bury(pid)
			continue
		}
		p.collect()
		delete(s.pids, pid)
		s.ending = append(s.ending, p)
		p.gaveUp = time.Now().Add(settleWait)
	}
	s.look()
	now := time.Now()
	for _, p := range slices.Clone(s.ending) {
		s.settle(p, now)
	}
}

// settle reports a process that has been collected as soon as nothing is left of
// its group, and no stray: what depends on it must not meet it running.
func (s *supervisor) settle(p *process, now time.Time) {
	if !p.groupGone() || s.left(p) || !p.group.kill() {
		if now.Before(p.gaveUp) {
			s.due(p, settlePoll) // what is no child of this process ends unseen
			return
		}
		p.outputs = [2]string{} // they may write to them
		s.outOfReach(fmt.Sprintf("processes of task %d, attempt %d do not end even when killed, or have other rights (group %d)", p.key.Task, p.key.Attempt, p.pid))
	}
	p.group.read(&p.exit)
	p.group.remove()
	p.explainMemory(s.cfg.Memory)
	s.ending = slices.DeleteFunc(s.ending, func(q *process) bool { return p == q })
	s.report(p)
}

// limit returns the control group that a start shall be in, nil if it needs none or
// cannot have one.
func (s *supervisor) limit(r *Start) (*group, error) {
	if r.Memory <= 0 && s.cfg.Memory <= 0 {
		return nil, nil
	}
	if !s.tried {
		s.tried = true
		var err error
		if s.limits, err = newLimits(s.root, s.cfg.Run, s.cfg.Memory, s.driver); err != nil {
			s.tell(note{Text: fmt.Sprintf("limits of memory are not enforced: %v", err)})
		} else {
			s.journal.opened(&opened{Run: s.cfg.Run, PID: os.Getpid(), Boot: BootID(), At: Now(), Group: s.limits.dir})
		}
	}
	if s.limits == nil {
		return nil, nil
	}
	return s.limits.attempt(r.Key, r.Memory)
}

// report has the exit of a process journalled and reported by the next flush.
func (s *supervisor) report(p *process) {
	delete(s.procs, p.key)
	x := &p.exit
	if len(x.Err) > maxErr {
		x.Err = x.Err[:maxErr] + "…"
	}
	if x.Err == "" {
		s.recycle(p)
	}
	s.journal.ended(x)
	s.ready = append(s.ready, x)
}
