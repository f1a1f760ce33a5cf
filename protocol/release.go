package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"caucus/privacy"
	"caucus/study"
	"caucus/study/kinds"
)

// SignedRelease is a release with the bytes the coordinator signed. As JSON it
// is one file that can be checked offline:
//
//	{"release": …, "signature": base64, "signer": hexadecimal}
//
// Where the coordinator had changed its key, "successions" lead from its first one
// to the one that signed.
//
// The signature is over the release's compact bytes, so indenting the file
// changes nothing. A simulated release has no signature: nobody signs it.
type SignedRelease struct {
	Release   study.Release
	Document  []byte
	Signature []byte
	// Signer is the key that the file names; whose it is, the file cannot say.
	Signer SignerKey
	// Successions are how the coordinator changed its keys, each signed by the key
	// before it.
	Successions []Signed
}

type signedReleaseFile struct {
	Release     json.RawMessage `json:"release"`
	Signature   []byte          `json:"signature,omitempty"`
	Signer      *SignerKey      `json:"signer,omitempty"`
	Successions []Signed        `json:"successions,omitempty"`
}

// ErrUnsigned: a release without a signature, as simulations make.
var ErrUnsigned = errors.New("the release has no signature")

// MarshalJSON writes the file.
func (r SignedRelease) MarshalJSON() ([]byte, error) {
	f := signedReleaseFile{Release: r.Document, Signature: r.Signature, Successions: r.Successions}
	if r.Signature != nil {
		f.Signer = &r.Signer
	}
	return json.Marshal(f)
}

// ReadRelease reads the file that MarshalJSON wrote, whatever its white space.
// It checks nothing: see Check and verify.Release. Fields that a release
// does not have are refused, because nothing would look at them.
func ReadRelease(file []byte) (SignedRelease, error) {
	fail := func(err error) (SignedRelease, error) {
		return SignedRelease{}, fmt.Errorf("not a release file, as caucus study result --out writes: %w", err)
	}
	var f signedReleaseFile
	if err := study.DecodeStrictly(file, &f); err != nil {
		return fail(err)
	}
	if len(f.Release) == 0 {
		return fail(errors.New(`it has no "release"`))
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, f.Release); err != nil {
		return fail(err)
	}
	r := SignedRelease{Document: compact.Bytes(), Signature: f.Signature, Successions: f.Successions}
	if f.Signer != nil {
		r.Signer = *f.Signer
	}
	if _, err := checkForm(r.Document); err != nil {
		return SignedRelease{}, fmt.Errorf("read release: %w", err)
	}
	if err := study.DecodeStrictly(r.Document, &r.Release); err != nil {
		return fail(err)
	}
	// A name given twice, or in other letters, reads as one thing here and as
	// another elsewhere.
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

// Check says whether key signed the release: ErrUnsigned if nobody did, an error
// that wraps ErrDamaged if another key did or the bytes are others.
func (r SignedRelease) Check(key Verifier) error {
	if len(r.Signature) == 0 {
		return ErrUnsigned
	}
	return key.Verify(ReleaseDocument, r.Document, r.Signature)
}

// checkForm refuses a release of another form as study.ErrForm, with what every form says
// alike: the form, the version that made it, and the ledger's lines.
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
	of := release.Manifest
	m := study.Manifest{Form: of.Form, Software: of.Software, Ledger: of.Ledger}
	if of.Form == 0 { // of no version: what else is wrong with it says so
		return m, nil
	}
	return m, m.CheckForm()
}

// ParseRelease reads a release that the coordinator signed and whose plan is
// the one it names. It refuses a simulated one. One of another form comes with
// study.ErrForm: what it says of its ledger can be read, and no more is checked than
// its signature.
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
	if _, err := kinds.Usable(r); err != nil {
		return study.Release{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if r.Simulated {
		return study.Release{}, fmt.Errorf("%w: the release is simulated", ErrInvalid)
	}
	return r, nil
}
