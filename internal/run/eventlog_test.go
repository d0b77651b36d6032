package run

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
)

// memory is a file of which writes and syncs fail at random, and which then may have
// kept any part of what was not synced.
type memory struct {
	rng          *rand.Rand
	now, durable []byte
	fail         bool
}

var errDisk = errors.New("disk")

func (m *memory) WriteAt(p []byte, off int64) (int, error) {
	n := len(p)
	var err error
	if m.fail && m.rng.IntN(2) == 0 {
		n, err = m.rng.IntN(len(p)+1), errDisk
	}
	m.now = append(m.now[:min(int(off), len(m.now))], p[:n]...)
	return n, err
}

func (m *memory) Truncate(size int64) error {
	if m.fail && m.rng.IntN(2) == 0 {
		return errDisk
	}
	m.now = m.now[:min(int(size), len(m.now))]
	return nil
}

func (m *memory) Sync() error {
	if m.fail && m.rng.IntN(2) == 0 {
		for i := len(m.durable); i < len(m.now); i++ { // the system has dropped it
			m.now[i] = 0
		}
		return errDisk
	}
	m.durable = bytes.Clone(m.now)
	return nil
}

func (m *memory) Close() error { return nil }

// Whatever fails, what a sync has reported to be on the disk is there, and all the
// rest comes later, in order.
func TestEventLog(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 0))
		m := &memory{rng: rng}
		l := &eventLog{file: m}
		var all []byte
		for n := range 60 {
			m.fail = n/10%2 == 1
			text := fmt.Sprintf("line %d\n", n)
			all = append(all, text...)
			if k, err := l.Write([]byte(text)); k != len(text) || err != nil {
				t.Fatal(k, err)
			}
			switch rng.IntN(3) {
			case 0:
				if err := l.flush(); err == nil && !bytes.Equal(m.now, all) {
					t.Fatalf("seed %d: flushed is %q of %q", seed, m.now, all)
				}
			case 1:
				if err := l.sync(); err == nil && !bytes.Equal(m.durable, all) {
					t.Fatalf("seed %d: synced is %q of %q", seed, m.durable, all)
				}
			}
			if !bytes.HasPrefix(all, m.durable) {
				t.Fatalf("seed %d: on the disk is %q of %q", seed, m.durable, all)
			}
		}
		m.fail = false
		if err := l.sync(); err != nil || !bytes.Equal(m.durable, all) {
			t.Fatalf("seed %d: in the end %q of %q, %v", seed, m.durable, all, err)
		}
	}
}

// What starts nothing need not be synced, but does not pile up either.
func TestEventLogIsBounded(t *testing.T) {
	m := &memory{}
	l := &eventLog{file: m}
	most := 0
	for range 3 * mostUnsynced / 100 {
		_, _ = l.Write(make([]byte, 100))
		if err := l.flush(); err != nil {
			t.Fatal(err)
		}
		most = max(most, len(l.lines))
	}
	if most > mostUnsynced+100 || len(m.durable) < mostUnsynced {
		t.Errorf("%d bytes in memory at most, %d on the disk", most, len(m.durable))
	}
}
