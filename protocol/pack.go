package protocol

import (
	"crypto/sha256"
	"encoding/json"
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
	for len(p.notices) < MaxCarriedNotices {
		one := r.documents("notice", 1)
		if len(one) == 0 {
			break
		}
		receipt, _ := r.maybe("notice.receipt", maxCarriedDocument)
		p.notices = append(p.notices, carriedNotice{one[0], receipt})
	}
	p.plan = Signed{Document: r.take("plan", MaxPlanBytes),
		Signature: r.take("plan.signature", maxCarriedDocument)}
	p.amendments = r.documents("amendment", study.MaxAmendments)
	p.helper = r.documents("helper", 1)
	p.sealKey, _ = r.maybe("seal", maxCarriedDocument)
	if document, found := r.maybe("release", maxCarriedRelease); found {
		p.release = Signed{Document: document,
			Signature: r.take("release.signature", maxCarriedDocument)}
	}
	p.pool, _ = r.maybe("pool", MaxPoolBytes)
	if err := r.end(); err != nil {
		return pack{}, err
	}
	if err := study.DecodeStrictJSON(keys, &p.successions); err != nil {
		return pack{}, fmt.Errorf("read %s: %w: its keys: %v", PackFile, ErrDamaged, err)
	}
	if again, err := json.Marshal(p.successions); err != nil || string(again) != string(keys) {
		return pack{}, fmt.Errorf("read %s: %w: its keys are not written in the canonical way", PackFile, ErrDamaged)
	}
	return p, nil
}

// PackParts are what a pack holds beside a study's plan and amendments and the coordinator's keys.
type PackParts struct {
	Notices []*pb.Notice
	SealKey []byte // the public key for answers
	Pool    []byte // nil if the parties have the pool
	Release Signed // without a document if there is no release
}

// WritePack makes the file that carries a study to the parties of the notices, and reads it again
// as each of them would.
func WritePack(s Study, keys Keys, parts PackParts) ([]byte, error) {
	p := pack{successions: keys.Successions(), sealKey: parts.SealKey, pool: parts.Pool,
		plan:       Signed{Document: s.PlanBytes, Signature: s.PlanSignature},
		amendments: slices.Clone(s.Amendments), release: parts.Release}
	if s.Helper.Document != nil {
		p.helper = []Signed{s.Helper}
	}
	for _, n := range parts.Notices {
		p.notices = append(p.notices, noticeOf(n))
	}
	file, err := p.encode()
	for _, n := range p.notices {
		if err != nil {
			break
		}
		var notice Notice
		if notice, err = ParseNotice(n.Signed, keys); err == nil {
			_, err = openPack(p, keys, notice.Party)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("pack study %s: %w: it may have changed meanwhile: try again", s.Name, err)
	}
	return file, nil
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
			Contributed: n.Contributed, Minimum: chain.Ending().Minimum, CallerContributed: n.CallerContributed, CallerLost: n.CallerLost, Amendments: chain.Len(),
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
