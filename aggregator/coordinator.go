package aggregator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"caucus/aggregation/shares"
	"caucus/aggregator/uploading"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/bodies"
)

// coordinator takes a study's turn at a coordinator's server and reads the study's task and record.
// At a helper's it fails.
func (s *Server) coordinator(ctx context.Context, h study.Hash) (task, record, func(), error) {
	if s.config.Role != shares.Coordinator {
		return task{}, record{}, func() {}, fmt.Errorf("this server is the %v", s.config.Role)
	}
	unlock, err := s.take(ctx, h)
	if err != nil {
		return task{}, record{}, unlock, err
	}
	t, r, err := s.known(ctx, h)
	return t, r, unlock, err
}

// OpenStudy agrees with the helper on a study, after which parties may contribute. It returns the
// helper's acceptance, which the parties need. A repeated call returns the same acceptance. The
// errors name no study.
func (s *Server) OpenStudy(ctx context.Context, plan study.Hash, helper Peer) (Signed, error) {
	t, r, unlock, err := s.coordinator(ctx, plan)
	defer unlock()
	if err != nil {
		return Signed{}, err
	}
	if r.Own.Document == nil {
		if r, err = s.accepts(ctx, t, Signed{}); err != nil {
			return Signed{}, err
		}
	}
	if err := s.recall(ctx, helper); err != nil {
		return Signed{}, err
	}
	if r.Theirs.Document == nil {
		theirs, err := helper.Accept(ctx, plan, r.Own)
		if err != nil {
			return Signed{}, err
		}
		said, err := s.readAcceptance(t, theirs)
		if err != nil {
			return Signed{}, err
		}
		if said.Coordinator == nil || *said.Coordinator != r.Own.Digest() {
			return Signed{}, fmt.Errorf("%w: the helper accepted it with another coordinator's commitment", ErrConflict)
		}
		if r, err = s.set(ctx, plan, "helper's acceptance stored", func(r *record) {
			r.Theirs = theirs
		}); err != nil {
			return Signed{}, err
		}
	}
	if r.keyed() {
		return r.Theirs, nil
	}
	reveal, err := protocol.SignJSON(s.config.Signer, protocol.RevealDocument,
		Reveal{plan, r.Theirs.Digest()})
	if err != nil {
		return Signed{}, err
	}
	theirs, err := helper.Reveal(ctx, plan, r.Half, reveal)
	if err != nil {
		return Signed{}, err
	}
	committed, err := s.readAcceptance(t, r.Theirs)
	if err != nil {
		return Signed{}, err
	}
	if commitment(plan, shares.Helper, theirs) != committed.Commitment {
		return Signed{}, fmt.Errorf("%w: the helper committed to another half of the verify key", ErrConflict)
	}
	other := half(theirs)
	r, err = s.set(ctx, plan, "key stored", func(r *record) { r.OtherHalf = &other })
	return r.Theirs, err
}

// ConfirmAcceptance asks whether the helper still holds its acceptance of an open study.
// ErrForgotten means that the helper's files were restored from an old backup; no release is
// possible, so parties must not spend budget on the study. ConfirmAcceptance changes nothing here.
// If the helper accepts the study anew, the new acceptance is not used.
func (s *Server) ConfirmAcceptance(ctx context.Context, plan study.Hash, helper Peer) error {
	fail := func(err error) error {
		return fmt.Errorf("ask for the helper's acceptance of study %s: %w", plan, err)
	}
	if err := s.current(ctx); err != nil {
		return fail(err)
	}
	var r record
	err := s.view(ctx, plan, func(t *transaction) (err error) { r, err = t.record(); return err })
	switch {
	case err != nil && !errors.Is(err, errNone):
		return fail(err)
	case r.Failed != "":
		return fail(fmt.Errorf("%w: %s", ErrFailed, r.Failed))
	case !r.keyed():
		return fail(fmt.Errorf("%w: it is not open", ErrStepOrder))
	}
	if err := s.recall(ctx, helper); err != nil {
		return fail(err)
	}
	// needs no turn, because an agreement never changes
	theirs, err := helper.Accept(ctx, plan, r.Own)
	switch {
	// the helper refuses here only a study that it had not accepted
	case errors.Is(err, ErrFailed), errors.Is(err, protocol.ErrDenied):
		return fail(fmt.Errorf("%w: %w", ErrForgotten, err))
	case err != nil:
		return fail(err)
	case !theirs.Equal(r.Theirs):
		return fail(fmt.Errorf("%w: it accepts it anew", ErrForgotten))
	}
	return nil
}

// UnreportedFailures lists the failed studies whose failure Tell has not yet reported to the
// helper.
func (s *Server) UnreportedFailures(ctx context.Context) (all []study.Hash, err error) {
	if err = s.current(ctx); err == nil {
		err = s.view(ctx, study.Hash{}, func(t *transaction) error {
			all, err = hashesBy(ctx, t.tx, untoldQuery)
			return err
		})
	}
	if err != nil {
		err = fmt.Errorf("list studies that failed: %w", err)
	}
	return all, err
}

// ReportFailure tells the helper that a study failed here for good, so that the helper deletes its
// share too. Call it again after any error.
func (s *Server) ReportFailure(ctx context.Context, plan study.Hash, helper Peer) error {
	fail := func(err error) error {
		return fmt.Errorf("tell the helper that study %s failed: %w", plan, err)
	}
	_, err := s.recorded(ctx, plan)
	switch {
	case err == nil:
		return fail(fmt.Errorf("%w: it did not fail here", ErrStepOrder))
	case !errors.Is(err, ErrFailed):
		return fail(err)
	}
	// needs no turn, because a failed study never changes
	if err := helper.End(ctx, plan); err != nil {
		return fail(err)
	}
	if _, err := s.set(ctx, plan, "told stored", func(r *record) { r.Told = true }); err != nil {
		return fail(err)
	}
	return nil
}

// Upload is one party's contribution for both servers, as it came: the coordinator's share, and the
// helper's encrypted.
type Upload struct {
	Party study.PartyID
	Data  []byte
}

// ReceiveAll stores parties' uploads, which uploading.CheckUpload has checked, in one transaction:
// all, or none if it returns an error. Send receipts only after it has returned nil. An upload that
// is stored already is no error; a different upload of the same party is ErrConflict.
func (s *Server) ReceiveAll(ctx context.Context, plan study.Hash, uploads []Upload) error {
	if s.config.Role != shares.Coordinator {
		return errors.New("this server is the helper")
	}
	t, _, err := s.known(ctx, plan)
	if err != nil {
		return err
	}
	var party study.PartyID
	fail := func(err error) error {
		return fmt.Errorf("receive contribution of %s to study %s: %w", party, plan, err)
	}
	all := make([]contribution, len(uploads))
	for i, up := range uploads {
		if party = up.Party; !s.enrolled(t, party) {
			return fail(study.ErrNotEnrolled)
		}
		u, err := uploading.Parse(t.of, up.Data)
		if err != nil {
			return fail(err)
		}
		all[i] = contribution{party: party, digest: u.PrepareRequest(party, nil).Digest(),
			weight: u.Weight,
			upload: up.Data}
	}
	_, err = s.update(ctx, plan, "upload stored", func(tx *transaction, r *record) error {
		fresh := false
		for _, c := range all {
			party = c.party
			switch had, found, err := tx.digestOf(c.party); {
			case err != nil:
				return err
			case found && had == c.digest:
				continue
			case found:
				return fmt.Errorf("%w: %w", ErrConflict, study.ErrDifferentUpload)
			// the record may have changed since it was read
			case !r.keyed() || r.Closed || r.Failed != "":
				return study.ErrNotOpen
			}
			fresh = true
			if err := tx.addContribution(c); err != nil {
				return err
			}
		}
		if !fresh {
			return errStored
		}
		return nil
	})
	if errors.Is(err, errStored) {
		err = s.current(ctx)
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

var errStored = errors.New("stored already")

// CloseStudy stops contributions; the caller decides when. amendments are the plan's amendments so
// far, which determine how many contributions the set needs. A second call changes nothing.
func (s *Server) CloseStudy(ctx context.Context, plan study.Hash, amendments [][]byte) error {
	_, r, unlock, err := s.coordinator(ctx, plan)
	defer unlock()
	if err != nil || r.Closed {
		return err
	}
	if !r.keyed() {
		return fmt.Errorf("close study %s: %w: it is not open", plan, ErrStepOrder)
	}
	_, err = s.set(ctx, plan, "close stored", func(r *record) {
		r.Closed, r.Amendments = true, amendments
	})
	return err
}

// Advance does the remaining work of an open study: it checks contributions with the helper and,
// once the study is closed, seals the set and releases both shares. It returns whether both shares
// are stored. Call it again after any error.
func (s *Server) Advance(ctx context.Context, plan study.Hash, helper Peer) (released bool,
	err error) {
	t, r, unlock, err := s.coordinator(ctx, plan)
	defer unlock()
	if err != nil {
		return false, err
	}
	if !r.keyed() {
		return false, fmt.Errorf("advance study %s: %w: it is not open", plan, ErrStepOrder)
	}
	if r.ShareOther.Document != nil {
		return true, nil
	}
	// one study at a time: the work of a batch takes much memory
	done, err := s.take(ctx, study.Hash{})
	defer done()
	if err != nil {
		return false, fmt.Errorf("advance study %s: %w", plan, err)
	}
	if err := s.recall(ctx, helper); err != nil {
		return false, fmt.Errorf("advance study %s: %w", plan, err)
	}
	for !r.sealed() {
		left, err := s.verify(ctx, t, r, helper)
		if err != nil {
			return false, err
		}
		if left == 0 {
			break
		}
	}
	if !r.Closed {
		return false, nil
	}
	if !r.sealed() {
		if err := s.seal(ctx, t, r, helper); err != nil {
			return false, err
		}
	}
	if _, err := s.release(ctx, plan); err != nil {
		return false, err
	}
	theirs, err := helper.Share(ctx, plan)
	if err != nil {
		return false, err
	}
	if _, r, err = s.known(ctx, plan); err != nil { // the record now has the set
		return false, err
	}
	if _, err := readShare(t, theirs, s.config.OtherKey, shares.Helper, r.Set); err != nil {
		return false, err
	}
	_, err = s.set(ctx, plan, "helper's share stored", func(r *record) { r.ShareOther = theirs })
	if err == nil {
		err = s.note(theirs)
	}
	return err == nil, err
}

func (s *Server) verify(ctx context.Context, t task, r record, helper Peer) (int, error) {
	plan := t.Hash()
	fail := func(err error) (int, error) {
		return 0, fmt.Errorf("check contributions to study %s: %w", plan, err)
	}
	var waits []contribution
	err := s.view(ctx, plan, func(tx *transaction) (err error) {
		waits, err = tx.contributions("verdict = $2", waiting)
		return err
	})
	if err != nil || len(waits) == 0 {
		return 0, err
	}
	offers := make([]uploading.PrepareRequest, len(waits))
	prepared := make([]*shares.Preparation, len(waits))
	messages := map[study.PartyID][]byte{} // messages that are not stored yet
	for i, c := range waits {
		u, err := uploading.Parse(t.of, c.upload)
		if err != nil {
			return fail(err)
		}
		if u.PrepareRequest(c.party, nil).Digest() != c.digest {
			return fail(fmt.Errorf("%w: what %s sent is not what was stored", protocol.ErrDamaged,
				c.party))
		}
		form, err := uploading.FormOf(t.of, u.Weight)
		if err != nil {
			return fail(err)
		}
		var message []byte
		// A contribution that this server cannot prepare is sent without a message, so both servers
		// refuse it.
		if prepared[i], err = form.Prepare(s.key(plan, r),
			shares.NewProofContext(plan, string(c.party)),
			shares.Coordinator, u.CoordinatorPart); err == nil {
			message = prepared[i].Message()
		}
		switch {
		case c.message == nil && message != nil:
			messages[c.party] = message
		case !bytes.Equal(c.message, message):
			return fail(fmt.Errorf("%w: %s was prepared otherwise before, by another version", ErrConflict, c.party))
		}
		offers[i] = u.PrepareRequest(c.party, message)
	}
	if len(messages) > 0 {
		if _, err := s.update(ctx, plan, "message stored", func(tx *transaction, _ *record) error {
			for _, p := range slices.Sorted(maps.Keys(messages)) {
				if err := tx.prepared(p, messages[p]); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return fail(err)
		}
	}
	answers, err := helper.Prepare(ctx, plan, offers)
	if err != nil {
		return fail(err)
	}
	if len(answers) != len(offers) {
		return fail(fmt.Errorf("the helper answered %d of %d", len(answers), len(offers)))
	}
	verdicts := make([]verdict, len(offers))
	var all []given
	disagree := ""
	for i, a := range answers {
		verdicts[i] = refused
		if a.Party != offers[i].Party {
			return fail(errors.New("the helper answered of another party"))
		}
		if !a.Accepted {
			continue
		}
		var err error = shares.ErrProof
		var share shares.SecretShare
		if prepared[i] != nil {
			share, err = prepared[i].Finish(a.Message)
		}
		// the helper added the contribution to its sum, and this server cannot do the same
		if err != nil {
			disagree = fmt.Sprintf("the helper accepted what %s sent, which does not check here", a.Party)
		}
		verdicts[i] = accepted
		all = append(all, given{share, waits[i].weight})
	}
	_, err = s.update(ctx, plan, "verdict stored", func(tx *transaction, r *record) error {
		if r.Failed = disagree; disagree != "" {
			return tx.wipe()
		}
		for i, c := range waits {
			if err := tx.decide(c.party, verdicts[i]); err != nil {
				return err
			}
		}
		return accept(tx, t.of, all)
	})
	if err == nil && disagree != "" {
		err = fmt.Errorf("%w: %s", ErrFailed, disagree)
	}
	if err != nil {
		return fail(err)
	}
	return len(waits), nil
}

// seal has both servers sign the set of accepted contributions. If the set is below the plan's
// minimum, the study fails, and no ledger is charged.
func (s *Server) seal(ctx context.Context, t task, r record, helper Peer) error {
	plan := t.Hash()
	fail := func(err error) error { return fmt.Errorf("seal study %s: %w", plan, err) }
	if r.Set.Document == nil {
		mine, err := s.setOf(ctx, plan, r)
		if err != nil {
			return fail(err)
		}
		few := enough(t, mine)
		set, err := protocol.SignJSON(s.config.Signer, protocol.SetDocument, mine)
		if err != nil {
			return fail(err)
		}
		r, err = s.update(ctx, plan, "set stored", func(tx *transaction, r *record) error {
			if few != nil {
				r.Failed = few.Error()
				return tx.wipe()
			}
			r.Set = set
			return nil
		})
		if err != nil || few != nil {
			return fail(errors.Join(few, err))
		}
	}
	theirs, err := helper.Seal(ctx, plan, r.Set)
	if err != nil {
		return fail(err)
	}
	if err := s.config.OtherKey.Verify(protocol.SetDocument, r.Set.Document, theirs); err != nil {
		return fail(err)
	}
	_, err = s.set(ctx, plan, "helper's set stored", func(r *record) { r.SetTheirs = theirs })
	return err
}

// checkLine checks that a helper's share names the line of the helper's ledger that charged for it.
// A release document contains that line.
func checkLine(said AggregateShare, p privacy.Published) error {
	if said.Line == nil || said.Step < 1 {
		return fmt.Errorf("%w: it names no line of the helper's ledger: the helper is of an earlier version", ErrConflict)
	}
	return errors.Join(said.Line.Check(), said.Line.CheckResult(p))
}

func readShare(t task, share Signed, by protocol.Verifier, role shares.Role,
	set Signed) (privacy.Published, error) {
	fail := func(err error) (privacy.Published, error) {
		return privacy.Published{}, fmt.Errorf("the %v's share of study %s: %w", role, t.Hash(),
			err)
	}
	var said AggregateShare
	if err := protocol.ReadSigned(share, by, protocol.ShareDocument, &said); err != nil {
		return fail(err)
	}
	if b, err := json.Marshal(said); err != nil || !bytes.Equal(b, share.Document) {
		return fail(fmt.Errorf("%w: it is not written in the canonical way", ErrConflict))
	}
	if said.Plan != t.Hash() || said.Role != role.String() || said.Set != set.Digest() {
		return fail(fmt.Errorf("%w: it is of another plan, role or set", ErrConflict))
	}
	p, err := privacy.ParsePublished(said.Published)
	if err == nil && role == shares.Helper {
		err = checkLine(said, p)
	}
	if err != nil {
		return fail(err)
	}
	var of ContributionSet
	if err := study.DecodeStrictJSON(set.Document, &of); err != nil {
		return fail(err)
	}
	terms, err := t.of.Statistic.Terms(of.Weight)
	if err != nil {
		return fail(err)
	}
	if p.ID != bodies.ShareID(t.Hash(), terms, role) || p.Mechanism != terms.Mechanism.Name() ||
		!maps.Equal(p.Parameters, privacy.ParametersOf(terms.Mechanism)) ||
		!p.Bound.Equal(terms.Bound) || len(p.Residues) != t.of.Statistic.ReleasedCells() {
		return fail(fmt.Errorf("%w: it was released under other terms than plan and pool give", ErrConflict))
	}
	return p, nil
}
