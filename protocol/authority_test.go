package protocol

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/url"
	"time"
)

// testAuthority issues certificates as a coordinator's authority does (package server), valid for
// an hour.
type testAuthority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newTestAuthority(now time.Time) testAuthority {
	key := must(NewKey())
	template := &x509.Certificate{SerialNumber: must(rand.Int(rand.Reader, key.Params().N)),
		Subject: pkix.Name{CommonName: "authority"}, NotBefore: now.Add(-time.Hour),
		NotAfter: now.Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}
	der := must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))
	return testAuthority{must(x509.ParseCertificate(der)), key}
}

func (t testAuthority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(t.certificate)
	return pool
}

func (t testAuthority) issue(name string, role Role, public any) *x509.Certificate {
	template := &x509.Certificate{SerialNumber: must(rand.Int(rand.Reader, t.key.Params().N)),
		Subject:   pkix.Name{CommonName: name},
		URIs:      []*url.URL{{Scheme: "urn", Opaque: "caucus:" + string(role) + ":" + name}},
		NotBefore: t.certificate.NotBefore, NotAfter: t.certificate.NotAfter,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{ServerName}}
	return must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, template,
		t.certificate, public, t.key))))
}

// identity makes a caller's identity for a coordinator at an address, whose first key is signer.
func (t testAuthority) identity(coordinator, name string, role Role, signer SignerKey) Identity {
	e := must(NewEnrolment())
	request := must(ParseSigningRequest(must(e.Request())))
	return must(e.Identity(coordinator, PEMOf("CERTIFICATE", t.certificate.Raw),
		must(FollowKeys(signer, nil)), t.issue(name, role, request.PublicKey).Raw))
}

// server is a coordinator's TLS that admits every member of the authority.
func (t testAuthority) server() *tls.Config {
	key := must(NewKey())
	leaf := t.issue("coordinator", RoleCoordinator, key.Public())
	return &tls.Config{MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAndVerifyClientCert,
		ClientCAs:    t.pool(),
		Certificates: []tls.Certificate{{Certificate: [][]byte{leaf.Raw}, PrivateKey: key}}}
}
