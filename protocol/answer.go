package protocol

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdsa"
	"crypto/hpke"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"caucus/study"
)

// CarriedAnswer is a file with the content that a party would otherwise send to a study over the
// network.
//
// Proof note. Claim: the carrier of an answer learns who answers which study, when, and a size that
// follows from the plan. The carrier can use the file only as this answer.
//   - Confidentiality: the content (a body, or a refusal) is encrypted by HPKE (RFC 9180) to a key
//     that the coordinator made for this study and named in a signed notice. The key combines
//     X25519 and ML-KEM-768, because a carrier may keep a copy until one of them is broken. The
//     length of a contribution, signature included, does not depend on the values in the records or
//     on the noise (study/conformance TestOneLength).
//   - Binding: the plan's hash is HPKE's info and the party's name its associated data. A
//     ciphertext opens for that plan and party only, so nobody can submit another party's votes,
//     even unread, as its own.
//   - Signature: the party's key, whose certificate is in the file, signs plan, party, recipient
//     key and ciphertext. The same key signs TLS handshakes and certificate requests; neither
//     begins with the prefix signed here.
//   - Receipt: it contains the SHA-256 of the body, from which a body of few votes can be guessed,
//     so it is encrypted too. Both ends derive its key from the same HPKE context (RFC 9180, 9.8);
//     each encryption has a fresh nonce.
//   - Deletion: the recipient's key is deleted with the study's bodies, on release or failure.
//     After that, nobody who takes the coordinator's files can decrypt a copied answer.
type CarriedAnswer struct {
	Plan   study.Hash
	Party  Caller
	sealTo keyDigest
	sealed []byte
}

const (
	answerContext  = "caucus answer 1"
	receiptContext = "caucus receipt key 1"
	receiptKeySize = 32
)

// SealKeyDigest identifies the public key in a notice.
func SealKeyDigest(public []byte) []byte { d := sha256.Sum256(public); return d[:] }

type answered struct {
	// Body is the contribution; nil for a refusal.
	Body []byte
	// Shown is the newest document that the coordinator signed and the party has.
	Shown ShownHead
}

func (a answered) encode() ([]byte, error) {
	shown, err := json.Marshal(a.Shown)
	if err != nil {
		return nil, err
	}
	all := []part{{"shown", shown}}
	if a.Body != nil {
		all = append(all, part{"body", a.Body})
	}
	return sealedAnswer.encode(all), nil
}

func decodeAnswered(plain []byte) (a answered, err error) {
	r := sealedAnswer.decode(plain)
	shown := r.take("shown", 2*MaxShownBytes)
	if body, found := r.maybe("body", maxAnswer); found {
		a.Body = append([]byte{}, body...)
	}
	if err := r.end(); err != nil {
		return a, err
	}
	if err := study.DecodeStrictJSON(shown, &a.Shown); err != nil {
		return a, fmt.Errorf("read %s: %w: %v", sealedAnswer, ErrDamaged, err)
	}
	return a, nil
}

func sealInfo(plan study.Hash) []byte { return append([]byte(answerContext+"\x00"), plan[:]...) }

func (a answered) seal(public []byte, plan study.Hash, party string) (sealed, receiptKey []byte,
	err error) {
	kem, kdf, aead := SealSuite()
	to, err := kem.NewPublicKey(public)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: the key for answers: %v", ErrDamaged, err)
	}
	plain, err := a.encode()
	if err != nil {
		return nil, nil, err
	}
	encapsulated, s, err := hpke.NewSender(to, kdf, aead, sealInfo(plan))
	if err != nil {
		return nil, nil, err
	}
	ciphertext, err := s.Seal([]byte(party), plain)
	if err != nil {
		return nil, nil, err
	}
	receiptKey, err = s.Export(receiptContext, receiptKeySize)
	return append(encapsulated, ciphertext...), receiptKey, err
}

// encapsulation is the bytes of the encapsulated key (X25519's and ML-KEM-768's) before the
// ciphertext.
const encapsulation = 32 + 1088

// OpenedAnswer is what a carried answer had encrypted. Body is empty if the party declines.
// ReceiptKey, 32 bytes, encrypts the receipt on its way back. ShownHead proves how far the
// coordinator's ledger had come.
type OpenedAnswer struct {
	Body       []byte
	ShownHead  ShownHead
	ReceiptKey []byte
}

// SealedTo reports whether the answer names this public key. Only Open proves that it was encrypted
// to that key.
func (c CarriedAnswer) SealedTo(public []byte) bool {
	return bytes.Equal(c.sealTo, SealKeyDigest(public))
}

// Open decrypts an answer with its study's private key.
func (c CarriedAnswer) Open(private []byte) (OpenedAnswer, error) {
	fail := func(err error) (OpenedAnswer, error) {
		return OpenedAnswer{}, fmt.Errorf("open answer: %w: it was not sealed by %s for this study, or was changed: %v", ErrDamaged, c.Party.Name, err)
	}
	kem, kdf, aead := SealSuite()
	k, err := kem.NewPrivateKey(private)
	if err != nil {
		return OpenedAnswer{}, fmt.Errorf("read key for answers: %w", err)
	}
	if len(c.sealed) < encapsulation {
		return fail(errors.New("it is too short"))
	}
	r, err := hpke.NewRecipient(c.sealed[:encapsulation], k, kdf, aead, sealInfo(c.Plan))
	if err != nil {
		return fail(err)
	}
	plain, err := r.Open([]byte(c.Party.Name), c.sealed[encapsulation:])
	if err != nil {
		return fail(err)
	}
	inner, err := decodeAnswered(plain)
	if err != nil {
		return fail(err)
	}
	o := OpenedAnswer{Body: inner.Body, ShownHead: inner.Shown}
	o.ReceiptKey, err = r.Export(receiptContext, receiptKeySize)
	return o, err
}

func receiptAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func receiptData(plan study.Hash, party study.PartyID) []byte {
	return slices.Concat([]byte(receiptContext+"\x00"), plan[:], []byte(party))
}

// Seal encrypts the receipt under the key that was derived with the party's answer.
func (r Receipt) Seal(key []byte) ([]byte, error) {
	aead, err := receiptAEAD(key)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, aead.NonceSize())
	rand.Read(nonce)
	plain := sealedReceipt.encode(signedParts("receipt",
		[]Signed{{Document: r.Document, Signature: r.Signature}}))
	return aead.Seal(nonce, nonce, plain, receiptData(r.Plan, r.Party)), nil
}

// openReceipt decrypts the output of Receipt.Seal with one of these keys. It does not check the
// signature.
func openReceipt(sealed []byte, keys [][]byte, plan study.Hash,
	party study.PartyID) (Signed, error) {
	fail := func(err error) (Signed, error) {
		return Signed{}, fmt.Errorf("%w: the receipt is not for an answer that this site wrote: %v", ErrDamaged, err)
	}
	var plain []byte
	err := errors.New("there is no key for it")
	for i := len(keys) - 1; i >= 0 && err != nil; i-- {
		var aead cipher.AEAD
		if aead, err = receiptAEAD(keys[i]); err != nil {
			continue
		}
		if len(sealed) < aead.NonceSize() {
			return fail(errors.New("it is too short"))
		}
		plain, err = aead.Open(nil, sealed[:aead.NonceSize()], sealed[aead.NonceSize():],
			receiptData(plan, party))
	}
	if err != nil {
		return fail(err)
	}
	r := sealedReceipt.decode(plain)
	found := r.documents("receipt", 1)
	if err := r.end(); err != nil || len(found) != 1 {
		return fail(errors.Join(err, errors.New("there is none in it")))
	}
	return found[0], nil
}

type answerStatement struct {
	Plan    study.Hash    `json:"plan"`
	Party   study.PartyID `json:"party"`
	SealKey keyDigest     `json:"seal_key"` // SHA-256 of the recipient's key
	Sealed  keyDigest     `json:"sealed"`   // SHA-256 of the ciphertext
}

func answerDigest(statement []byte) []byte {
	d := sha256.Sum256(append([]byte(answerContext+"\x00"), statement...))
	return d[:]
}

func writeAnswer(id Identity, plan study.Hash, sealKey, sealed []byte) ([]byte, error) {
	leaf, err := id.leaf()
	if err != nil {
		return nil, err
	}
	caller, err := CallerOfCertificate(leaf)
	if err != nil {
		return nil, err
	}
	der, err := DEROf("PRIVATE KEY", id.Key)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, err
	}
	signer, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New("the identity's key is of another kind")
	}
	digest := sha256.Sum256(sealed)
	statement, err := json.Marshal(answerStatement{plan, study.PartyID(caller.Name),
		SealKeyDigest(sealKey), digest[:]})
	if err != nil {
		return nil, err
	}
	x, y, err := ecdsa.Sign(rand.Reader, signer, answerDigest(statement))
	if err != nil {
		return nil, err
	}
	signature := slices.Concat(x.FillBytes(make([]byte, signatureHalf)),
		y.FillBytes(make([]byte, signatureHalf)))
	return AnswerFile.encode([]part{{"statement", statement}, {"certificate", leaf.Raw},
		{"signature", signature}, {"sealed", sealed}}), nil
}

const signatureHalf = 32

// ReadAnswer reads an answer signed by a member of one of these authorities, at a time. It does not
// check for revocation.
func ReadAnswer(file []byte, authorities *x509.CertPool, now time.Time) (CarriedAnswer, error) {
	fail := func(format string, args ...any) (CarriedAnswer, error) {
		return CarriedAnswer{}, fmt.Errorf("read %s: %w: %s", AnswerFile, ErrDamaged,
			fmt.Sprintf(format, args...))
	}
	r := AnswerFile.decode(file)
	text := r.take("statement", maxCarriedDocument)
	der := r.take("certificate", maxCarriedDocument)
	signature := r.take("signature", maxCarriedDocument)
	sealed := r.take("sealed", maxAnswer)
	if err := r.end(); err != nil {
		return CarriedAnswer{}, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return fail("its certificate: %v", err)
	}
	verify := x509.VerifyOptions{Roots: authorities, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	chains, err := leaf.Verify(verify)
	if now.After(leaf.NotAfter) {
		// check again as of the expiry, to tell an expired certificate of this authority from one
		// of another authority
		verify.CurrentTime = leaf.NotAfter
		if old, bad := leaf.Verify(verify); bad != nil {
			err = bad
		} else if who, bad := CallerOfChains(old); bad != nil {
			err = bad
		} else {
			return CarriedAnswer{}, fmt.Errorf("read %s: %w: the certificate of %s was good until %s: enrol again (caucus agent enrol --request) and write the answer anew: it stays the same", AnswerFile, ErrExpired, who.Name, leaf.NotAfter.Format(time.DateOnly))
		}
	}
	if err != nil {
		return CarriedAnswer{}, fmt.Errorf("read %s: %w: its certificate is not of this coordinator: %v", AnswerFile, ErrDenied, err)
	}
	caller, err := CallerOfChains(chains)
	if err != nil {
		return CarriedAnswer{}, err
	}
	public, ok := leaf.PublicKey.(*ecdsa.PublicKey)
	if !ok || len(signature) != 2*signatureHalf ||
		!ecdsa.Verify(public, answerDigest(text), new(big.Int).SetBytes(signature[:signatureHalf]),
			new(big.Int).SetBytes(signature[signatureHalf:])) {
		return fail("it is not signed by %s, or was changed", caller.Name)
	}
	var s answerStatement
	if err := study.DecodeStrictJSON(text, &s); err != nil {
		return fail("its statement: %v", err)
	}
	if again, err := json.Marshal(s); err != nil || !bytes.Equal(again, text) {
		return fail("its statement is not written in the canonical way")
	}
	switch digest := sha256.Sum256(sealed); {
	case caller.Role != RoleParty || string(s.Party) != caller.Name:
		return CarriedAnswer{}, fmt.Errorf("read %s: %w: it says that it is of party %q, and is signed by %s %s", AnswerFile, ErrDenied, s.Party, caller.Role, caller.Name)
	case !bytes.Equal(s.Sealed, digest[:]):
		return fail("what it holds is not what %s signed", caller.Name)
	}
	return CarriedAnswer{Plan: s.Plan, Party: caller, sealTo: s.SealKey, sealed: sealed}, nil
}
