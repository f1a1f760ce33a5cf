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

// A page can be served on a Unix socket: unix:/run/caucus/page.sock. Then no other account of the
// machine can connect. From another machine, forward a port to it: ssh -L
// 127.0.0.1:9443:/run/caucus/page.sock HOST.

const (
	socketPrefix = "unix:"
	// mostSocket bounds a socket's path on every system, and mostFolder its folder, because the
	// socket is first made in a new folder inside that one.
	mostSocket = 100
	mostFolder = mostSocket - len("/.s4294967295/s")
)

// ForwardedAddress is the address to which a page's socket is expected to be forwarded.
const ForwardedAddress = "127.0.0.1:9443"

// SocketPath returns the path of a Unix socket's address.
func SocketPath(address string) (path string, is bool) {
	return strings.CutPrefix(address, socketPrefix)
}

func checkSocket(path string) error {
	if !filepath.IsAbs(path) || len(path) > mostSocket || len(filepath.Dir(path)) > mostFolder ||
		strings.HasSuffix(path, "/") {
		return fmt.Errorf("%q is no path of a socket: give unix: and a whole path of at most %d letters, %d without its last part, such as unix:/run/caucus/page.sock", socketPrefix+path, mostSocket, mostFolder)
	}
	return nil
}

type socketListener struct {
	net.Listener
	path string
}

func (s socketListener) Close() error {
	err := s.Listener.Close()
	if !errors.Is(err, net.ErrClosed) {
		err = errors.Join(err, os.Remove(s.path))
	}
	return err
}

// listenSocket makes a socket to which only this account can connect: it makes the socket where
// nobody else sees it, and moves it into place. It replaces the socket of a killed process, but no
// socket in use and no other file.
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
		// A listener with a full queue is in use too, and another account's socket is not ours to
		// replace.
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
