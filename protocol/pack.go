package protocol

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"caucus/protocol/pb"
	"caucus/study"
)

// pack is a study in a carried file, with all that parties get over the network. Each part or its
// hash is signed.
type pack struct {
	notices     []carriedNotice
	successions []Signed
	plan        Signed
	amendments  []Signed
	// the helper's acceptance, at most one; the party checks the helper's signature
	helper  []Signed
	sealKey []byte // its digest is in the notices
	pool    []byte // nil if the party has the pool
	release Signed // without a document if there is no release
}

func (p pack) encode() ([]byte, error) {
	keys, err := json.Marshal(p.successions)
	if err != nil {
		return nil, err
	}
	all := []part{{"keys", keys}}
	for _, n := range p.notices {
		all = append(all, signedParts("notice", []Signed{n.Signed})...)
		if n.receipt != nil {
			all = append(all, part{"notice.receipt", n.receipt})
		}
	}
	all = append(all, signedParts("plan", []Signed{p.plan})...)
	all = append(all, signedParts("amendment", p.amendments)...)
	all = append(all, signedParts("helper", p.helper)...)
	if p.sealKey != nil {
		all = append(all, part{"seal", p.sealKey})
	}
	if p.release.Document != nil {
		all = append(all, signedParts("release", []Signed{p.release})...)
	}
	if p.pool != nil {
		all = append(all, part{"pool", p.pool})
	}
	return PackFile.encode(all), nil
}

func decodePack(file []byte) (p pack, err error) {
	r := PackFile.decode(file)
	keys := r.take("keys", maxCarried)
	for len(p.notices) < maxCarriedNotices {
		one := r.documents("notice", 1)
		if len(one) == 0 {
			break
		}
		receipt, _ := r.maybe("notice.receipt", maxCarriedDocument)
		p.notices = append(p.notices, carriedNotice{one[0], receipt})
	}
	p.plan = Signed{Document: r.take("plan", MaxPlan),
		Signature: r.take("plan.signature", maxCarriedDocument)}
	p.amendments = r.documents("amendment", study.MaxAmendments)
	p.helper = r.documents("helper", 1)
	p.sealKey, _ = r.maybe("seal", maxCarriedDocument)
	if document, found := r.maybe("release", maxCarriedRelease); found {
		p.release = Signed{Document: document,
			Signature: r.take("release.signature", maxCarriedDocument)}
	}
	p.pool, _ = r.maybe("pool", MaxPool)
	if err := r.end(); err != nil {
		return pack{}, err
	}
	if err := study.DecodeStrictly(keys, &p.successions); err != nil {
		return pack{}, fmt.Errorf("read %s: %w: its keys: %v", PackFile, ErrDamaged, err)
	}
	if again, err := json.Marshal(p.successions); err != nil || string(again) != string(keys) {
		return pack{}, fmt.Errorf("read %s: %w: its keys are not written in the canonical way", PackFile, ErrDamaged)
	}
	return p, nil
}

// Pack makes the file that carries a study to parties of its roster, or to all of them if parties
// is nil. It contains the study's state for each party, plan, amendments, pool, and the release if
// each of the parties may read it.
func (c *Client) Pack(ctx context.Context, ref string, parties []study.PartyID) (file []byte,
	s Study, err error) {
	fail := func(err error) ([]byte, Study, error) {
		return nil, Study{}, fmt.Errorf("pack study %s: %w", ref, err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.transfer)
	defer cancel()
	if s, err = c.show(ctx, ref); err != nil {
		return fail(err)
	}
	if parties == nil {
		parties = s.Plan.Roster
	}
	if len(parties) > maxCarriedNotices {
		return fail(fmt.Errorf("%w: it has %d parties: name those that the file is for", ErrTooLarge, len(parties)))
	}
	p := pack{successions: c.Keys().Successions()}
	if p.notices, p.sealKey, err = c.notices(ctx, s.Hash.String(), parties); err != nil {
		return fail(err)
	}
	// Read the study again, because the notices may already count newer amendments.
	if s, err = c.show(ctx, s.Hash.String()); err != nil {
		return fail(err)
	}
	p.ofStudy(s)
	if p.pool, err = c.Pool(ctx, s, ""); err != nil {
		return fail(err)
	}
	readable := len(s.Plan.Readers) == 0 ||
		!slices.ContainsFunc(parties, func(p study.PartyID) bool {
			return !slices.Contains(s.Plan.Readers, string(p))
		})
	if s.State == study.Released && readable {
		r, err := c.Release(ctx, s.Hash.String())
		if err != nil && !errors.Is(err, ErrDenied) { // this operator may not read the release
			return fail(err)
		}
		p.release = Signed{Document: r.Document, Signature: r.Signature}
	}
	return c.packed(p, s)
}

func (p *pack) ofStudy(s Study) {
	p.plan, p.amendments = Signed{Document: s.PlanBytes,
		Signature: s.PlanSignature}, slices.Clone(s.Amendments)
	if p.helper = nil; s.Helper.Document != nil {
		p.helper = []Signed{s.Helper}
	}
}

func (c *Client) packed(p pack, s Study) ([]byte, Study, error) {
	file, err := p.encode()
	if err == nil {
		for _, n := range p.notices {
			var notice Notice
			if notice, err = ParseNotice(n.Signed, c.Keys()); err == nil {
				_, err = openPack(p, c.Keys(), notice.Party)
			}
			if err != nil {
				break
			}
		}
	}
	if err != nil {
		return nil, Study{}, fmt.Errorf("pack study %s: %w: it may have changed meanwhile: try again", s.Name, err)
	}
	return file, s, nil
}

// AcceptedAnswer is the coordinator's reply to a carried answer.
type AcceptedAnswer struct {
	Party    study.PartyID `json:"party"`
	Study    study.Hash    `json:"plan"`
	Name     string        `json:"study"`
	Declined bool          `json:"declined"`
	// File is for the party. It contains the study's state, and the receipt.
	File []byte `json:"-"`
}

// Accept submits an answer file, which counts like the party's own call. It may be repeated.
func (c *Client) Accept(ctx context.Context, answer []byte) (AcceptedAnswer, error) {
	fail := func(err error) (AcceptedAnswer, error) {
		return AcceptedAnswer{}, fmt.Errorf("accept answer: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.transfer)
	defer cancel()
	stream, err := c.admin.AcceptAnswer(ctx)
	if err != nil {
		return fail(FromStatus(err))
	}
	err = stream.Send(&pb.AcceptAnswerRequest{Part: &pb.AcceptAnswerRequest_Header{Header: &pb.AnswerHeader{Size: uint64(len(answer))}}})
	for chunk := range Chunks(answer, 0) {
		if err != nil {
			break // io.EOF: the server has answered already
		}
		err = stream.Send(&pb.AcceptAnswerRequest{Part: &pb.AcceptAnswerRequest_Chunk{Chunk: chunk}})
	}
	reply, err := stream.CloseAndRecv()
	if err != nil {
		return fail(FromStatus(err))
	}
	if len(reply.PlanHash) != len(study.Hash{}) || reply.Notice == nil {
		return fail(fmt.Errorf("%w: the reply names no study", ErrDamaged))
	}
	a := AcceptedAnswer{Party: study.PartyID(reply.Party), Study: study.Hash(reply.PlanHash),
		Declined: reply.Declined}
	p := pack{successions: c.Keys().Successions(), notices: []carriedNotice{noticeOf(reply.Notice)}}
	s, err := c.show(ctx, a.Study.String())
	if err != nil {
		return fail(err)
	}
	a.Name = s.Name
	p.ofStudy(s)
	a.File, _, err = c.packed(p, s)
	if err != nil {
		return fail(err)
	}
	return a, nil
}

// opened is a pack as one party reads it, with all signatures checked.
type opened struct {
	pack
	keys   Keys
	notice Notice
	signed carriedNotice
	study  Study
}

// openPack checks a pack for a party that knows these keys of the coordinator.
func openPack(p pack, keys Keys, party study.PartyID) (opened, error) {
	o := opened{pack: p, keys: keys}
	fail := func(err error) (opened, error) {
		return opened{}, fmt.Errorf("read %s: %w", PackFile, err)
	}
	for _, s := range p.successions {
		next, err := o.keys.Follow(s)
		if err != nil {
			return fail(fmt.Errorf("it is not from the coordinator that this site is enrolled with: %w", err))
		}
		o.keys = next
	}
	plan, hash, err := ParsePlan(p.plan.Document)
	if bad := o.keys.Verify(PlanDocument, p.plan.Document, p.plan.Signature); bad != nil {
		return fail(bad) // report this before any fault in the plan's content
	}
	if err != nil {
		return fail(err)
	}
	if len(o.keys.Successions()) > len(p.successions) {
		return fail(fmt.Errorf("%w: it was made before the coordinator changed its keys: ask for a new one", ErrExpired))
	}
	found := false
	for _, s := range p.notices {
		n, err := ParseNotice(s.Signed, o.keys)
		if err != nil {
			return fail(err)
		}
		if n.Plan != hash {
			return fail(fmt.Errorf("%w: a notice is about plan %s, and the plan is %s", ErrDamaged, n.Plan, hash))
		}
		if n.Party == party {
			o.notice, o.signed, found = n, s, true
		}
	}
	if !found {
		return fail(fmt.Errorf("%w: nothing in it is for %s: ask the operator for one that is (caucus study pack)", ErrDenied, party))
	}
	chain, err := ParseAmendments(plan, hash, p.amendments, o.keys)
	if err != nil {
		return fail(err)
	}
	if chain.Len() != o.notice.Amendments {
		return fail(fmt.Errorf("%w: it has %d amendments, its notice counts %d", ErrDamaged,
			chain.Len(), o.notice.Amendments))
	}
	if len(o.notice.SealKey) > 0 && p.sealKey != nil &&
		!slices.Equal(SealKeyDigest(p.sealKey), o.notice.SealKey) {
		return fail(fmt.Errorf("%w: the key for answers is not the one that its notice names", ErrDamaged))
	}
	if p.pool != nil && sha256.Sum256(p.pool) != plan.Pool {
		return fail(fmt.Errorf("%w: the pool's digest is not the plan's", ErrDamaged))
	}
	if p.release.Document != nil {
		r, err := ParseRelease(p.release.Document, p.release.Signature, o.keys)
		if err != nil {
			return fail(err)
		}
		if r.PlanHash != hash {
			return fail(fmt.Errorf("%w: its release is of plan %s", ErrDamaged, r.PlanHash))
		}
	}
	n := o.notice
	o.study = Study{
		Summary: Summary{
			Hash: hash, Name: plan.Name, Kind: plan.Kind, State: n.State, Reason: n.Reason, Deadline: chain.Ending().Deadline, Roster: len(plan.Roster),
			Contributed: n.Contributed, Minimum: chain.Ending().Minimum, Mine: n.Mine, Lost: n.Lost, Amendments: chain.Len(),
		},
		Plan: plan, PlanBytes: p.plan.Document, PlanSignature: p.plan.Signature, Amendments: p.amendments, Chain: chain, PoolBytes: uint64(len(p.pool)),
	}
	for _, a := range p.helper {
		o.study.Helper = a
	}
	return o, nil
}

// aheadOf returns how far a notice is ahead of a clock, at least 0. A notice behind the clock
// proves nothing.
func (n Notice) aheadOf(now time.Time) time.Duration { return max(0, n.At.Sub(now)) }
