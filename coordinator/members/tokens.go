package members

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"caucus/coordinator/records"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/protocol/pb"
)

const (
	mostQuota = 1_000_000
	// mostPrefix leaves room in a name for the letters that tell parties apart.
	mostPrefix = 40
	// drawnLetters are not confused when read aloud. Eight of them make 8·10¹¹ names.
	drawnLetters = "abcdefghjkmnpqrstuvwxyz23456789"
	drawnLength  = 8
)

func drawnName() (string, error) {
	var b strings.Builder
	for range drawnLength {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(drawnLetters))))
		if err != nil {
			return "", fmt.Errorf("draw a name: %w", err)
		}
		b.WriteByte(drawnLetters[n.Int64()])
	}
	return b.String(), nil
}

func tokenStatus(k records.Token, now time.Time) string {
	switch {
	case k.Revoked:
		return admin.TokenRevoked
	case !now.Before(k.Expires):
		return admin.TokenExpired
	case k.Used >= k.Quota:
		return admin.TokenFull
	}
	return admin.TokenOpen
}

func tokenState(k records.Token, now time.Time) *pb.TokenState {
	return &pb.TokenState{
		Id: k.ID, Prefix: k.Prefix, Tags: k.Tags, Quota: uint32(k.Quota), Used: uint32(k.Used), Status: tokenStatus(k, now),
		CreatedUnixMillis: k.Created.UnixMilli(), ExpiresUnixMillis: k.Expires.UnixMilli(), By: k.CreatedBy,
	}
}

// MakeToken makes a join token, and stores it, without its key, before sending its text.
func (s *Registrar) MakeToken(ctx context.Context, r *pb.MakeTokenRequest) (*pb.MakeTokenReply,
	error) {
	now := s.config.Clock.Now()
	valid, address, err := s.invites(r.ValidSeconds, r.Address)
	if err != nil {
		return nil, err
	}
	tags := admin.Tags(r.Tags)
	if err := tags.Check(); err != nil {
		return nil, fmt.Errorf("%w: %v", protocol.ErrInvalid, err)
	}
	if r.Quota < 1 || r.Quota > mostQuota {
		return nil, fmt.Errorf("%w: quota %d: say how many parties the token enrols, 1 to %d", protocol.ErrInvalid, r.Quota, mostQuota)
	}
	id, err := drawnName()
	if err != nil {
		return nil, err
	}
	prefix := r.Prefix
	if prefix == "" {
		prefix = id + "-"
	}
	if err := protocol.CheckName(prefix); prefix != "" && err != nil || len(prefix) > mostPrefix {
		return nil, fmt.Errorf("%w: prefix %q: give 1 to %d letters, digits, dots, dashes or underscores, a letter or digit first", protocol.ErrInvalid, prefix, mostPrefix)
	}
	v, serial, err := s.authority.Invite(protocol.Invitation{
		Coordinator: address, Name: id, Role: protocol.RoleToken, Prefix: prefix, Expires: now.Add(valid).UTC(),
		Signer: s.keys.First(), Successions: s.keys.Successions(),
	}, now)
	if err != nil {
		return nil, err
	}
	k := records.Token{ID: id, Serial: serial, Prefix: prefix, Tags: tags, Quota: int(r.Quota),
		Created: now, Expires: v.Expires, CreatedBy: CallerOf(ctx).Name}
	if err := s.store.Update(ctx, func(tx records.Tx) error { return tx.AddToken(k) }); err != nil {
		return nil, err
	}
	s.config.Log.Info("join token made", "token", id, "prefix", prefix, "tags", tags.String(),
		"quota", k.Quota, "expires", v.Expires, "by", k.CreatedBy)
	return &pb.MakeTokenReply{Token: v.String(), State: tokenState(k, now)}, nil
}

// ListTokens serves operators: all tokens, newest first, also those that are full, expired or
// revoked. No token's secret is stored, so none is listed.
func (s *Registrar) ListTokens(ctx context.Context, _ *pb.ListTokensRequest) (*pb.ListTokensReply,
	error) {
	var all []records.Token
	err := s.store.View(ctx, func(tx records.Tx) (err error) { all, err = tx.Tokens(); return err })
	if err != nil {
		return nil, err
	}
	reply, now := &pb.ListTokensReply{}, s.config.Clock.Now()
	for _, k := range all {
		reply.Tokens = append(reply.Tokens, tokenState(k, now))
	}
	return reply, nil
}

// RevokeToken ends a token and, on request, every member that joined by it, in one transaction. A
// party that joins meanwhile is either among these members, or finds the token revoked.
func (s *Registrar) RevokeToken(ctx context.Context,
	r *pb.RevokeTokenRequest) (*pb.RevokeTokenReply, error) {
	reply := &pb.RevokeTokenReply{}
	var revision int64
	err := s.store.Update(ctx, func(tx records.Tx) error {
		if err := tx.RevokeToken(r.Id); err != nil {
			return err
		}
		if r.Members {
			members, err := tx.Members(s.config.Clock.Now())
			if err != nil {
				return err
			}
			for _, m := range members {
				if m.Token != r.Id || m.Status == admin.StatusRevoked ||
					m.Status == admin.StatusLeft {
					continue
				}
				if err := tx.Revoke(m.Name); err != nil {
					return err
				}
				reply.Revoked = append(reply.Revoked, m.Name)
			}
		}
		var err error
		revision, err = tx.Revision()
		return err
	})
	if errors.Is(err, records.ErrNoRow) {
		return nil, fmt.Errorf("%w: no join token %q: caucus party list --tokens names them", protocol.ErrNotFound, r.Id)
	}
	if err != nil {
		s.certificates.refresh(context.WithoutCancel(ctx))
		return nil, err
	}
	s.gate.evict(revision, append([]string{r.Id}, reply.Revoked...)...)
	s.config.Log.Info("join token revoked", "token", r.Id, "members", len(reply.Revoked), "by",
		CallerOf(ctx).Name)
	return reply, nil
}

// Label replaces a party's tags. A plan lists its parties by name, so later changes of tags do not
// change the plan.
func (s *Registrar) Label(ctx context.Context, r *pb.LabelRequest) (*pb.LabelReply, error) {
	tags := admin.Tags(r.Tags)
	if err := tags.Check(); err != nil {
		return nil, fmt.Errorf("%w: %v", protocol.ErrInvalid, err)
	}
	err := s.store.Update(ctx, func(tx records.Tx) error {
		role, err := tx.Member(r.Name)
		switch {
		case errors.Is(err, records.ErrNoRow):
			return fmt.Errorf("%w: no member %q: caucus party list names them",
				protocol.ErrNotFound, r.Name)
		case err != nil:
			return err
		case role != protocol.RoleParty:
			return fmt.Errorf("%w: %s is an %s: tags are of parties", protocol.ErrInvalid, r.Name,
				role)
		}
		return tx.SetTags(r.Name, tags)
	})
	if err != nil {
		return nil, err
	}
	s.config.Log.Info("party tagged", "party", r.Name, "tags", tags.String(), "by",
		CallerOf(ctx).Name)
	return &pb.LabelReply{}, nil
}

// join gives a key one place of a join token. One transaction stores member, certificate and place
// before the certificate is sent. The same key gets the same certificate again.
func (s *Registrar) join(ctx context.Context, caller protocol.Caller, key [32]byte,
	r *pb.EnrolRequest) (*pb.EnrolReply, error) {
	now := s.config.Clock.Now()
	var der []byte
	var name string
	err := s.store.Update(ctx, func(tx records.Tx) error {
		k, err := heldToken(tx, caller)
		if err != nil {
			return err
		}
		name, der, err = tx.JoinedByToken(k.ID, key)
		switch {
		case err == nil:
			return again(tx, name, der, r.Name)
		case !errors.Is(err, records.ErrNoRow):
			return err
		case !now.Before(k.Expires):
			return tokenExpired(k)
		case k.Used >= k.Quota:
			return placesTaken(k)
		}
		if name, err = nameFor(tx, k, r.Name); err != nil {
			return err
		}
		if err := tx.AddMember(name, protocol.RoleParty); err != nil {
			return err
		}
		if err := tx.SetTags(name, k.Tags); err != nil {
			return err
		}
		c, err := s.issue(tx, protocol.Caller{Name: name, Role: protocol.RoleParty},
			r.SigningRequest)
		if err != nil {
			return err
		}
		der = c.Raw
		if err := tx.Join(k.ID, key, name, der); err != nil {
			return err
		}
		s.config.Checkpoint("before enrolled")
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.config.Checkpoint("after enrolled")
	s.config.Log.Info("enrolled by a join token", "party", name, "token", caller.Name)
	return &pb.EnrolReply{Certificate: der}, nil
}

func again(tx records.Tx, name string, der []byte, wish string) error {
	if wish != "" && wish != name {
		return fmt.Errorf("%w: this key has joined as %s already: give that name, or none", protocol.ErrExists, name)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return fmt.Errorf("read what a join token gave: %w", err)
	}
	c, err := tx.Certificate(leaf.SerialNumber.Text(16))
	if err == nil && c.Revoked {
		err = revoked(name)
	}
	return err
}

// nameFor returns the name of a new party: the name that it asks for, if that has the token's
// prefix and is free, else a random name. It is never an existing member's name.
func nameFor(tx records.Tx, k records.Token, wish string) (string, error) {
	if wish == "" {
		for {
			drawn, err := drawnName()
			if err != nil {
				return "", err
			}
			_, err = tx.MemberIgnoringCase(k.Prefix + drawn)
			if errors.Is(err, records.ErrNoRow) {
				return k.Prefix + drawn, nil
			}
			if err != nil {
				return "", err
			}
		}
	}
	if err := protocol.CheckName(wish); err != nil {
		return "", fmt.Errorf("%w: %v", protocol.ErrInvalid, err)
	}
	if !strings.HasPrefix(wish, k.Prefix) || wish == k.Prefix {
		return "", fmt.Errorf("%w: name %q: the join token's names begin with %s, and go on: give such a one, or none", protocol.ErrDenied, wish, k.Prefix)
	}
	had, err := tx.MemberIgnoringCase(wish)
	switch {
	case errors.Is(err, records.ErrNoRow):
		return wish, nil
	case err != nil:
		return "", err
	}
	return "", fmt.Errorf("%w: %s is a member already, with another key: give another name, or none; if it is this agent's own from before, ask the operator for an invitation of that name", protocol.ErrExists, had)
}

// heldToken finds the token of a caller's certificate; an error if it is revoked.
func heldToken(tx records.Tx, caller protocol.Caller) (records.Token, error) {
	k, err := tx.Token(caller.Name)
	switch {
	case errors.Is(err, records.ErrNoRow), err == nil && k.Serial != caller.Serial:
		return k, fmt.Errorf("%w: the join token is not known here: ask for a new one", protocol.ErrDenied)
	case err != nil:
		return k, fmt.Errorf("look up join token: %w", err)
	case k.Revoked:
		return k, fmt.Errorf("%w: the join token was withdrawn: ask for a new one", protocol.ErrDenied)
	}
	return k, nil
}

func placesTaken(k records.Token) error {
	return fmt.Errorf("%w: all %d places of the join token are taken: ask the operator for another token", protocol.ErrDenied, k.Quota)
}

func tokenExpired(k records.Token) error {
	return fmt.Errorf("%w: the join token was good until %s: ask for a new one", protocol.ErrExpired, k.Expires.Format("2006-01-02 15:04 MST"))
}

// joining returns the time until which calls with a join token are admitted. It is later than the
// token's expiry by lostAnswer, so that a party whose reply was lost can ask again.
func (s *Certificates) joining(tx records.Tx, caller protocol.Caller) (until time.Time, err error) {
	k, err := heldToken(tx, caller)
	if err != nil {
		return until, err
	}
	if until = k.Expires.Add(lostAnswer); !s.now().Before(until) {
		return until, tokenExpired(k)
	}
	return until, nil
}
