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

// A study's ending may be amended: its deadline, what seals it before that, and its
// minimum down to the floor that the plan names. What a person or the policy said yes
// to is none of these but the floor, so it stays said; how far a deadline may move is
// the policy's MaxExtension. A study that failed may be taken up again: this site then
// sends what it had sent, the same bytes, and is charged nothing.

// follow takes note of a study's amendments, and takes it up again where they reopened
// it. stop says that nothing is to be sent for now.
func (a *Agent) follow(ctx context.Context, d site.Dossier, o protocol.Summary) (stop bool, err error) {
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
	if o.State == study.Open && d.EndedAfter() < len(held) { // whether it was killed before or after it was closed
		if err := a.reopen(d, o); err != nil {
			return true, err
		}
	}
	p, err := d.Plan()
	if err != nil || o.State != study.Open || d.Has(site.FileReceipt) && !o.Lost {
		return err != nil, err
	}
	err = a.allowsEnding(d, o.Hash, p)
	if errors.Is(err, errRefused) {
		return true, a.decline(ctx, d, o.Hash)
	}
	return err != nil, err
}

// allowsEnding refuses a study that amendments moved beyond what the policy allows.
// Amendments that cannot be read allow nothing.
func (a *Agent) allowsEnding(d site.Dossier, h study.Hash, p study.Plan) error {
	chain, err := d.Chain(p, h)
	if err != nil {
		return err
	}
	if no := a.site.Config.Policy.EndingObjection(p, chain.Ending()); no != "" {
		return a.refuse(h, p.Name, site.ByPolicy, "", no)
	}
	return nil
}

// unforked asks once more for the amendments of an amended study, before it is charged
// and before bytes leave: a list only counts them, and another chain may be as long.
func (a *Agent) unforked(ctx context.Context, d site.Dossier, o protocol.Summary) error {
	held, err := d.Amendments()
	if err != nil || len(held) == 0 {
		return err
	}
	_, err = a.amend(ctx, d, o, held)
	return err
}

// amend keeps amendments that this site did not know.
func (a *Agent) amend(ctx context.Context, d site.Dossier, o protocol.Summary, held []study.Signed) ([]study.Signed, error) {
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
		err := a.recordOnce(site.AuditAmended, o.Hash, o.Name, "number", said.Number, "deadline", said.Ending.Deadline, "minimum", said.Ending.Minimum, "reopens", said.Reopens)
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

// reopen takes up a study again that was over for this site because it was over.
func (a *Agent) reopen(d site.Dossier, o protocol.Summary) error {
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
