package agent

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"caucus/agent/site"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/verify/evidence"
)

// final lists the errors after which the same contribution would be refused again. "Study not open"
// is not among them: the coordinator's next list of studies tells whether the study is over, or is
// a draft again and opens later.
var final = []error{
	study.ErrNotEnrolled, study.ErrDifferentPlan, study.ErrDifferentUpload,
	study.ErrContribution, study.ErrPlan, protocol.ErrTooLarge, protocol.ErrNotFound, protocol.ErrInvalid,
}

// send sends the stored bytes until a receipt is stored. It never sends other bytes.
func (a *Agent) send(ctx context.Context, d site.StudyFolder, o protocol.Summary) error {
	body, err := d.Read(site.FileUpload)
	if err != nil {
		return err
	}
	if err := a.unforked(ctx, d, o); err != nil {
		return err
	}
	if why := a.sealedOtherwise(d, o.Hash); why != nil {
		a.logOnce(o.Hash, slog.LevelError, "the finished upload is not sent, and nothing more is charged: "+why.Error())
		a.reports.say(o.Hash, protocol.WaitHelper)
		return nil
	}
	if c := a.courier(); c == nil || c.CanAnswer() {
		if err := a.recordOnce(site.AuditSending, o.Hash, o.Name); err != nil {
			return err
		}
	}
	r, err := a.link.Contribute(ctx, o.Hash, body)
	if errors.Is(err, study.ErrNotOpen) && o.CallerContributed && protocol.IsFinal(o.State) {
		return a.collect(ctx, d, o) // the receipt is not kept any more
	}
	if slices.ContainsFunc(final, func(f error) bool { return errors.Is(err, f) }) {
		return a.closed(d, o, err.Error())
	}
	if err != nil {
		return err
	}
	a.done("sent")
	if want := study.BodyDigest(sha256.Sum256(body)); r.Body != want || r.Plan != o.Hash ||
		r.Party != a.site.Party {
		return fmt.Errorf("the coordinator's receipt is not for what this party sent (%s)", want)
	}
	audit, log := a.flaws(d)
	if err := a.recordOnce(site.AuditReceipt, o.Hash, o.Name,
		append([]any{"received", r.Received}, audit...)...); err != nil {
		return err
	}
	known, err := d.Amendments()
	if err != nil {
		return err
	}
	if err := d.WriteJSON(site.FileReceipt,
		site.Receipt{UploadDigest: r.Body.String(), Received: r.Received, Signed: r.Document,
			Signature: r.Signature, Amendments: len(known)}); err != nil {
		return err
	}
	a.done("receipt stored")
	level := slog.LevelInfo
	if len(log) > 0 {
		level = slog.LevelError
	}
	a.log.Log(ctx, level, "contribution received by the coordinator",
		append([]any{"study", o.Hash.String()}, log...)...)
	a.warnIfLedgerWentBack()
	return nil
}

func (a *Agent) collect(ctx context.Context, d site.StudyFolder, o protocol.Summary) error {
	switch o.State {
	case study.Failed:
		return a.ended(d, o, "the study failed: "+o.Reason)
	case study.Released:
	default:
		return nil
	}
	r, err := a.link.Release(ctx, o.Hash.String())
	if errors.Is(err, protocol.ErrDenied) {
		return a.closed(d, o, "the release is not for this party to read")
	}
	if err != nil {
		return err
	}
	if err := a.recordOnce(site.AuditReleased, o.Hash, o.Name); err != nil {
		return err
	}
	file, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := d.Write(site.FileRelease, file); err != nil {
		return err
	}
	a.done("release stored")
	a.log.Info("release received", "study", o.Hash.String())
	a.witness(r.Release)
	return nil
}

// witness logs an error if a release or receipt contradicts a document that the coordinator signed
// before.
func (a *Agent) witness(r study.Release) {
	site := a.evidence().OfStudy(context.Background(), r)
	for _, f := range append(append(site.CheckReceipt(r), site.Shared(r)...),
		site.CheckEnding(r)...) {
		if f.Verdict == evidence.Fails {
			a.logOnce(r.PlanHash, slog.LevelError, "the release cannot be believed: "+f.Text)
		}
	}
	if two := r.Aggregated; two != nil {
		key, err := a.site.Config.Policy.Helper.Pins().Signer(two.Acceptances[1].Document)
		if err != nil || two.Keys[1] != key.String() {
			a.logOnce(r.PlanHash, slog.LevelError, "the release cannot be believed: its second server signed with a key that is not the one of this site's helper (policy: helper)")
		}
	}
	a.warnIfLedgerWentBack()
}

func (a *Agent) warnIfLedgerWentBack() {
	if _, err := a.evidence().CoordinatorHeads(); err != nil {
		a.logOnceAbout("coordinator's ledger", slog.LevelError,
			err.Error()+"; tell its operator (docs/verify.md)")
	}
}

func (a *Agent) evidence() *site.Evidence {
	keys, _ := a.id.Keys() // no error: the connection was made with these keys
	return a.site.Evidence(keys)
}
