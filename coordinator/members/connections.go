package members

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"caucus/coordinator/folder"
	"caucus/internal/clock"
	"caucus/protocol"
)

// connections bounds who is connected: how many connections are before the end
// of their handshake, how many one member has, and how many there are in all.
// Where a member opens one more than it may, or all places are taken, the one
// that was used longest ago gives way: it is more likely forgotten than in use,
// and whoever reconnects is never locked out by what it left behind.
type connections struct {
	net.Listener
	credentials.TransportCredentials
	limits folder.Limits
	clock  clock.Clock
	counts *callCounts

	mu     sync.Mutex                      // guards the rest, and of each connection what it says
	greets map[*connection]bool            // before the end of their handshake
	of     map[string]map[*connection]bool // by member
	all    int
}

func newConnections(l net.Listener, t credentials.TransportCredentials, limits folder.Limits, clock clock.Clock, counts *callCounts) *connections {
	return &connections{Listener: l, TransportCredentials: t, limits: limits, clock: clock, counts: counts, greets: map[*connection]bool{}, of: map[string]map[*connection]bool{}}
}

// connection is one of a member, once its handshake is done.
type connection struct {
	net.Conn
	home    *connections
	from    netip.Prefix // the network that it comes from
	caller  protocol.Caller
	refused atomic.Int64 // calls, on their header
	used    atomic.Int64 // when last: elapsed

	// home.mu guards these.
	member string // "" where it is not counted for one
	closed bool
}

// greeting is the share of all places for connections before the end of their
// handshake. It is apart from the others, so that whoever has no certificate
// takes no place of a member. Where all are taken, the address that has most of
// them gives one up, unless that is the one that wants another: one machine that
// opens connections and says nothing keeps out only itself, and of many that come
// back at once none loses what it has begun.
func greeting(l folder.Limits) int { return max(16, l.AllConnections/4) }

// Accept waits for a connection that there is a place for.
func (s *connections) Accept() (net.Conn, error) {
	for {
		raw, err := s.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &connection{Conn: raw, home: s, from: networkOf(raw.RemoteAddr())}
		if !s.greet(c) {
			s.counts.closed.Inc()
			raw.Close()
			continue
		}
		c.touch()
		return c, nil
	}
}

// greet gives a connection a place before the end of its handshake, if there is
// one.
func (s *connections) greet(c *connection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.greets) >= greeting(s.limits) {
		of := map[netip.Prefix][]*connection{}
		var most []*connection
		for g := range s.greets {
			of[g.from] = append(of[g.from], g)
			if len(of[g.from]) > len(most) {
				most = of[g.from]
			}
		}
		if len(most) <= len(of[c.from])+1 {
			return false
		}
		s.counts.closed.Inc()
		s.giveWay(slices.Values(most))
	}
	s.greets[c] = true
	return true
}

// networkOf is what one customer has: an address of IPv4, 64 bits of IPv6.
func networkOf(a net.Addr) netip.Prefix {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip, bits := t.AddrPort().Addr().Unmap(), 64
	if ip.Is4() {
		bits = 32
	}
	p, _ := ip.Prefix(bits)
	return p
}

// ServerHandshake counts the connection for its member once TLS has let it in.
func (s *connections) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c, ok := raw.(*connection)
	if !ok {
		return nil, nil, fmt.Errorf("shake hands: a connection that was not accepted here")
	}
	conn, info, err := s.TransportCredentials.ServerHandshake(c)
	if err != nil {
		s.counts.closed.Inc()
		return nil, nil, err
	}
	caller, err := protocol.CallerOf(info)
	if err != nil {
		return nil, nil, err
	}
	s.admit(c, caller)
	return conn, introduced{info.(credentials.TLSInfo), c}, nil
}

// Clone is for grpc's clients.
func (s *connections) Clone() credentials.TransportCredentials { return s }

// introduced is what is known of the other end of a connection.
type introduced struct {
	credentials.TLSInfo
	connection *connection
}

// connectionOf is the connection that a call came by, nil where it was not
// accepted by connections.
func connectionOf(ctx context.Context) *connection {
	if p, ok := peer.FromContext(ctx); ok {
		if i, ok := p.AuthInfo.(introduced); ok {
			return i.connection
		}
	}
	return nil
}

// admit gives a connection a place as one of its member.
func (s *connections) admit(c *connection, caller protocol.Caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.greets, c)
	c.caller = caller
	if c.closed {
		return
	}
	name, most := memberOf(caller), s.limits.Connections
	switch caller.Role {
	case protocol.RoleInvitation:
		most = min(most, invitationConnections)
	case protocol.RoleToken:
		most = tokenConnections
	}
	switch own := s.of[name]; {
	case len(own) >= most:
		s.giveWay(maps.Keys(own))
	case s.all >= s.limits.AllConnections:
		s.giveWay(func(yield func(*connection) bool) {
			for _, own := range s.of {
				for c := range own {
					if !yield(c) {
						return
					}
				}
			}
		})
	}
	if s.of[name] == nil {
		s.of[name] = map[*connection]bool{}
	}
	s.of[name][c] = true
	c.member = name
	s.all++
}

// giveWay closes the one of some that was used longest ago. The caller holds mu.
func (s *connections) giveWay(some iter.Seq[*connection]) {
	var oldest *connection
	for c := range some {
		if oldest == nil || c.used.Load() < oldest.used.Load() {
			oldest = c
		}
	}
	s.forget(oldest)
	oldest.Conn.Close()
}

// forget gives places back. The caller holds mu.
func (s *connections) forget(c *connection) {
	delete(s.greets, c)
	if c.member == "" {
		return
	}
	delete(s.of[c.member], c)
	if len(s.of[c.member]) == 0 {
		delete(s.of, c.member)
	}
	c.member = ""
	s.all--
}

// farewell is how long the connections of a member that was revoked stay, so
// that its calls under way are told why they end.
const farewell = 2 * time.Second

// evict takes the places of names at once, and closes their connections soon.
func (s *connections) evict(names map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, own := range s.of {
		for c := range own {
			if names[c.caller.Name] {
				s.forget(c)
				s.clock.AfterFunc(farewell, func() { c.Close() })
			}
		}
	}
}

// touch says that the connection is in use.
func (c *connection) touch() { c.used.Store(int64(c.home.clock.Elapsed())) }

// Close gives its places back.
func (c *connection) Close() error {
	c.home.mu.Lock()
	c.home.forget(c)
	c.closed = true
	c.home.mu.Unlock()
	return c.Conn.Close()
}
