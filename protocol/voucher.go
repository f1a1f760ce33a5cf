package protocol

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"

	"caucus/protocol/pb"
)

// Another authority's certificate, a hospital's own say, opens no connection here: the
// coordinator admits callers by certificates of its own authority alone. It is shown once,
// within a call by a join token, by a signature of its key over what is asked for.

// Voucher is a certificate of another authority, with its key, by which its holder joins.
type Voucher struct{ pair tls.Certificate }

// LoadVoucher reads PEM: a certificate, then those between it and its authority, and the
// key, which is not encrypted.
func LoadVoucher(certificate, key string) (*Voucher, error) {
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("read certificate %s and its key %s: %w", certificate, key, err)
	}
	return &Voucher{pair}, nil
}

// most of a chain that is looked at.
const (
	mostChain       = 6
	mostCertificate = 16 << 10 // bytes
)

// joinStatement is what the key signs: nothing that it signs elsewhere begins so.
func joinStatement(token string, coordinator SignerKey, request []byte) []byte {
	d := sha256.Sum256(request)
	return fmt.Appendf(nil, "caucus join 1\n%s\n%x\n%x\n", token, coordinator[:], d)
}

// signature is how a key of some type signs and is checked.
func signature(public crypto.PublicKey) (x509.SignatureAlgorithm, crypto.SignerOpts, error) {
	switch public.(type) {
	case *ecdsa.PublicKey:
		return x509.ECDSAWithSHA256, crypto.SHA256, nil
	case *rsa.PublicKey:
		return x509.SHA256WithRSAPSS, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: crypto.SHA256}, nil
	case ed25519.PublicKey:
		return x509.PureEd25519, crypto.Hash(0), nil
	}
	return 0, nil, fmt.Errorf("%w: a key of type %T: want RSA, ECDSA or Ed25519", ErrInvalid, public)
}

func (v *Voucher) prove(r *pb.EnrolRequest, token string, coordinator SignerKey) error {
	key, ok := v.pair.PrivateKey.(crypto.Signer)
	if !ok {
		return fmt.Errorf("%w: the certificate's key cannot sign", ErrInvalid)
	}
	_, options, err := signature(key.Public())
	if err != nil {
		return err
	}
	statement := joinStatement(token, coordinator, r.SigningRequest)
	if options.HashFunc() != 0 {
		d := sha256.Sum256(statement)
		statement = d[:]
	}
	r.Chain = v.pair.Certificate
	if r.Proof, err = key.Sign(rand.Reader, statement, options); err != nil {
		return fmt.Errorf("sign with the certificate's key: %w", err)
	}
	return nil
}

// JoinVouched redeems one place of a join token that wants a certificate of another
// authority: the party is named as that names it. Once the certificate here is about to
// end it may be done again, with a newer one of that authority.
func JoinVouched(ctx context.Context, v Invitation, e Enrolment, by *Voucher, o DialOptions) (Identity, error) {
	if v.Role != RoleToken || v.Authority == "" {
		return Identity{}, fmt.Errorf("join: %w: this token wants no certificate of another authority: leave --certificate and --key away", ErrInvalid)
	}
	return join(ctx, v, e, func(r *pb.EnrolRequest) error { return by.prove(r, v.Name, v.Signer) }, o)
}

// Vouched reads who asks to join by a certificate of another authority: the certificate,
// and those that are said to lead to its authority. That its key signed for this request
// was checked; that any of them is to be believed was not.
func Vouched(r *pb.EnrolRequest, token string, coordinator SignerKey) (leaf *x509.Certificate, between []*x509.Certificate, err error) {
	fail := func(err error) (*x509.Certificate, []*x509.Certificate, error) {
		return nil, nil, fmt.Errorf("%w: the certificate to join by: %v", ErrInvalid, err)
	}
	if len(r.Chain) < 1 || len(r.Chain) > mostChain || slices.ContainsFunc(r.Chain, func(c []byte) bool { return len(c) > mostCertificate }) {
		return fail(fmt.Errorf("give it and at most %d others, of at most %d bytes each", mostChain-1, mostCertificate))
	}
	var all []*x509.Certificate
	for _, der := range r.Chain {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return fail(err)
		}
		all = append(all, c)
	}
	leaf = all[0]
	algorithm, _, err := signature(leaf.PublicKey)
	if err != nil {
		return fail(err)
	}
	if err := leaf.CheckSignature(algorithm, joinStatement(token, coordinator, r.SigningRequest), r.Proof); err != nil {
		return nil, nil, fmt.Errorf("%w: its key did not sign for this request: %v", ErrDenied, err)
	}
	return leaf, all[1:], nil
}
