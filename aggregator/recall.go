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
// If it is restored to a state before it accepted a study, nobody gains anything, because the helper accepts the
// study again, and uploads encrypted under the first acceptance no longer open (protocol.ShareBinding).
//
// If it is restored to a state between acceptance and release, the helper draws its noise again, and this code
// cannot prevent that. But each release signs the helper's step and its ledger's line. Readers remember both, and so
// does the coordinator, which shows the newest share before it asks for anything. A helper that lacks that share
// answers nothing until it is reconciled, which charges the lost release.

// Recall implements Peer. A share that this helper did not sign proves nothing and is refused.
func (s *Server) Recall(ctx context.Context, share Signed) error {
	unlock, err := s.asked()
	defer unlock()
	if err != nil {
		return err
	}
	fail := func(err error) error { return fmt.Errorf("recall a released share: %w", err) }
	var said AggregateShare
	if err := protocol.ReadSigned(share, s.config.Signer.Key(), protocol.ShareDocument, &said); err != nil {
		return fail(err)
	}
	if said.Line == nil {
		return fail(fmt.Errorf("%w: it names no line of a ledger", protocol.ErrInvalid))
	}
	if err := s.current(ctx); err != nil {
		return fail(err)
	}
	var steps int64
	err = s.view(ctx, said.Plan, func(t *transaction) error { steps, err = t.steps(); return err })
	if err != nil {
		return fail(err)
	}
	missing, err := s.lacks(ctx, *said.Line)
	if err != nil || !missing && said.Step <= steps {
		return err
	}
	head, err := privacy.HeadOf(ctx, s.config.Journal)
	if err != nil {
		return fail(err)
	}
	if _, err := s.set(ctx, said.Plan, "lost share stored", func(r *record) { r.Lost = share }); err != nil {
		return fail(err)
	}
	// The head file is now ahead of the store, so the helper answers nothing, even after a restart.
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behind = true
	return fail(errors.Join(ErrBehind, s.remember(max(said.Step, s.mark.steps)+1, max(said.Line.Sequence, head.Sequence+1))))
}

func (s *Server) lacks(ctx context.Context, line privacy.Line) (bool, error) {
	if have, found, err := privacy.LineOf(ctx, s.config.Journal, line.ID); err != nil || found && have.Hash == line.Hash {
		return false, err
	}
	chain, err := privacy.Walk(ctx, s.config.Journal, func(privacy.Line) error { return nil })
	if err != nil {
		return false, err
	}
	_, err = chain.Recall(line.Head())
	return err != nil, nil
}

// lost returns the lines of shares that the coordinator showed (Recall), which this helper's ledger lacks.
func (s *Server) lost(ctx context.Context) (lines []privacy.Line, err error) {
	var shares []Signed
	err = s.view(ctx, study.Hash{}, func(t *transaction) error {
		return t.records(func(_ study.Hash, r record) error { shares = append(shares, r.Lost); return nil })
	})
	if err != nil {
		return nil, err
	}
	for _, share := range shares {
		var said AggregateShare
		if share.Document == nil {
			continue
		}
		if err := study.DecodeStrictly(share.Document, &said); err != nil {
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

func (s *Server) recall(ctx context.Context, helper Peer) error {
	s.mu.Lock()
	newest := s.newest
	s.mu.Unlock()
	if newest.Document == nil {
		return nil
	}
	return helper.Recall(ctx, newest)
}
