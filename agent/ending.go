package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"caucus/agent/site"
	"caucus/protocol"
	"caucus/study"
)

// An amendment may change how a study ends: its deadline, the rule that seals it earlier, and its
// minimum, down to the floor that the plan names. Earlier approvals stay valid, because they were
// given for a plan that names the floor; the policy's MaxExtension bounds how far the deadline may
// move. If an amendment reopens a failed study, this site sends the same bytes again and is charged
// nothing.

// follow stores a study's new amendments. If they reopen the study, so does follow. stop says to
// send nothing now.
func (a *Agent) follow(ctx context.Context, d site.StudyFolder, o protocol.Summary) (stop bool,
	err error) {
	held, err := d.Amendments()
	if err != nil {
		return true, err
	}
	if o.Amendments < len(held) {
		a.logOnce(o.Hash, slog.LevelError, fmt.Sprintf("the coordinator signed %d amendments of this study and knows of %d: it was put back to an older state. Nothing is sent; tell its operator (docs/verify.md)", len(held), o.Amendments))
		return true, nil
	}
	if o.Amendments > len(held) {
		if held, err = a.amend(ctx, d, o, held); err != nil {
			return true, err
		}
	}
	if len(held) == 0 {
		return false, nil
	}
	// also if the process was killed before it closed the study
	if o.State == study.Open && d.AmendmentsAtEnd() < len(held) {
		if err := a.reopen(d, o); err != nil {
			return true, err
		}
	}
	p, err := d.Plan()
	if err != nil || o.State != study.Open || d.Has(site.FileReceipt) && !o.CallerLost {
		return err != nil, err
	}
	err = a.allowsEnding(d, o.Hash, p)
	if errors.Is(err, errRefused) {
		return true, a.decline(ctx, d, o.Hash)
	}
	return err != nil, err
}

// allowsEnding refuses a study whose amendments the policy forbids, or whose amendments cannot be
// read.
func (a *Agent) allowsEnding(d site.StudyFolder, h study.Hash, p study.Plan) error {
	chain, err := d.Chain(p, h)
	if err != nil {
		return err
	}
	if no := a.site.Config.Policy.EndingObjection(p, chain.Ending()); no != "" {
		return a.refuse(h, p.Name, site.DeciderPolicy, "", no)
	}
	return nil
}

// unforked fetches the amendments of an amended study again, before a charge and before bytes
// leave, and refuses a chain that differs from the stored one. The list of studies has only their
// number.
func (a *Agent) unforked(ctx context.Context, d site.StudyFolder, o protocol.Summary) error {
	held, err := d.Amendments()
	if err != nil || len(held) == 0 {
		return err
	}
	_, err = a.amend(ctx, d, o, held)
	return err
}

// amend fetches and stores new amendments, and refuses a chain that does not extend the stored one.
func (a *Agent) amend(ctx context.Context, d site.StudyFolder, o protocol.Summary,
	held []study.Signed) ([]study.Signed, error) {
	s, err := a.fetch(ctx, o.Hash)
	if err != nil {
		return nil, err
	}
	chain, err := site.ChainOf(s.Plan, o.Hash, s.Amendments)
	if err != nil {
		return nil, err
	}
	before, err := site.ChainOf(s.Plan, o.Hash, held)
	if err != nil {
		return nil, err
	}
	if !chain.Extends(before) {
		return nil, errors.New("the coordinator signed two different amendments of this study: it was put back to an older state and went on, or tells parties different things. Nothing is sent; tell its operator (docs/verify.md)")
	}
	for _, said := range chain.Amendments()[before.Len():] {
		err := a.recordOnce(site.AuditAmended, o.Hash, o.Name, "number", said.Number, "deadline",
			said.Ending.Deadline, "minimum", said.Ending.Minimum, "reopens", said.Reopens)
		if err != nil {
			return nil, err
		}
	}
	if err := d.WriteJSON(site.FileAmendments, s.Amendments); err != nil {
		return nil, err
	}
	a.done("amendments stored")
	for _, line := range chain.Changes(before.Len()) {
		a.log.Info("study "+line, "study", o.Hash.String())
	}
	return s.Amendments, nil
}

func (a *Agent) reopen(d site.StudyFolder, o protocol.Summary) error {
	if err := a.recordOnce(site.AuditReopened, o.Hash, o.Name); err != nil {
		return err
	}
	for _, name := range []string{site.FileClosed, site.FileEnded} {
		if err := d.Remove(name); err != nil {
			return err
		}
	}
	a.done("study reopened")
	a.log.Info("study taken up again: what was contributed is sent as it was, and charged once", "study", o.Hash.String())
	return nil
}
