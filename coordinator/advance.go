package coordinator

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/life"
)

// foldBatch is the number of contributions added in one transaction. It bounds memory and how long
// other studies wait.
const foldBatch = 32

type releaser struct {
	ledger   *privacy.Ledger
	journal  privacy.Journal
	head     *folder.LedgerHead
	witness  *witnesses
	signer   *protocol.Signer
	repairer repairer
	software string
	lost     bool // the ledger lacked published entries when it was opened
}

// behind reports whether the ledger is known to lack what was published.
func (r releaser) behind() bool {
	return r.lost || errors.Is(r.witness.stopped(), privacy.ErrBehind)
}

// advance does the remaining work of a sealed or folded study, from what is stored. A restart in
// between does not change the result. advance returns when there is nothing to do before the next
// event.
func (rs *runningStudy) advance(ctx context.Context, r releaser) error {
	rs.advancing.Lock()
	defer rs.advancing.Unlock()
	ctx, stop := rs.interruptible(ctx)
	defer stop()
	for {
		var effects []life.Effect
		var machine *life.Study
		err := rs.view(ctx, func(s *life.Study) error {
			effects, machine = s.Resume(), s
			return nil
		})
		if err != nil || len(effects) == 0 {
			return err
		}
		// c.machine may be read without c.mu here, because only the holder of c.advancing moves a
		// sealed or folded study.
		for _, e := range effects {
			switch e.(type) {
			case life.FoldSum:
				if err = rs.repairLost(ctx, r.repairer); err == nil {
					err = rs.view(ctx, func(s *life.Study) error { machine = s; return nil })
				}
				if err == nil && machine.State == study.Sealed {
					err = rs.fold(ctx, machine)
				}
				if damaged(err) {
					rs.inspected = false
				}
			case life.MakeRelease:
				err = rs.release(ctx, machine, r)
			default:
				err = fmt.Errorf("resume study %s: unknown effect %T", rs.hash, e)
			}
			_, folded := e.(life.MakeRelease)
			if errors.Is(err, records.ErrDamagedSum) || errors.Is(err, errMissingBody) || folded &&
				damaged(err) {
				return rs.loseFolded(ctx, r.repairer, err)
			}
			if err != nil {
				// An interrupted step may fail by any error, which then says nothing of the study.
				return errors.Join(err, ctx.Err())
			}
		}
	}
}

// fold adds all contributions to the sum and stores how many there were. If the kind keeps bodies,
// fold checks their digests instead of adding.
func (rs *runningStudy) fold(ctx context.Context, s *life.Study) error {
	fail := func(err error) error { return fmt.Errorf("fold study %s: %w", rs.hash, err) }
	checker, err := rs.studyChecker(ctx)
	if err != nil {
		return fail(err)
	}
	if checker.shared {
		if err := rs.foldShares(ctx, s); err != nil {
			return fail(err)
		}
		return nil
	}
	var total int
	if _, keeps := checker.task.(study.BodyKeeper); keeps {
		total, err = count(s.ReceivedBodies(rs.bodies(ctx, s)))
	} else {
		total, err = rs.add(ctx, checker.task)
	}
	if err != nil {
		return fail(err)
	}
	_, err = rs.step(ctx, life.SumDone{Contributions: total}, nil)
	return err
}

// add adds each contribution to the stored sum exactly once. One transaction adds a batch, deletes
// its ballots and stores the sum.
func (rs *runningStudy) add(ctx context.Context, task study.Task) (total int, err error) {
	sum, err := task.NewSum()
	if err != nil {
		return 0, err
	}
	for more := true; more; {
		err := rs.store.Update(context.WithoutCancel(ctx), func(tx records.Tx) error {
			stored, n, err := tx.Sum(rs.hash)
			if err != nil {
				return err
			}
			if stored != nil {
				if err := sum.UnmarshalBinary(stored); err != nil {
					return err
				}
			}
			batch, err := tx.UnsummedContributions(rs.hash, "", rs.batch)
			total, more = n+len(batch), len(batch) > 0
			if err != nil || !more {
				return err
			}
			for _, b := range batch {
				if sha256.Sum256(b.Body) != b.Digest {
					return fmt.Errorf("%w: that of %s", errDamagedBody, b.Party)
				}
				if err := sum.Add(b.Body); err != nil {
					return err
				}
			}
			if stored, err = sum.MarshalBinary(); err != nil {
				return err
			}
			if err := tx.SetSum(rs.hash, stored, total, batch); err != nil {
				return err
			}
			rs.point("before batch folded")
			return nil
		})
		if err == nil && more {
			rs.point("after batch folded")
			err = ctx.Err()
		}
		if err != nil {
			return 0, err
		}
	}
	return total, nil
}

func (rs *runningStudy) summed(ctx context.Context, s *life.Study,
	task study.Task) (study.Contributions,
	error) {
	if _, keeps := task.(study.BodyKeeper); keeps {
		return study.Contributions{Bodies: rs.bodies(ctx, s)}, nil
	}
	sum, err := task.NewSum()
	if err != nil {
		return study.Contributions{}, err
	}
	err = rs.store.View(ctx, func(tx records.Tx) error {
		stored, n, err := tx.Sum(rs.hash)
		if err != nil {
			return err
		}
		if n != len(s.Received) {
			return fmt.Errorf("%w: the sum holds %d contributions of %d", protocol.ErrDamaged, n,
				len(s.Received))
		}
		return sum.UnmarshalBinary(stored)
	})
	return study.Contributions{Sum: sum}, err
}

// release has the ledger release the sum (conclude). One transaction stores the signed release and
// the final state. If the process is killed after the ledger's commit, the next start asks the
// ledger again and gets the same answer.
func (rs *runningStudy) release(ctx context.Context, s *life.Study, r releaser) error {
	fail := func(err error) error { return fmt.Errorf("release study %s: %w", rs.hash, err) }
	contributed, others := s.Contributors()
	if err := r.witness.whyWait(rs.hash, contributed, others); err != nil {
		return fail(err)
	}
	checker, err := rs.studyChecker(ctx)
	if err != nil {
		return fail(err)
	}
	release, err := rs.conclude(ctx, s, checker, r)
	if err != nil {
		return fail(err)
	}
	release.Plan, release.Software, release.Amendments = rs.row.Plan, r.software, rs.amendments
	var out records.Release
	if out.Document, err = json.Marshal(release); err != nil {
		return fail(err)
	}
	out.Signature = r.signer.Sign(protocol.ReleaseDocument, out.Document)
	head, err := r.head.Advance(ctx, r.journal)
	if err != nil {
		return fail(err)
	}
	out.LedgerEntry = head.Sequence
	// a caller proved meanwhile that the ledger was restored, so the answer is not published
	if err := r.witness.whyWait(rs.hash, contributed, others); err != nil {
		return fail(err)
	}
	_, err = rs.step(ctx, life.ReleaseDone{}, func(tx records.Tx, _ life.Effect) error {
		return tx.AddRelease(rs.hash, out)
	})
	return err
}

func (rs *runningStudy) conclude(ctx context.Context, s *life.Study, by *studyChecker,
	r releaser) (study.Release, error) {
	if by.shared {
		return rs.concludeShares(ctx, s, by.task, r.ledger)
	}
	summed, err := rs.summed(ctx, s, by.task)
	if err != nil {
		return study.Release{}, err
	}
	rs.point("before ledger")
	release, err := life.Conclude(ctx, s, by.task, summed, r.ledger)
	if err == nil {
		rs.point("after ledger")
	}
	return release, err
}

// giveUpReason is the public reason why a study cannot be released. It must depend on no record.
func giveUpReason(err error) string {
	if errors.Is(err, privacy.ErrBudget) {
		return "the release would pass the coordinator's privacy budget; the coordinator spent nothing"
	}
	if errors.Is(err, privacy.ErrConflict) {
		return "the coordinator's ledger has answered for other contributions to this study than are stored: the store was put back to an older state; nothing more was spent"
	}
	if errors.Is(err, study.ErrPlan) {
		return "another version of the program made its plan, and reads its contributions: make the study anew"
	}
	if why := sharesReason(err); why != "" {
		return why
	}
	return "the release cannot be made; the coordinator's log says why"
}
