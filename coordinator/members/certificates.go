package members

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"time"

	"caucus/coordinator/records"
	"caucus/protocol"
	"caucus/protocol/server"
)

// Certificates decides which certificates are valid. Every revocation raises the store's revision
// number in its own transaction, and the cache holds the certificates of one revision. So a cached
// certificate is valid as long as the revision is unchanged, and a transaction that reads the
// revision needs no other look-up.
type Certificates struct {
	store records.Store
	now   func() time.Time

	mu       sync.Mutex // guards revision and known
	revision int64
	known    map[string]records.Certificate
}

// mostKnown bounds the certificates in memory, about 200 bytes each. A further one clears the
// cache.
const mostKnown = 1 << 17

// NewCertificates starts with an empty cache. now is the clock against which certificates expire.
func NewCertificates(store records.Store, now func() time.Time) *Certificates {
	return &Certificates{store: store, now: now, known: map[string]records.Certificate{}}
}

// Validity returns the time until which a caller's certificate or invitation is valid, and the
// revision. Errors that wrap ErrDenied or ErrExpired are final; other errors are problems of this
// machine.
func (s *Certificates) Validity(ctx context.Context, caller protocol.Caller) (until time.Time,
	revision int64, err error) {
	s.mu.Lock()
	c, ok := s.known[caller.Serial]
	revision = s.revision
	s.mu.Unlock()
	if ok {
		return c.Expires, revision, holds(c, caller, s.now())
	}
	// whoever has the authority's key makes its own certificate (server.TLS)
	if caller.Role == protocol.RoleReplica {
		return s.now().Add(server.MemberValidity), revision, nil
	}
	err = s.store.View(ctx, func(tx records.Tx) (err error) {
		if revision, err = tx.Revision(); err != nil {
			return err
		}
		switch caller.Role {
		case protocol.RoleInvitation:
			until, err = s.invited(tx, caller)
			return err
		case protocol.RoleToken:
			until, err = s.joining(tx, caller)
			return err
		}
		c, err = lookUp(tx, caller, s.now())
		until = c.Expires
		return err
	})
	if err == nil && !enrols(caller.Role) {
		s.remember(c, revision)
	}
	return until, revision, err
}

// enrols reports whether callers of this role may only enrol, and are not members yet.
func enrols(r protocol.Role) bool { return r == protocol.RoleInvitation || r == protocol.RoleToken }

// remember caches a certificate with its revision, unless the cache has a newer revision.
func (s *Certificates) remember(c records.Certificate, revision int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seenLocked(revision)
	if revision == s.revision {
		if len(s.known) >= mostKnown {
			clear(s.known)
		}
		s.known[c.Serial] = c
	}
}

func (s *Certificates) seen(revision int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seenLocked(revision)
}

func (s *Certificates) seenLocked(revision int64) {
	if revision > s.revision {
		s.revision = revision
		clear(s.known)
	}
}

// refresh reads the revision again after a revocation that failed, because it may still have been
// committed.
func (s *Certificates) refresh(ctx context.Context) {
	var revision int64
	err := s.store.View(ctx, func(tx records.Tx) (err error) {
		revision, err = tx.Revision()
		return err
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		clear(s.known)
		return
	}
	s.seenLocked(revision)
}

func (s *Certificates) at() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

// CheckInTransaction checks a caller in a transaction, so that a revocation cannot come between the
// check and the transaction's writes. It does not change the cache, because the transaction could
// fail.
func (s *Certificates) CheckInTransaction(tx records.Tx, caller protocol.Caller) error {
	revision, err := tx.Revision()
	if err != nil {
		return err
	}
	s.mu.Lock()
	c, ok := s.known[caller.Serial]
	ok = ok && revision == s.revision
	s.mu.Unlock()
	if ok {
		return holds(c, caller, s.now())
	}
	_, err = lookUp(tx, caller, s.now())
	return err
}

func lookUp(tx records.Tx, caller protocol.Caller, now time.Time) (records.Certificate, error) {
	c, err := tx.Certificate(caller.Serial)
	if errors.Is(err, records.ErrNoRow) {
		return c, fmt.Errorf("%w: %s is not known here: ask the operator for an invitation", protocol.ErrDenied, caller.Name)
	}
	if err != nil {
		return c, fmt.Errorf("look up certificate: %w", err)
	}
	return c, holds(c, caller, now)
}

func holds(c records.Certificate, caller protocol.Caller, now time.Time) error {
	switch {
	case c.Revoked:
		return revoked(caller.Name)
	case c.Name != caller.Name || c.Role != caller.Role:
		return fmt.Errorf("%w: the certificate of %s is registered for another", protocol.ErrDenied, caller.Name)
	case !now.Before(c.Expires):
		return expired(caller)
	}
	return nil
}

func expired(caller protocol.Caller) error {
	return fmt.Errorf("%w: the certificate of %s: enrol again with a new invitation", protocol.ErrExpired, caller.Name)
}

func revoked(name string) error {
	return fmt.Errorf("%w: the certificate of %s was revoked: ask the operator", protocol.ErrDenied, name)
}

// lostAnswer is the time in which a redeemed invitation still gives its certificate, in case the
// reply was lost.
const lostAnswer = 24 * time.Hour

// invited checks an invitation, and returns the time when it ends.
func (s *Certificates) invited(tx records.Tx, caller protocol.Caller) (until time.Time, err error) {
	v, err := tx.Invitation(caller.Serial)
	switch {
	case errors.Is(err, records.ErrNoRow):
		return until, fmt.Errorf("%w: the invitation is not known here: ask for a new one", protocol.ErrDenied)
	case err != nil:
		return until, fmt.Errorf("look up invitation: %w", err)
	case v.Revoked || v.Name != caller.Name:
		return until, fmt.Errorf("%w: the invitation was withdrawn: ask for a new one", protocol.ErrDenied)
	}
	until = v.Expires
	if v.Certificate != nil {
		c, err := x509.ParseCertificate(v.Certificate)
		if err != nil {
			return until, fmt.Errorf("read what an invitation got: %w", err)
		}
		if until = server.TimeOfIssue(c).Add(lostAnswer); !s.now().Before(until) {
			return until, fmt.Errorf("%w: the invitation was used already: if not by you, tell the operator; ask for a new one", protocol.ErrDenied)
		}
	}
	if !s.now().Before(until) {
		return until, fmt.Errorf("%w: the invitation was good until %s: ask for a new one", protocol.ErrExpired, until.Format("2006-01-02 15:04 MST"))
	}
	return until, nil
}
