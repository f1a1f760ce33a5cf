package coordinator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"caucus/privacy"
	"caucus/privacy/journal"
	"caucus/protocol"
)

// Evidence is what a coordinator's folder knows that its ledger can be held
// against: the releases it signed, and the head kept elsewhere. Reading it may go
// on while the coordinator runs.
type Evidence struct {
	Signer protocol.SignerKey
	// Kept is what Config.Head remembers, and where; the zero Head where it is
	// not set, or nothing was released yet.
	Kept   privacy.Head
	KeptAt string
	// Lines are the ledger lines that stored releases name. Last is the highest
	// entry that the store remembers.
	Lines []privacy.Line
	Last  int64
}

// ReadEvidence reads a coordinator's folder.
func ReadEvidence(ctx context.Context, dir string) (Evidence, error) {
	fail := func(err error) (Evidence, error) {
		return Evidence{}, fmt.Errorf("read coordinator's folder %s: %w", dir, err)
	}
	c, err := LoadConfig(filepath.Join(dir, ConfigFile))
	if err != nil {
		return fail(err)
	}
	signer, err := protocol.LoadSigner(c.path(signerFile))
	if err != nil {
		return fail(err)
	}
	e := Evidence{Signer: signer.Key(), KeptAt: c.headFile()}
	if e.KeptAt != "" {
		text, err := os.ReadFile(e.KeptAt)
		if err == nil {
			e.Kept, err = privacy.ParseHead(string(text))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fail(err)
		}
	}
	if _, err := os.Stat(c.path(storeFile)); err != nil {
		return fail(err)
	}
	store, err := openSQLite(c.path(storeFile))
	if err != nil {
		return fail(err)
	}
	defer store.Close()
	err = store.View(ctx, func(tx Tx) error {
		rows, err := tx.Studies()
		if err != nil {
			return err
		}
		for _, s := range rows {
			r, err := tx.Release(s.Hash)
			if errors.Is(err, errNone) {
				continue
			}
			if err != nil {
				return err
			}
			release, err := protocol.ParseRelease(r.Document, r.Signature, e.Signer)
			if err != nil {
				return fmt.Errorf("release of study %s: %w", s.Name, err)
			}
			e.Lines = append(e.Lines, release.Ledger...)
		}
		e.Last, err = tx.LedgerEntry()
		return err
	})
	if err != nil {
		return fail(err)
	}
	return e, nil
}

// Reconcile brings the ledger of a stopped coordinator up to date after it, or
// the whole folder, was restored from a backup: it charges what the lines of
// releases say that the ledger does not hold, and lost, and passes over every
// number that is known to have been published. It returns what was charged, nil
// where the ledger is not behind.
func Reconcile(ctx context.Context, dir string, published []privacy.Line, lost []privacy.Cost) ([]privacy.Cost, error) {
	fail := func(err error) ([]privacy.Cost, error) { return nil, fmt.Errorf("reconcile ledger: %w", err) }
	c, err := LoadConfig(filepath.Join(dir, ConfigFile))
	if err != nil {
		return fail(err)
	}
	unlock, err := lockFolder(c.Dir)
	if err != nil {
		return fail(err)
	}
	defer unlock()
	e, err := ReadEvidence(ctx, dir)
	if err != nil {
		return fail(err)
	}
	j, err := journal.OpenSQLite(c.path(LedgerFile))
	if err != nil {
		return fail(err)
	}
	defer j.Close()
	chain, err := privacy.Walk(ctx, j, func(privacy.Line) error { return nil })
	if err != nil {
		return fail(err)
	}
	last, named := max(e.Last, e.Kept.Sequence), int64(len(lost))
	seen := map[privacy.Digest]bool{}
	var lines []privacy.Line
	for _, l := range append(e.Lines, published...) {
		last = max(last, l.Sequence)
		if passed, err := chain.Recall(l.Head()); err != nil && !passed && !seen[l.Hash] {
			seen[l.Hash] = true
			lines = append(lines, l)
			if l.Sequence > chain.Head().Sequence { // else the ledger went on without it
				named++
			}
		}
	}
	if len(lost)+len(lines) == 0 && last <= chain.Head().Sequence {
		return nil, nil
	}
	if missing := last - chain.Head().Sequence; missing > named {
		return fail(fmt.Errorf("%d entries were published and are lost, but only %d of them are known: give the releases that they made, or their costs", missing, named))
	}
	// A ledger that went on from an old state has as many entries, but others.
	last = max(last, chain.Head().Sequence+1)
	ledger, err := privacy.Open(j, privacy.Config{Limits: c.Budget, LastSequence: last})
	if err != nil {
		return fail(err)
	}
	if err := ledger.Reconcile(ctx, lost, lines); err != nil {
		return nil, err
	}
	if c.headFile() != "" {
		head := &ledgerHead{path: c.headFile()}
		if _, err := head.advance(ctx, j); err != nil {
			return fail(err)
		}
	}
	for _, l := range lines {
		lost = append(lost, l.Costs...)
	}
	return lost, nil
}
