package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"caucus/privacy"
	"caucus/study"
	"caucus/study/kinds"
)

// SignedRelease is a release with its signed bytes. As JSON it is one file that can be checked
// offline:
//
//	{"release": …, "signature": base64, "signer": hexadecimal}
//
// After a change of keys, "successions" lead from the coordinator's first key to the signing key.
// The signature is over the release's compact bytes, so indentation does not matter. A simulated
// release has no signature.
type SignedRelease struct {
	Release   study.Release
	Document  []byte
	Signature []byte
	// Signer is the key that the file names. The file cannot prove whose key it is.
	Signer      SignerKey
	Successions []Signed
}

// File returns the release's file, with everything that "caucus release verify" needs except the
// pool.
func (s SignedRelease) File() ([]byte, error) {
	b, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return nil, fmt.Errorf("write release: %w", err)
	}
	return append(b, '\n'), nil
}

type signedReleaseFile struct {
	Release     json.RawMessage `json:"release"`
	Signature   []byte          `json:"signature,omitempty"`
	Signer      *SignerKey      `json:"signer,omitempty"`
	Successions []Signed        `json:"successions,omitempty"`
}

// ErrUnsigned says that the release has no signature, like one from a simulation.
var ErrUnsigned = errors.New("the release has no signature")

// MarshalJSON writes the release's file, with Document as it was signed. Without a signature it
// names no signer.
func (s SignedRelease) MarshalJSON() ([]byte, error) {
	f := signedReleaseFile{Release: s.Document, Signature: s.Signature, Successions: s.Successions}
	if s.Signature != nil {
		f.Signer = &s.Signer
	}
	return json.Marshal(f)
}

// ReadRelease reads a release file, with any white space. It refuses fields that a release does not
// have, because nothing would check them. It checks no signature (Check and verify.Release do).
func ReadRelease(file []byte) (SignedRelease, error) {
	fail := func(err error) (SignedRelease, error) {
		return SignedRelease{}, fmt.Errorf("not a release file, as caucus study result --out writes: %w", err)
	}
	var f signedReleaseFile
	err := study.DecodeStrictJSON(file, &f)
	switch {
	case errors.Is(err, io.EOF):
		err = errors.New("it is empty: fetch it again")
	case !bytes.HasPrefix(bytes.TrimSpace(file), []byte("{")):
		err = errors.New("it is something else")
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("it ends in the middle: fetch it again")
	}
	if err != nil {
		return fail(err)
	}
	if len(f.Release) == 0 {
		return fail(errors.New(`it has no "release"`))
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, f.Release); err != nil {
		return fail(err)
	}
	r := SignedRelease{Document: compact.Bytes(), Signature: f.Signature,
		Successions: f.Successions}
	if f.Signer != nil {
		r.Signer = *f.Signer
	}
	if _, err := checkForm(r.Document); err != nil {
		return SignedRelease{}, fmt.Errorf("read release: %w", err)
	}
	if err := study.DecodeStrictJSON(r.Document, &r.Release); err != nil {
		return fail(err)
	}
	// Refuse repeated names and names in another case, because other programs would read them
	// differently.
	var whole bytes.Buffer
	if err := json.Compact(&whole, file); err != nil {
		return fail(err)
	}
	document, err := json.Marshal(r.Release)
	if err != nil {
		return fail(err)
	}
	canonical, err := json.Marshal(r)
	if err != nil {
		return fail(err)
	}
	if !bytes.Equal(document, r.Document) || !bytes.Equal(canonical, whole.Bytes()) {
		return fail(errors.New("it is not written in the canonical way: it has fields twice, in another order or in other letters"))
	}
	return r, nil
}

// Check checks that key signed the release. Without a signature it returns ErrUnsigned; for another
// key or other bytes the error wraps ErrDamaged.
func (s SignedRelease) Check(key Verifier) error {
	if len(s.Signature) == 0 {
		return ErrUnsigned
	}
	return key.Verify(ReleaseDocument, s.Document, s.Signature)
}

// checkForm returns study.ErrForm for a release of another form, which is the version of its
// format. It returns the manifest's fields that all forms share: form, software version, and the
// ledger's lines.
func checkForm(document []byte) (study.Manifest, error) {
	var release struct {
		Manifest struct {
			Form     int            `json:"form"`
			Software string         `json:"software"`
			Ledger   []privacy.Line `json:"ledger"`
		} `json:"manifest"`
	}
	if err := json.Unmarshal(document, &release); err != nil {
		return study.Manifest{}, fmt.Errorf("%w: release: %v", ErrDamaged, err)
	}
	manifest := release.Manifest
	m := study.Manifest{Form: manifest.Form, Software: manifest.Software, Ledger: manifest.Ledger}
	if manifest.Form == 0 { // there is no form number; the decoder will report the fault
		return m, nil
	}
	return m, m.CheckForm()
}

// ParseRelease reads a release that the coordinator signed and that fits its plan. It refuses a
// simulated release. For a release of another form it checks only the signature, and returns
// study.ErrForm together with the ledger's lines.
func ParseRelease(document, signature []byte, key Verifier) (study.Release, error) {
	if err := key.Verify(ReleaseDocument, document, signature); err != nil {
		return study.Release{}, err
	}
	if manifest, err := checkForm(document); err != nil {
		return study.Release{Manifest: manifest}, err
	}
	var r study.Release
	d := json.NewDecoder(bytes.NewReader(document))
	if err := d.Decode(&r); err != nil {
		return study.Release{}, fmt.Errorf("%w: release: %v", ErrDamaged, err)
	}
	if _, err := kinds.ClaimedPlan(r); err != nil {
		return study.Release{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if r.Simulated {
		return study.Release{}, fmt.Errorf("%w: the release is simulated", ErrInvalid)
	}
	return r, nil
}
