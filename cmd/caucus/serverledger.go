package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"caucus/aggregator/helper"
	"caucus/cmd/internal/console"
	"caucus/cmd/internal/input"
	"caucus/cmd/internal/siteverbs"
	"caucus/coordinator/folder"
	"caucus/privacy"
	"caucus/privacy/journal"
	"caucus/protocol"
	"caucus/study/kinds"
	"caucus/study/verify/evidence"
)

// servers reads and mends the ledgers of coordinators and helpers, for the verbs of ledger.
type servers struct{}

// LedgerAt says where the ledger of a coordinator or a helper is.
func (servers) LedgerAt(dir string) (string, error) { return folder.LedgerAt(dir) }

// Memory returns what a coordinator's store, head file, parties and operators remember. A helper
// stores no releases, and checks its head file by itself.
func (servers) Memory(ctx context.Context, dir string) (evidence.LedgerMemory, protocol.Verifier,
	error) {
	var m evidence.LedgerMemory
	if helper.IsHelperFolder(dir) {
		return m, nil, nil
	}
	e, err := folder.ReadEvidence(ctx, dir)
	if err != nil {
		return m, nil, err
	}
	m.Heads = append(m.Heads, evidence.RememberedHead{Head: e.StoredHead, Who: e.HeadFile},
		evidence.RememberedHead{Head: privacy.Head{Sequence: e.Last},
			Who: "the coordinator's store"})
	for _, h := range e.WitnessedHeads {
		m.Heads = append(m.Heads,
			evidence.RememberedHead{Head: h, Who: "a party or an operator showed it"})
	}
	m.Releases = append(m.Releases, evidence.ReleasedLines{Lines: e.Lines, Who: "a stored release"})
	return m, e.Keys, nil
}

// Compare checks a coordinator's ledger against one release. Of a helper's ledger only the lines
// can be compared.
func (servers) Compare(ctx context.Context, dir string, chain *privacy.LedgerChain,
	name string) ([]evidence.Finding, error) {
	if helper.IsHelperFolder(dir) {
		return nil, nil
	}
	r, err := input.ReadSigned(name)
	if err != nil {
		return nil, err
	}
	if _, err := kinds.PlanOf(r.Release); err != nil {
		return nil, err
	}
	e, err := folder.ReadEvidence(ctx, dir)
	if err != nil {
		return nil, err
	}
	at, err := folder.LedgerAt(dir)
	if err != nil {
		return nil, err
	}
	j, err := journal.OpenExisting(at)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	return evidence.CompareCoordinator(r, e.Keys, chain,
		func(id string) (privacy.Line, bool, error) { return privacy.FindLine(ctx, j, id) }), nil
}

// serverReconciled is the JSON document of "caucus ledger reconcile" for a coordinator.
type serverReconciled struct {
	Ledger string `json:"ledger"`
	// Charged has all costs that were charged again.
	Charged []privacy.Cost `json:"charged"`
	// Releases are releases that a coordinator had lost and that were put into its store again.
	Releases []folder.RestoredRelease `json:"releases,omitempty"`
	Behind   bool                     `json:"behind"`
}

// Reconcile charges again what a coordinator's or a helper's ledger has forgotten.
func (servers) Reconcile(ctx context.Context, c *console.Console, dir string, releases []string,
	lost []privacy.Cost) error {
	if helper.IsHelperFolder(dir) {
		if len(releases) > 0 {
			return siteverbs.ErrNotCoordinatorLedger
		}
		return reconcileHelper(ctx, c, dir, lost)
	}
	e, err := folder.ReadEvidence(ctx, dir)
	if err != nil {
		return err
	}
	var published []protocol.SignedRelease
	var lines []privacy.Line
	for _, name := range releases {
		r, err := input.ReadSigned(name)
		if err != nil {
			return err
		}
		named, err := evidence.ReleaseLines(r, e.Keys)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		published, lines = append(published, r), append(lines, named...)
	}
	doc := serverReconciled{Ledger: dir}
	if doc.Releases, err = folder.RestoreReleases(ctx, dir, published, time.Now()); err != nil {
		return err
	}
	if doc.Charged, err = folder.Reconcile(ctx, dir, lines, lost); err != nil {
		return err
	}
	doc.Behind = len(doc.Charged) > 0
	return c.Print(doc, doc.writeText)
}

func (sr serverReconciled) writeText(w io.Writer) {
	for _, s := range sr.Releases {
		if s.Why != "" {
			fmt.Fprintf(w, "study %s (%s): its release is not put back: %s\n", s.Name, s.Study, s.Why)
		} else {
			fmt.Fprintf(w, "study %s (%s) is released; it was %s\n", s.Name, s.Study,
				cmp.Or(string(s.StateBefore), "not known"))
		}
	}
	siteverbs.WriteCosts(w, sr.Charged)
}

// reconcileHelper lets a helper answer again after its folder was restored from a backup.
func reconcileHelper(ctx context.Context, c *console.Console, dir string,
	lost []privacy.Cost) error {
	config, err := helper.LoadConfig(dir)
	if err != nil {
		return err
	}
	document, err := helper.Reconcile(ctx, config, lost)
	if err != nil {
		return err
	}
	return c.Print(document, func(w io.Writer) {
		if !document.WasRestored {
			fmt.Fprintln(w, "nothing is missing: the folder is not behind its head file")
			return
		}
		for _, cost := range document.Charged {
			fmt.Fprintf(w, "charged again: %s\n", cost)
		}
		fmt.Fprintln(w, "the helper answers again; its open studies have failed. The sealing key is new:")
		writePins(w, document.Pins)
	})
}
