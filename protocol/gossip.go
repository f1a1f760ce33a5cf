package protocol

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
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
	if err := CheckGossipListen(c.Listen); err != nil {
		return fmt.Errorf("check gossip: listen: %w", err)
	}
	if err := memberlist.ValidateKey(c.Key); err != nil {
		return fmt.Errorf("check gossip: key: %w", err)
	}
	return nil
}

// CheckGossipListen refuses what cannot be listened on. A name of a machine would be
// taken for all its addresses.
func CheckGossipListen(listen string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("%q is no host:port, such as :7946", listen)
	}
	if host != "" && net.ParseIP(host) == nil {
		return fmt.Errorf("%q is no address of a network: give numbers, such as 127.0.0.1", host)
	}
	return nil
}

// GossipKey is the key of an epoch, HKDF-SHA256 of the coordinator's secret. An
// epoch begins with each revocation; whoever holds the keys of all epochs before
// learns nothing of the next one's.
func GossipKey(secret []byte, epoch int64) ([]byte, error) {
	if len(secret) != 32 {
		return nil, fmt.Errorf("make gossip key: the secret has %d bytes, want 32", len(secret))
	}
	key, err := hkdf.Key(sha256.New, secret, nil, fmt.Sprintf("caucus gossip, epoch %d", epoch), 32)
	if err != nil {
		return nil, fmt.Errorf("make gossip key: %w", err)
	}
	return key, nil
}

// Gossip is this node's part in the gossip. What it says is a hint of who is
// alive; nothing may be decided on it.
type Gossip struct {
	list *memberlist.Memberlist
	keys *memberlist.Keyring
}

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
	m.Name = c.Name
	if host == "" {
		host = "0.0.0.0"
	}
	keys, err := memberlist.NewKeyring(nil, c.Key)
	if err != nil {
		return nil, fmt.Errorf("check gossip: key: %w", err)
	}
	m.Keyring = keys
	m.GossipVerifyIncoming, m.GossipVerifyOutgoing = true, true // no clear text, either way
	m.Alive = &guests{names: map[string]bool{}}
	m.LogOutput = io.Discard
	transport, err := listen(host, int(number))
	if err != nil {
		return nil, fmt.Errorf("start gossip on %s: %w", c.Listen, err)
	}
	m.Transport, m.BindAddr = transport, host
	m.BindPort = transport.GetAutoBindPort()
	m.AdvertisePort = m.BindPort
	list, err := memberlist.Create(m)
	if err != nil {
		transport.Shutdown()
		return nil, fmt.Errorf("start gossip on %s: %w", c.Listen, err)
	}
	g := &Gossip{list, keys}
	if len(c.Join) > 0 {
		if err := g.Join(c.Join); err != nil {
			g.Close()
			return nil, err
		}
	}
	return g, nil
}

// Join meets the nodes at these addresses, and those they know of.
func (g *Gossip) Join(addresses []string) error {
	if _, err := g.list.Join(addresses); err != nil {
		return fmt.Errorf("join gossip: %w", err)
	}
	return nil
}

// Rekey speaks and understands nothing but this key from now on. The same key
// again changes nothing.
func (g *Gossip) Rekey(key []byte) error {
	err := g.keys.AddKey(key)
	if err == nil {
		err = g.keys.UseKey(key)
	}
	for _, old := range g.keys.GetKeys() {
		if err == nil && !bytes.Equal(old, key) {
			err = g.keys.RemoveKey(old)
		}
	}
	if err != nil {
		return fmt.Errorf("change gossip key: %w", err)
	}
	return nil
}

// Addr is where this node listens.
func (g *Gossip) Addr() string { return g.list.LocalNode().Address() }

// Len is how many nodes seem alive, this one too.
func (g *Gossip) Len() int { return g.list.NumMembers() }

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
