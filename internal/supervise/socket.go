package supervise

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// socketName is the name of the supervisor's socket in a run's directory.
const socketName = "supervisor.sock"

// maxSocket is the longest path that a socket can have on every system.
const maxSocket = 103

// withSocket calls f with a path of the socket in dir that is short enough.
func withSocket(dir string, f func(path string) error) error {
	path := filepath.Join(dir, socketName)
	if len(path) <= maxSocket {
		return f(path)
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	short := fmt.Sprintf("/proc/self/fd/%d", d.Fd()) // Linux's own way to name it
	if _, err := os.Stat(short); err != nil {
		return fmt.Errorf("the path %s is longer than the %d bytes that a socket's may have: use a shorter directory", path, maxSocket)
	}
	return f(filepath.Join(short, socketName))
}

func dial(dir string) (conn net.Conn, err error) {
	err = withSocket(dir, func(path string) error {
		conn, err = net.Dial("unix", path)
		return err
	})
	return conn, err
}

// listen makes the socket anew. Nobody may listen on the old one.
func listen(dir string) (l *net.UnixListener, err error) {
	removeSocket(dir)
	err = withSocket(dir, func(path string) error {
		if l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}); err != nil {
			return err
		}
		l.SetUnlinkOnClose(false) // it is the supervisor's from now on
		return os.Chmod(path, 0o600)
	})
	return l, err
}

func removeSocket(dir string) { _ = os.Remove(filepath.Join(dir, socketName)) } // if it is there
