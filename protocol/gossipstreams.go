package protocol

import (
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"sync"

	"github.com/hashicorp/memberlist"
)

// streams bounds what others can make a node of the gossip hold: memberlist takes
// any number of connections, and reads 20 MiB of each before it knows that whoever
// sends has the key.
type streams struct {
	*memberlist.NetTransport
	taken chan net.Conn
	done  chan struct{}
	stop  func() // closes done, once
	under sync.WaitGroup
	free  chan struct{} // a place for each stream
}

// A stream tells all nodes that one knows, some 100 bytes of each. One that finds no
// place is closed: a node tries again by itself.
const (
	mostStreams  = 16
	mostStreamed = 2 << 20
)

// listen takes a free port where port is 0, for UDP and TCP.
func listen(host string, port int) (s *streams, err error) {
	s = &streams{taken: make(chan net.Conn), done: make(chan struct{}), free: make(chan struct{}, mostStreams)}
	s.stop = sync.OnceFunc(func() { close(s.done) })
	c := &memberlist.NetTransportConfig{BindAddrs: []string{host}, BindPort: port, Logger: log.New(io.Discard, "", 0)}
	for range 10 { // a port that is free for TCP may not be for UDP
		s.NetTransport, err = memberlist.NewNetTransport(c)
		if err == nil || port != 0 || !strings.Contains(err.Error(), "address already in use") {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	s.under.Go(s.take)
	return s, nil
}

// take gives on what there is a place for.
func (s *streams) take() {
	for {
		select {
		case raw := <-s.NetTransport.StreamCh():
			select {
			case s.free <- struct{}{}:
			default:
				raw.Close()
				continue
			}
			c := &stream{Conn: raw, left: mostStreamed, leave: sync.OnceFunc(func() { <-s.free })}
			select {
			case s.taken <- c:
			case <-s.done:
				c.Close()
			}
		case <-s.done:
			return
		}
	}
}

// StreamCh gives what was taken.
func (s *streams) StreamCh() <-chan net.Conn { return s.taken }

// Shutdown stops listening. It may be called again.
func (s *streams) Shutdown() error {
	err := s.NetTransport.Shutdown() // while take still takes
	s.stop()
	s.under.Wait()
	return err
}

// stream ends after mostStreamed bytes. One goroutine reads it.
type stream struct {
	net.Conn
	left  int
	leave func()
}

func (s *stream) Read(b []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n, err := s.Conn.Read(b[:min(len(b), s.left)])
	s.left -= n
	return n, err
}

func (s *stream) Close() error {
	s.leave()
	return s.Conn.Close()
}

// guests bounds how many nodes are remembered, and what of each: whoever has the key
// may make up any.
type guests struct {
	mu    sync.Mutex // guards names
	names map[string]bool
}

const mostGuests = 10_000

// NotifyAlive refuses a node that is one too many.
func (g *guests) NotifyAlive(n *memberlist.Node) error {
	if err := CheckName(n.Name); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.names[n.Name] && len(g.names) >= mostGuests {
		return fmt.Errorf("%d nodes are known, and %s is one more", len(g.names), n.Name)
	}
	g.names[n.Name] = true
	return nil
}
