package supervise

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Client is a driver's end of the connection to its supervisor. Its methods may be
// called by one goroutine at a time.
type Client struct {
	dir    string
	wait   time.Duration // for Close
	conn   net.Conn
	out    *bufio.Writer
	enc    *gob.Encoder // into out
	dec    *gob.Decoder
	events chan Event

	closing chan struct{} // nobody reads events any more
	once    sync.Once
	done    chan struct{} // listen has returned
	bye     *bye          // then: how the supervisor ended
	err     error         // then: if without a word

	child *exec.Cmd     // nil: this process has not started it
	ended chan struct{} // child has ended
}

func (c *Client) send(r *request) error {
	err := c.enc.Encode(r)
	if err == nil {
		err = c.out.Flush()
	}
	if err != nil {
		return fmt.Errorf("supervise: cannot reach the supervisor: %w", err)
	}
	return nil
}

// Stage announces a stage; without, its attempts cannot be started. It must be
// announced again on every connection.
func (c *Client) Stage(s Stage) error { return c.send(&request{Stage: &s}) }

// Start has a process started; an [Exit] reports when it has ended, also if it
// could not be started, and again if its Key has been started before and has ended.
// An error means that the supervisor is gone, which an event tells too.
func (c *Client) Start(s Start) error { return c.send(&request{Start: &s}) }

// Stop ends a start: SIGTERM to all of its processes, SIGKILL after the grace. Its
// exit is reported as usual, as Lost if there was no such start.
func (c *Client) Stop(k Key) error { return c.send(&request{Stop: &k}) }

// Events returns the channel of what the supervisor reports.
func (c *Client) Events() <-chan Event { return c.events }

// listen takes in replies until there are no more.
func (c *Client) listen() {
	defer close(c.done)
	defer close(c.events)
	defer c.conn.Close()
	for {
		var r reply
		if err := c.dec.Decode(&r); err != nil {
			c.err = err
			break
		}
		var ev Event
		switch {
		case r.Exit != nil:
			ev.Exit = r.Exit
		case r.Note != nil:
			ev.Note, ev.OutOfReach = r.Note.Text, r.Note.OutOfReach
		case r.Bye != nil:
			c.bye = r.Bye
			continue
		default:
			continue // of a later version
		}
		c.post(ev)
	}
	switch {
	case c.bye != nil && c.bye.Asked:
		return
	case c.bye != nil:
		c.err = errors.New(c.bye.Err)
	case c.child != nil && errors.Is(c.err, io.EOF):
		<-c.ended
		c.err = c.obituary()
	case errors.Is(c.err, os.ErrDeadlineExceeded):
		c.err = errors.New("the supervisor does not end: see what it and its processes wait for with ps -o stat,wchan")
	default:
		c.err = fmt.Errorf("the supervisor has died: %w", c.err)
	}
	c.post(Event{Gone: fmt.Errorf("supervise: %w", c.err)})
}

// post delivers an event, unless nobody wants it.
func (c *Client) post(ev Event) {
	select {
	case c.events <- ev:
	case <-c.closing:
	}
}

// obituary says how the supervisor, which has ended, has ended.
func (c *Client) obituary() error {
	err := fmt.Errorf("the supervisor has died (%s)", c.child.ProcessState)
	b, _ := os.ReadFile(filepath.Join(c.dir, logName))
	text := strings.TrimSpace(string(b))
	if last := text[strings.LastIndexByte(text, '\n')+1:]; last != "" {
		err = fmt.Errorf("%w; the last line of its %s: %s", err, logName, last)
	}
	return err
}

// Close has the supervisor end everything that still runs, and then itself, and
// waits for that, which takes little longer than the grace. Events that nobody has
// received are dropped: the exits are in the journal. An error says that processes
// do not end, or that the journal is not complete.
func (c *Client) Close() error {
	_ = c.conn.SetDeadline(time.Now().Add(c.wait))
	sent := c.send(&request{Close: true})
	c.hush()
	if c.bye != nil && c.ended != nil {
		<-c.ended
	}
	switch {
	case c.bye == nil && sent != nil:
		return sent
	case c.bye == nil || !c.bye.Asked:
		return fmt.Errorf("supervise: %w", c.err)
	}
	removeSocket(c.dir)
	if log := filepath.Join(c.dir, logName); empty(log) {
		_ = os.Remove(log) // it had nothing to say
	}
	if c.bye.Err != "" {
		return fmt.Errorf("supervise: %s", c.bye.Err)
	}
	return nil
}

func empty(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() == 0
}

// Abandon closes the connection. The supervisor and what it has started run on.
func (c *Client) Abandon() {
	c.conn.Close()
	c.hush()
}

// hush waits for listen, dropping events.
func (c *Client) hush() {
	c.once.Do(func() { close(c.closing) })
	<-c.done
}
