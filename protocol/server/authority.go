package server

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"time"

	"caucus/protocol"
)

// Authority is the certificate authority of a coordinator and its members. No other program trusts
// it.
type Authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	former      []FormerAuthority // predecessors, oldest first
}

// FormerAuthority is an authority that handed over to the next authority.
type FormerAuthority struct {
	// Certificate is the former authority's certificate. Bridge is a certificate of the next
	// authority's key, signed by the former one. Both are DER. By the bridges, whoever trusts a
	// former authority recognises the coordinator of the newest one.
	Certificate []byte `json:"certificate"`
	Bridge      []byte `json:"bridge"`
	// At is the time of the handover. Certificates that were issued before stay valid until they
	// expire.
	At time.Time `json:"at"`
}

// Lifetimes of certificates. clockSlack bounds how far a holder's clock may be behind.
const (
	authorityYears = 20
	clockSlack     = 48 * time.Hour
	// MemberValidity is a member certificate's lifetime. It is renewed well before its end.
	MemberValidity = 366 * 24 * time.Hour
	serverValidity = 60 * 24 * time.Hour
	// invitationCertificate is the time that an invitation's certificate stays valid after the
	// invitation expires. During that time the coordinator can tell the holder why it refuses.
	invitationCertificate = 90 * 24 * time.Hour
)

// NewAuthority makes an ECDSA key on P-256 and a self-signed certificate, valid from 48 hours
// before now to 20 years after. Nothing is saved.
func NewAuthority(now time.Time) (*Authority, error) {
	key, err := protocol.NewKey()
	if err != nil {
		return nil, fmt.Errorf("make authority: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, fmt.Errorf("make authority: %w", err)
	}
	template := authorityTemplate(serial, now)
	// Each authority has its own name. If several had the same name, crypto/x509 would try every
	// bridge for each of them, and give up after 100 tries.
	template.Subject.CommonName += " " + serial.Text(16)
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make authority: %w", err)
	}
	c, err := x509.ParseCertificate(der)
	return &Authority{certificate: c, key: key}, err
}

func authorityTemplate(serial *big.Int, now time.Time) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "Caucus authority"},
		NotBefore: now.Add(-clockSlack), NotAfter: now.AddDate(authorityYears, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
}

// NewSuccessor makes a new authority with a bridge: a certificate of its key by the former one, so
// that clients which trust only the former one accept the coordinator. a stays as it is.
func (a *Authority) NewSuccessor(now time.Time) (*Authority, error) {
	fail := func(err error) (*Authority, error) {
		return nil, fmt.Errorf("hand over authority: %w", err)
	}
	next, err := NewAuthority(now)
	if err != nil {
		return fail(err)
	}
	serial, err := newSerial()
	if err != nil {
		return fail(err)
	}
	template := authorityTemplate(serial, now)
	template.Subject = next.certificate.Subject
	bridge, err := x509.CreateCertificate(rand.Reader, template, a.certificate, next.key.Public(),
		a.key)
	if err != nil {
		return fail(err)
	}
	next.former = append(slices.Clone(a.former),
		FormerAuthority{a.certificate.Raw, bridge, now.UTC()})
	return next, nil
}

// Former lists all predecessors, oldest first, also those whose members' certificates have expired.
func (a *Authority) Former() []FormerAuthority { return a.former }

// WithPredecessors returns a copy of the authority with these predecessors, oldest first.
func (a *Authority) WithPredecessors(former []FormerAuthority) *Authority {
	return &Authority{certificate: a.certificate, key: a.key, former: former}
}

// Expires returns the end of the authority's own certificate. Hand over before, or no client can
// connect.
func (a *Authority) Expires() time.Time { return a.certificate.NotAfter }

// DER returns the authority's certificate, which members store to recognise the coordinator. The
// private key is not in it.
func (a *Authority) DER() []byte { return a.certificate.Raw }

// members are the authorities whose members are admitted: this authority, and each former one until
// its last certificate has expired.
func (a *Authority) members(now time.Time) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	for _, f := range a.former {
		if now.After(f.At.Add(MemberValidity + clockSlack)) {
			continue
		}
		c, err := x509.ParseCertificate(f.Certificate)
		if err != nil {
			return nil, fmt.Errorf("former authority: %w", err)
		}
		pool.AddCert(c)
	}
	return pool, nil
}

// ReadAnswer is protocol.ReadAnswer for the members of this authority, and of former ones until
// their last certificate has expired.
func (a *Authority) ReadAnswer(file []byte, now time.Time) (protocol.CarriedAnswer, error) {
	pool, err := a.members(now)
	if err != nil {
		return protocol.CarriedAnswer{}, err
	}
	return protocol.ReadAnswer(file, pool, now)
}

// LoadAuthority reads the files that Save wrote.
func LoadAuthority(certificatePath, keyPath string) (*Authority, error) {
	fail := func(err error) (*Authority, error) {
		return nil, fmt.Errorf("read authority: %w", err)
	}
	text, err := protocol.ReadSecret(certificatePath)
	if err != nil {
		return fail(err)
	}
	der, err := protocol.DEROf("CERTIFICATE", string(text))
	if err != nil {
		return fail(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return fail(err)
	}
	key, err := protocol.LoadKey(keyPath)
	if err != nil {
		return fail(err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return fail(fmt.Errorf("%s holds a key that cannot sign", keyPath))
	}
	if public, ok := signer.Public().(*ecdsa.PublicKey); !ok || !public.Equal(c.PublicKey) {
		return fail(fmt.Errorf("%s is not the key of %s", keyPath, certificatePath))
	}
	return &Authority{certificate: c, key: signer}, nil
}

// Save writes certificate and key, each with mode 0600.
func (a *Authority) Save(certificatePath, keyPath string) error {
	if err := protocol.SaveKey(keyPath, a.key); err != nil {
		return fmt.Errorf("save authority: %w", err)
	}
	if err := protocol.WriteSecret(certificatePath, []byte(a.PEM())); err != nil {
		return fmt.Errorf("save authority: %w", err)
	}
	return nil
}

// PEM returns the authority's certificate as text, for invitations and profiles, without key or
// bridges.
func (a *Authority) PEM() string { return protocol.PEMOf("CERTIFICATE", a.certificate.Raw) }

// IssueMember certifies the public key of a signing request, and ignores the rest of the request.
func (a *Authority) IssueMember(c protocol.Caller, signingRequest []byte,
	now time.Time) (*x509.Certificate, error) {
	request, err := protocol.ParseSigningRequest(signingRequest)
	if err != nil {
		return nil, err
	}
	return a.issue(c.Name, c.Role, request.PublicKey, now, MemberValidity,
		x509.ExtKeyUsageClientAuth)
}

// ServerCertificate makes a fresh key and certificate for the coordinator.
func (a *Authority) ServerCertificate(now time.Time) (tls.Certificate, error) {
	key, err := protocol.NewKey()
	if err != nil {
		return tls.Certificate{}, err
	}
	c, err := a.issue("coordinator", protocol.RoleCoordinator, key.Public(), now, serverValidity,
		x509.ExtKeyUsageServerAuth)
	if err != nil {
		return tls.Certificate{}, err
	}
	chain := [][]byte{c.Raw}
	for i := len(a.former) - 1; i >= 0; i-- {
		chain = append(chain, a.former[i].Bridge)
	}
	return tls.Certificate{Certificate: chain, PrivateKey: key, Leaf: c}, nil
}

// TimeOfIssue undoes the slack by which certificates are dated back, and so gives the coordinator's
// time at issue.
func TimeOfIssue(c *x509.Certificate) time.Time { return c.NotBefore.Add(clockSlack) }

func (a *Authority) issue(name string, role protocol.Role, public any, now time.Time,
	valid time.Duration, usage x509.ExtKeyUsage) (*x509.Certificate, error) {
	fail := func(err error) (*x509.Certificate, error) {
		return nil, fmt.Errorf("issue certificate for %s: %w", name, err)
	}
	if err := protocol.CheckName(name); err != nil {
		return fail(err)
	}
	serial, err := newSerial()
	if err != nil {
		return fail(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		URIs:      []*url.URL{{Scheme: "urn", Opaque: "caucus:" + string(role) + ":" + name}},
		NotBefore: now.Add(-clockSlack), NotAfter: now.Add(valid),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{usage},
	}
	if role == protocol.RoleCoordinator {
		template.DNSNames = []string{protocol.ServerName}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, public, a.key)
	if err != nil {
		return fail(err)
	}
	return x509.ParseCertificate(der)
}

// newSerial draws 127 random bits, so that serials do not collide.
func newSerial() (*big.Int, error) {
	return rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
}
