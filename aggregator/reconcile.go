package aggregator

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"caucus/aggregation/shares"
	"caucus/privacy"
	"caucus/study"
)

// LostEntries counts the ledger entries that the head file knows and the server lacks. It leaves
// out the entries of shares that the coordinator showed (Recall), and returns their lines.
func (s *Server) LostEntries(ctx context.Context) (n int64, shown []privacy.Line, err error) {
	head, err := privacy.JournalHead(ctx, s.config.Journal)
	if err == nil {
		shown, err = s.lost(ctx)
	}
	if err != nil {
		return 0, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(0, s.mark.entry-head.Sequence-int64(len(shown))), shown, nil
}

// ReconcileLedger charges the missing entries, even beyond the limits, and moves the ledger's
// number beyond every entry that the head file knows. lost holds the costs of entries as the
// operator gives them, and shown the lines of entries that LostEntries returned.
func (s *Server) ReconcileLedger(ctx context.Context, lost []privacy.Cost,
	shown []privacy.Line) error {
	return s.ledger.Reconcile(ctx, lost, shown)
}

// Reconcile lets a server answer again after its files were restored. Every study without a release
// fails here. A helper must first have a new sealing key, which parties pin; under that key no
// earlier contribution can be prepared again. The ledger is reconciled separately
// (privacy.Ledger.Reconcile).
func (s *Server) Reconcile(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	fail := func(err error) error { return fmt.Errorf("reconcile %v: %w", s.config.Role, err) }
	switch {
	case !s.behind:
		return fail(errors.New("its files are not behind its head file"))
	case s.config.Role == shares.Helper && s.mark.sealing == s.pin():
		return fail(errors.New("make a new sealing key first: contributions that were sealed to this one may have been prepared already, by this server as it was"))
	}
	err := s.db.Update(ctx, func(tx *sql.Tx) error {
		err := (&transaction{ctx: ctx, tx: tx}).records(func(h study.Hash, r record) error {
			if r.Share.Document != nil || r.Failed != "" {
				return nil
			}
			r.Failed = fmt.Sprintf("the %v was put back to an older state", s.config.Role)
			t := &transaction{ctx, tx, h}
			return errors.Join(t.setRecord(r), t.wipe())
		})
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE steps SET n = CASE WHEN n > $1 THEN n ELSE $1 END + 1", s.mark.steps)
		return err
	})
	if err != nil {
		return fail(err)
	}
	m := mark{s.mark.steps + 1, s.mark.entry, s.pin()}
	if err := writeMark(s.config.Head, m); err != nil {
		return fail(err)
	}
	s.mark, s.behind = m, false
	return nil
}

// RewriteHead writes a lost or damaged head file anew, as that of a restored server, so that the
// server answers nothing until Reconcile. lost is the number of lost ledger entries that the
// operator knows of. RewriteHead leaves a good head file as it is.
//
// Nothing is drawn twice: nobody can tell any more whether the files were put back, so the new file
// counts as ahead of them. Reconcile then fails every study without a release, and a helper's
// earlier uploads open no more, exactly as after a restore. Entries that nobody names are found
// once the coordinator shows their shares (Recall).
func RewriteHead(ctx context.Context, c Config, lost int64) error {
	if _, err := readMark(c.Head); !errors.Is(err, errNoHead) {
		return err
	}
	fail := func(err error) error { return fmt.Errorf("make head file anew: %w", err) }
	entry, err := privacy.JournalHead(ctx, c.Journal)
	if err != nil {
		return fail(err)
	}
	s := &Server{config: c}
	if s.db, err = file.Open(c.Store); err != nil {
		return fail(err)
	}
	defer s.db.Close()
	var steps int64
	if err := s.view(ctx, study.Hash{}, func(t *transaction) error {
		steps, err = t.steps()
		return err
	}); err != nil {
		return fail(err)
	}
	return writeMark(c.Head, mark{steps + 1, entry.Sequence + lost, s.pin()})
}
