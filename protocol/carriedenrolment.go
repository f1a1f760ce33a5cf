package protocol

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"

	"caucus/protocol/pb"
	"caucus/study"
)

// Enrolment by carried files: the party's key stays where it was made, and nothing that
// is carried is a secret. Each side reads the other a fingerprint by a way they trust, a
// telephone say: so the carrier can neither put its own key in the party's place nor
// itself in the coordinator's.

// RequestFile is what a party hands to its coordinator, and the fingerprint of its key.
func (e Enrolment) RequestFile() ([]byte, Fingerprint, error) {
	der, err := e.Request()
	if err != nil {
		return nil, "", fmt.Errorf("make %s: %w", RequestFile, err)
	}
	request, err := ParseSigningRequest(der)
	if err != nil {
		return nil, "", fmt.Errorf("make %s: %w", RequestFile, err)
	}
	return RequestFile.encode([]part{{"request", der}}), keyFingerprint(request), nil
}

func keyFingerprint(r *x509.CertificateRequest) Fingerprint {
	return fingerprint("caucus party key", r.RawSubjectPublicKeyInfo)
}

// ReadRequest reads what RequestFile wrote: the signing request, and the fingerprint of
// the key that it is for.
func ReadRequest(file []byte) (der []byte, key Fingerprint, err error) {
	r := RequestFile.decode(file)
	der = r.take("request", maxCarriedDocument)
	if err := r.end(); err != nil {
		return nil, "", err
	}
	request, err := ParseSigningRequest(der)
	if err != nil {
		return nil, "", err
	}
	return der, keyFingerprint(request), nil
}

// trust is what a party is told of its coordinator.
type trust struct {
	Coordinator string    `json:"coordinator"`
	Signer      SignerKey `json:"signer"`
	Successions []Signed  `json:"successions"`
}

// coordinatorFingerprint is of whom a party would trust.
func coordinatorFingerprint(signer SignerKey, authority []byte) Fingerprint {
	return fingerprint("caucus coordinator", signer[:], authority)
}

// Certify has the coordinator certify a key that a request carried, and makes the file
// for the party. The fingerprint is the coordinator's, for the party to compare.
func (c *Client) Certify(ctx context.Context, name string, request []byte) (file []byte, coordinator Fingerprint, err error) {
	fail := func(err error) ([]byte, Fingerprint, error) {
		return nil, "", fmt.Errorf("certify %s: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	reply, err := c.admin.Certify(ctx, &pb.CertifyRequest{Name: name, SigningRequest: request})
	if err != nil {
		return fail(FromStatus(err))
	}
	keys := c.Keys()
	authority := keys.Authority()
	if authority == nil {
		if authority, err = derOf("CERTIFICATE", c.ca); err != nil {
			return fail(err)
		}
	}
	told, err := json.Marshal(trust{reply.Coordinator, keys.First(), keys.Successions()})
	if err != nil {
		return fail(err)
	}
	file = EnrolmentFile.encode([]part{{"trust", told}, {"authority", authority}, {"certificate", reply.Certificate}})
	return file, coordinatorFingerprint(keys.First(), authority), nil
}

// AcceptFile makes the identity of an enrolment file that answers this key's request. The
// fingerprint is what the coordinator's operator read to whoever typed it.
func (e Enrolment) AcceptFile(file []byte, typed string) (Identity, error) {
	fail := func(err error) (Identity, error) {
		return Identity{}, fmt.Errorf("accept %s: %w", EnrolmentFile, err)
	}
	r := EnrolmentFile.decode(file)
	told := r.take("trust", maxCarried)
	authority := r.take("authority", maxCarriedDocument)
	certificate := r.take("certificate", maxCarriedDocument)
	if err := r.end(); err != nil {
		return Identity{}, err
	}
	var t trust
	if err := study.DecodeStrictly(told, &t); err != nil {
		return fail(fmt.Errorf("%w: %v", ErrDamaged, err))
	}
	if again, err := json.Marshal(t); err != nil || !bytes.Equal(again, told) {
		return fail(fmt.Errorf("%w: it is not written in the canonical way", ErrDamaged))
	}
	if err := CheckAddress(t.Coordinator); err != nil {
		return fail(fmt.Errorf("%w: %v", ErrDamaged, err))
	}
	keys, err := FollowKeys(t.Signer, t.Successions)
	if err != nil {
		return fail(err)
	}
	if newest := keys.Authority(); newest != nil && !bytes.Equal(newest, authority) {
		return fail(fmt.Errorf("%w: its authority is not the one that its keys name", ErrDamaged))
	}
	if !coordinatorFingerprint(t.Signer, authority).Is(typed) {
		return fail(fmt.Errorf("%w: its coordinator is another one than the one whose fingerprint you gave: ask the operator to read it to you again; if it stays another one, somebody changed the file", ErrDenied))
	}
	root, err := x509.ParseCertificate(authority)
	if err != nil {
		return fail(fmt.Errorf("%w: its authority: %v", ErrDamaged, err))
	}
	leaf, err := x509.ParseCertificate(certificate)
	if err == nil {
		err = leaf.CheckSignatureFrom(root)
	}
	if err != nil {
		return fail(fmt.Errorf("%w: its certificate: %v", ErrDamaged, err))
	}
	id, err := e.identity(t.Coordinator, pemOf("CERTIFICATE", authority), keys, certificate)
	if err != nil {
		return fail(errors.Join(err, errors.New("it answers another request than the one that was written here last: have the last one certified")))
	}
	return id, nil
}
