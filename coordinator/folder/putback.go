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

// RestoredRelease is the outcome of RestoreReleases for one release: where its study stood, and why
// it was not stored, if it was not.
type RestoredRelease struct {
	Study study.Hash `json:"study"`
	Name  string     `json:"name"`
	// StateBefore is the study's state before RestoreReleases; "" if the store did not know the
	// study.
	StateBefore study.State `json:"was,omitempty"`
	// Why says why the release was not stored; "" if the store has it now.
	Why string `json:"why,omitempty"`
}

// RestoreReleases stores releases that this stopped coordinator signed and that its store lost when
// it was restored from a backup. It ends their studies as released. Otherwise the coordinator would
// take such a study for open or failed, and release it again with other noise, or report it as
// failed. Either all releases are stored or none. Call Reconcile after RestoreReleases. If the
// process is killed in between, the coordinator knows that its ledger is behind, and finds the
// missing charges in its store.
func RestoreReleases(ctx context.Context, dir string, published []protocol.SignedRelease,
	now time.Time) (all []RestoredRelease, err error) {
	if len(published) == 0 {
		return nil, nil
	}
	fail := func(err error) ([]RestoredRelease, error) {
		return nil, fmt.Errorf("put releases back: %w", err)
	}
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
		all = nil // the transaction may run again
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
		err = store.Scrub(ctx) // overwrite deleted ballots and sums
	}
	if err != nil {
		return fail(err)
	}
	return all, nil
}

func putBack(tx records.Tx, r protocol.SignedRelease, signer *protocol.Signer,
	now time.Time) (RestoredRelease, error) {
	h := r.Release.PlanHash
	done := RestoredRelease{Study: h}
	row, err := tx.Study(h)
	switch {
	case errors.Is(err, records.ErrNoRow): // the study was made after the backup
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
		err = tx.AddStudy(records.Study{Hash: h, Name: plan.Name, Plan: r.Release.Plan,
			Signature: signer.Sign(protocol.PlanDocument, r.Release.Plan), Created: now})
		if err != nil {
			return done, err
		}
	case err != nil:
		return done, err
	default:
		done.Name, done.StateBefore = row.Name, row.State
	}
	entry := lastEntry(r.Release)
	switch had, err := tx.Release(h); {
	case err == nil && !bytes.Equal(had.Document, r.Document):
		done.Why = "the store has another release of it: two were made, and both are charged"
		return done, nil
	case err == nil:
		return done, nil
	case !errors.Is(err, records.ErrNoRow):
		return done, err
	}
	if err := errors.Join(amendAsReleased(tx, r.Release),
		receivedAsReleased(tx, r.Release)); err != nil {
		return done, err
	}
	if err := tx.AddRelease(h, records.Release{Document: r.Document, Signature: r.Signature,
		LedgerEntry: entry}); err != nil {
		return done, err
	}
	return done, tx.SetState(h, done.StateBefore, study.Released, r.Release.Sealed)
}

// lastEntry is the highest ledger entry of a release, 0 for none.
func lastEntry(r study.Release) (last int64) {
	for _, l := range r.Ledger {
		last = max(last, l.Sequence)
	}
	return last
}

// amendAsReleased adds the amendments of a release to its study. If the store has another amendment
// instead, it keeps its own.
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

// receivedAsReleased makes the contributors of a study those of its release. If the store lacks a
// party's receipt, only the party has it.
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
	if err := tx.DropContributions(r.PlanHash, drop); err != nil {
		return err
	}
	for _, p := range r.Contributed {
		if _, ok := had[p]; ok {
			continue
		}
		if err := tx.AddContribution(protocol.Receipt{Plan: r.PlanHash, Party: p,
			Document: []byte{}, Signature: []byte{}}, nil); err != nil {
			return err
		}
	}
	return nil
}
