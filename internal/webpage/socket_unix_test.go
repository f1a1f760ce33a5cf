//go:build unix

package webpage

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSocket: only the serving account can use the socket. A leftover socket is replaced; a socket
// in use and any other file are not. A link leads to the forwarded address.
func TestSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "s") // short, because a socket's path must be
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "page")
	address := "unix:" + path
	left, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	if l, err := Listen(address); err == nil ||
		!strings.Contains(err.Error(), "another program listens there") {
		t.Errorf("listens beside another: %v, %v", l, err)
	}
	left.Close()
	l, err := Listen(address)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket has mode %v, %v", info.Mode(), err)
	}
	s := NewServer(Loopback(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "page")
	})), slog.New(slog.DiscardHandler))
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _,
		_ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	for host, want := range map[string]int{ForwardedAddress: http.StatusOK,
		"localhost":   http.StatusOK,
		"example.org": http.StatusForbidden} {
		reply, err := client.Get("http://" + host + "/")
		if err != nil {
			t.Fatal(err)
		}
		reply.Body.Close()
		if reply.StatusCode != want {
			t.Errorf("asked for %s: %s", host, reply.Status)
		}
	}
	client.CloseIdleConnections()
	s.Close()
	<-done
	if all, err := os.ReadDir(dir); err != nil || len(all) != 0 {
		t.Errorf("the server's end leaves %v, %v", all, err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(address); err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Errorf("in place of a file: %v", err)
	}
	// A listener without room for another connection still counts as in use.
	full := filepath.Join(dir, "full")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err := errors.Join(err, syscall.Bind(fd, &syscall.SockaddrUnix{Name: full}),
		syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	for range 3 {
		if l, err := Listen("unix:" + full); err == nil ||
			!strings.Contains(err.Error(), "another program listens there") {
			t.Errorf("listens beside one that is busy: %v, %v", l, err)
		}
		if c, err := net.Dial("unix", full); err == nil {
			defer c.Close()
		}
	}
	// The longest accepted folder has room for making a socket.
	deep := filepath.Join(dir, strings.Repeat("x", mostFolder-len(dir)-1))
	if err := os.Mkdir(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	longest, err := Listen("unix:" + filepath.Join(deep,
		strings.Repeat("y", mostSocket-mostFolder-1)))
	if err != nil {
		t.Fatal(err)
	}
	longest.Close()
	if err := CheckAddress("unix:" + deep + "x/y"); err == nil {
		t.Error("a folder is taken in which no socket could be made")
	}
	if err := writeOwn(dir, runFile, "now"); err != nil {
		t.Fatal(err)
	}
	link, err := NewLink(dir, address, time.Now())
	if err != nil || !strings.HasPrefix(link, "http://"+ForwardedAddress+"/open?link=") {
		t.Errorf("link %s, %v", link, err)
	}
	for _, bad := range []string{"unix:", "unix:page", "unix:/" + strings.Repeat("x", 100),
		"unix:/run/"} {
		if err := CheckAddress(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
