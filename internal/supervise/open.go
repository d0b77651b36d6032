package supervise

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// logName is the file that gets what a supervisor says when it dies.
	logName = "supervisor.log"
	// socketFD is where a supervisor finds its socket.
	socketFD = 3
	// openWait is how long a supervisor may take until it serves. It may have to wait
	// for its predecessor's lock and for orphans to end.
	openWait = lockWait + killWait + 10*time.Second
)

// Open attaches to the supervisor of cfg.Dir, or starts one if none lives. That
// first ends what a predecessor has left running. A directory has one driver at a
// time: another is refused as long as it lives.
func Open(ctx context.Context, cfg Config) (*Client, Found, error) {
	var err error
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err != nil { // the supervisor's working directory is another
		return nil, Found{}, fmt.Errorf("supervise: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, openWait)
	defer cancel()
	for {
		c, found, err := attach(ctx, cfg)
		if errors.Is(err, errNone) {
			c, found, err = begin(ctx, cfg)
		}
		if err == nil {
			return c, found, nil
		}
		if !errors.Is(err, errEnding) {
			return nil, Found{}, fmt.Errorf("supervise: %w", err)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, Found{}, fmt.Errorf("supervise: %w", err)
		}
	}
}

var (
	errNone   = errors.New("there is no supervisor")
	errEnding = errors.New("the supervisor is about to end")
)

// attach connects to the supervisor that there is.
func attach(ctx context.Context, cfg Config) (*Client, Found, error) {
	conn, err := dial(cfg.Dir)
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, Found{}, errNone
	}
	if err != nil {
		return nil, Found{}, fmt.Errorf("cannot reach the supervisor: %w", err)
	}
	c := newClient(cfg, conn)
	found, err := c.hello(ctx, cfg)
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		err = errEnding
	}
	found.Attached = true
	return c, found, err
}

// begin starts a supervisor. The connection waits in its socket before it lives, so
// there is nothing to wait for or to miss.
func begin(ctx context.Context, cfg Config) (*Client, Found, error) {
	listener, err := listen(cfg.Dir)
	if err != nil {
		return nil, Found{}, fmt.Errorf("cannot make the supervisor's socket: %w", err)
	}
	defer listener.Close()
	conn, err := dial(cfg.Dir)
	if err != nil {
		return nil, Found{}, fmt.Errorf("cannot reach the supervisor's socket: %w", err)
	}
	c := newClient(cfg, conn)
	if err := c.spawn(listener, cfg); err != nil {
		conn.Close()
		return nil, Found{}, fmt.Errorf("cannot start the supervisor: %w", err)
	}
	listener.Close() // or the connection would outlast the supervisor
	found, err := c.hello(ctx, cfg)
	if err != nil && !errors.Is(err, errRefused) && ctx.Err() == nil {
		<-c.ended
		err = c.obituary()
	}
	return c, found, err
}

func newClient(cfg Config, conn net.Conn) *Client {
	c := &Client{
		dir: cfg.Dir, conn: conn, wait: cfg.Grace + killWait + 2*hangUpWait, out: bufio.NewWriter(conn), dec: gob.NewDecoder(bufio.NewReader(conn)),
		events: make(chan Event, 256), closing: make(chan struct{}), done: make(chan struct{}),
	}
	c.enc = gob.NewEncoder(c.out)
	return c
}

// spawn starts the supervisor's process, in a session of its own: what happens to
// the driver's terminal is no concern of it.
func (c *Client) spawn(listener *net.UnixListener, cfg Config) error {
	socket, err := listener.File()
	if err != nil {
		return err
	}
	defer socket.Close()
	log, err := os.OpenFile(filepath.Join(cfg.Dir, logName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	if len(cfg.Command) == 0 {
		return errors.New("there is no command for it")
	}
	args := append(cfg.Command[1:len(cfg.Command):len(cfg.Command)], cfg.Dir)
	cmd := exec.Command(cfg.Command[0], args...)
	cmd.Dir = cfg.Dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{socket} // socketFD
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := Coarsen(cmd.Start); err != nil {
		return err
	}
	c.child, c.ended = cmd, make(chan struct{})
	go func() {
		_ = cmd.Wait() // its state tells
		close(c.ended)
	}()
	return nil
}

var errRefused = errors.New("the supervisor refuses this driver")

// hello presents this driver and learns where things stand.
func (c *Client) hello(ctx context.Context, cfg Config) (found Found, err error) {
	defer func() {
		if err != nil {
			c.conn.Close()
		}
	}()
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	var r reply
	if err = c.send(&request{Hello: &hello{Protocol: protocol, PID: os.Getpid(), Config: cfg}}); err == nil {
		err = c.dec.Decode(&r)
	}
	switch {
	case ctx.Err() != nil:
		return found, fmt.Errorf("the supervisor of %s does not answer; if it hangs, end it: fuser -k %s: %w", c.dir, filepath.Join(c.dir, journalName), context.Cause(ctx))
	case err != nil:
		return found, err
	case r.Welcome == nil:
		return found, errors.New("the supervisor answers in an unknown language")
	case r.Welcome.Refused == ending:
		return found, errEnding
	case r.Welcome.Refused != "":
		return found, fmt.Errorf("%w: %s", errRefused, r.Welcome.Refused)
	}
	found.Running, found.OutOfReach = r.Welcome.Running, r.Welcome.OutOfReach
	f, err := os.Open(filepath.Join(c.dir, journalName))
	if err != nil {
		return found, fmt.Errorf("cannot read the journal: %w", err)
	}
	defer f.Close()
	found.Exits, _, err = readExits(io.LimitReader(f, r.Welcome.Journal))
	if err != nil {
		return found, fmt.Errorf("cannot read the journal: %w", err)
	}
	found.Exits = append(found.Exits, r.Welcome.Exits...)
	go c.listen()
	return found, nil
}
