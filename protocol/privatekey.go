package protocol

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"fmt"
)

// ParseSigningRequest checks that a request is signed by its own key, ECDSA on P-256.
func ParseSigningRequest(der []byte) (*x509.CertificateRequest, error) {
	request, err := x509.ParseCertificateRequest(der)
	if err == nil {
		err = request.CheckSignature()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: signing request: %v", ErrInvalid, err)
	}
	if key, ok := request.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve != elliptic.P256() {
		return nil, fmt.Errorf("%w: signing request: want an ECDSA key on P-256", ErrInvalid)
	}
	return request, nil
}

// NewKey draws a private key of ECDSA on P-256.
func NewKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

// SaveKey writes a private key as PKCS #8 in PEM, with mode 0600.
func SaveKey(path string, key any) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return WriteSecret(path, []byte(PEMOf("PRIVATE KEY", der)))
}

// LoadKey reads a file that SaveKey wrote. Without the file the error wraps fs.ErrNotExist.
func LoadKey(path string) (any, error) {
	text, err := ReadSecret(path)
	if err != nil {
		return nil, err
	}
	der, err := DEROf("PRIVATE KEY", string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return x509.ParsePKCS8PrivateKey(der)
}
