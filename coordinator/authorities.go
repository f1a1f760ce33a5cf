package coordinator

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"caucus/protocol"
	"caucus/protocol/pb"
)

// ForeignAuthority is another authority, a hospital's own say. Whoever holds a join token
// that names it joins by a certificate of it. It certifies nobody for connections here,
// and nobody joins by it alone: an operator says by a token whom of all that it certifies.
type ForeignAuthority struct {
	// Certificates is a PEM file of the authority's own certificates.
	Certificates string `yaml:"certificates"`
	// Revoked are files of lists of revoked certificates (CRL, PEM or DER), of each
	// authority that issues for who joins, and of their root where it may revoke those.
	// They are read anew whenever somebody joins or
	// renews, and every ten minutes: keep them fresh. One that is over, or that its disk
	// does not give within ten seconds, lets nobody join or renew; others do not wait for it.
	// Left out, nobody is asked.
	Revoked []string `yaml:"revoked"`
	// Name is where a certificate says who its holder is: dns, its only DNS name (left
	// out), or common-name.
	Name string `yaml:"name"`
}

// Where a certificate names its holder.
const (
	nameDNS    = "dns"
	nameCommon = "common-name"
)

// mostAllowed bounds the names of one token; they travel in one message.
const mostAllowed = 4000

// errListed: a certificate is on its issuer's list of revoked ones.
var errListed = fmt.Errorf("%w: the authority has revoked the certificate", protocol.ErrDenied)

// standing says whether a certificate is good now by its dates and by what its issuer
// revoked; where lists are configured, one of that issuer must be there and not be over.
func (f authorityFiles) standing(leaf, issuer *x509.Certificate, now time.Time) error {
	if err := f.configured(); err != nil {
		return err
	}
	if !now.Before(leaf.NotAfter) || now.Before(leaf.NotBefore) {
		return fmt.Errorf("%w: the certificate of %s is good from %s to %s: join again with another", protocol.ErrExpired, f.name, leaf.NotBefore.Format(time.DateOnly), leaf.NotAfter.Format(time.DateOnly))
	}
	if len(f.Revoked) == 0 {
		return nil
	}
	if f.noLists != nil { // the operator's files: who calls is told no more, and tries again
		return fmt.Errorf("%w: what %s has revoked cannot be read now: %w", protocol.ErrUnavailable, f.name, f.noLists)
	}
	if err := f.certified(); err != nil {
		return err
	}
	fresh := false
	for _, l := range f.lists {
		for _, root := range f.roots { // whose own lists may name who issued it
			if revokes(l, issuer) && issuer.CheckSignatureFrom(root) == nil && l.CheckSignatureFrom(root) == nil {
				return fmt.Errorf("%w of who issued it", errListed)
			}
		}
		if l.CheckSignatureFrom(issuer) != nil {
			continue
		}
		if revokes(l, leaf) {
			return errListed // also by a list that is over: nothing is taken back
		}
		fresh = fresh || !l.NextUpdate.IsZero() && now.Before(l.NextUpdate)
	}
	if !fresh {
		return fmt.Errorf("%w: the coordinator has no list of what %q revoked that is not over: ask the operator to fetch it", protocol.ErrUnavailable, issuer.Subject.CommonName)
	}
	return nil
}

// revokes says whether a list has a certificate's serial.
func revokes(l *x509.RevocationList, c *x509.Certificate) bool {
	return slices.ContainsFunc(l.RevokedCertificateEntries, func(e x509.RevocationListEntry) bool { return e.SerialNumber.Cmp(c.SerialNumber) == 0 })
}

func certificatePool(all []*x509.Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, c := range all {
		pool.AddCert(c)
	}
	return pool
}

// admit says as whom the holder of a certificate may join by a token, and who issued it.
func (f authorityFiles) admit(k token, leaf *x509.Certificate, between []*x509.Certificate, now time.Time) (name string, issuer *x509.Certificate, err error) {
	if err := errors.Join(f.configured(), f.certified()); err != nil {
		return "", nil, err
	}
	top, under := certificatePool(f.roots), certificatePool(between)
	// It must be meant to identify who calls: a certificate for a web server is not.
	chains, err := leaf.Verify(x509.VerifyOptions{Roots: top, Intermediates: under, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil {
		return "", nil, fmt.Errorf("%w: %s did not certify it, or not for clients, or not for today: %v", protocol.ErrDenied, k.Authority, err)
	}
	if leaf.IsCA || len(chains[0]) < 2 {
		return "", nil, fmt.Errorf("%w: it is an authority's own certificate", protocol.ErrDenied)
	}
	issuer = chains[0][1]
	if err := f.standing(leaf, issuer, now); err != nil {
		return "", nil, err
	}
	if f.Name == nameCommon {
		name = leaf.Subject.CommonName
	} else if len(leaf.DNSNames) == 1 {
		name = leaf.DNSNames[0]
	} else {
		return "", nil, fmt.Errorf("%w: it has %d DNS names, and a party has one", protocol.ErrDenied, len(leaf.DNSNames))
	}
	if err := protocol.CheckName(name); err != nil {
		return "", nil, fmt.Errorf("%w: it is for %q, which is no name of a party: %v", protocol.ErrDenied, name, err)
	}
	if !strings.HasPrefix(name, k.Prefix) || len(k.Allow) > 0 && !slices.Contains(k.Allow, name) {
		return "", nil, fmt.Errorf("%w: %s is not among those for whom the join token is: ask the operator", protocol.ErrDenied, name)
	}
	return name, issuer, nil
}

// vouched is by what a member joined.
type vouched struct {
	Name, Authority     string
	Certificate, Issuer []byte // DER
}

// certificates reads both.
func (v vouched) certificates() (leaf, issuer *x509.Certificate, err error) {
	if leaf, err = x509.ParseCertificate(v.Certificate); err == nil {
		issuer, err = x509.ParseCertificate(v.Issuer)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read by what %s joined: %w", v.Name, err)
	}
	return leaf, issuer, nil
}

// joinVouched takes a place of a token that wants a certificate of another authority, or
// gives a member that came by the same authority and name a new certificate in place of
// all that it had: so that one holder at a time is the party. The authority's files were read
// before the transaction (consultJoin).
func (s *Server) joinVouched(tx Tx, k token, files authorityFiles, r *pb.EnrolRequest, key [32]byte) (name string, der []byte, renewed bool, err error) {
	fail := func(err error) (string, []byte, bool, error) { return "", nil, false, err }
	now := s.config.Clock.Now()
	if !now.Before(k.Expires) {
		return fail(tokenExpired(k))
	}
	leaf, between, err := protocol.Vouched(r, k.ID, s.keys.First())
	if err != nil {
		return fail(err)
	}
	if err := files.of(k.Authority); err != nil {
		return fail(err)
	}
	name, issuer, err := files.admit(k, leaf, between, now)
	if err != nil {
		return fail(err)
	}
	if r.Name != "" && r.Name != name {
		return fail(fmt.Errorf("%w: the certificate is for %s: ask for no other name", protocol.ErrDenied, name))
	}
	had, err := tx.Vouched(name)
	renewed = err == nil && had.Authority == k.Authority
	switch {
	case err != nil && !errors.Is(err, errNone):
		return fail(err)
	case renewed:
		before, err := tx.Came(name)
		if err != nil {
			return fail(err)
		}
		if before.SigningKey == key { // by another token: its answer was lost
			return name, before.Certificate, false, again(tx, name, before.Certificate, "")
		}
		if err := mayReturn(tx, had, leaf); err != nil {
			return fail(err)
		}
	case k.Used >= k.Quota:
		return fail(placesTaken(k))
	default:
		if name, err = nameFor(tx, k, name); err != nil {
			return fail(err)
		}
		if err := errors.Join(tx.AddMember(name, protocol.RoleParty), tx.SetLabels(name, k.Labels)); err != nil {
			return fail(err)
		}
	}
	c, err := s.issueUntil(tx, protocol.Caller{Name: name, Role: protocol.RoleParty}, r.SigningRequest, leaf.NotAfter)
	if err == nil && renewed {
		err = tx.Rejoin(name, key, c.Raw)
	} else if err == nil {
		err = tx.Join(k.ID, key, name, c.Raw)
	}
	if err == nil {
		err = tx.SetVouched(vouched{name, k.Authority, leaf.Raw, issuer.Raw})
	}
	if err != nil {
		return fail(err)
	}
	return name, c.Raw, renewed, nil
}

// mayReturn ends all certificates of a member that joins again, by a newer certificate of
// its authority: one that joined already, or an older one that somebody kept, takes
// nobody's place, and who was revoked comes back by an invitation alone.
func mayReturn(tx Tx, had vouched, leaf *x509.Certificate) error {
	before, _, err := had.certificates()
	if err != nil {
		return err
	}
	if !leaf.NotBefore.After(before.NotBefore) {
		return fmt.Errorf("%w: %s has joined by a certificate of %s that is as new or newer: have another issued, or ask the operator for an invitation of that name", protocol.ErrExists, had.Name, had.Authority)
	}
	valid, err := tx.Outlasting(had.Name, time.Time{})
	if err == nil && valid == 0 {
		err = fmt.Errorf("%w: %s was revoked: ask the operator for an invitation of that name", protocol.ErrDenied, had.Name)
	}
	if err != nil {
		return err
	}
	return tx.Revoke(had.Name)
}

// renewable says until when a member may have a certificate: no longer than that by which
// it joined, where it joined by one. The authority's files were read before the transaction
// (consultRenewal).
func (s *Server) renewable(tx Tx, files authorityFiles, caller protocol.Caller) (until time.Time, err error) {
	now := s.config.Clock.Now()
	until = now.Add(protocol.MemberValidity)
	v, err := tx.Vouched(caller.Name)
	if errors.Is(err, errNone) {
		return until, nil
	}
	if err != nil {
		return until, err
	}
	leaf, issuer, err := v.certificates()
	if err != nil {
		return until, err
	}
	if err := files.of(v.Authority); err != nil {
		return until, err
	}
	if err := files.standing(leaf, issuer, now); err != nil {
		return until, err
	}
	if leaf.NotAfter.Before(until) {
		until = leaf.NotAfter
	}
	has, err := tx.Certificate(caller.Serial)
	if err == nil && !until.After(has.Expires.Add(time.Hour)) {
		err = fmt.Errorf("%w: %s joined by a certificate of %s that ends on %s: join again with a newer one", protocol.ErrDenied, caller.Name, v.Authority, leaf.NotAfter.Format(time.DateOnly))
	}
	return until, err
}

// sweepEvery is how often lists of revoked certificates are held against members.
const sweepEvery = 10 * time.Minute

// sweep revokes, again and again, members whose certificate their authority revoked.
func (s *Server) sweep(ctx context.Context) {
	if len(s.config.Authorities) == 0 {
		return
	}
	for {
		if err := s.sweepOnce(ctx); err != nil && ctx.Err() == nil {
			s.config.Log.Warn("what other authorities revoked could not be held against members; it will be tried again", "error", err)
		}
		if !s.config.Clock.Sleep(ctx, sweepEvery) {
			return
		}
	}
}

func (s *Server) sweepOnce(ctx context.Context) error {
	var all []vouched
	if err := s.store.View(ctx, func(tx Tx) (err error) { all, err = tx.AllVouched(); return err }); err != nil {
		return err
	}
	var trouble error
	var listed []vouched
	said := map[string]authorityFiles{}
	for _, v := range all {
		files, read := said[v.Authority]
		if !read {
			files = s.foreign.consultLists(ctx, v.Authority)
			said[v.Authority] = files
		}
		leaf, issuer, err := v.certificates()
		if err == nil {
			err = files.standing(leaf, issuer, s.config.Clock.Now())
		}
		switch {
		case errors.Is(err, errListed):
			listed = append(listed, v)
		case errors.Is(err, protocol.ErrUnavailable) && trouble == nil: // one is said for all
			trouble = err
		}
	}
	var gone []string
	var revision int64
	err := s.store.Update(ctx, func(tx Tx) error {
		gone = nil
		for _, v := range listed {
			now, err := tx.Vouched(v.Name)
			if errors.Is(err, errNone) { // it was invited meanwhile
				continue
			}
			if err != nil {
				return err
			}
			valid, err := tx.Outlasting(v.Name, time.Time{})
			if err != nil {
				return err
			}
			if valid == 0 || string(now.Certificate) != string(v.Certificate) { // it is out already, or joined anew
				continue
			}
			if err := tx.Revoke(v.Name); err != nil {
				return err
			}
			gone = append(gone, v.Name)
		}
		var err error
		revision, err = tx.Revision()
		return err
	})
	if err != nil {
		s.certificates.refresh(context.WithoutCancel(ctx))
		return errors.Join(trouble, err)
	}
	if len(gone) > 0 {
		s.ended(ctx, revision, gone...)
		s.config.Log.Info("revoked, as the authority revoked by what they joined", "parties", gone)
	}
	return trouble
}
