package coordinator

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"

	"caucus/protocol"
	"caucus/protocol/pb"
)

// Gossip has a key for each epoch, and an epoch for each revocation: the number
// of revocations is in the store, the key follows from it and from a secret that
// never leaves. So a party that was revoked is deaf and dumb from then on towards
// the coordinator, and towards the others once they have asked for the new key.

func newGossipSecret() []byte {
	secret := make([]byte, 32)
	rand.Read(secret) // it never fails
	return secret
}

// gossipKey is the key of the epoch that is now.
func (s *Server) gossipKey(ctx context.Context) (key []byte, err error) {
	err = s.store.View(ctx, func(tx Tx) error {
		epoch, err := tx.Revision()
		if err == nil {
			key, err = protocol.GossipKey(s.gossipSecret, epoch)
		}
		return err
	})
	return key, err
}

func (s *Server) openGossip() error {
	key, err := s.gossipKey(context.Background())
	if err == nil {
		s.gossip, err = protocol.JoinGossip(protocol.GossipConfig{Name: "coordinator", Listen: s.config.Gossip.Listen, Key: key})
	}
	return err
}

// rekey changes to the epoch that is now. One that fails is made up for by the
// next: the revocation stands, and gossip decides nothing.
func (s *Server) rekey(ctx context.Context) {
	if s.gossip == nil {
		return
	}
	s.gossipMu.Lock() // so that the last one to be applied is the newest
	defer s.gossipMu.Unlock()
	key, err := s.gossipKey(ctx)
	if err == nil {
		err = s.gossip.Rekey(key)
	}
	if err != nil {
		s.config.Log.Error("the gossip's key is not changed: who was revoked still hears it, until the next revocation or start", "error", err)
	}
}

// Gossip says how to join, where it is on for the caller.
func (s *Server) Gossip(ctx context.Context, _ *pb.GossipRequest) (*pb.GossipReply, error) {
	if s.gossip == nil {
		return nil, fmt.Errorf("%w: gossip is off here", protocol.ErrNotFound)
	}
	if callerOf(ctx).Role == protocol.RoleParty && !s.config.Gossip.Parties {
		return nil, fmt.Errorf("%w: gossip is off here for parties", protocol.ErrNotFound)
	}
	at := s.gossip.Addr()
	// What is bound to every address is joined at the address parties dial.
	if host, port, err := net.SplitHostPort(at); err == nil {
		if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
			if dialled, _, err := net.SplitHostPort(s.address()); err == nil {
				at = net.JoinHostPort(dialled, port)
			}
		}
	}
	key, err := s.gossipKey(ctx)
	if err != nil {
		return nil, err
	}
	return &pb.GossipReply{Addresses: []string{at}, Key: key}, nil
}
