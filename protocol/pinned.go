package protocol

import (
	"context"
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

// PinnedTLS connects two signers that know each other's public key and share no authority. It is
// TLS 1.3. Each end shows a certificate for its signing key, and admits only the holder of the
// other key. The rest of a certificate is ignored; it has no end date, and a pinned key is valid
// until it is withdrawn.
//
// A helper's certificate names the pin of its sealing key, so that a code can stand for both keys
// (CodedTLS). sealing is zero for others.
//
// The same key signs documents. Those signatures are Ed25519ctx with their own context, so none is
// valid as a signature of TLS, and no signature of TLS is valid for a document.
func PinnedTLS(own *Signer, other SignerKey, sealing KeyPin) (*tls.Config, error) {
	if own.Key() == other {
		return nil, errors.New("both ends have one key")
	}
	return tlsBy(own, sealing, func(key SignerKey, _ string) error {
		if key != other {
			return fmt.Errorf("the other end has another key than the pinned %s: "+
				"compare both with caucus helper keys, at each server", other)
		}
		return nil
	})
}

// tlsBy is PinnedTLS with an end whose key and code pass check.
func tlsBy(
	own *Signer, sealing KeyPin, check func(key SignerKey, code string) error,
) (*tls.Config, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Caucus " + own.Key().String()[:16]},
		// no end date, by RFC 5280
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
	}
	if sealing != (KeyPin{}) {
		template.Subject.SerialNumber = sealing.String()
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, own.key.Public(), own.key)
	if err != nil {
		return nil, fmt.Errorf("make certificate of a signing key: %w", err)
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: own.key}},
		ClientAuth:   tls.RequireAnyClientCert,
		// No authority signed the other certificate. Instead, VerifyConnection checks its key, at
		// both ends of every connection.
		InsecureSkipVerify:     true,
		SessionTicketsDisabled: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			key, code, err := peerKeys(s)
			if err != nil {
				return err
			}
			return check(key, code)
		},
	}, nil
}

// CodedTLS is PinnedTLS with an end of which only the code is known (KeyCode). It admits the holder
// of the keys with that code.
func CodedTLS(own *Signer, sealing KeyPin, code string) (*tls.Config, error) {
	return tlsBy(own, sealing, func(_ SignerKey, have string) error {
		if have != code {
			return fmt.Errorf("the keys there have the code %s, not %s: have the code read again",
				have, code)
		}
		return nil
	})
}

// peerKeys returns the key that the other end shows, and the code of its keys.
func peerKeys(s tls.ConnectionState) (key SignerKey, code string, err error) {
	if len(s.PeerCertificates) == 0 {
		return key, "", errors.New("the other end has no certificate")
	}
	public, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
	if !ok {
		return key, "", errors.New("the other end has no key of Caucus")
	}
	keys := [][]byte{public}
	var sealing KeyPin
	if sealing.UnmarshalText([]byte(s.PeerCertificates[0].Subject.SerialNumber)) == nil {
		keys = append(keys, sealing[:])
	}
	return SignerKey(public), KeyCode(keys...), nil
}

// PeerKey completes a connection by CodedTLS, and returns the key of the other end, which holds
// that key.
func PeerKey(ctx context.Context, c *tls.Conn) (SignerKey, error) {
	if err := c.HandshakeContext(ctx); err != nil {
		return SignerKey{}, err
	}
	key, _, err := peerKeys(c.ConnectionState())
	return key, err
}
