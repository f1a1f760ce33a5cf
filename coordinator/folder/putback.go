package folder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"caucus/coordinator/records"
	"caucus/protocol"
	"caucus/study"
)

// Returned is the result for a study whose release was given to PutBack.
type Returned struct {
	Study study.Hash `json:"study"`
	Name  string     `json:"name"`
	// Was is its state before, "" where the store did not know the study.
	Was study.State `json:"was,omitempty"`
	// Why says why the release was not put back, "" where the store has it now.
	Why string `json:"why,omitempty"`
}

// PutBack ends studies as released, with releases that this stopped coordinator signed and that its store has
// forgotten since it was restored from a backup: a study that the store takes for open, or for failed, would be
// released once more with other noise, or reported as failed. All are put back or none is. Reconcile comes after
// it: killed in between, the coordinator knows that its ledger is behind, and finds in its store what to charge.
func PutBack(ctx context.Context, dir string, published []protocol.SignedRelease, now time.Time) (all []Returned, err error) {
	if len(published) == 0 {
		return nil, nil
	}
	fail := func(err error) ([]Returned, error) { return nil, fmt.Errorf("put releases back: %w", err) }
	c, ring, release, err := stopped(dir)
	if err != nil {
		return fail(err)
	}
	defer release()
	stores, err := OpenStores(c)
	if err != nil {
		return fail(err)
	}
	defer stores.Close()
	store := stores.Store
	err = store.Update(ctx, func(tx records.Tx) error {
		all = nil // a transaction may be tried again
		for _, r := range published {
			if _, err := protocol.ParseRelease(r.Document, r.Signature, ring.Keys); err != nil {
				return err
			}
			done, err := putBack(tx, r, ring.Signer, now)
			if err != nil {
				return err
			}
			all = append(all, done)
		}
		return nil
	})
	if err == nil {
		err = store.Scrub(ctx) // overwrites deleted ballots and sums
	}
	if err != nil {
		return fail(err)
	}
	return all, nil
}

func putBack(tx records.Tx, r protocol.SignedRelease, signer *protocol.Signer, now time.Time) (Returned, error) {
	h := r.Release.PlanHash
	done := Returned{Study: h}
	row, err := tx.Study(h)
	switch {
	case errors.Is(err, records.ErrNone): // made since the backup
		plan, err := r.Release.DecodedPlan()
		if err != nil {
			return done, err
		}
		done.Name = plan.Name
		studies, err := tx.Studies()
		if err != nil {
			return done, err
		}
		if slices.ContainsFunc(studies, func(s records.Study) bool { return s.Name == plan.Name }) {
			done.Why = "another study has its name by now"
			return done, nil
		}
		err = tx.AddStudy(records.Study{Hash: h, Name: plan.Name, Plan: r.Release.Plan, Signature: signer.Sign(protocol.PlanDocument, r.Release.Plan), Created: now})
		if err != nil {
			return done, err
		}
	case err != nil:
		return done, err
	default:
		done.Name, done.Was = row.Name, row.State
	}
	entry := lastEntry(r.Release)
	switch had, err := tx.Release(h); {
	case err == nil && !bytes.Equal(had.Document, r.Document):
		done.Why = "the store has another release of it: two were made, and both are charged"
		return done, nil
	case err == nil:
		return done, nil
	case !errors.Is(err, records.ErrNone):
		return done, err
	}
	if err := errors.Join(amendAsReleased(tx, r.Release), receivedAsReleased(tx, r.Release)); err != nil {
		return done, err
	}
	if err := tx.AddRelease(h, records.Release{Document: r.Document, Signature: r.Signature, LedgerEntry: entry}); err != nil {
		return done, err
	}
	return done, tx.SetState(h, done.Was, study.Released, r.Release.Sealed)
}

// lastEntry is the highest number of a release's ledger entries, 0 for none.
func lastEntry(r study.Release) (last int64) {
	for _, l := range r.Ledger {
		last = max(last, l.Sequence)
	}
	return last
}

// amendAsReleased adds the amendments that a study was released under. If the store has another
// amendment instead, its own stay.
func amendAsReleased(tx records.Tx, r study.Release) error {
	had, err := tx.Amendments(r.PlanHash)
	if err != nil {
		return err
	}
	for i, a := range r.Amendments {
		if i < len(had) {
			if !bytes.Equal(a.Document, had[i].Document) {
				return nil
			}
			continue
		}
		if err := tx.AddAmendment(r.PlanHash, a, i+1); err != nil {
			return err
		}
	}
	return nil
}

// receivedAsReleased makes the contributors of a study those of its release. Where the store has no
// receipt, only the party has it.
func receivedAsReleased(tx records.Tx, r study.Release) error {
	had, err := tx.Received(r.PlanHash)
	if err != nil {
		return err
	}
	var drop []study.PartyID
	for p := range had {
		if !slices.Contains(r.Contributed, p) {
			drop = append(drop, p)
		}
	}
	if err := tx.Drop(r.PlanHash, drop); err != nil {
		return err
	}
	for _, p := range r.Contributed {
		if _, ok := had[p]; ok {
			continue
		}
		if err := tx.AddContribution(protocol.Receipt{Plan: r.PlanHash, Party: p, Document: []byte{}, Signature: []byte{}}, nil); err != nil {
			return err
		}
	}
	return nil
}
