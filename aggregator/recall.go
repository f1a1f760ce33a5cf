package aggregator

import (
	"context"
	"errors"
	"fmt"

	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// If a helper's whole machine is restored, head file included, the helper does not notice.
//
// If it is restored to a state before it accepted a study, nobody gains anything, because the
// helper accepts the study again, and uploads encrypted under the first acceptance no longer open
// (protocol.ShareBinding).
//
// If it is restored to a state between acceptance and release, the helper draws its noise again,
// and this code cannot prevent that. But each release signs the helper's step and its ledger's
// line. Readers remember both, and so does the coordinator, which shows the newest share before it
// asks for anything. A helper that lacks that share answers nothing until it is reconciled, which
// charges the lost release.

// A helper that answers nothing still looks at shares and keeps those that its ledger lacks, so
// that Reconcile charges what each cost by its line. The head file is moved ahead of the store
// before the store changes. So the writes of Recall never bring a restored store up to its head
// file.

// Recall implements Peer. A share that this helper did not sign proves nothing and is refused. A
// share that changes nothing needs no turn: what this helper has of it never changes.
func (s *Server) Recall(ctx context.Context, share Signed) error {
	err := s.recalled(ctx, share, false)
	if !errors.Is(err, errStore) {
		return err
	}
	unlock, err := s.asked(ctx)
	defer unlock()
	if err != nil {
		return err
	}
	return s.recalled(ctx, share, true)
}

// errStore says that a share must be stored, which takes the turn.
var errStore = errors.New("the share is to be stored")

// recalled is Recall, and returns errStore in place of storing a share without the turn.
func (s *Server) recalled(ctx context.Context, share Signed, turn bool) error {
	fail := func(err error) error { return fmt.Errorf("recall a released share: %w", err) }
	var said AggregateShare
	if err := protocol.ReadSigned(share, s.config.Signer.Key(), protocol.ShareDocument,
		&said); err != nil {
		return fail(err)
	}
	if said.Line == nil {
		return fail(fmt.Errorf("%w: it names no line of a ledger", protocol.ErrInvalid))
	}
	now := s.current(ctx)
	if now != nil && !errors.Is(now, ErrBehind) {
		return fail(now)
	}
	var steps int64
	var had record
	err := s.view(ctx, said.Plan, func(t *transaction) (err error) {
		if steps, err = t.steps(); err == nil {
			had, err = t.record()
		}
		if errors.Is(err, errNone) {
			err = nil
		}
		return err
	})
	if err != nil {
		return fail(err)
	}
	missing, err := s.lacks(ctx, *said.Line)
	if err != nil {
		return fail(err)
	}
	if now == nil && !missing && said.Step <= steps {
		return nil
	}
	if now != nil && (!missing || had.Lost.Equal(share)) {
		return fail(now)
	}
	if !turn {
		return errStore
	}
	head, err := privacy.JournalHead(ctx, s.config.Journal)
	if err != nil {
		return fail(err)
	}
	var entry int64
	if missing {
		entry = max(said.Line.Sequence, head.Sequence+1)
	}
	s.mu.Lock()
	s.behind = true
	err = s.remember(max(said.Step, s.mark.steps, steps)+2, entry)
	s.mu.Unlock()
	if err == nil {
		_, err = s.set(ctx, said.Plan, "lost share stored", func(r *record) { r.Lost = share })
	}
	return fail(errors.Join(ErrBehind, err))
}

// lacks reports whether the ledger neither has a line nor has charged its whole cost since.
func (s *Server) lacks(ctx context.Context, line privacy.Line) (bool, error) {
	if have, found, err := privacy.FindLine(ctx, s.config.Journal, line.ID); err != nil || found &&
		have.Hash == line.Hash {
		return false, err
	}
	chain, err := privacy.VerifyEach(ctx, s.config.Journal, func(privacy.Line) error { return nil })
	if err != nil {
		return false, err
	}
	_, err = chain.CheckHead(line.Head())
	return err != nil || len(chain.UnpaidLines([]privacy.Line{line})) > 0, nil
}

// lost returns the lines of shares that the coordinator showed (Recall), which this helper's ledger
// lacks.
func (s *Server) lost(ctx context.Context) (lines []privacy.Line, err error) {
	var shares []Signed
	err = s.view(ctx, study.Hash{}, func(t *transaction) error {
		return t.records(func(_ study.Hash, r record) error {
			shares = append(shares, r.Lost)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	for _, share := range shares {
		var said AggregateShare
		if share.Document == nil {
			continue
		}
		if err := study.DecodeStrictJSON(share.Document, &said); err != nil {
			return nil, err
		}
		missing, err := s.lacks(ctx, *said.Line)
		if err != nil {
			return nil, err
		}
		if missing {
			lines = append(lines, *said.Line)
		}
	}
	return lines, err
}

// recall shows the helper its newest share. If the helper was restored, recall shows all of its
// shares, once until the helper answers again.
func (s *Server) recall(ctx context.Context, helper Peer) error {
	s.mu.Lock()
	newest, shown := s.newest, s.shown
	s.mu.Unlock()
	if newest.Document == nil {
		return nil
	}
	err := helper.Recall(ctx, newest)
	behind := errors.Is(err, ErrBehind)
	if behind && !shown {
		var all []Signed
		failed := s.view(ctx, study.Hash{}, func(t *transaction) error {
			return t.records(func(_ study.Hash, r record) error {
				all = append(all, r.ShareOther)
				return nil
			})
		})
		for _, share := range all {
			if failed != nil || s.config.OtherKey.Verify(protocol.ShareDocument, share.Document,
				share.Signature) != nil {
				continue
			}
			if failed = helper.Recall(ctx, share); errors.Is(failed, ErrBehind) {
				failed = nil
			}
		}
		if failed != nil {
			return failed
		}
	}
	s.mu.Lock()
	s.shown = behind
	s.mu.Unlock()
	return err
}

// Probe asks the helper whether it answers, at the cost of a read there, and shows it the newest
// share that this coordinator holds (Recall). It changes nothing at a helper that lacks no share.
func (s *Server) Probe(ctx context.Context, helper Peer) error {
	if err := s.recall(ctx, helper); err != nil {
		return err
	}
	return helper.End(ctx, study.Hash{}) // nobody accepted such a study
}
