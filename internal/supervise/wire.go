package supervise

import (
	"bytes"
	"encoding/gob"
	"net"
	"sync"
)

// protocol is the version of the messages below, which a driver and a supervisor
// of different versions of this program may exchange.
const protocol = 1

// request is what a driver sends: one of its fields is set. Messages are gobs, not
// JSON: arguments, paths and variables are bytes, which need not be UTF-8.
type request struct {
	Hello *hello
	Stage *Stage
	Start *Start
	Stop  *Key
	Close bool // end, with all that still runs
}

// hello is the first request.
type hello struct {
	Protocol int
	PID      int // of the driver
	Config   Config
}

// reply is what a supervisor sends: one of its fields is set.
type reply struct {
	Welcome *welcome
	Exit    *Exit
	Note    *note
	Bye     *bye
}

// welcome answers hello.
type welcome struct {
	Refused    string // why there will be no more replies
	Journal    int64  // how many bytes of the journal the driver shall read
	Exits      []Exit // what is not in these, for want of space on the disk
	Running    []Key
	OutOfReach bool
}

type note struct {
	Text       string
	OutOfReach bool
}

// bye is the last reply, when the supervisor ends although a driver is there.
type bye struct {
	Asked bool   // by Close
	Err   string // what went wrong, or why it ends unasked
}

// peer is a supervisor's end of a connection. What is sent waits in memory for a
// goroutine that writes it, so that a driver which does not read holds up nobody.
type peer struct {
	conn net.Conn
	pid  int // 0: it has not said hello

	mu   sync.Mutex
	buf  bytes.Buffer
	enc  *gob.Encoder  // into buf
	wake chan struct{} // there is something in buf
	done chan struct{} // all has been written, or cannot be
}

func newPeer(conn net.Conn) *peer {
	p := &peer{conn: conn, wake: make(chan struct{}, 1), done: make(chan struct{})}
	p.enc = gob.NewEncoder(&p.buf)
	go p.write()
	return p
}

// send queues a message. After hangUp it must not be called.
func (p *peer) send(r *reply) {
	p.mu.Lock()
	err := p.enc.Encode(r)
	p.mu.Unlock()
	if err != nil {
		panic(err) // memory takes every write, and gob all that these types can hold
	}
	select {
	case p.wake <- struct{}{}:
	default: // it has been woken already
	}
}

// hangUp closes the connection once all that was sent has been written.
func (p *peer) hangUp() { close(p.wake) }

func (p *peer) write() {
	defer close(p.done)
	defer p.conn.Close()
	var out []byte
	var err error
	for range p.wake {
		p.mu.Lock()
		out = append(out[:0], p.buf.Bytes()...)
		p.buf.Reset()
		p.mu.Unlock()
		if err == nil {
			_, err = p.conn.Write(out) // it fails when the driver has died
		}
	}
}
