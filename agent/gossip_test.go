package agent

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"caucus/protocol"
)

// gossiping is a coordinator that answers about gossip.
type gossiping struct {
	*coordinatorDouble
	mu    sync.Mutex
	info  protocol.GossipInfo
	err   error
	asked int // since it was set
}

func (g *gossiping) Gossip(context.Context) (protocol.GossipInfo, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked++
	return g.info, g.err
}

// set changes the answer, and waits until the agent has acted on it.
func (g *gossiping) set(info protocol.GossipInfo, err error) {
	g.mu.Lock()
	g.info, g.err, g.asked = info, err, 0
	g.mu.Unlock()
	for asked := 0; asked < 2; time.Sleep(time.Millisecond) {
		g.mu.Lock()
		asked = g.asked
		g.mu.Unlock()
	}
}

// TestGossipFollows: an agent takes part while the coordinator lets it, follows
// it from key to key, and leaves when it is told no.
func TestGossipFollows(t *testing.T) {
	r := newRig(t, nil)
	r.config.Poll, r.config.MaxBackoff = 20*time.Millisecond, 20*time.Millisecond
	r.config.Gossip.Listen = "127.0.0.1:0"
	a := r.agent(t)
	c := &gossiping{coordinatorDouble: r.coordinatorDouble, err: protocol.ErrNotFound}
	a.dial = func(Config, protocol.Identity) (link, error) { return c, nil }
	key := func(epoch int64) []byte {
		k, err := protocol.GossipKey(make([]byte, 32), epoch)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	node, err := protocol.JoinGossip(protocol.GossipConfig{Name: "coordinator", Listen: "127.0.0.1:0", Key: key(0)})
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	hears := func(want bool) { // a goodbye that is lost is noticed by its silence
		t.Helper()
		for until := time.Now().Add(2 * time.Minute); slices.Contains(node.Alive(), "site") != want; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("the coordinator hears of %v, want the agent: %v", node.Alive(), want)
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); a.gossip(ctx, a.id) }()
	defer func() { cancel(); <-done }()
	c.set(protocol.GossipInfo{}, protocol.ErrNotFound)
	hears(false) // the site says so, the operator does not
	info := protocol.GossipInfo{Addresses: []string{node.Addr()}, Key: key(0)}
	c.set(info, nil)
	hears(true)
	info.Key = key(1) // somebody was revoked
	if err := node.Rekey(info.Key); err != nil {
		t.Fatal(err)
	}
	c.set(info, nil)
	c.set(info, protocol.ErrDenied) // it says goodbye, and is understood
	hears(false)
}
