package helper

import (
	"context"
	"errors"
	"fmt"

	"caucus/aggregator"
	"caucus/internal/database"
	"caucus/internal/folder"
	"caucus/privacy"
	"caucus/privacy/journal"
	"caucus/protocol/server"
)

// ReconcileReport says what Reconcile found and changed. If WasRestored, give the new pins to the
// coordinator and every party.
type ReconcileReport struct {
	// WasRestored reports whether the files were restored to an older state. If false, nothing was
	// done.
	WasRestored bool `json:"behind"`
	// LostEntries is the number of lost ledger entries, and Charged has their costs.
	LostEntries int64          `json:"entries"`
	Charged     []privacy.Cost `json:"charged"`
	// Pins are the helper's pins with its new sealing key.
	Pins Pins `json:"pins"`
}

// Reconcile lets a stopped helper answer again after its folder was restored from a backup. lost
// has one cost for each ledger entry that the backup lacks; the releases made since the backup
// state these costs. A new sealing key replaces the old one, and every study without a release by
// this helper fails. Reconcile also makes a lost head file anew (aggregator.RewriteHead).
func Reconcile(ctx context.Context, c Config, lost []privacy.Cost) (r ReconcileReport, err error) {
	fail := func(err error) (ReconcileReport, error) {
		return r, fmt.Errorf("reconcile helper: %w", err)
	}
	unlock, err := folder.LockForDaemon(c.Dir, "another helper")
	if err != nil {
		return fail(err)
	}
	defer unlock()
	if err := errors.Join(database.Check(c.path(LedgerFile)),
		database.Check(c.path(storeFile))); err != nil {
		return fail(err)
	}
	ledger, err := journal.OpenSQLite(c.path(LedgerFile))
	if err != nil {
		return fail(err)
	}
	sealed, err := server.LoadSealingKey(c.path(sealingFile))
	if err == nil {
		err = aggregator.RewriteHead(ctx,
			aggregator.Config{Store: c.path(storeFile), Head: c.headFile(), Journal: ledger,
				Sealing: sealed}, int64(len(lost)))
	}
	if err = errors.Join(err, ledger.Close()); err != nil {
		return fail(err)
	}
	s := &Server{config: c}
	defer func() { // closes the server that was opened last
		if failed := s.Close(); err == nil {
			err = failed
		}
	}()
	if err := s.openFiles(); err != nil {
		return fail(err)
	}
	if r.Pins = s.pins; !s.server.IsRestored() {
		return r, nil
	}
	r.WasRestored = true
	unknown, shown, err := s.server.LostEntries(ctx)
	if err != nil {
		return fail(err)
	}
	if r.LostEntries = unknown + int64(len(shown)); int64(len(lost)) < unknown {
		return fail(fmt.Errorf("the ledger lacks %d entries that nobody has shown: start the helper and wait until its log counts them as shown by the coordinator, or give the cost of each as its release says (--charge; %d are given)", unknown, len(lost)))
	}
	if err := s.Close(); err != nil {
		return fail(err)
	}
	// From here on nothing encrypted to the old key opens. The ledger is corrected last. If the
	// process is killed earlier, Reconcile runs again and makes another key.
	sealing, err := server.NewSealingKey()
	if err != nil {
		return fail(err)
	}
	if err := sealing.Save(c.path(sealingFile)); err != nil {
		return fail(err)
	}
	again := &Server{config: c}
	if err := again.openFiles(); err != nil {
		return fail(err)
	}
	s = again
	if err := s.server.Reconcile(ctx); err != nil {
		return fail(err)
	}
	if err := s.server.ReconcileLedger(ctx, lost, shown); err != nil {
		return fail(err)
	}
	if r.Pins = s.pins; r.LostEntries > 0 {
		r.Charged = lost
		for _, line := range shown {
			r.Charged = append(r.Charged, line.Costs...)
		}
	}
	return r, nil
}
