package server

import (
	"crypto/x509"
	"fmt"
	"time"

	"caucus/protocol"
)

// Invite completes an invitation with a certificate. It also returns the certificate's serial, by
// which the store finds the invitation.
func (a *Authority) Invite(v protocol.Invitation, now time.Time) (protocol.Invitation, string,
	error) {
	fail := func(err error) (protocol.Invitation, string, error) {
		return protocol.Invitation{}, "", fmt.Errorf("make invitation: %w", err)
	}
	key, err := protocol.NewKey()
	if err != nil {
		return fail(err)
	}
	role := protocol.RoleInvitation
	if v.Role == protocol.RoleToken {
		role = protocol.RoleToken
	}
	c, err := a.issue(v.Name, role, key.Public(), now, v.Expires.Sub(now)+invitationCertificate,
		x509.ExtKeyUsageClientAuth)
	if err != nil {
		return fail(err)
	}
	if v.Key, err = x509.MarshalPKCS8PrivateKey(key); err != nil {
		return fail(err)
	}
	v.CA, v.Certificate = a.certificate.Raw, c.Raw
	return v, c.SerialNumber.Text(16), nil
}

// IssueFirstOperator makes an identity without an invitation, for the first operator.
func (a *Authority) IssueFirstOperator(coordinator string, caller protocol.Caller,
	signer protocol.SignerKey,
	now time.Time) (protocol.Identity, *x509.Certificate, error) {
	e, err := protocol.NewEnrolment()
	if err != nil {
		return protocol.Identity{}, nil, err
	}
	request, err := e.Request()
	if err != nil {
		return protocol.Identity{}, nil, err
	}
	c, err := a.IssueMember(caller, request, now)
	if err != nil {
		return protocol.Identity{}, nil, err
	}
	keys, err := protocol.FollowKeys(signer, nil)
	if err != nil {
		return protocol.Identity{}, nil, err
	}
	id, err := e.Identity(coordinator, a.PEM(), keys, c.Raw)
	return id, c, err
}
