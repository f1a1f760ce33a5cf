package webpage

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// A page can be served on a Unix socket in place of a port: unix:/run/caucus/page.sock. No
// other account of the machine can connect to it then, and who watches from elsewhere
// carries it to a port of their own: ssh -L 127.0.0.1:9443:/run/caucus/page.sock HOST.

const (
	socketPrefix = "unix:"
	// mostSocket is how long a socket's path may be on every system, and mostFolder its
	// folder, since a socket is made in a folder within that.
	mostSocket = 100
	mostFolder = mostSocket - len("/.s4294967295/s")
)

// CarriedTo is where links to a page on a socket expect it to have been carried.
const CarriedTo = "127.0.0.1:9443"

// Socket is the path of an address that is a Unix socket.
func Socket(address string) (path string, is bool) { return strings.CutPrefix(address, socketPrefix) }

func checkSocket(path string) error {
	if !filepath.IsAbs(path) || len(path) > mostSocket || len(filepath.Dir(path)) > mostFolder || strings.HasSuffix(path, "/") {
		return fmt.Errorf("%q is no path of a socket: give unix: and a whole path of at most %d letters, %d without its last part, such as unix:/run/caucus/page.sock", socketPrefix+path, mostSocket, mostFolder)
	}
	return nil
}

// socketListener removes its socket when it is closed.
type socketListener struct {
	net.Listener
	path string
}

func (l socketListener) Close() error {
	err := l.Listener.Close()
	if !errors.Is(err, net.ErrClosed) {
		err = errors.Join(err, os.Remove(l.path))
	}
	return err
}

// listenSocket makes a socket that this account alone may connect to: it is made where
// nobody else sees it, and moved into place. One that a process left behind which was
// killed is replaced; one that somebody listens on, or another file, is not.
func listenSocket(path string) (net.Listener, error) {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%s is there and no socket: give another path", path)
	default:
		c, err := net.Dial("unix", path)
		if err == nil {
			c.Close()
		}
		// Also who has no place for one more listens, and another account's is not ours.
		if err == nil || errors.Is(err, syscall.EAGAIN) || errors.Is(err, fs.ErrPermission) {
			return nil, fmt.Errorf("%s: another program listens there: stop it, or give another path", path)
		}
	}
	made, err := os.MkdirTemp(filepath.Dir(path), ".s") // mode 0700
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(made)
	inside := filepath.Join(made, "s")
	l, err := net.Listen("unix", inside)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(inside, 0o600), os.Rename(inside, path)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return socketListener{l, path}, nil
}
