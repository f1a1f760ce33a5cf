package agent

import (
	"context"
	"errors"

	"caucus/protocol"
)

// gossip takes part in the gossip until ctx ends, where the coordinator says so
// too. It asks for the key as often as for studies: each revocation changes it.
// Whether it succeeds, and how long that takes, changes nothing else.
func (a *Agent) gossip(ctx context.Context, id protocol.Identity) {
	c := a.state.config
	var l link // of its own: the agent's is at work
	var g *protocol.Gossip
	hangUp := func() {
		if l != nil {
			l.Close()
			l = nil
		}
	}
	leave := func() {
		if g != nil {
			g.Close()
			g = nil
		}
	}
	defer hangUp()
	defer leave()
	for {
		var info protocol.GossipInfo
		var err error
		if l == nil {
			l, err = a.dial(c, id)
		}
		if err == nil {
			info, err = l.Gossip(ctx)
		}
		wait := c.Poll
		switch {
		case err != nil:
			if errors.Is(err, protocol.ErrNotFound) || errors.Is(err, protocol.ErrDenied) || errors.Is(err, protocol.ErrExpired) {
				leave() // the operator turned it off, or this party is out
				wait = c.MaxBackoff
			}
			hangUp()
			if renewed, _, err := identity(c); err == nil {
				id = renewed
			}
		case g == nil:
			if g, err = protocol.JoinGossip(protocol.GossipConfig{Name: string(a.state.party), Listen: c.Gossip.Listen, Key: info.Key, Join: info.Addresses}); err == nil {
				a.log.Info("taking part in the gossip", "address", g.Addr())
			}
		case g.Rekey(info.Key) != nil, g.Len() == 1 && g.Join(info.Addresses) != nil:
			leave() // and come back
		}
		if !a.clock.Sleep(ctx, jitter(wait)) {
			return
		}
	}
}
