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
	"caucus/protocol/server"
)

// connections bounds three numbers: connections that have not finished their handshake, connections
// of one member, and all connections. If a member opens one too many, or all places are taken, the
// least recently used connection closes. So a member that reconnects is never locked out by its old
// connections.
type connections struct {
	net.Listener
	credentials.TransportCredentials
	limits folder.Limits
	clock  clock.Clock
	counts *callCounts

	mu       sync.Mutex           // guards the rest, and the marked fields of each connection
	greets   map[*connection]bool // connections whose handshake is not finished
	byMember map[string]map[*connection]bool
	all      int
}

func newConnections(l net.Listener, t credentials.TransportCredentials, limits folder.Limits,
	clock clock.Clock, counts *callCounts) *connections {
	return &connections{Listener: l, TransportCredentials: t, limits: limits, clock: clock,
		counts: counts, greets: map[*connection]bool{}, byMember: map[string]map[*connection]bool{}}
}

type connection struct {
	net.Conn
	home    *connections
	from    netip.Prefix
	caller  protocol.Caller
	refused atomic.Int64 // calls refused on their header
	used    atomic.Int64 // elapsed time of the last use

	// home.mu guards these.
	member string // "" if not counted for a member
	closed bool
}

// greeting is the number of places for connections that have not finished their handshake. They
// take no other places, so a caller without a certificate takes no member's place. When all are
// taken, the network that has most of them loses one, unless the new connection comes from that
// network. So a machine that opens connections and says nothing keeps out only its own network, and
// members that reconnect at the same time lose no handshake.
func greeting(l folder.Limits) int { return max(16, l.AllConnections/4) }

// Accept waits for a connection that gets a place.
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

// networkOf returns the network that counts as one caller: an IPv4 address, or the first 64 bits of
// an IPv6 address.
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

// ServerHandshake counts the connection for its member once TLS has admitted it.
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
	caller, err := server.CallerOf(info)
	if err != nil {
		return nil, nil, err
	}
	s.admit(c, caller)
	return conn, introduced{info.(credentials.TLSInfo), c}, nil
}

func (s *connections) Clone() credentials.TransportCredentials { return s }

type introduced struct {
	credentials.TLSInfo
	connection *connection
}

// connectionOf returns the connection of a call; nil if connections did not accept it.
func connectionOf(ctx context.Context) *connection {
	if p, ok := peer.FromContext(ctx); ok {
		if i, ok := p.AuthInfo.(introduced); ok {
			return i.connection
		}
	}
	return nil
}

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
	switch own := s.byMember[name]; {
	case len(own) >= most:
		s.giveWay(maps.Keys(own))
	case s.all >= s.limits.AllConnections:
		s.giveWay(func(yield func(*connection) bool) {
			for _, own := range s.byMember {
				for c := range own {
					if !yield(c) {
						return
					}
				}
			}
		})
	}
	if s.byMember[name] == nil {
		s.byMember[name] = map[*connection]bool{}
	}
	s.byMember[name][c] = true
	c.member = name
	s.all++
}

// giveWay closes the least recently used of the candidates. The caller holds mu.
func (s *connections) giveWay(candidates iter.Seq[*connection]) {
	var oldest *connection
	for c := range candidates {
		if oldest == nil || c.used.Load() < oldest.used.Load() {
			oldest = c
		}
	}
	s.forget(oldest)
	oldest.Conn.Close()
}

// forget releases a connection's places. The caller holds mu.
func (s *connections) forget(c *connection) {
	delete(s.greets, c)
	if c.member == "" {
		return
	}
	delete(s.byMember[c.member], c)
	if len(s.byMember[c.member]) == 0 {
		delete(s.byMember, c.member)
	}
	c.member = ""
	s.all--
}

// farewell is the time in which a revoked member's open calls can still tell it why they end.
const farewell = 2 * time.Second

// evict frees these members' places at once, and closes their connections after farewell.
func (s *connections) evict(names map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, own := range s.byMember {
		for c := range own {
			if names[c.caller.Name] {
				s.forget(c)
				s.clock.AfterFunc(farewell, func() { c.Close() })
			}
		}
	}
}

func (c *connection) touch() { c.used.Store(int64(c.home.clock.Elapsed())) }

func (c *connection) Close() error {
	c.home.mu.Lock()
	c.home.forget(c)
	c.closed = true
	c.home.mu.Unlock()
	return c.Conn.Close()
}
