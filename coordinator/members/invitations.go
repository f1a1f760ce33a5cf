package members

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/protocol/pb"
	"caucus/protocol/server"
)

// Registrar issues and revokes the identities of callers: invitations, join tokens and
// certificates. It answers the calls about them that operators and parties make.
type Registrar struct {
	config       folder.Config
	store        records.Store
	authority    *server.Authority
	keys         protocol.Keys // all keys that the coordinator ever signed with
	certificates *Certificates
	gate         *CallGate
	address      func() string
}

// NewRegistrar makes a Registrar whose revocations take effect at a gate.
func NewRegistrar(c folder.Config, store records.Store, ring folder.Keyring, g *CallGate,
	address func() string) *Registrar {
	return &Registrar{c, store, ring.Authority, ring.Keys, g.certificates, g, address}
}

// Invite makes an invitation, and stores it before sending its text. An invited member keeps its
// certificates.
func (s *Registrar) Invite(ctx context.Context, r *pb.InviteRequest) (*pb.InviteReply, error) {
	role := protocol.Role(r.Role)
	if role == "" {
		role = protocol.RoleParty
	}
	if role != protocol.RoleParty && role != protocol.RoleOperator {
		return nil, fmt.Errorf("%w: role %q: want %s or %s", protocol.ErrInvalid, r.Role,
			protocol.RoleParty, protocol.RoleOperator)
	}
	if err := protocol.CheckName(r.Name); err != nil {
		return nil, fmt.Errorf("%w: %v", protocol.ErrInvalid, err)
	}
	now := s.config.Clock.Now()
	valid, address, err := s.invites(r.ValidSeconds, r.Address)
	if err != nil {
		return nil, err
	}
	v, serial, err := s.authority.Invite(protocol.Invitation{
		Coordinator: address, Name: r.Name, Role: role, Expires: now.Add(valid).UTC(),
		Signer: s.keys.First(), Successions: s.keys.Successions(),
	}, now)
	if err != nil {
		return nil, err
	}
	err = s.store.Update(ctx, func(tx records.Tx) error {
		if err := folder.EnsureMember(tx, r.Name, role, now); err != nil {
			return err
		}
		return tx.AddInvitation(records.Invitation{Serial: serial, Name: r.Name,
			Expires: v.Expires})
	})
	if err != nil {
		return nil, err
	}
	s.config.Log.Info("invited", "party", r.Name, "role", role, "by", CallerOf(ctx).Name)
	return &pb.InviteReply{Invitation: v.String(), ExpiresUnixMillis: v.Expires.UnixMilli()}, nil
}

// invites returns the lifetime of an invitation or token, and the address for parties to dial.
func (s *Registrar) invites(seconds int64, address string) (valid time.Duration, dial string,
	err error) {
	valid = time.Duration(seconds) * time.Second
	if seconds == 0 {
		valid = s.config.InvitationValid
	}
	if valid < time.Second || valid > 90*24*time.Hour {
		return 0, "", fmt.Errorf("%w: an invitation is good for 1 second to 90 days", protocol.ErrInvalid)
	}
	if dial = address; dial == "" {
		dial = s.address()
	}
	if err := protocol.CheckAddresses(dial); err != nil {
		return 0, "", fmt.Errorf("%w: %v", protocol.ErrInvalid, err)
	}
	return valid, dial, nil
}

// Revoke ends a member's certificates and invitations, its open calls and its connections, before
// it returns. No operator can revoke itself. A party can revoke itself alone: it then has left, and
// its own call may end without an answer. An unknown name is protocol.ErrNotFound.
func (s *Registrar) Revoke(ctx context.Context, r *pb.RevokeRequest) (*pb.RevokeReply, error) {
	by := CallerOf(ctx)
	leaves := by.Role == protocol.RoleParty
	if leaves && r.Name != by.Name {
		return nil, fmt.Errorf("%w: a party revokes nobody but itself", protocol.ErrDenied)
	}
	if !leaves && r.Name == by.Name {
		return nil, fmt.Errorf("%w: an operator cannot revoke itself: another one must", protocol.ErrInvalid)
	}
	var revision int64
	err := s.store.Update(ctx, func(tx records.Tx) (err error) {
		if err := tx.Revoke(r.Name); err != nil {
			return err
		}
		if leaves {
			if err := s.leaves(tx, r.Name); err != nil {
				return err
			}
		}
		revision, err = tx.Revision()
		return err
	})
	if errors.Is(err, records.ErrNoRow) {
		return nil, fmt.Errorf("%w: no member %q: caucus party list names them",
			protocol.ErrNotFound, r.Name)
	}
	if err != nil {
		s.certificates.refresh(context.WithoutCancel(ctx))
		return nil, err
	}
	s.gate.evict(revision, r.Name)
	s.config.Log.Info("revoked", "party", r.Name, "by", by.Name)
	return &pb.RevokeReply{}, nil
}

// leaves marks a party that revoked itself.
func (s *Registrar) leaves(tx records.Tx, name string) error {
	now := s.config.Clock.Now()
	all, err := tx.Members(now)
	if err != nil {
		return err
	}
	tags := admin.Tags{admin.TagLeft: now.UTC().Format(time.DateOnly)}
	for _, m := range all {
		if m.Name == name {
			maps.Copy(tags, m.Tags)
		}
	}
	return tx.SetTags(name, tags)
}
