package uploading

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"caucus/aggregation/shares"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/bodies"
)

// Upload is what a party sends to two servers.
type Upload struct {
	Weight          int64  // the declared number of ballots or records
	CoordinatorPart []byte // the coordinator's part
	HelperPart      []byte // the helper's part, encrypted to its key
	// Acceptance is the helper's acceptance under which the upload was made. If a restored
	// coordinator opens the study again, the study has another acceptance and another verify key.
	Acceptance study.Hash
}

const uploadVersion = 2

// Bytes returns the upload as Parse reads it.
func (u Upload) Bytes() []byte {
	out := binary.BigEndian.AppendUint64([]byte{uploadVersion}, uint64(u.Weight))
	return slices.Concat(out, u.CoordinatorPart, u.HelperPart, u.Acceptance[:])
}

// Parse reads an upload. The declared weight determines the upload's size, and the plan must allow
// the weight.
func Parse(t bodies.Task, data []byte) (Upload, error) {
	fail := func(format string, args ...any) (Upload, error) {
		return Upload{}, fmt.Errorf("%w: %s", study.ErrContribution, fmt.Sprintf(format, args...))
	}
	if len(data) < 9 || data[0] != uploadVersion {
		return fail("it is cut off, or no upload of this version")
	}
	u := Upload{Weight: int64(binary.BigEndian.Uint64(data[1:]))}
	form, err := FormOf(t, u.Weight)
	if err != nil {
		return Upload{}, err
	}
	own, sealed := form.PartSize(shares.Coordinator),
		form.PartSize(shares.Helper)+protocol.SealOverhead
	size := 9 + own + sealed + len(u.Acceptance)
	if len(data) != size {
		return fail("it has %d bytes, one of %d ballots or records has %d", len(data), u.Weight, size)
	}
	u.CoordinatorPart, u.HelperPart, u.Acceptance = bytes.Clone(data[9:9+own]),
		bytes.Clone(data[9+own:9+own+sealed]), study.Hash(data[9+own+sealed:])
	return u, nil
}

// CheckUpload refuses an upload whose size does not fit its declared weight, or that was made under
// another acceptance of the helper. A coordinator calls it for each upload on arrival. Both servers
// check the content's proof later.
//
// Why the acceptance matters: a restored coordinator may have prepared such an upload before, under
// the verify key of that other acceptance. Preparing the upload again under the present key would
// reveal its content to the helper.
func CheckUpload(t study.Task, acceptance protocol.Signed, data []byte) error {
	of, ok := bodies.Of(t)
	if !ok {
		return fmt.Errorf("%w: the plan is none for two aggregators", study.ErrContribution)
	}
	u, err := Parse(of, data)
	if err == nil && u.Acceptance != acceptance.Digest() {
		err = fmt.Errorf("%w: it was made when the helper had agreed to this study before, and may have been checked then: it takes a new plan", study.ErrContribution)
	}
	return err
}

// MaxUploadBytes bounds the bytes of an upload of any weight that the plan allows.
func MaxUploadBytes(t study.Task) (int, error) {
	of, ok := bodies.Of(t)
	if !ok {
		return 0, fmt.Errorf("the plan is none for two aggregators")
	}
	_, most := of.Statistic.Weights()
	form, err := FormOf(of, most)
	if err != nil {
		return 0, err
	}
	return 9 + form.PartSize(shares.Coordinator) + form.PartSize(shares.Helper) +
		protocol.SealOverhead + len(study.Hash{}), nil
}

// FormOf returns the form of the shares of an upload with this weight, which the plan must allow.
func FormOf(t bodies.Task, weight int64) (shares.VectorForm, error) {
	if least, most := t.Statistic.Weights(); weight < least || weight > most {
		return shares.VectorForm{}, fmt.Errorf("%w: it declares a weight of %d, the plan takes %d to %d", study.ErrContribution, weight, least, most)
	}
	q, ok := t.Statistic.(bodies.Provable)
	if !ok {
		return shares.VectorForm{}, fmt.Errorf("nothing is proved of a share of what %s sends",
			t.Plan().Mechanism)
	}
	return bodies.FormOf(q, weight, t.Plan().MostParties())
}

// PrepareRequest describes the upload to the helper, with the coordinator's preparation message.
func (u Upload) PrepareRequest(party study.PartyID, message []byte) PrepareRequest {
	return PrepareRequest{Party: party, Weight: u.Weight,
		CommonPart:        bytes.Clone(shares.CommonPart(u.CoordinatorPart)),
		CoordinatorDigest: sha256.Sum256(u.CoordinatorPart), HelperPart: u.HelperPart,
		Message: message}
}

// Binding is the associated data with which the helper's part is encrypted. It includes the digest
// of the helper's acceptance, so after a new acceptance no earlier part opens.
func (p PrepareRequest) Binding(plan study.Hash, acceptance study.Hash) protocol.ShareBinding {
	return protocol.ShareBinding{Plan: plan, Acceptance: acceptance, Party: p.Party,
		Weight: p.Weight, CommonPart: p.CommonPart, OtherDigest: p.CoordinatorDigest}
}

// Contribute makes a party's upload under the agreement that CheckAcceptance returned: the party's
// statistic in two shares, of which the helper's is encrypted to its key. The shares are random, so
// a second call makes a different upload. Store the first upload before sending any of it, and
// never send another.
func Contribute(t study.Task, party study.PartyID, in study.Inputs, under Agreement) ([]byte,
	error) {
	of, ok := bodies.Of(t)
	if !ok || !t.Plan().Noise.Shared() {
		return nil, fmt.Errorf("contribute shares: the plan is none for two aggregators")
	}
	weight, parts, err := of.Split(in, party, rand.Reader)
	if err != nil {
		return nil, err
	}
	u := Upload{Weight: weight, CoordinatorPart: parts[shares.Coordinator],
		Acceptance: under.Acceptance}
	u.HelperPart, err = protocol.SealShare(under.Sealing,
		u.PrepareRequest(party, nil).Binding(t.Hash(), u.Acceptance), parts[shares.Helper])
	return u.Bytes(), err
}

// UploadDigest returns the digest that identifies a party's upload at both servers and in the set
// that they sign.
func UploadDigest(party study.PartyID, data []byte) (study.Hash, error) {
	// the size is the same for every form
	sealed := shares.VectorForm{}.PartSize(shares.Helper) + protocol.SealOverhead
	if len(data) < 9+sealed+len(study.Hash{}) || data[0] != uploadVersion {
		return study.Hash{}, fmt.Errorf("%w: it is cut off, or no upload of this version",
			study.ErrContribution)
	}
	// without the acceptance's digest, which the helper never gets
	data = data[:len(data)-len(study.Hash{})]
	u := Upload{Weight: int64(binary.BigEndian.Uint64(data[1:])),
		CoordinatorPart: data[9 : len(data)-sealed],
		HelperPart:      data[len(data)-sealed:]}
	return u.PrepareRequest(party, nil).Digest(), nil
}

// ExactRequests returns a party's statistic without noise or shares, for the party's own preview.
func ExactRequests(t study.Task, in study.Inputs) ([]study.Request, error) {
	of, ok := bodies.Of(t)
	if !ok {
		return nil, errors.New("show contribution: the plan is none for two aggregators")
	}
	vector, weight := of.Local(in)
	return bodies.Requests(of.Statistic, vector, weight)
}

// sealSteps is the work of encrypting a share: a third of a millisecond as measured, mostly for the
// key exchange.
const sealSteps = 2e6

// ContributeSteps bounds the work of Contribute beyond study.Task.Work, in the same unit.
func ContributeSteps(t study.Task, records int) float64 {
	of, ok := bodies.Of(t)
	if !ok || !t.Plan().Noise.Shared() {
		return 0
	}
	return of.SplitSteps(records) + sealSteps
}

// Pins identify a helper to a party, by its two keys or by their code (protocol.KeyCode) alone. The
// party must not get them from the coordinator.
type Pins struct {
	Signing protocol.SignerKey
	Sealing protocol.KeyPin
	Code    string
}

// Signer returns the key by which the pinned helper signs. Where only a code is pinned, the
// helper's acceptance names both keys: whoever passes on other keys with the same code needs about
// 2^95 tries. The acceptance's signature is left to the caller.
func (p Pins) Signer(acceptance []byte) (protocol.SignerKey, error) {
	if p.Code == "" {
		return p.Signing, nil
	}
	var said protocol.Acceptance
	if err := study.DecodeStrictJSON(acceptance, &said); err != nil {
		return said.Signing, fmt.Errorf("%w: %w", protocol.ErrDamaged, err)
	}
	sealing := protocol.SealingPin(said.Sealing)
	switch code := protocol.KeyCode(said.Signing[:], sealing[:]); {
	case said.Signing == protocol.SignerKey{}:
		return said.Signing, errors.New("it names no key that signs it, so that no code tells whose it is: the helper's operator upgrades the helper, and the study takes a new plan")
	case code != p.Code:
		return said.Signing, fmt.Errorf("its helper's keys have the code %s, this site's policy has %s: compare both with the helper's operator, not with the coordinator", code, p.Code)
	}
	return said.Signing, nil
}

// Agreement is what a party needs of a checked acceptance to make its upload: Sealing is the
// helper's public key, to which its share is encrypted.
type Agreement struct {
	Sealing    []byte
	Acceptance study.Hash // digest of the helper's acceptance
}

// CheckAcceptance checks that a party may contribute: the helper that the party pinned agreed to
// this plan with exactly the noise that the party computes, and both servers committed to the
// verify key.
func CheckAcceptance(t study.Task, a protocol.Signed, pins Pins,
	coordinator protocol.Verifier) (Agreement, error) {
	said, err := CheckPins(t.Hash(), a, pins, coordinator)
	if err != nil {
		return Agreement{}, err
	}
	terms, err := study.TermsDigest(t)
	if err == nil && said.Terms != terms {
		err = errors.New("the helper's acceptance: the helper would add other noise than this site computes from the plan and its pool")
	}
	if err != nil {
		return Agreement{}, err
	}
	return Agreement{said.Sealing, a.Digest()}, nil
}

// CheckPins makes the checks of CheckAcceptance that need no pool: signatures, plan and keys, but
// not the noise.
func CheckPins(plan study.Hash, a protocol.Signed, pins Pins,
	coordinator protocol.Verifier) (said protocol.Acceptance, err error) {
	fail := func(format string, args ...any) (protocol.Acceptance, error) {
		return protocol.Acceptance{}, fmt.Errorf("the helper's acceptance: %w",
			fmt.Errorf(format, args...))
	}
	if a.Document == nil {
		return fail("there is none: the coordinator passes none on, as while the helper does not answer")
	}
	if coordinator.Verify(protocol.AcceptanceDocument, a.Document, a.Signature) == nil {
		return fail("it is signed by the coordinator itself: a coordinator that is its own helper sees everything")
	}
	signer, err := pins.Signer(a.Document)
	if err != nil {
		return fail("%w", err)
	}
	if signer.Verify(protocol.AcceptanceDocument, a.Document, a.Signature) != nil {
		return fail("it is not signed by the helper that this site's policy names: the coordinator passes on another helper's, or the policy has another signing key than the helper")
	}
	if err := protocol.ReadSigned(a, signer, protocol.AcceptanceDocument, &said); err != nil {
		return fail("%w", err)
	}
	switch {
	case said.Plan != plan:
		return fail("it is of another plan, %s", said.Plan)
	case said.Role != shares.Helper.String():
		return fail("it is a %s's", said.Role)
	case said.Step < 1:
		return fail("it was made by an earlier version, whose helper opens what was sealed under another acceptance: its operator upgrades the helper, and the study takes a new plan")
	case said.Coordinator == nil || *said.Coordinator == study.Hash{} ||
		said.Commitment == study.Hash{}:
		return fail("the servers have not committed to a verify key")
	case pins.Code == "" && protocol.SealingPin(said.Sealing) != pins.Sealing:
		return fail("it names another sealing key than this site's policy: get the helper's new one from its operator, not from the coordinator")
	}
	return said, nil
}
