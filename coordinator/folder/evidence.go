package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"caucus/coordinator/records"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// Evidence is what a coordinator's folder and head file prove about its ledger. It can be read
// while the coordinator runs.
type Evidence struct {
	Keys protocol.Keys // all keys that this coordinator ever signed with
	// StoredHead is the head in the file at HeadFile (Config.Head). It is the zero LedgerHead
	// without such a file, or before the first release.
	StoredHead privacy.Head
	HeadFile   string
	// Lines are the ledger lines of stored releases. Last is the highest ledger entry that the
	// store knows.
	Lines []privacy.Line
	Last  int64
	// WitnessedHeads are the heads that the ledger lacked when callers showed documents with them
	// (records.HeadProof).
	WitnessedHeads []privacy.Head
}

// ReadEvidence reads the folder without a lock or a change. It checks the signature of each stored
// release, and reads on after one of a form that this version does not know.
func ReadEvidence(ctx context.Context, dir string) (Evidence, error) {
	fail := func(err error) (Evidence, error) {
		return Evidence{}, fmt.Errorf("read coordinator's folder %s: %w", dir, err)
	}
	c, err := LoadConfig(filepath.Join(dir, ConfigFile))
	if err != nil {
		return fail(err)
	}
	ring, err := LoadKeyring(c)
	if err != nil {
		return fail(err)
	}
	e := Evidence{Keys: ring.Keys, HeadFile: c.HeadFile()}
	if e.HeadFile != "" {
		text, err := os.ReadFile(e.HeadFile)
		if err == nil {
			e.StoredHead, err = privacy.ParseHead(string(text))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fail(err)
		}
	}
	stores, err := OpenStores(c)
	if err != nil {
		return fail(err)
	}
	defer stores.Close()
	err = stores.Store.View(ctx, func(tx records.Tx) error {
		rows, err := tx.Studies()
		if err != nil {
			return err
		}
		for _, s := range rows {
			r, err := tx.Release(s.Hash)
			if errors.Is(err, records.ErrNoRow) {
				continue
			}
			if err != nil {
				return err
			}
			release, err := protocol.ParseRelease(r.Document, r.Signature, e.Keys)
			if err != nil && !errors.Is(err, study.ErrForm) {
				return fmt.Errorf("release of study %s: %w", s.Name, err)
			}
			e.Lines = append(e.Lines, release.Ledger...)
		}
		if e.Last, err = tx.LedgerEntry(); err != nil {
			return err
		}
		witnessed, err := tx.HeadProofs()
		for _, t := range witnessed {
			e.WitnessedHeads = append(e.WitnessedHeads, t.Head)
		}
		return err
	})
	if err != nil {
		return fail(err)
	}
	return e, nil
}

// Reconcile corrects the ledger of a stopped coordinator after the ledger or the whole folder was
// restored from a backup. It charges the published lines that the ledger lacks, and the costs in
// lost. New entries get numbers above every published one. It returns the charged costs, nil if the
// ledger is not behind.
func Reconcile(ctx context.Context, dir string, published []privacy.Line,
	lost []privacy.Cost) ([]privacy.Cost, error) {
	fail := func(err error) ([]privacy.Cost, error) {
		return nil, fmt.Errorf("reconcile ledger: %w", err)
	}
	c, _, release, err := stopped(dir)
	if err != nil {
		return fail(err)
	}
	defer release()
	e, err := ReadEvidence(ctx, dir)
	if err != nil {
		return fail(err)
	}
	stores, err := OpenStores(c)
	if err != nil {
		return fail(err)
	}
	defer stores.Close()
	j := stores.Journal
	chain, err := privacy.VerifyEach(ctx, j, func(privacy.Line) error { return nil })
	if err != nil {
		return fail(err)
	}
	known := append(slices.Clone(e.Lines), published...)
	heads := append(slices.Clone(e.WitnessedHeads), e.StoredHead)
	lines, unknown := lostLines(chain, known, heads)
	last, numbers := e.Last, map[int64]bool{}
	for _, h := range heads {
		last = max(last, h.Sequence)
	}
	for _, l := range known {
		if last = max(last, l.Sequence); l.Sequence > chain.Head().Sequence {
			numbers[l.Sequence] = true
		}
	}
	if missing := int(max(0, last-chain.Head().Sequence)) - len(numbers) +
		len(unknown); missing > len(lost) {
		return fail(fmt.Errorf("%d entries were published and are lost of which nothing is known: give the releases that they made, or their costs", missing-len(lost)))
	}
	if len(lost)+len(lines) == 0 {
		if e.StoredHead.Sequence > 0 { // an earlier call may have failed to write the head file
			err = keepHead(ctx, c, j)
		}
		return nil, err
	}
	// After a restore the ledger may have gone on and used the lost numbers for other entries. New
	// entries get numbers beyond both.
	last = max(last, chain.Head().Sequence+1)
	ledger, err := privacy.Open(j, privacy.Config{Limits: c.Budget, LastSequence: last})
	if err != nil {
		return fail(err)
	}
	// Of some lost entries only the head is known. The charge for such an entry names the head, so
	// that the head no longer counts as proof of a restore.
	named := lines
	for i, h := range unknown {
		named = append(named[:len(named):len(named)],
			privacy.Line{Sequence: h.Sequence, Hash: h.Hash, Costs: lost[i : i+1]})
	}
	if err := ledger.Reconcile(ctx, lost[len(unknown):], named); err != nil {
		return nil, err
	}
	if err := keepHead(ctx, c, j); err != nil {
		return fail(err)
	}
	for _, l := range lines {
		lost = append(lost, l.Costs...)
	}
	return lost, nil
}

// lostLines returns the known lines that the ledger lacks and has not paid for. unknown are lost
// entries of which only the head is known: the entry before a lost line, and entries in heads whose
// number the ledger gave to another entry.
func lostLines(chain *privacy.LedgerChain, known []privacy.Line,
	heads []privacy.Head) (lines []privacy.Line, unknown []privacy.Head) {
	seen := map[privacy.Digest]bool{}
	for _, l := range known {
		if _, err := chain.CheckHead(l.Head()); err != nil && !seen[l.Hash] {
			lines = append(lines, l)
		}
		seen[l.Hash] = true
	}
	lines = append(lines, chain.UnpaidLines(known)...)
	miss := func(h privacy.Head) {
		if h.Sequence < 1 || h.Sequence > chain.Head().Sequence || seen[h.Hash] {
			return
		}
		if _, err := chain.CheckHead(h); err != nil {
			seen[h.Hash] = true
			unknown = append(unknown, h)
		}
	}
	for _, h := range heads {
		miss(h)
	}
	for _, l := range lines {
		miss(privacy.Head{Sequence: l.Sequence - 1, Hash: l.Prev})
	}
	return lines, unknown
}

func keepHead(ctx context.Context, c Config, j privacy.Journal) error {
	if c.HeadFile() == "" {
		return nil
	}
	_, err := (&LedgerHead{path: c.HeadFile()}).Advance(ctx, j)
	return err
}
