package protocol

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"

	"google.golang.org/grpc"
)

// line is a client's connection to its coordinator. hangUp closes it, and the next call makes a new
// one.
type line struct {
	make func(*sockets) (*grpc.ClientConn, error)

	mu      sync.Mutex // guards the fields below
	present *grpc.ClientConn
	sockets *sockets // sockets of the present connection
}

func newLine(make func(*sockets) (*grpc.ClientConn, error)) (*line, error) {
	l := &line{make: make, sockets: &sockets{}}
	var err error
	l.present, err = make(l.sockets)
	return l, err
}

func (l *line) Invoke(ctx context.Context, method string, args, reply any,
	o ...grpc.CallOption) error {
	return l.current().Invoke(ctx, method, args, reply, o...)
}

func (l *line) NewStream(ctx context.Context, d *grpc.StreamDesc, method string,
	o ...grpc.CallOption) (grpc.ClientStream, error) {
	return l.current().NewStream(ctx, d, method, o...)
}

func (l *line) current() *grpc.ClientConn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.present
}

func (l *line) Close() error { return l.current().Close() }

// hangUp closes the connection. After it returns, no socket is open and the system sends no more
// data, not even a retransmission after the goodbyes of HTTP/2 and TLS.
func (l *line) hangUp() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sockets.leaveNothing()
	err := l.present.Close()
	l.sockets.close() // sockets of a connection that is still being made
	next := &sockets{}
	present, failed := l.make(next)
	if failed == nil {
		l.present, l.sockets = present, next
	}
	return errors.Join(err, failed)
}

type sockets struct {
	mu     sync.Mutex // guards the fields below
	all    map[*socket]bool
	closed bool
}

type socket struct {
	net.Conn
	of *sockets
}

func (s *socket) Close() error {
	s.of.mu.Lock()
	delete(s.of.all, s)
	s.of.mu.Unlock()
	return s.Conn.Close()
}

// opened registers a socket before its first byte. It fails after close.
func (s *sockets) opened(c net.Conn) (*socket, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, net.ErrClosed
	}
	if s.all == nil {
		s.all = map[*socket]bool{}
	}
	one := &socket{c, s}
	s.all[one] = true
	return one, nil
}

// leaveNothing makes each socket drop unsent data when it closes, so that the system resends
// nothing.
func (s *sockets) leaveNothing() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.all {
		if t, ok := c.Conn.(*net.TCPConn); ok {
			_ = t.SetLinger(0)
		}
	}
}

func (s *sockets) close() {
	s.mu.Lock()
	s.closed = true
	left := slices.Collect(maps.Keys(s.all))
	s.mu.Unlock()
	for _, c := range left {
		_ = c.Close()
	}
}
