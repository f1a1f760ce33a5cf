package aggregator

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

type upload struct {
	weight int64
	part   []byte
	sealed []byte
	// acceptance is the helper's acceptance under which the upload was made. If a restored
	// coordinator opens the study again, the study has another acceptance and another verify key.
	acceptance Digest
}

const uploadVersion = 2

func (u upload) bytes() []byte {
	out := binary.BigEndian.AppendUint64([]byte{uploadVersion}, uint64(u.weight))
	return slices.Concat(out, u.part, u.sealed, u.acceptance[:])
}

// parseUpload reads an upload. The declared weight determines the upload's size, and the plan must allow the weight.
func parseUpload(t bodies.Task, data []byte) (upload, error) {
	fail := func(format string, args ...any) (upload, error) {
		return upload{}, fmt.Errorf("%w: %s", study.ErrContribution, fmt.Sprintf(format, args...))
	}
	if len(data) < 9 || data[0] != uploadVersion {
		return fail("it is cut off, or no upload of this version")
	}
	u := upload{weight: int64(binary.BigEndian.Uint64(data[1:]))}
	form, err := formOf(t, u.weight)
	if err != nil {
		return upload{}, err
	}
	own, sealed := form.PartSize(shares.Coordinator), form.PartSize(shares.Helper)+protocol.SealOverhead
	size := 9 + own + sealed + len(u.acceptance)
	if len(data) != size {
		return fail("it has %d bytes, one of %d ballots or records has %d", len(data), u.weight, size)
	}
	u.part, u.sealed, u.acceptance = bytes.Clone(data[9:9+own]), bytes.Clone(data[9+own:9+own+sealed]), Digest(data[9+own+sealed:])
	return u, nil
}

// CheckUpload refuses an upload whose size does not fit its declared weight, or that was made under another
// acceptance of the helper. A coordinator calls it for each upload on arrival. Both servers check the content's proof later.
//
// Why the acceptance matters: a restored coordinator may have prepared such an upload before, under the verify key
// of that other acceptance. Preparing the upload again under the present key would reveal its content to the helper.
func CheckUpload(t study.Task, acceptance Signed, data []byte) error {
	of, ok := bodies.Of(t)
	if !ok {
		return fmt.Errorf("%w: the plan is none for two aggregators", study.ErrContribution)
	}
	u, err := parseUpload(of, data)
	if err == nil && u.acceptance != acceptance.Digest() {
		err = fmt.Errorf("%w: it was made when the helper had agreed to this study before, and may have been checked then: it takes a new plan", study.ErrContribution)
	}
	return err
}

func MaxUpload(t study.Task) (int, error) {
	of, ok := bodies.Of(t)
	if !ok {
		return 0, fmt.Errorf("the plan is none for two aggregators")
	}
	_, most := of.Statistic.Weights()
	form, err := formOf(of, most)
	if err != nil {
		return 0, err
	}
	return 9 + form.PartSize(shares.Coordinator) + form.PartSize(shares.Helper) + protocol.SealOverhead + len(Digest{}), nil
}

func formOf(t bodies.Task, weight int64) (shares.Form, error) {
	if least, most := t.Statistic.Weights(); weight < least || weight > most {
		return shares.Form{}, fmt.Errorf("%w: it declares a weight of %d, the plan takes %d to %d", study.ErrContribution, weight, least, most)
	}
	q, ok := t.Statistic.(bodies.Provable)
	if !ok {
		return shares.Form{}, fmt.Errorf("nothing is proved of a share of what %s sends", t.Plan().Mechanism)
	}
	return bodies.FormOf(q, weight, t.Plan().MostParties())
}

func (u upload) offer(party study.PartyID, message []byte) PrepareRequest {
	return PrepareRequest{Party: party, Weight: u.weight, Head: bytes.Clone(shares.Head(u.part)), Other: sha256.Sum256(u.part), Sealed: u.sealed, Message: message}
}

// binding is the associated data with which the helper's part is encrypted. It includes the digest of
// the helper's acceptance, so after a new acceptance no earlier part opens.
func (o PrepareRequest) binding(plan study.Hash, acceptance Digest) protocol.ShareBinding {
	return protocol.ShareBinding{Plan: plan, Acceptance: acceptance, Party: o.Party, Weight: o.Weight, Head: o.Head, Other: o.Other}
}

// Contribute makes a party's upload under the agreement that CheckAcceptance returned: the party's statistic in
// two shares, of which the helper's is encrypted to its key. The shares are random, so a second call makes a
// different upload. Store the first upload before sending any of it, and never send another.
func Contribute(t study.Task, party study.PartyID, in study.Inputs, under Agreement) ([]byte, error) {
	of, ok := bodies.Of(t)
	if !ok || !t.Plan().Noise.Shared() {
		return nil, fmt.Errorf("contribute shares: the plan is none for two aggregators")
	}
	weight, parts, err := of.Split(in, party, rand.Reader)
	if err != nil {
		return nil, err
	}
	u := upload{weight: weight, part: parts[shares.Coordinator], acceptance: under.Acceptance}
	u.sealed, err = protocol.SealShare(under.Sealing, u.offer(party, nil).binding(t.Hash(), u.acceptance), parts[shares.Helper])
	return u.bytes(), err
}

// KnownBy returns the digest that identifies a party's upload at both servers and in the set that they sign.
func KnownBy(party study.PartyID, data []byte) (study.Hash, error) {
	sealed := shares.Form{}.PartSize(shares.Helper) + protocol.SealOverhead // the size is the same for every form
	if len(data) < 9+sealed+len(Digest{}) || data[0] != uploadVersion {
		return study.Hash{}, fmt.Errorf("%w: it is cut off, or no upload of this version", study.ErrContribution)
	}
	data = data[:len(data)-len(Digest{})] // without the acceptance's digest, which the helper never gets
	u := upload{weight: int64(binary.BigEndian.Uint64(data[1:])), part: data[9 : len(data)-sealed], sealed: data[len(data)-sealed:]}
	return u.offer(party, nil).digest(), nil
}

// Exact returns a party's statistic without noise or shares, for the party's own preview.
func Exact(t study.Task, in study.Inputs) ([]study.Request, error) {
	of, ok := bodies.Of(t)
	if !ok {
		return nil, errors.New("show contribution: the plan is none for two aggregators")
	}
	vector, weight := of.Local(in)
	return bodies.Requests(of.Statistic, vector, weight)
}

// sealSteps is the work of encrypting a share: a third of a millisecond as measured, mostly for the key exchange.
const sealSteps = 2e6

// Steps bounds the work of Contribute beyond study.Task.Work, in the same unit.
func Steps(t study.Task, records int) float64 {
	of, ok := bodies.Of(t)
	if !ok || !t.Plan().Noise.Shared() {
		return 0
	}
	return of.SplitSteps(records) + sealSteps
}

// Pins identify a helper to a party. The party must not get them from the coordinator.
type Pins struct {
	Signing protocol.SignerKey
	Sealing protocol.KeyPin
}

type Agreement struct {
	Sealing    []byte
	Acceptance Digest // digest of the helper's acceptance
}

// CheckAcceptance checks that a party may contribute: the helper that the party pinned agreed to this
// plan with exactly the noise that the party computes, and both servers committed to the verify key.
func CheckAcceptance(t study.Task, a Signed, pins Pins, coordinator protocol.Verifier) (Agreement, error) {
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

// CheckPins makes the checks of CheckAcceptance that need no pool: signatures, plan and keys, but not the noise.
func CheckPins(plan study.Hash, a Signed, pins Pins, coordinator protocol.Verifier) (said Acceptance, err error) {
	fail := func(format string, args ...any) (Acceptance, error) {
		return Acceptance{}, fmt.Errorf("the helper's acceptance: %w", fmt.Errorf(format, args...))
	}
	if a.Document == nil {
		return fail("there is none: the coordinator passes none on, as while the helper does not answer")
	}
	if coordinator.Verify(protocol.AcceptanceDocument, a.Document, a.Signature) == nil {
		return fail("it is signed by the coordinator itself: a coordinator that is its own helper sees everything")
	}
	if pins.Signing.Verify(protocol.AcceptanceDocument, a.Document, a.Signature) != nil {
		return fail("it is not signed by the helper that this site's policy names: the coordinator passes on another helper's, or the policy has another signing key than the helper")
	}
	if err := protocol.ReadSigned(a, pins.Signing, protocol.AcceptanceDocument, &said); err != nil {
		return fail("%w", err)
	}
	switch {
	case said.Plan != plan:
		return fail("it is of another plan, %s", said.Plan)
	case said.Role != shares.Helper.String():
		return fail("it is a %s's", said.Role)
	case said.Step < 1:
		return fail("it was made by an earlier version, whose helper opens what was sealed under another acceptance: its operator upgrades the helper, and the study takes a new plan")
	case said.Coordinator == nil || *said.Coordinator == Digest{} || said.Commitment == Digest{}:
		return fail("the servers have not committed to a verify key")
	case protocol.SealingPin(said.Sealing) != pins.Sealing:
		return fail("it names another sealing key than this site's policy: get the helper's new one from its operator, not from the coordinator")
	}
	return said, nil
}
