package agent

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"

	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// serve takes one study as far as it goes now. Each step leaves a file in the
// study's dossier, and starts from the files that are there: a crash between
// any two steps is continued by the next call.
func (a *Agent) serve(ctx context.Context, o protocol.Summary) error {
	d := a.site.studies.of(o.Hash)
	switch {
	case d.has(fileRelease), d.has(fileClosed), a.overBudget[o.Hash], o.State == study.InDraft:
		return nil
	case d.has(fileReceipt) && d.has(fileUpload) && o.State == study.Open && !o.Mine:
		a.say(o.Hash, slog.LevelWarn, "the coordinator has lost this site's contribution, which it had received: the same bytes are sent again")
		return a.send(ctx, d, o)
	case d.has(fileReceipt):
		return a.collect(ctx, d, o)
	case d.has(fileUpload):
		return a.send(ctx, d, o)
	case o.Mine:
		return a.forgotten(ctx, d, o)
	case o.State != study.Open:
		return a.closed(d, o, fmt.Sprintf("the study is %s and this site has not contributed", o.State))
	}
	p, err := a.learn(ctx, d, o.Hash)
	if err != nil || !a.decide(d, o.Hash, p) {
		return err
	}
	if err := a.upload(ctx, d, o.Hash, p); err != nil {
		return err
	}
	return a.send(ctx, d, o)
}

// forgotten deals with a contribution that the coordinator has and this folder
// does not know: the folder was restored from a backup, or another agent ran
// under this name. Nothing more is sent, and what it cost is charged again,
// unless the ledger still knows of it.
func (a *Agent) forgotten(ctx context.Context, d dossier, o protocol.Summary) error {
	p, err := a.learn(ctx, d, o.Hash)
	if err != nil {
		return err
	}
	pool, err := a.site.pool(p)
	if err != nil {
		return err
	}
	charges, err := study.DeclaredCosts(p, pool)
	if err != nil {
		return err
	}
	err = study.ChargeAll(ctx, a.site.ledger, o.Hash, charges)
	if err != nil && !errors.Is(err, privacy.ErrConflict) { // a conflict: it is there, as a release
		return fmt.Errorf("charge a contribution that this state folder has forgotten: %w", err)
	}
	return a.closed(d, o, "the coordinator has a contribution of this site that is not in this state folder: the folder was restored from a backup, or two agents run under one name; nothing more is sent")
}

// learn fetches the signed plan and its pool, so that what is agreed to can be
// shown. It agrees to nothing.
func (a *Agent) learn(ctx context.Context, d dossier, h study.Hash) (study.Plan, error) {
	if d.has(filePlan) {
		if p, err := d.plan(); err != nil || a.site.hasPool(p.Pool) {
			return p, err
		}
	}
	s, err := a.link.Study(ctx, h.String())
	if err != nil {
		return study.Plan{}, err
	}
	p := s.Plan
	switch {
	case study.HashOf(s.PlanBytes) != h:
		return p, fmt.Errorf("%w: the coordinator sent another plan than %s", study.ErrPlan, h)
	case !slices.Contains(p.Roster, a.site.party):
		return p, fmt.Errorf("%w: roster: this site is not on it", study.ErrPlan)
	}
	if err := checkMap(p); err != nil {
		return p, err
	}
	if err := d.write(filePlanSign, s.PlanSignature); err != nil {
		return p, err
	}
	if err := d.write(filePlan, s.PlanBytes); err != nil {
		return p, err
	}
	a.done("plan stored")
	if _, err := a.link.Pool(ctx, s, a.site.pools); err != nil {
		return p, err
	}
	a.done("pool stored")
	return d.plan()
}

// decide asks policy and person; the ledger decides when it is charged. It does
// not look at the records.
func (a *Agent) decide(d dossier, h study.Hash, p study.Plan) bool {
	policy := a.site.config.Policy
	switch {
	case len(policy.Objections(p)) > 0:
		a.say(h, slog.LevelWarn, "the policy does not allow this study: see caucus agent preview "+h.String()[:16])
		return false
	case policy.Approval != ApproveByPolicy && !d.has(fileApproved):
		a.say(h, slog.LevelInfo, "a person must approve this study: see caucus agent preview "+h.String()[:16])
		return false
	}
	return true
}

// upload reads the records, charges the ledger and stores the finished bytes.
func (a *Agent) upload(ctx context.Context, d dossier, h study.Hash, p study.Plan) error {
	source, err := a.site.config.source(p.Data)
	if err != nil {
		return err
	}
	records, _, err := source.Read(p.Schema)
	if err != nil {
		return err
	}
	pool, err := a.site.pool(p)
	if err != nil {
		return err
	}
	body, err := a.site.prepare(ctx, h, p, pool, records)
	if errors.Is(err, privacy.ErrBudget) || errors.Is(err, privacy.ErrUnproven) {
		a.overBudget[h] = true // until a restart: limits change with the config
		return fmt.Errorf("the ledger refuses this study: %w", err)
	}
	if err != nil {
		return err
	}
	a.done("charged")
	if err := a.site.noteLedger(ctx, d); err != nil { // before the upload: no upload lacks it
		return err
	}
	if err := d.write(fileUpload, body); err != nil {
		return err
	}
	a.done("upload stored")
	a.log.Info("upload prepared", "study", h.String(), "bytes", len(body))
	return nil
}

// final are the refusals of a contribution that another attempt cannot change.
var final = []error{
	study.ErrNotOpen, study.ErrNotEnrolled, study.ErrOtherPlan, study.ErrOtherBytes,
	study.ErrContribution, study.ErrPlan, protocol.ErrTooLarge, protocol.ErrNotFound,
}

// send sends the stored bytes, and only them, until a receipt is stored.
func (a *Agent) send(ctx context.Context, d dossier, o protocol.Summary) error {
	body, err := d.read(fileUpload)
	if err != nil {
		return err
	}
	r, err := a.link.Contribute(ctx, o.Hash, body)
	if slices.ContainsFunc(final, func(f error) bool { return errors.Is(err, f) }) {
		return a.closed(d, o, err.Error())
	}
	if err != nil {
		return err
	}
	a.done("sent")
	if want := study.BodyDigest(sha256.Sum256(body)); r.Body != want || r.Plan != o.Hash || r.Party != a.site.party {
		return fmt.Errorf("the coordinator's receipt is not for what this site sent (%s)", want)
	}
	if err := d.writeJSON(fileReceipt, receipt{Body: r.Body.String(), Received: r.Received, Signed: r.Document, Signature: r.Signature}); err != nil {
		return err
	}
	a.done("receipt stored")
	a.log.Info("contribution received by the coordinator", "study", o.Hash.String())
	return nil
}

// collect fetches the release once there is one.
func (a *Agent) collect(ctx context.Context, d dossier, o protocol.Summary) error {
	switch o.State {
	case study.Failed:
		return a.closed(d, o, "the study failed: "+o.Reason)
	case study.Released:
	default:
		return nil
	}
	r, err := a.link.Release(ctx, o.Hash.String())
	if errors.Is(err, protocol.ErrDenied) {
		return a.closed(d, o, "the release is not for this site to read")
	}
	if err != nil {
		return err
	}
	if err := d.write(fileRelease, r.Document); err != nil {
		return err
	}
	a.done("release stored")
	a.log.Info("release received", "study", o.Hash.String())
	return nil
}

// closed notes how a study ended for this site.
func (a *Agent) closed(d dossier, o protocol.Summary, why string) error {
	if err := d.write(fileClosed, []byte(why+"\n")); err != nil {
		return err
	}
	a.log.Info("study closed", "study", o.Hash.String(), "why", why)
	return nil
}

// Preview says what a study is and what would leave for it, by its name, its
// hash or the start of it. It sends nothing and spends nothing. Where no agent
// runs on the state folder, it first asks the coordinator for new plans; if
// that fails, offline says why.
func (a *Agent) Preview(ctx context.Context, name string) (r Review, offline, err error) {
	offline = a.refresh(ctx)
	h, err := a.site.studies.find(name)
	if err != nil {
		return Review{}, offline, err
	}
	r, err = a.site.review(ctx, h)
	return r, offline, err
}

// Studies reviews all studies this site knows.
func (a *Agent) Studies(ctx context.Context) (all []Review, offline, err error) {
	offline = a.refresh(ctx)
	hashes, err := a.site.studies.all()
	if err != nil {
		return nil, offline, err
	}
	for _, h := range hashes {
		r, err := a.site.outline(h)
		if err != nil {
			return nil, offline, err
		}
		all = append(all, r)
	}
	return all, offline, nil
}

// Approve lets a study that the policy allows take place, and says what was
// approved. A study that the policy does not allow stays refused: change the
// policy. Approval is for this plan; another plan needs its own.
func (a *Agent) Approve(ctx context.Context, name string) (Review, error) {
	r, offline, err := a.Preview(ctx, name)
	if err != nil {
		return Review{}, errors.Join(err, offline)
	}
	if !r.Allowed {
		return r, fmt.Errorf("approve study %s: the policy does not allow it: %s", r.Study, r.Objections[0])
	}
	if err := a.site.studies.of(r.Plan).write(fileApproved, []byte(r.Plan.String()+"\n")); err != nil {
		return r, fmt.Errorf("approve study %s: %w", r.Study, err)
	}
	return a.site.review(ctx, r.Plan)
}

// refresh learns new plans, unless a running agent does that.
func (a *Agent) refresh(ctx context.Context) error {
	unlock, err := lockState(a.site.config.State)
	if err != nil {
		return nil
	}
	defer unlock()
	listing, err := a.link.Studies(ctx)
	if err != nil {
		return err
	}
	for _, o := range listing.Studies {
		if o.State != study.Open {
			continue
		}
		if _, err := a.learn(ctx, a.site.studies.of(o.Hash), o.Hash); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
