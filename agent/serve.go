package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"caucus/agent/site"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds"
)

// serve does for one study what can be done now. Each step starts from the files in the study's
// study folder and leaves a file there. So the next call continues after a crash between any two
// steps.
func (a *Agent) serve(ctx context.Context, o protocol.Summary) error {
	d := a.site.Studies.Folder(o.Hash)
	switch {
	case d.Has(site.FileRelease) && o.State != study.Released:
		a.logOnce(o.Hash, slog.LevelError, fmt.Sprintf("the coordinator has forgotten that it released this study, and says that it is %s: it was put back to an older state, and could release the study again with other noise. Nothing more is sent; tell its operator (docs/verify.md)", o.State))
		return nil
	case d.Has(site.FileRelease), o.State == study.Draft:
		return nil
	}
	if d.Has(site.FilePlan) {
		if stop, err := a.follow(ctx, d, o); stop || err != nil {
			return err
		}
	} else if o.State == study.Open && d.AmendmentsAtEnd() < o.Amendments {
		// the study ended before this site learnt its plan
		if err := a.reopen(d, o); err != nil {
			return err
		}
	}
	switch {
	case d.Has(site.FileClosed):
		return nil
	case d.Has(site.FileRefused) && d.Has(site.FileUpload) && !d.Has(site.FileReceipt) &&
		o.CallerContributed &&
		o.State == study.Open:
		// Whether the coordinator's claim is true or not, a refused contribution is not sent.
		a.logOnce(o.Hash, slog.LevelWarn, "the coordinator says that it has this party's contribution, which a person refused and of which there is no receipt here: nothing is sent")
		return nil
	case d.Has(site.FileRefused) && !d.Has(site.FileReceipt) &&
		(!o.CallerContributed || d.Has(site.FileUpload)) && o.State != study.Open:
		why := fmt.Sprintf("the study is %s and a person of this site refused it", o.State)
		if o.CallerContributed {
			why = fmt.Sprintf("the study is %s; the coordinator says that this site's contribution is in it, which a person refused once it was prepared: an answer file that was written before may have been handed in", o.State)
		}
		return a.ended(d, o, why)
	case d.Has(site.FileRefused) && !d.Has(site.FileReceipt) && !o.CallerContributed:
		a.logOnce(o.Hash, slog.LevelInfo, "a person refused this study: nothing is sent")
		a.reports.say(o.Hash, protocol.WaitDeclined)
		return a.decline(ctx, d, o.Hash)
	case a.refusedHere(o.Hash) && o.State == study.Open:
		a.reports.say(o.Hash, protocol.WaitDeclined)
		return a.decline(ctx, d, o.Hash)
	case d.Has(site.FileReceipt) && d.Has(site.FileUpload) && o.State == study.Open &&
		!o.CallerContributed:
		a.logOnce(o.Hash, slog.LevelWarn, "the coordinator has lost this party's contribution, which it had received: the same bytes are sent again")
		return a.send(ctx, d, o)
	case d.Has(site.FileReceipt) && d.Has(site.FileUpload) && o.CallerLost &&
		o.State == study.Open &&
		!d.Has(site.FileRefused):
		a.logOnce(o.Hash, slog.LevelInfo, "the study was taken up again after it failed, or another replica of the coordinator leads now: the same bytes are sent again, and cost nothing more")
		return a.send(ctx, d, o)
	case d.Has(site.FileReceipt) && d.Has(site.FileUpload) && o.CallerLost &&
		!d.Has(site.FileRefused):
		a.logOnce(o.Hash, slog.LevelWarn, "the coordinator asks for this party's contribution again, because another replica leads now or its copy was damaged: the same bytes are sent")
		return a.send(ctx, d, o)
	case d.Has(site.FileReceipt):
		return a.collect(ctx, d, o)
	case a.preparation.has(o.Hash), d.Has(site.FileUpload) && !a.preparation.hurry &&
		d.TooEarly(a.now()):
		return nil
	case d.Has(site.FileUpload) && o.State != study.Open && !o.CallerContributed:
		return a.ended(d, o, fmt.Sprintf("the study is %s and this party's contribution is not in it", o.State))
	case d.Has(site.FileUpload) && o.CallerContributed && protocol.IsFinal(o.State) &&
		a.receiptDeleted(d):
		return a.collect(ctx, d, o)
	case d.Has(site.FileUpload):
		return a.send(ctx, d, o)
	case a.looking && o.State == study.Open:
		_, err := a.learn(ctx, d, o.Hash)
		return err
	case o.CallerContributed:
		return a.forgotten(ctx, d, o)
	case o.State != study.Open:
		return a.ended(d, o, fmt.Sprintf("the study is %s and this party has not contributed", o.State))
	}
	p, err := a.learn(ctx, d, o.Hash)
	if err != nil {
		return err
	}
	by, err := a.decide(d, o.Hash, p)
	if errors.Is(err, errRefused) {
		return a.decline(ctx, d, o.Hash)
	}
	if err != nil || by == nil {
		return err
	}
	if err := a.unforked(ctx, d, o); err != nil {
		return err
	}
	err = a.charge(ctx, d, o, p, by)
	if errors.Is(err, errRefused) {
		return a.decline(ctx, d, o.Hash)
	}
	return err
}

// receiptDeleted reports whether the coordinator deletes receipts when a study of this plan ends:
// an earlier version made the plan, with noise at the coordinator, so the receipt's digest would
// confirm a guess of exact numbers. A site whose receipt was lost on the way collects the release
// without one.
func (a *Agent) receiptDeleted(d site.StudyFolder) bool {
	p, err := d.Plan()
	return err == nil && p.Noise.SumsInClear() && p.Form < study.FormCommitted
}

// forgotten handles a contribution that the coordinator has and this folder does not know, because
// the folder was restored from a backup or another agent ran under this name. It sends nothing
// more. It charges the contribution's cost again, unless the ledger still has the charge.
func (a *Agent) forgotten(ctx context.Context, d site.StudyFolder, o protocol.Summary) error {
	p, err := a.learn(ctx, d, o.Hash)
	if err != nil {
		return err
	}
	task, err := a.site.Task(p)
	if err != nil {
		return err
	}
	charges, err := task.Charges(0)
	if err != nil {
		return err
	}
	if a.year == "" { // the reason was logged already
		return nil
	}
	if _, err := a.site.Ledger.BeginPeriod(ctx, a.year); err != nil {
		return err
	}
	err = study.ChargeAll(ctx, a.site.Ledger, o.Hash, charges)
	// ErrConflict: the charge exists already, made for a release
	if err != nil && !errors.Is(err, privacy.ErrConflict) {
		return fmt.Errorf("charge a contribution that this state folder has forgotten: %w", err)
	}
	if err := a.recordOnce(site.AuditCharged, o.Hash, p.Name, "by", site.DeciderLedger, "unit",
		p.Unit.String(), "forgotten", true); err != nil {
		return err
	}
	return a.closed(d, o, "the coordinator has a contribution of this party that is not in this state folder: the folder was restored from a backup, or two agents run under one name; nothing more is sent")
}

// decide asks the policy, the source's declaration and people. It does not read the records; the
// ledger decides later, when it is charged. by names the approvers. It is nil while a person must
// still declare the source or approve. errRefused means that the policy refused.
func (a *Agent) decide(d site.StudyFolder, h study.Hash, p study.Plan) (by []string, err error) {
	policy := a.site.Config.Policy
	if len(policy.Objections(p)) > 0 {
		return nil, a.refuse(h, p.Name, site.DeciderPolicy, "", "the policy does not allow this study: see caucus agent preview "+h.String()[:16])
	}
	// the study was amended before this site learnt the plan
	if err := a.allowsEnding(d, h, p); err != nil {
		return nil, err
	}
	source, err := a.site.Sources.Of(p)
	if err != nil {
		a.logOnce(h, slog.LevelWarn, err.Error())
		a.reports.say(h, protocol.WaitSource)
		return nil, nil
	}
	if err := source.Refuses(p); err != nil {
		a.reports.say(h, protocol.WaitDeclined)
		a.logOnce(h, slog.LevelWarn, fmt.Sprintf("this study and the declared source do not go together: %v; see caucus agent preview %s", err, h.String()[:16]))
		// a person may declare the source again
		return nil, errors.Join(errRefused,
			a.recordOnce(site.AuditRefused, h, p.Name, "by", site.DeciderPolicy))
	}
	by, lapsed := a.site.Approvers(d, h, p)
	if more := policy.RequiredApprovals() - len(by); more > 0 {
		who := "a person"
		if more > 1 {
			who = "two persons"
		} else if len(by) > 0 {
			who = "another person"
		}
		again := ""
		if len(lapsed) > 0 {
			again = ", again since its source was declared anew"
		}
		a.reports.say(h, protocol.WaitApproval)
		a.logOnce(h, slog.LevelInfo,
			who+" must approve this study"+again+": see caucus agent preview "+h.String()[:16])
		return nil, nil
	}
	if policy.RequiredApprovals() == 0 {
		by = []string{site.DeciderPolicy}
	}
	return by, nil
}

// charge charges the ledger for a study and queues the study for preparation. The charge follows
// from plan, pool and the declared number of records. No record is read before charge returns.
func (a *Agent) charge(ctx context.Context, d site.StudyFolder, o protocol.Summary, p study.Plan,
	by []string) error {
	pool, err := a.site.Pool(p)
	if err != nil {
		return err
	}
	var c site.Cost
	task, err := kinds.NewTask(p, pool)
	if err == nil {
		c, err = a.site.CostOf(task)
	}
	if err != nil {
		return a.refuse(o.Hash, p.Name, site.DeciderPolicy, "",
			fmt.Sprintf("this study is refused: %v", err))
	}
	if a.year == "" { // the reason was logged already
		a.reports.say(o.Hash, protocol.WaitClock)
		return nil
	}
	if left, ends := a.preparation.wait()+c.Window.Total(), d.Ending(p,
		o.Hash).Deadline; !ends.IsZero() && a.now().Add(left).After(ends) {
		a.logOnce(o.Hash, slog.LevelWarn, fmt.Sprintf("the study's deadline is too near: preparing it is given %v", left.Round(time.Second)))
		a.reports.say(o.Hash, protocol.WaitDeadline)
		return nil
	}
	agreed, why, err := a.agreement(ctx, d, task)
	if err != nil {
		return err
	}
	if why != nil {
		a.logOnce(o.Hash, slog.LevelWarn, "nothing is charged and nothing is sent: "+why.Error())
		a.reports.say(o.Hash, protocol.WaitHelper)
		return nil
	}
	if room, err := a.site.CountStudyToday(d, o.Hash); err != nil {
		return err
	} else if !room {
		a.logOnce(o.Hash, slog.LevelInfo, fmt.Sprintf("this site has taken up %d studies today, as many as its policy allows in a day (studies_a_day): this one waits for tomorrow", a.site.Config.Policy.DailyLimit()))
		a.reports.say(o.Hash, protocol.WaitDay)
		return nil
	}
	err = a.recordOnce(site.AuditAllowed, o.Hash, p.Name, "by", strings.Join(by, ", "), "unit",
		p.Unit.String(), "epsilon", p.Epsilon, "delta", p.Delta,
		"kind", p.Kind, "mechanism", p.Mechanism, "noise", p.Noise)
	if err != nil {
		return err
	}
	year, err := a.site.Ledger.BeginPeriod(ctx, a.year)
	if err != nil {
		a.reports.say(o.Hash, protocol.WaitLedger)
		return err
	}
	if err := d.Write(site.FileRecords, fmt.Appendln(nil, c.Records)); err != nil {
		return err
	}
	err = study.Reserve(ctx, a.site.Ledger, o.Hash, c.Reserved, c.Charges)
	if slices.ContainsFunc([]error{privacy.ErrBudget, privacy.ErrUnproven,
		privacy.ErrSimulationOnly, privacy.ErrConflict}, func(f error) bool {
		return errors.Is(err, f)
	}) {
		return a.refuse(o.Hash, p.Name, site.DeciderLedger, a.year,
			fmt.Sprintf("the ledger refuses this study: %v", err))
	}
	if err != nil {
		a.reports.say(o.Hash, protocol.WaitLedger)
		return err
	}
	a.done("charged")
	head, err := privacy.JournalHead(ctx, a.site.Journal)
	if err != nil {
		return err
	}
	if err := a.recordOnce(site.AuditCharged, o.Hash, p.Name, "by", site.DeciderLedger, "unit",
		p.Unit.String(), "year", year, "entry", head.Sequence); err != nil {
		return err
	}
	w := window{study: o.Hash, plan: p, records: c.Records, offer: o, span: c.Window,
		helper: agreed}
	if len(a.preparation.queue) == 0 {
		w.task = task
	}
	a.preparation.queue = append(a.preparation.queue, w)
	return nil
}
