package aggregator

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"time"

	"caucus/protocol"
)

// PinnedTLS connects two signers that know each other's public key and share no authority. It is
// TLS 1.3. Each end shows a certificate for its signing key, and admits only the holder of the
// other key. The rest of a certificate is ignored; it has no end date, and a pinned key is valid
// until it is withdrawn.
//
// A helper's certificate names the pin of its sealing key, so that a code can stand for both keys
// (KeyCodeTLS). sealing is zero for others.
//
// The same key signs documents. Those signatures are Ed25519ctx with their own context, so none is
// valid as a signature of TLS, and no signature of TLS is valid for a document.
func PinnedTLS(own *protocol.Signer, other protocol.SignerKey,
	sealing protocol.KeyPin) (*tls.Config, error) {
	if own.Key() == other {
		return nil, errors.New("both ends have one key")
	}
	return tlsBy(own, sealing, func(key protocol.SignerKey, _ string) error {
		if key != other {
			return fmt.Errorf("the other end has another key than the pinned %s: "+
				"compare both with caucus helper keys, at each server", other)
		}
		return nil
	})
}

// tlsBy is PinnedTLS with an end whose key and code pass check.
func tlsBy(
	own *protocol.Signer, sealing protocol.KeyPin,
	check func(key protocol.SignerKey, code string) error,
) (*tls.Config, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Caucus " + own.Key().String()[:16]},
		// no end date, by RFC 5280
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
	}
	if sealing != (protocol.KeyPin{}) {
		template.Subject.SerialNumber = sealing.String()
	}
	certificate, err := own.Certificate(template)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{certificate},
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

// KeyCodeTLS is PinnedTLS with an end of which only the code is known (protocol.KeyCode). It admits
// the holder of the keys with that code.
func KeyCodeTLS(own *protocol.Signer, sealing protocol.KeyPin, code string) (*tls.Config, error) {
	return tlsBy(own, sealing, func(_ protocol.SignerKey, have string) error {
		if have != code {
			return fmt.Errorf("the keys there have the code %s, not %s: have the code read again",
				have, code)
		}
		return nil
	})
}

// peerKeys returns the key that the other end shows, and the code of its keys.
func peerKeys(s tls.ConnectionState) (key protocol.SignerKey, code string, err error) {
	if len(s.PeerCertificates) == 0 {
		return key, "", errors.New("the other end has no certificate")
	}
	public, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
	if !ok {
		return key, "", errors.New("the other end has no key of Caucus")
	}
	keys := [][]byte{public}
	var sealing protocol.KeyPin
	if sealing.UnmarshalText([]byte(s.PeerCertificates[0].Subject.SerialNumber)) == nil {
		keys = append(keys, sealing[:])
	}
	return protocol.SignerKey(public), protocol.KeyCode(keys...), nil
}

// PeerKey completes a connection by KeyCodeTLS, and returns the key of the other end, which holds
// that key.
func PeerKey(ctx context.Context, c *tls.Conn) (protocol.SignerKey, error) {
	if err := c.HandshakeContext(ctx); err != nil {
		return protocol.SignerKey{}, err
	}
	key, _, err := peerKeys(c.ConnectionState())
	return key, err
}
