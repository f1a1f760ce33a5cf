package coordinator

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"caucus/coordinator/records"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/life"
)

// repairer repairs a sealed study whose stored contributions were damaged. Only a disk can damage
// them, because this program never rewrites them.
type repairer struct {
	watch   *clockWatch
	journal privacy.Journal
	repair  time.Duration
	log     *slog.Logger
}

// repairLost checks every stored body of a sealed study against its digest, before any is added and
// deleted. The party of a damaged body still has the bytes and is asked for them. The study waits
// (errWaits) until the repair deadline, and is then sealed again without the missing bodies.
//
// The number of contributions M then changes, but it is still fixed before the noise is drawn,
// because a study with an entry in the ledger is never sealed again.
func (rs *runningStudy) repairLost(ctx context.Context, m repairer) error {
	if !rs.inspected {
		if err := rs.inspect(ctx, m); err != nil {
			return fmt.Errorf("inspect study %s: %w", rs.hash, err)
		}
		rs.inspected = true
	}
	rs.mu.Lock()
	lost := maps.Clone(rs.lost)
	rs.mu.Unlock()
	if len(lost) == 0 {
		return nil
	}
	wait := fmt.Errorf("%w for bytes that are lost", errWaits)
	now, doubt := m.watch.now()
	var over []study.PartyID
	for p, noticed := range lost {
		if doubt == nil && now.Sub(noticed) >= m.repair {
			over = append(over, p)
		}
	}
	if len(over) == 0 {
		return wait
	}
	charged, err := rs.charged(ctx, func(id string) (bool, error) {
		_, found, err := privacy.FindLine(ctx, m.journal, id)
		return found, err
	})
	switch {
	case err != nil:
		return err
	case charged && !rs.saidKept:
		rs.saidKept = true
		m.log.Error("contributions are lost of a study that the ledger has released: it is not sealed without them, and waits for the same bytes", "study", rs.hash, "parties", over)
		return wait
	case charged:
		return wait
	}
	return rs.reseal(ctx, m, over)
}

// lostSince is the time from which the parties' repair deadline counts. It returns an error until
// the clock is trusted, because a wrong clock would leave them too little time, or let the study
// wait forever.
func (r repairer) lostSince() (time.Time, error) {
	now, doubt := r.watch.now()
	if doubt != nil {
		return now, fmt.Errorf("%w: contributions are damaged, and the clock is not believed by which their parties would be given time", errWaits)
	}
	return now, nil
}

// inspect finds stored bodies that differ from the received ones, and stores that they are lost.
func (rs *runningStudy) inspect(ctx context.Context, m repairer) error {
	var found []study.PartyID
	for after, more := study.PartyID(""), true; more; {
		err := rs.store.View(ctx, func(tx records.Tx) error {
			batch, err := tx.UnsummedContributions(rs.hash, after, rs.batch)
			more = len(batch) > 0
			for _, b := range batch {
				after = b.Party
				if sha256.Sum256(b.Body) != b.Digest {
					found = append(found, b.Party)
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if len(found) == 0 {
		return nil
	}
	now, err := m.lostSince()
	if err != nil {
		return err
	}
	m.log.Error("stored contributions are damaged: check the disk. Their parties are asked for the same bytes", "study", rs.hash, "parties", found, "until", now.Add(m.repair).UTC())
	rs.mu.Lock()
	defer rs.mu.Unlock()
	err = rs.store.Update(context.WithoutCancel(ctx), func(tx records.Tx) error {
		return tx.MarkLost(rs.hash, found, now)
	})
	// read the machine again, also after an error, because the commit may have happened
	rs.machine = nil
	if err != nil {
		return err
	}
	return rs.load(ctx)
}

// reseal seals the study without the missing contributions, except those that came again meanwhile.
func (rs *runningStudy) reseal(ctx context.Context, m repairer, missing []study.PartyID) error {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	defer rs.settle()
	if err := rs.load(ctx); err != nil {
		return err
	}
	missing = slices.DeleteFunc(missing, func(p study.PartyID) bool {
		_, lost := rs.lost[p]
		return !lost
	})
	slices.Sort(missing)
	if len(missing) == 0 {
		return nil
	}
	_, err := rs.stepLocked(ctx, life.SealedWithoutLost{Without: missing},
		func(tx records.Tx, e life.Effect) error {
			if stored, ok := e.(life.StoreState); !ok || stored.State != study.Sealed {
				return nil // the study fails; its receipts stay
			}
			return tx.DropContributions(rs.hash, missing)
		})
	if err != nil {
		return err
	}
	m.log.Warn("sealed anew without contributions that were lost", "study", rs.hash, "parties", missing, "state", rs.machine.State)
	rs.machine = nil
	return rs.load(ctx)
}

// loseFolded moves a folded study back to sealed, because its sum does not match its contributions.
// Folding deleted the summed contributions, but their parties still have them, so all parties are
// asked again. If the kind keeps bodies, only parties of missing bodies are asked; inspect then
// finds the damaged bodies. The same bytes are folded again, so a ledger that was asked before
// gives the same answer.
func (rs *runningStudy) loseFolded(ctx context.Context, m repairer, why error) error {
	now, err := m.lostSince()
	if err != nil {
		return fmt.Errorf("mend study %s: %w", rs.hash, err)
	}
	if errors.Is(why, records.ErrDamagedSum) {
		m.log.Error("a stored sum is damaged: check the disk. All contributors are asked for the same bytes", "study", rs.hash)
	} else {
		m.log.Error("stored contributions are damaged or missing since they were folded: check the disk. They are inspected again", "study", rs.hash)
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	_, err = rs.stepLocked(ctx, life.SumLost{}, func(tx records.Tx, _ life.Effect) error {
		return tx.MarkSumLost(rs.hash, now)
	})
	rs.inspected, rs.machine = false, nil // read the machine again, with the lost contributions
	return err
}

// restoreLocked stores the bytes of a lost contribution again, and returns its original receipt.
func (rs *runningStudy) restoreLocked(ctx context.Context, caller protocol.Caller,
	r protocol.Receipt, body []byte) (protocol.Receipt, error) {
	_, err := rs.stepLocked(ctx, life.ContributionReturned{Party: r.Party},
		func(tx records.Tx, e life.Effect) error {
			if _, ok := e.(life.RestoreContribution); !ok {
				return nil
			}
			if err := rs.certificates.CheckInTransaction(tx, caller); err != nil {
				return err
			}
			return tx.Restore(rs.hash, r.Party, body)
		})
	if err != nil {
		return protocol.Receipt{}, err
	}
	rs.quietSince = rs.watch.clock.Elapsed()
	return rs.receiptLocked(ctx, r.Party)
}
