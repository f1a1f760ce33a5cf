package members

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/protocol"
	"caucus/protocol/pb"
	"caucus/protocol/server"
)

// Enrol redeems an invitation, or a place of a join token. One transaction stores certificate and
// redemption before the certificate is sent. The same key gets the same certificate again.
func (s *Registrar) Enrol(ctx context.Context, r *pb.EnrolRequest) (*pb.EnrolReply, error) {
	caller, now := CallerOf(ctx), s.config.Clock.Now()
	key, err := signingKey(r.SigningRequest)
	if err != nil {
		return nil, err
	}
	if caller.Role == protocol.RoleToken {
		return s.join(ctx, caller, key, r)
	}
	var der []byte
	err = s.store.Update(ctx, func(tx records.Tx) error {
		v, err := tx.Invitation(caller.Serial)
		switch {
		case errors.Is(err, records.ErrNoRow):
			return fmt.Errorf("%w: the invitation is not known here: ask for a new one", protocol.ErrDenied)
		case err != nil:
			return err
		case v.Revoked || v.Name != caller.Name:
			return fmt.Errorf("%w: the invitation was withdrawn: ask for a new one", protocol.ErrDenied)
		case v.Certificate != nil && v.SigningKey == key:
			der = v.Certificate
			return nil
		case v.Certificate != nil:
			return fmt.Errorf("%w: the invitation was used already: if not by you, tell the operator; ask for a new one", protocol.ErrDenied)
		case !now.Before(v.Expires):
			return fmt.Errorf("%w: the invitation was good until %s: ask for a new one", protocol.ErrExpired, v.Expires.Format("2006-01-02 15:04 MST"))
		}
		c, err := s.issue(tx, protocol.Caller{Name: v.Name, Role: v.Role}, r.SigningRequest)
		if err != nil {
			return err
		}
		der = c.Raw
		if err := tx.Redeem(caller.Serial, key, der); err != nil {
			return err
		}
		s.config.Checkpoint("before enrolled")
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.config.Checkpoint("after enrolled")
	s.config.Log.Info("enrolled", "party", caller.Name)
	return &pb.EnrolReply{Certificate: der}, nil
}

// mostRenewals bounds a member's certificates per day, so that no member fills the store.
const mostRenewals = 16

// Renew gives a member a certificate with new dates.
func (s *Registrar) Renew(ctx context.Context, r *pb.EnrolRequest) (*pb.EnrolReply, error) {
	caller := CallerOf(ctx)
	if _, err := signingKey(r.SigningRequest); err != nil {
		return nil, err
	}
	var der []byte
	err := s.store.Update(ctx, func(tx records.Tx) error {
		// Check again in the transaction: a member revoked meanwhile must not come back by
		// renewing.
		if err := s.certificates.CheckInTransaction(tx, caller); err != nil {
			return err
		}
		n, err := tx.CertificatesValidAfter(caller.Name,
			s.config.Clock.Now().Add(server.MemberValidity-24*time.Hour))
		if err != nil {
			return err
		}
		if n >= mostRenewals {
			return fmt.Errorf("%w: %s has had %d certificates in a day", protocol.ErrBusy,
				caller.Name, n)
		}
		c, err := s.issue(tx, caller, r.SigningRequest)
		if err == nil {
			der = c.Raw
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	s.config.Log.Info("certificate renewed", "party", caller.Name)
	return &pb.EnrolReply{Certificate: der}, nil
}

func (s *Registrar) issue(tx records.Tx, c protocol.Caller, request []byte) (*x509.Certificate,
	error) {
	leaf, err := s.authority.IssueMember(c, request, s.config.Clock.Now())
	if err != nil {
		return nil, err
	}
	return leaf, tx.AddCertificate(records.Certificate{Serial: leaf.SerialNumber.Text(16),
		Name: c.Name, Expires: leaf.NotAfter})
}

func signingKey(request []byte) ([32]byte, error) {
	r, err := protocol.ParseSigningRequest(request)
	if err != nil {
		return [32]byte{}, err
	}
	return sha256.Sum256(r.RawSubjectPublicKeyInfo), nil
}

// Certify makes a certificate for a key that came in a carried file. The operator who calls vouches
// that the key belongs to the named party. A second call for the same key makes another
// certificate.
func (s *Registrar) Certify(ctx context.Context, r *pb.CertifyRequest) (*pb.CertifyReply, error) {
	if err := protocol.CheckName(r.Name); err != nil {
		return nil, fmt.Errorf("%w: %v", protocol.ErrInvalid, err)
	}
	if _, err := signingKey(r.SigningRequest); err != nil {
		return nil, err
	}
	var der []byte
	err := s.store.Update(ctx, func(tx records.Tx) error {
		if err := folder.EnsureMember(tx, r.Name, protocol.RoleParty,
			s.config.Clock.Now()); err != nil {
			return err
		}
		c, err := s.issue(tx, protocol.Caller{Name: r.Name, Role: protocol.RoleParty},
			r.SigningRequest)
		if err == nil {
			der = c.Raw
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	s.config.Checkpoint("after enrolled")
	s.config.Log.Info("enrolled by a carried request", "party", r.Name, "by", CallerOf(ctx).Name)
	return &pb.CertifyReply{Certificate: der, Coordinator: s.address()}, nil
}
