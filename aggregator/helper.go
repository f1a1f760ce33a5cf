package aggregator

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"caucus/aggregation/shares"
	"caucus/aggregator/uploading"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// Peer is the helper as the coordinator calls it: a Server, or a connection to a Server. Every call
// may be repeated and gives the same answer again.
type Peer interface {
	// Accept takes the coordinator's acceptance of a study, and returns the helper's.
	Accept(ctx context.Context, plan study.Hash, coordinators Signed) (Signed, error)
	// Reveal exchanges both halves of the verify key, which opens the study.
	Reveal(ctx context.Context, plan study.Hash, coordinators [32]byte,
		reveal Signed) (helpers [32]byte, err error)
	// Prepare checks at most 32 contributions and answers each.
	Prepare(ctx context.Context, plan study.Hash,
		offers []uploading.PrepareRequest) ([]PrepareReply, error)
	// Seal signs the coordinator's set if it equals the helper's accepted contributions.
	Seal(ctx context.Context, plan study.Hash, set Signed) (signature []byte, err error)
	Share(ctx context.Context, plan study.Hash) (Signed, error)
	// End tells the helper that the coordinator ended the study for good without a release.
	End(ctx context.Context, plan study.Hash) error
	// Recall shows the helper a share that it released. It returns ErrBehind if the helper's files
	// were restored to a state before that share.
	Recall(ctx context.Context, share Signed) error
}

var _ Peer = (*Server)(nil)

// asked takes the helper's turn, until the returned function is called. At a coordinator's server
// it returns an error.
func (s *Server) asked(ctx context.Context) (func(), error) {
	if s.config.Role != shares.Helper {
		return func() {}, fmt.Errorf("this server is the %v", s.config.Role)
	}
	return s.take(ctx, study.Hash{})
}

// helper takes the helper's turn and reads a study's task and record.
func (s *Server) helper(ctx context.Context, h study.Hash) (task, record, func(), error) {
	unlock, err := s.asked(ctx)
	if err != nil {
		return task{}, record{}, unlock, err
	}
	t, r, err := s.known(ctx, h)
	return t, r, unlock, err
}

// accepts draws this server's half of the verify key and stores it with the signed acceptance. At a
// helper, coordinators is the coordinator's acceptance.
func (s *Server) accepts(ctx context.Context, t task, coordinators Signed) (r record, err error) {
	terms, err := study.TermsDigest(t)
	if err != nil {
		return r, err
	}
	charges, err := t.Charges(0)
	if err != nil {
		return r, err
	}
	return s.update(ctx, t.Hash(), "acceptance stored",
		func(tx *transaction, r *record) (err error) {
			rand.Read(r.Half[:])
			said := Acceptance{Plan: t.Hash(), Role: s.config.Role.String(), Terms: terms,
				Commitment: commitment(t.Hash(), s.config.Role, r.Half)}
			if s.config.Role == shares.Helper {
				theirs := coordinators.Digest()
				said.Coordinator, said.Sealing = &theirs, s.config.Sealing.Public()
				said.Signing = s.config.Signer.Key()
				if said.Step, err = tx.next(); err != nil {
					return err
				}
				r.promise = promise{Deadline: t.Plan().Deadline}
				for _, c := range charges {
					r.Costs = append(r.Costs, c.CalibratedCost)
				}
			}
			r.Theirs = coordinators
			r.Own, err = protocol.SignJSON(s.config.Signer, protocol.AcceptanceDocument, said)
			return err
		})
}

func (s *Server) readAcceptance(t task, a Signed) (said Acceptance, err error) {
	if err := protocol.ReadSigned(a, s.config.OtherKey, protocol.AcceptanceDocument,
		&said); err != nil {
		return said, err
	}
	terms, err := study.TermsDigest(t)
	if err != nil {
		return said, err
	}
	if said.Plan != t.Hash() || said.Role != (1-s.config.Role).String() ||
		said.Commitment == (Digest{}) {
		return said, fmt.Errorf("%w: the other server's acceptance is of plan %s as %s", ErrConflict, said.Plan, said.Role)
	}
	if s.config.Role == shares.Coordinator && said.Step < 1 {
		return said, fmt.Errorf("%w: the helper is of an earlier version: its operator upgrades it first", ErrConflict)
	}
	if said.Terms != terms {
		return said, fmt.Errorf("%w: the other server would release under other noise than this one computes from plan and pool: another version, or a processor that rounds differently", ErrConflict)
	}
	return said, nil
}

// Accept implements Peer. It draws the half of the verify key once. A stored acceptance outlives
// the plan's files.
func (s *Server) Accept(ctx context.Context, plan study.Hash, coordinators Signed) (Signed, error) {
	before := func() (bool, Signed, error) {
		r, err := s.recorded(ctx, plan)
		if err == nil && r.Own.Document != nil && !r.Theirs.Equal(coordinators) {
			err = fmt.Errorf("accept study %s: %w: another acceptance of the coordinator's", plan, ErrConflict)
		}
		return err != nil || r.Own.Document != nil, r.Own, err
	}
	if done, own, err := before(); done { // needs no turn, because an acceptance never changes
		return own, err
	}
	unlock, err := s.asked(ctx)
	defer unlock()
	if err != nil {
		return Signed{}, err
	}
	if done, own, err := before(); done {
		return own, err
	}
	t, _, err := s.known(ctx, plan)
	if err != nil {
		return Signed{}, err
	}
	if _, err := s.readAcceptance(t, coordinators); err != nil {
		return Signed{}, fmt.Errorf("accept study %s: %w", plan, err)
	}
	if s.config.CheckPolicy == nil {
		return Signed{}, fmt.Errorf("accept study %s: %w: this helper's policy serves no plan", plan, protocol.ErrDenied)
	}
	if err := s.config.CheckPolicy(t); err != nil {
		return Signed{}, fmt.Errorf("accept study %s: %w: %w", plan, protocol.ErrDenied, err)
	}
	if err := s.full(ctx, true); err != nil {
		return Signed{}, fmt.Errorf("accept study %s: %w", plan, err)
	}
	r, err := s.accepts(ctx, t, coordinators)
	if err != nil {
		return Signed{}, fmt.Errorf("accept study %s: %w", plan, err)
	}
	return r.Own, nil
}

// Reveal implements Peer. The coordinator's half must be the one to which it committed in its
// acceptance, else ErrConflict. This helper's half leaves only after the coordinator's is on the
// disk; the same call again gives the same half.
func (s *Server) Reveal(ctx context.Context, plan study.Hash, coordinators [32]byte,
	reveal Signed) ([32]byte, error) {
	t, r, unlock, err := s.helper(ctx, plan)
	defer unlock()
	none := [32]byte{}
	if err != nil {
		return none, err
	}
	fail := func(err error) ([32]byte, error) {
		return none, fmt.Errorf("open study %s: %w", plan, err)
	}
	if r.Own.Document == nil {
		return fail(fmt.Errorf("%w: it was not accepted", ErrStepOrder))
	}
	committed, err := s.readAcceptance(t, r.Theirs)
	if err != nil {
		return fail(err)
	}
	if commitment(plan, shares.Coordinator, coordinators) != committed.Commitment {
		return fail(fmt.Errorf("%w: the coordinator committed to another half of the verify key", ErrConflict))
	}
	var said Reveal
	if err := protocol.ReadSigned(reveal, s.config.OtherKey, protocol.RevealDocument,
		&said); err != nil {
		return fail(err)
	}
	if said.Plan != plan || said.HelperAcceptance != r.Own.Digest() {
		return fail(fmt.Errorf("%w: the coordinator opens it under another acceptance than this helper's", ErrConflict))
	}
	if r.keyed() {
		return r.Half, nil
	}
	other := half(coordinators)
	r, err = s.set(ctx, plan, "key stored", func(r *record) { r.OtherHalf = &other })
	return r.Half, err
}

// Prepare implements Peer. It stores verdict, message and sum before it answers, and answers a
// repeated offer from what it stored. A bad share is no error but a verdict. Two different offers
// of one party are ErrConflict.
func (s *Server) Prepare(ctx context.Context, plan study.Hash,
	offers []uploading.PrepareRequest) ([]PrepareReply, error) {
	t, r, unlock, err := s.helper(ctx, plan)
	defer unlock()
	if err != nil {
		return nil, err
	}
	fail := func(err error) ([]PrepareReply, error) {
		return nil, fmt.Errorf("prepare contributions to study %s: %w", plan, err)
	}
	if !r.keyed() {
		return fail(fmt.Errorf("%w: it has no verify key yet", ErrStepOrder))
	}
	if len(offers) > batch {
		return fail(fmt.Errorf("%d at once, at most %d are taken", len(offers), batch))
	}
	before := make([]contribution, len(offers))
	there := make([]bool, len(offers))
	if err := s.view(ctx, plan, func(tx *transaction) (err error) {
		for i, o := range offers {
			if before[i], there[i], err = tx.contribution(o.Party); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return fail(err)
	}
	answers := make([]PrepareReply, len(offers))
	var fresh []checked
	for i, o := range offers {
		if slices.ContainsFunc(offers[:i], func(p uploading.PrepareRequest) bool {
			return p.Party == o.Party
		}) {
			return fail(fmt.Errorf("%w: party %s is in one call twice", ErrConflict, o.Party))
		}
		c, found := before[i], there[i]
		switch {
		case found && c.digest != o.Digest():
			return fail(fmt.Errorf("%w: party %s contributed something else", ErrConflict, o.Party))
		case found && c.verdict == accepted && c.message == nil:
			return fail(fmt.Errorf("%w: the study is over", ErrStepOrder))
		case found:
			answers[i] = PrepareReply{o.Party, c.verdict == accepted, c.message}
			continue
		case r.Set.Document != nil:
			return fail(fmt.Errorf("%w: its set is sealed", ErrConflict))
		}
		made, err := s.check(t, r, o)
		if err != nil {
			return fail(err)
		}
		answers[i] = PrepareReply{o.Party, made.verdict == accepted, made.message}
		fresh = append(fresh, made)
	}
	if len(fresh) == 0 {
		return answers, nil
	}
	if err := errors.Join(s.full(ctx, false), s.affords(ctx, t, r)); err != nil {
		return fail(err)
	}
	_, err = s.update(ctx, plan, "preparation stored", func(tx *transaction, _ *record) error {
		var all []given
		for _, c := range fresh {
			if err := tx.addContribution(c.contribution); err != nil {
				return err
			}
			if c.verdict == accepted {
				all = append(all, given{c.share, c.weight})
			}
		}
		return accept(tx, t.of, all)
	})
	if err != nil {
		return fail(err)
	}
	return answers, nil
}

type checked struct {
	contribution
	share shares.SecretShare
}

// check opens, prepares and verifies an offered contribution. An invalid contribution is a refusal
// in the result. An error means that no honest coordinator would make the offer.
func (s *Server) check(t task, r record, o uploading.PrepareRequest) (checked, error) {
	c := checked{contribution: contribution{party: o.Party, digest: o.Digest(), weight: o.Weight,
		verdict: refused}}
	if !s.enrolled(t, o.Party) {
		return c, fmt.Errorf("party %s is not on the roster", o.Party)
	}
	form, err := uploading.FormOf(t.of, o.Weight)
	if err != nil {
		return c, err
	}
	part, err := s.config.Sealing.OpenShare(o.Binding(t.Hash(), r.Own.Digest()), o.HelperPart)
	if err != nil || !bytes.Equal(shares.CommonPart(part), o.CommonPart) || o.Message == nil {
		return c, nil
	}
	p, err := form.Prepare(s.key(t.Hash(), r), shares.NewProofContext(t.Hash(), string(o.Party)),
		shares.Helper, part)
	if err != nil {
		return c, nil
	}
	message := p.Message()
	if c.share, err = p.Finish(o.Message); err != nil {
		return c, nil
	}
	c.verdict, c.message = accepted, message
	return c, nil
}

// Seal implements Peer. It signs only the set of exactly the contributions that this helper
// accepted, at least the minimum in force (study.ErrTooFew); the same set again gets the same
// signature, another is ErrConflict.
func (s *Server) Seal(ctx context.Context, plan study.Hash, set Signed) ([]byte, error) {
	t, r, unlock, err := s.helper(ctx, plan)
	defer unlock()
	if err != nil {
		return nil, err
	}
	fail := func(err error) ([]byte, error) {
		return nil, fmt.Errorf("seal study %s: %w", plan, err)
	}
	if !r.keyed() {
		return fail(fmt.Errorf("%w: it is not open", ErrStepOrder))
	}
	var said ContributionSet
	if err := protocol.ReadSigned(set, s.config.OtherKey, protocol.SetDocument, &said); err != nil {
		return fail(err)
	}
	if r.Set.Document != nil {
		if !bytes.Equal(r.Set.Document, set.Document) {
			return fail(fmt.Errorf("%w: another set", ErrConflict))
		}
		return r.Set.Signature, nil
	}
	mine, err := s.setOf(ctx, plan, r)
	if err != nil {
		return fail(err)
	}
	// the coordinator signed them; enough checks them against the plan
	mine.Amendments = said.Amendments
	if b, err := json.Marshal(mine); err != nil || !bytes.Equal(b, set.Document) {
		return fail(fmt.Errorf("%w: the coordinator's set has %d contributions, this helper accepted %d, or they are not the same", ErrConflict, said.Contributions, mine.Contributions))
	}
	if err := enough(t, mine); err != nil {
		return fail(err)
	}
	signature := s.config.Signer.Sign(protocol.SetDocument, set.Document)
	_, err = s.set(ctx, plan, "set stored", func(r *record) {
		r.Set, r.SetTheirs = Signed{Document: set.Document, Signature: signature}, set.Signature
	})
	return signature, err
}

// affords asks the budget again for a study whose place ended by its plan's deadline, which an
// amendment moved: PromisedCosts left the study out since, so that its cost may be another's by
// now.
func (s *Server) affords(ctx context.Context, t task, r record) error {
	if s.config.CheckBudget == nil || !r.promise.over(s.config.Clock.Now()) {
		return nil
	}
	is, err := s.underWay(ctx, t.Hash())
	if err != nil || is {
		return err
	}
	if err := s.config.CheckBudget(t); err != nil {
		return fmt.Errorf("%w: %w", privacy.ErrBudget, err)
	}
	return nil
}

// enough checks that a set has the minimum of contributions that the plan and the set's amendments
// demand.
func enough(t task, set ContributionSet) error {
	least, err := set.Minimum(t.Plan())
	if err != nil {
		return fmt.Errorf("%w: the minimum in force: %w", ErrConflict, err)
	}
	if set.Contributions < int64(least) {
		return fmt.Errorf("%w: %d must contribute, have %d", study.ErrTooFew, least,
			set.Contributions)
	}
	return nil
}

// Share implements Peer. A stored share is returned even if the plan's files are gone.
func (s *Server) Share(ctx context.Context, plan study.Hash) (Signed, error) {
	unlock, err := s.asked(ctx)
	defer unlock()
	if err != nil {
		return Signed{}, err
	}
	return s.release(ctx, plan)
}

const endedThere = "the coordinator ended it without a release"

// End implements Peer. It changes no study that was released, failed or never accepted. The ledger
// keeps its charges. For the zero hash, of no study, it only reads (Probe).
func (s *Server) End(ctx context.Context, plan study.Hash) error {
	if plan == (study.Hash{}) {
		_, err := s.recorded(ctx, plan)
		return err
	}
	unlock, err := s.asked(ctx)
	defer unlock()
	if err != nil {
		return err
	}
	r, err := s.recorded(ctx, plan)
	switch {
	case errors.Is(err, ErrFailed):
		return nil
	case err != nil:
		return err
	case r.Own.Document == nil, r.Share.Document != nil:
		return nil
	}
	_, err = s.update(ctx, plan, "end stored", func(t *transaction, r *record) error {
		r.Failed = endedThere
		return t.wipe()
	})
	return err
}
