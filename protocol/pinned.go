package protocol

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// PinnedTLS connects two signers that know each other's public key and share no authority. It is TLS 1.3. Each
// end shows a certificate for its signing key, and admits only the holder of the other key. The rest of a
// certificate is ignored; it has no end date, and a pinned key is valid until it is withdrawn.
//
// The same key signs documents. Those signatures are Ed25519ctx with their own context, so none is valid as a
// signature of TLS, and no signature of TLS is valid for a document.
func PinnedTLS(own *Signer, other SignerKey) (*tls.Config, error) {
	if own.Key() == other {
		return nil, errors.New("both ends have one key")
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Caucus " + own.Key().String()[:16]},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // no end date, by RFC 5280
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, own.key.Public(), own.key)
	if err != nil {
		return nil, fmt.Errorf("make certificate of a signing key: %w", err)
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: own.key}},
		ClientAuth:   tls.RequireAnyClientCert,
		// No authority signed the other certificate. Instead, VerifyConnection compares its key with
		// the pinned key, at both ends of every connection.
		InsecureSkipVerify:     true,
		SessionTicketsDisabled: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 {
				return errors.New("the other end has no certificate")
			}
			key, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
			if !ok || !key.Equal(ed25519.PublicKey(other[:])) {
				return fmt.Errorf("the other end has another key than the pinned %s: compare both with caucus helper keys, at each server", other)
			}
			return nil
		},
	}, nil
}
