package coordinator

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

// NewOperator makes a profile for an operator out of a coordinator's folder: a
// further one, or a new one for an operator whose profile has expired or is
// lost. Whoever holds the folder holds its authority, so this grants nothing
// new. The coordinator may be running. Profiles made before stay valid until
// they expire or are revoked.
func NewOperator(ctx context.Context, dir, name string, now time.Time) (protocol.Identity, error) {
	fail := func(err error) (protocol.Identity, error) {
		return protocol.Identity{}, fmt.Errorf("make profile of operator %s: %w", name, err)
	}
	c, err := LoadConfig(filepath.Join(dir, ConfigFile))
	if err != nil {
		return fail(err)
	}
	ring, err := loadKeyring(c)
	if err != nil {
		return fail(err)
	}
	address := c.Address
	if address == "" {
		address = c.Listen
	}
	caller := protocol.Caller{Name: name, Role: protocol.RoleOperator}
	profile, leaf, err := ring.authority.IssueOwn(address, caller, ring.keys.First(), now)
	if err != nil {
		return fail(err)
	}
	profile.Successions = ring.keys.Successions()
	store, err := records.Open(c.path(storeFile))
	if err != nil {
		return fail(err)
	}
	err = store.Update(ctx, func(tx records.Tx) error { return addOperator(tx, name, leaf, now) })
	if err := errors.Join(err, store.Close()); err != nil {
		return fail(err)
	}
	return profile, nil
}

// addOperator stores an operator's certificate, and the operator if need be.
func addOperator(tx records.Tx, name string, leaf *x509.Certificate, now time.Time) error {
	if err := ensureMember(tx, name, protocol.RoleOperator, now); err != nil {
		return err
	}
	return tx.AddCertificate(records.Certificate{Serial: leaf.SerialNumber.Text(16), Name: name, Expires: leaf.NotAfter})
}
