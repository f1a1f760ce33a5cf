package site

import (
	"context"
	"fmt"

	"caucus/internal/folder"
	"caucus/privacy"
	"caucus/study"
)

// LostCharge is a study whose charge a ledger has lost.
type LostCharge struct {
	Study study.Hash     `json:"study"`
	Name  string         `json:"name"`
	Costs []privacy.Cost `json:"costs"`
	// ResultLost says that the ledger holds the charge without the released result, which may be
	// among the lost entries. So the study is charged again.
	ResultLost bool `json:"answer,omitempty"`
}

// Reconcile corrects the ledger of a stopped agent after the ledger was restored from a backup. It
// charges the costs in others, and charges again each study whose folder remembers a head that the
// ledger lacks. It returns these studies, none if the ledger is not behind.
func Reconcile(ctx context.Context, c Config, others []privacy.Cost) ([]LostCharge, error) {
	fail := func(err error) ([]LostCharge, error) {
		return nil, fmt.Errorf("reconcile ledger: %w", err)
	}
	_, party, err := Identity(c)
	if err != nil {
		return fail(err)
	}
	unlock, err := folder.LockForDaemon(c.State, "another agent")
	if err != nil {
		return fail(err)
	}
	defer unlock()
	s, err := Open(c, party)
	if err != nil {
		return fail(err)
	}
	defer s.Close()
	chain, err := privacy.VerifyEach(ctx, s.Journal, func(privacy.Line) error { return nil })
	if err != nil {
		return fail(err)
	}
	folders, err := s.Studies.Folders()
	if err != nil {
		return fail(err)
	}
	all, err := s.unanswered(ctx, folders)
	if err != nil {
		return fail(err)
	}
	var forgotten []StudyFolder
	last, costs := int64(0), others
	for _, d := range folders {
		heads, _, err := headsOf([]StudyFolder{d})
		if err != nil {
			return fail(err)
		}
		if len(heads) == 0 {
			continue
		}
		last = max(last, heads[0].Sequence)
		// A folder whose costs are charged below gets the new head. So if a folder still remembers
		// a head that an earlier reconciliation skipped, its costs are not charged yet.
		if passed, err := chain.CheckHead(heads[0]); err == nil && !passed {
			continue
		}
		lost, err := s.lost(ctx, d)
		if err != nil {
			return fail(err)
		}
		forgotten = append(forgotten, d)
		if len(lost.Costs) > 0 {
			all = append(all, lost)
			costs = append(costs, lost.Costs...)
		}
	}
	if len(forgotten) == 0 && len(others) == 0 {
		return nil, nil
	}
	// After a restore the ledger may have gone on and used the lost numbers for other entries. New
	// entries get numbers beyond both.
	last = max(last, chain.Head().Sequence+1)
	ledger, err := privacy.Open(s.Journal,
		privacy.Config{Limits: c.Policy.TotalLimit, LastSequence: last})
	if err != nil {
		return fail(err)
	}
	if err := ledger.Reconcile(ctx, costs, nil); err != nil {
		return nil, err
	}
	for _, d := range forgotten { // their costs are charged now
		if err := s.StoreLedgerHead(ctx, d); err != nil {
			return fail(err)
		}
	}
	return all, nil
}

// unanswered lists the charged studies without a released result. A reconciliation charges them
// again.
func (s *Site) unanswered(ctx context.Context, folders []StudyFolder) (all []LostCharge,
	err error) {
	open, err := s.Ledger.OpenReservations(ctx)
	if err != nil || len(open) == 0 {
		return nil, err
	}
	for _, d := range folders {
		l, outputs, err := s.charged(d)
		if err != nil { // never charged
			continue
		}
		for _, c := range outputs {
			if cost, is := open[study.ReleaseID(l.Study, c.Output)]; is {
				l.Costs, l.ResultLost = append(l.Costs, cost), true
			}
		}
		if l.ResultLost {
			all = append(all, l)
		}
	}
	return all, nil
}

func (s *Site) charged(d StudyFolder) (LostCharge, []study.Charge, error) {
	p, err := d.Plan()
	if err != nil {
		return LostCharge{}, nil, err
	}
	task, err := s.Task(p)
	if err != nil {
		return LostCharge{}, nil, err
	}
	charges, err := task.Charges(0)
	if err != nil {
		return LostCharge{}, nil, err
	}
	l := LostCharge{Name: p.Name}
	if canonical, err := p.Canonical(); err == nil {
		l.Study = study.HashOf(canonical)
	}
	return l, charges, nil
}

func (s *Site) lost(ctx context.Context, d StudyFolder) (LostCharge, error) {
	l, charges, err := s.charged(d)
	if err != nil {
		return LostCharge{}, err
	}
	for _, c := range charges {
		_, found, err := s.Ledger.FindLine(ctx, study.ReleaseID(l.Study, c.Output))
		if err != nil {
			return LostCharge{}, err
		}
		if !found {
			l.Costs = append(l.Costs, c.Cost)
		}
	}
	return l, nil
}
