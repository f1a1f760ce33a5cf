package protocol

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/memberlist"
)

// GossipConfig says how to take part in the gossip.
type GossipConfig struct {
	// Name is what others call this node. Anyone with the key may claim any
	// name: it proves nothing.
	Name string
	// Listen is host:port for UDP and TCP; port 0 takes a free one.
	Listen string
	// Key, 16, 24 or 32 bytes, encrypts everything (AES-GCM).
	Key []byte
	// Join are addresses of nodes to start from; none makes the first node.
	Join []string
}

// Validate says which field is wrong.
func (c GossipConfig) Validate() error {
	if c.Name == "" {
		return fmt.Errorf("check gossip: name: give one")
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return fmt.Errorf("check gossip: listen: %q is no host:port", c.Listen)
	}
	if err := memberlist.ValidateKey(c.Key); err != nil {
		return fmt.Errorf("check gossip: key: %w", err)
	}
	return nil
}

// Gossip is this node's part in the gossip. What it says is a hint of who is
// alive; nothing may be decided on it.
type Gossip struct{ list *memberlist.Memberlist }

// JoinGossip starts. An error to reach any of Join is an error; nodes that go
// away later come back by themselves.
func JoinGossip(c GossipConfig) (*Gossip, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	host, port, _ := net.SplitHostPort(c.Listen)
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("check gossip: listen: port %q", port)
	}
	// Timeouts for a wide-area network: parties are hospitals and devices.
	m := memberlist.DefaultWANConfig()
	m.Name, m.BindAddr, m.BindPort, m.AdvertisePort = c.Name, host, int(number), int(number)
	if host == "" {
		m.BindAddr = "0.0.0.0"
	}
	m.SecretKey = c.Key
	m.GossipVerifyIncoming, m.GossipVerifyOutgoing = true, true // no clear text, either way
	m.LogOutput = io.Discard
	list, err := memberlist.Create(m)
	if err != nil {
		return nil, fmt.Errorf("start gossip on %s: %w", c.Listen, err)
	}
	g := &Gossip{list}
	if len(c.Join) > 0 {
		if _, err := list.Join(c.Join); err != nil {
			g.Close()
			return nil, fmt.Errorf("join gossip: %w", err)
		}
	}
	return g, nil
}

// Addr is where this node listens.
func (g *Gossip) Addr() string { return g.list.LocalNode().Address() }

// Alive are the names that seem alive, this node's too, sorted.
func (g *Gossip) Alive() []string {
	var names []string
	for _, n := range g.list.Members() {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	return names
}

// Close says goodbye and stops.
func (g *Gossip) Close() error {
	_ = g.list.Leave(time.Second) // a hint as well: others notice anyway
	if err := g.list.Shutdown(); err != nil {
		return fmt.Errorf("stop gossip: %w", err)
	}
	return nil
}
