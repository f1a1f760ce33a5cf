package protocol

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"

	"caucus/study"
)

// Enrolment by carried files: the party's key stays on the machine that made it, and the files
// contain no secret. Each side reads a fingerprint to the other over a channel that both trust,
// such as a telephone, so a carrier can replace neither key.

// RequestFile makes the party's file for its coordinator, and the fingerprint of the party's key.
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

// ReadRequest reads the signing request in a file and the fingerprint of its key.
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

type trust struct {
	Coordinator string    `json:"coordinator"`
	Signer      SignerKey `json:"signer"`
	Successions []Signed  `json:"successions"`
}

func coordinatorFingerprint(signer SignerKey, authority []byte) Fingerprint {
	return fingerprint("caucus coordinator", signer[:], authority)
}

// EnrolmentFile makes the file that brings a party its certificate, DER, the coordinator's
// addresses and the keys to trust. coordinator is the fingerprint that the party must compare.
func (c *Client) EnrolmentFile(addresses string, certificate []byte) (file []byte,
	coordinator Fingerprint, err error) {
	keys := c.Keys()
	authority := keys.Authority()
	if authority == nil {
		if authority, err = DEROf("CERTIFICATE", c.ca); err != nil {
			return nil, "", fmt.Errorf("make %s: %w", EnrolmentFile, err)
		}
	}
	told, err := json.Marshal(trust{addresses, keys.First(), keys.Successions()})
	if err != nil {
		return nil, "", fmt.Errorf("make %s: %w", EnrolmentFile, err)
	}
	file = EnrolmentFile.encode([]part{{"trust", told}, {"authority", authority},
		{"certificate", certificate}})
	return file, coordinatorFingerprint(keys.First(), authority), nil
}

// AcceptFile makes the identity from an enrolment file for this key. typed is the fingerprint as
// the coordinator's operator read it out.
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
	if err := study.DecodeStrictJSON(told, &t); err != nil {
		return fail(fmt.Errorf("%w: %v", ErrDamaged, err))
	}
	if again, err := json.Marshal(t); err != nil || !bytes.Equal(again, told) {
		return fail(fmt.Errorf("%w: it is not written in the canonical way", ErrDamaged))
	}
	if err := CheckAddresses(t.Coordinator); err != nil {
		return fail(fmt.Errorf("%w: %v", ErrDamaged, err))
	}
	keys, err := FollowKeys(t.Signer, t.Successions)
	if err != nil {
		return fail(err)
	}
	if newest := keys.Authority(); newest != nil && !bytes.Equal(newest, authority) {
		return fail(fmt.Errorf("%w: its authority is not the one that its keys name", ErrDamaged))
	}
	if !coordinatorFingerprint(t.Signer, authority).Matches(typed) {
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
	id, err := e.Identity(t.Coordinator, PEMOf("CERTIFICATE", authority), keys, certificate)
	if err != nil {
		return fail(errors.Join(err, errors.New("it answers another request than the one that was written here last: have the last one certified")))
	}
	return id, nil
}
