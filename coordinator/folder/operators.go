package folder

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"caucus/coordinator/records"
	"caucus/protocol"
)

// NewOperator makes an operator's profile from a coordinator's folder: for a new operator, or again
// if a profile expired or was lost. Whoever holds the folder holds its authority, so this grants
// nothing new. The coordinator may be running. Earlier profiles stay valid until they expire or are
// revoked.
func NewOperator(ctx context.Context, dir, name string, now time.Time) (protocol.Identity, error) {
	fail := func(err error) (protocol.Identity, error) {
		return protocol.Identity{}, fmt.Errorf("make profile of operator %s: %w", name, err)
	}
	c, err := LoadConfig(filepath.Join(dir, ConfigFile))
	if err != nil {
		return fail(err)
	}
	ring, err := LoadKeyring(c)
	if err != nil {
		return fail(err)
	}
	address := c.Address
	if address == "" {
		address = c.Listen
	}
	caller := protocol.Caller{Name: name, Role: protocol.RoleOperator}
	profile, leaf, err := ring.Authority.IssueFirstOperator(address, caller, ring.Keys.First(), now)
	if err != nil {
		return fail(err)
	}
	profile.Successions = ring.Keys.Successions()
	stores, err := OpenStores(c)
	if err != nil {
		return fail(err)
	}
	err = stores.Store.Update(ctx, func(tx records.Tx) error {
		return addOperator(tx, name, leaf, now)
	})
	if err := errors.Join(err, stores.Close()); err != nil {
		return fail(err)
	}
	return profile, nil
}

// addOperator stores an operator's certificate, and the operator if needed.
func addOperator(tx records.Tx, name string, leaf *x509.Certificate, now time.Time) error {
	if err := EnsureMember(tx, name, protocol.RoleOperator, now); err != nil {
		return err
	}
	return tx.AddCertificate(records.Certificate{Serial: leaf.SerialNumber.Text(16), Name: name,
		Expires: leaf.NotAfter})
}

// EnsureMember makes a member, or finds the member of that name and role. It refuses a name that
// differs from a member's only in case: the two would share a file name, and look like one name to
// most people. It also refuses a name that was taken with a join token, as long as that member may
// call, because anybody with a token can choose names and may have chosen this one first. After
// that member was revoked, the name belongs to the new member and no longer to the token's.
func EnsureMember(tx records.Tx, name string, role protocol.Role, now time.Time) error {
	had, err := tx.MemberIgnoringCase(name)
	switch {
	case errors.Is(err, records.ErrNoRow):
		return tx.AddMember(name, role)
	case err != nil:
		return err
	case had != name:
		return fmt.Errorf("%w: %s is a member: %s differs from it in case only: give another name", protocol.ErrExists, had, name)
	}
	is, err := tx.Member(name)
	if err == nil && is != role {
		err = fmt.Errorf("%w: %s is a member of role %s: give another name", protocol.ErrExists, name, is)
	}
	if err != nil {
		return err
	}
	by, err := tx.TokenOfMember(name)
	if errors.Is(err, records.ErrNoRow) {
		return nil
	}
	if err != nil {
		return err
	}
	valid, err := tx.CertificatesValidAfter(name, now)
	if err != nil {
		return err
	}
	if valid > 0 {
		return fmt.Errorf("%w: %s is enrolled, by join token %s: revoke it first, or give another name", protocol.ErrExists, name, by)
	}
	return tx.Replace(name)
}
