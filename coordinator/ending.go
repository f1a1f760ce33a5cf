package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"caucus/coordinator/members"
	"caucus/coordinator/records"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/pb"
	"caucus/study"
	"caucus/study/life"
)

// CloseStudy seals an open study with the contributions that it has.
func (s *Server) CloseStudy(ctx context.Context, r *pb.StudyRequest) (*pb.Summary, error) {
	c, err := s.registry.find(ctx, r.Study, members.CallerOf(ctx))
	if err != nil {
		return nil, err
	}
	if _, err := c.step(ctx, life.StudyClosed{}, nil); err != nil {
		return nil, err
	}
	s.config.Log.Info("study closed by an operator", "study", c.hash, "by",
		members.CallerOf(ctx).Name)
	s.scheduler.nudge()
	return s.summarize(ctx, c)
}

// AmendStudy signs an amendment of an open study, or of a failed one, which it resumes. The parties
// of a resumed study are asked for the same contributions and charged nothing more.
func (s *Server) AmendStudy(ctx context.Context, r *pb.AmendRequest) (*pb.Summary, error) {
	c, err := s.registry.find(ctx, r.Study, members.CallerOf(ctx))
	if err != nil {
		return nil, err
	}
	a, err := c.amend(ctx, s.scheduler.releaser, func(e study.Ending) (study.Ending, error) {
		if s.registry.named(c.machine.Plan.Name) != c {
			return e, fmt.Errorf("%w: another study has the name %s now: make a new plan", study.ErrAmendment, c.machine.Plan.Name)
		}
		return s.newEnding(e, r)
	})
	if err != nil {
		return nil, err
	}
	s.config.Log.Info("study amended", "study", c.hash, "amendment", a.Number, "reopened",
		a.Reopens, "deadline", a.Ending.Deadline, "minimum", a.Ending.Minimum, "by",
		members.CallerOf(ctx).Name)
	s.scheduler.nudge()
	return s.summarize(ctx, c)
}

// newEnding returns the ending with the operator's changes. Fields that the request omits stay.
func (s *Server) newEnding(e study.Ending, r *pb.AmendRequest) (study.Ending, error) {
	now, doubt := s.registry.watch.now()
	if doubt != nil {
		return e, fmt.Errorf("%w: amend study: the clock is not believed by which a deadline would be set: caucus coordinator clock --vouch", study.ErrAmendment)
	}
	if r.DeadlineUnixMillis != 0 {
		e.Deadline = time.UnixMilli(r.DeadlineUnixMillis)
	}
	if r.Minimum != 0 {
		e.Minimum = int(r.Minimum)
	}
	switch {
	case r.SealWhenAll:
		e.Seal = nil
	case r.Share != 0:
		e.Seal = &study.SealRule{Share: r.Share, QuietSeconds: int(r.QuietSeconds)}
	}
	if !now.Before(e.Deadline) {
		return e, fmt.Errorf("%w: deadline: %s is over by the coordinator's clock (%s): give a later one", study.ErrAmendment, e.Deadline.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	if e.Minimum < s.config.MinimumParties {
		return e, fmt.Errorf("%w: minimum: %d: this coordinator runs no study with less than %d contributions", study.ErrAmendment, e.Minimum, s.config.MinimumParties)
	}
	return e, nil
}

// amend signs the next amendment and commits it together with the state machine's step. It resumes
// a failed study only if the ledger has no entry of the study. It does not resume while a proof is
// known that the ledger was restored from an older copy, because a missing entry then proves
// nothing.
func (rs *runningStudy) amend(ctx context.Context, r releaser,
	change func(study.Ending) (study.Ending, error)) (a study.Amendment, err error) {
	if !rs.advancing.TryLock() {
		return a, fmt.Errorf("amend study: %w: it is being folded or released right now", protocol.ErrBusy)
	}
	defer rs.advancing.Unlock()
	var failed bool
	if err := rs.view(ctx, func(m *life.Study) error {
		failed = m.State == study.Failed
		return nil
	}); err != nil {
		return a, err
	}
	charged := false
	if failed {
		err := r.witness.stopped()
		if err == nil && r.lost {
			err = privacy.ErrBehind
		}
		if err != nil {
			return a, fmt.Errorf("amend study: %w: %w", protocol.ErrUnavailable, err)
		}
		if err := rs.unshared(ctx); err != nil {
			return a, err
		}
		charged, err = rs.charged(ctx, func(id string) (bool, error) {
			_, found, err := privacy.FindLine(ctx, r.journal, id)
			return found, err
		})
		if err != nil {
			return a, err
		}
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	defer rs.settle()
	if err := rs.load(ctx); err != nil {
		return a, err
	}
	if rs.machine.State == study.Open && failed || rs.machine.State == study.Failed && !failed {
		return a, fmt.Errorf("amend study: %w: it is %s since just now", protocol.ErrBusy,
			rs.machine.State)
	}
	ending, err := change(rs.machine.Ending())
	if err != nil {
		return a, err
	}
	now := r.repairer.watch.clock.Now()
	document, err := rs.machine.Chain.Next(ending, failed, now, r.head.Current())
	if err != nil {
		return a, err
	}
	signed := study.Signed{Document: document,
		Signature: r.signer.Sign(protocol.AmendmentDocument, document)}
	_, err = rs.stepLocked(ctx, life.StudyAmended{Document: document, Charged: charged},
		func(tx records.Tx, e life.Effect) error {
			stored, ok := e.(life.StoreAmendment)
			if !ok {
				// the failure deleted the bodies, so the contributions are marked as lost
				if failed {
					return tx.MarkSumLost(rs.hash, now)
				}
				return nil
			}
			return tx.AddAmendment(rs.hash, signed, stored.Number)
		})
	if err != nil {
		return a, err
	}
	if failed {
		rs.over.Store(false)
		rs.finished, rs.inspected, rs.retry, rs.wait = nil, false, 0, 0
		rs.quietSince = rs.watch.clock.Elapsed()
	}
	rs.machine = nil // read the machine again, with the lost contributions
	if err := rs.load(ctx); err != nil {
		return a, errors.Join(err, protocol.ErrUnavailable)
	}
	all := rs.machine.Chain.Amendments()
	return all[len(all)-1], nil
}
