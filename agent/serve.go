package agent

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"time"

	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds"
	"caucus/study/verify"
)

// serve takes one study as far as it goes now. Each step leaves a file in the
// study's dossier, and starts from the files that are there: a crash between
// any two steps is continued by the next call.
func (a *Agent) serve(ctx context.Context, o protocol.Summary) error {
	d := a.state.studies.of(o.Hash)
	switch {
	case d.has(fileRelease) && o.State != study.Released:
		a.logOnce(o.Hash, slog.LevelError, fmt.Sprintf("the coordinator has forgotten that it released this study, and says that it is %s: it was put back to an older state, and could release the study again with other noise. Nothing more is sent; tell its operator (docs/verify.md)", o.State))
		return nil
	case d.has(fileRelease), o.State == study.InDraft:
		return nil
	}
	if d.has(filePlan) {
		if stop, err := a.follow(ctx, d, o); stop || err != nil {
			return err
		}
	}
	switch {
	case d.has(fileClosed):
		return nil
	case d.has(fileRefused) && d.has(fileUpload) && !d.has(fileReceipt) && o.Mine && o.State == study.Open:
		// Whether it is true or not: what a person refused is not sent.
		a.logOnce(o.Hash, slog.LevelWarn, "the coordinator says that it has this party's contribution, which a person refused and of which there is no receipt here: nothing is sent")
		return nil
	case d.has(fileRefused) && !d.has(fileReceipt) && (!o.Mine || d.has(fileUpload)) && o.State != study.Open:
		why := fmt.Sprintf("the study is %s and a person of this site refused it", o.State)
		if o.Mine {
			why = fmt.Sprintf("the study is %s; the coordinator says that this site's contribution is in it, which a person refused once it was prepared: an answer file that was written before may have been handed in", o.State)
		}
		return a.ended(d, o, why)
	case d.has(fileRefused) && !d.has(fileReceipt) && !o.Mine:
		a.logOnce(o.Hash, slog.LevelInfo, "a person refused this study: nothing is sent")
		a.reports.say(o.Hash, protocol.WaitDeclined)
		return a.decline(ctx, d, o.Hash)
	case a.refusedHere(o.Hash) && o.State == study.Open:
		a.reports.say(o.Hash, protocol.WaitDeclined)
		return a.decline(ctx, d, o.Hash)
	case d.has(fileReceipt) && d.has(fileUpload) && o.State == study.Open && !o.Mine:
		a.logOnce(o.Hash, slog.LevelWarn, "the coordinator has lost this party's contribution, which it had received: the same bytes are sent again")
		return a.send(ctx, d, o)
	case d.has(fileReceipt) && d.has(fileUpload) && o.Lost && o.State == study.Open && !d.has(fileRefused):
		a.logOnce(o.Hash, slog.LevelInfo, "the study failed and was taken up again: the same bytes are sent again, and cost nothing more")
		return a.send(ctx, d, o)
	case d.has(fileReceipt) && d.has(fileUpload) && o.Lost && !d.has(fileRefused):
		a.logOnce(o.Hash, slog.LevelWarn, "the coordinator's copy of this party's contribution was damaged: the same bytes are sent again")
		return a.send(ctx, d, o)
	case d.has(fileReceipt):
		return a.collect(ctx, d, o)
	case a.preparation.has(o.Hash), d.has(fileUpload) && !a.preparation.hurry && d.early(a.now()):
		return nil
	case d.has(fileUpload) && o.State != study.Open && !o.Mine:
		return a.ended(d, o, fmt.Sprintf("the study is %s and this party's contribution is not in it", o.State))
	case d.has(fileUpload):
		return a.send(ctx, d, o)
	case a.looking && o.State == study.Open:
		_, err := a.learn(ctx, d, o.Hash)
		return err
	case o.Mine:
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

// refusedHere says whether policy or ledger refused a study, in this year where
// another may be different.
func (a *Agent) refusedHere(h study.Hash) bool {
	year, refused := a.refused[h]
	return refused && (year == "" || year == a.year)
}

// refuse notes that policy or ledger refuse a study, and why.
func (a *Agent) refuse(h study.Hash, name, by, year, why string) error {
	a.refused[h] = year
	a.reports.say(h, protocol.WaitDeclined)
	a.logOnce(h, slog.LevelWarn, why)
	return errors.Join(errRefused, a.recordOnce(auditRefused, h, name, "by", by))
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
	task, err := a.state.task(p)
	if err != nil {
		return err
	}
	charges, err := task.Charges(0)
	if err != nil {
		return err
	}
	if a.year == "" { // as was said
		return nil
	}
	if _, err := a.state.ledger.Begin(ctx, a.year); err != nil {
		return err
	}
	err = study.ChargeAll(ctx, a.state.ledger, o.Hash, charges)
	if err != nil && !errors.Is(err, privacy.ErrConflict) { // a conflict: it is there, as a release
		return fmt.Errorf("charge a contribution that this state folder has forgotten: %w", err)
	}
	if err := a.recordOnce(auditCharged, o.Hash, p.Name, "by", byLedger, "unit", p.Unit.String(), "forgotten", true); err != nil {
		return err
	}
	return a.closed(d, o, "the coordinator has a contribution of this party that is not in this state folder: the folder was restored from a backup, or two agents run under one name; nothing more is sent")
}

// learn fetches the signed plan and its pool, so that what is agreed to can be
// shown. It agrees to nothing.
func (a *Agent) learn(ctx context.Context, d dossier, h study.Hash) (study.Plan, error) {
	if a.complete(d) {
		return d.plan()
	}
	s, err := a.fetch(ctx, h)
	if err != nil {
		return study.Plan{}, err
	}
	if err := a.keep(d, s); err != nil {
		return study.Plan{}, err
	}
	if len(s.Amendments) > 0 && !d.has(fileAmendments) { // else follow holds them against those
		if err := d.writeJSON(fileAmendments, s.Amendments); err != nil {
			return study.Plan{}, err
		}
	}
	a.done("plan stored")
	if _, err := a.link.Pool(ctx, s, a.state.pools); err != nil {
		return study.Plan{}, err
	}
	a.done("pool stored")
	return d.plan()
}

// complete says whether plan and pool are here. A plan that was changed is as
// good as here: whoever reads it says so.
func (a *Agent) complete(d dossier) bool {
	if !d.has(filePlan) {
		return false
	}
	p, err := d.plan()
	return err != nil || a.state.hasPool(p.Pool)
}

// fetch asks for a study's plan and refuses one that is not for this site.
func (a *Agent) fetch(ctx context.Context, h study.Hash) (protocol.Study, error) {
	s, err := a.link.Study(ctx, h.String())
	if err != nil {
		return s, err
	}
	switch {
	case study.HashOf(s.PlanBytes) != h:
		return s, fmt.Errorf("%w: the coordinator sent another plan than %s", study.ErrPlan, h)
	case !slices.Contains(s.Plan.Roster, a.state.party):
		return s, fmt.Errorf("%w: roster: this party is not on it", study.ErrPlan)
	}
	return s, checkMap(s.Plan)
}

// keep stores a plan and its signature, and what a helper said of it.
func (a *Agent) keep(d dossier, s protocol.Study) error {
	if err := d.keepHelper(s); err != nil {
		return err
	}
	if err := d.write(filePlanSign, s.PlanSignature); err != nil {
		return err
	}
	return d.write(filePlan, s.PlanBytes)
}

// errRefused: the policy or the ledger refuses a study; why was said.
var errRefused = errors.New("refused here")

// decline tells the coordinator, once, that this party takes no part in a study:
// the same message whether a person refused, the policy or the ledger.
func (a *Agent) decline(ctx context.Context, d dossier, h study.Hash) error {
	if d.has(fileDeclined) && a.courier() == nil { // what was carried may never have arrived
		return nil
	}
	if err := a.link.Decline(ctx, h); err != nil {
		return err
	}
	if d.has(fileRefused) {
		a.counts.refusals.WithLabelValues(byPerson).Inc()
	}
	return d.write(fileDeclined, nil)
}

// decide asks policy, the source's declaration and persons; the ledger decides
// when it is charged. It does not look at the records. by says who said yes, nil
// while persons are awaited, to declare the source or to approve; errRefused is the policy's no.
func (a *Agent) decide(d dossier, h study.Hash, p study.Plan) (by []string, err error) {
	policy := a.state.config.Policy
	if len(policy.Objections(p)) > 0 {
		return nil, a.refuse(h, p.Name, byPolicy, "", "the policy does not allow this study: see caucus agent preview "+h.String()[:16])
	}
	if err := a.allowsEnding(d, h, p); err != nil { // amended before this site learnt of it
		return nil, err
	}
	source, err := a.state.sources.Of(p)
	if err != nil {
		a.logOnce(h, slog.LevelWarn, err.Error())
		a.reports.say(h, protocol.WaitSource)
		return nil, nil
	}
	if err := source.Refuses(p); err != nil {
		a.reports.say(h, protocol.WaitDeclined)
		a.logOnce(h, slog.LevelWarn, fmt.Sprintf("this study and the declared source do not go together: %v; see caucus agent preview %s", err, h.String()[:16]))
		return nil, errors.Join(errRefused, a.recordOnce(auditRefused, h, p.Name, "by", byPolicy)) // a person may declare it anew
	}
	by, lapsed := a.state.approvers(d, h, p)
	if more := policy.needed() - len(by); more > 0 {
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
		a.logOnce(h, slog.LevelInfo, who+" must approve this study"+again+": see caucus agent preview "+h.String()[:16])
		return nil, nil
	}
	if policy.needed() == 0 {
		by = []string{byPolicy}
	}
	return by, nil
}

// recordOnce writes a line of the audit log once in this process, whatever
// becomes of what it says.
func (a *Agent) recordOnce(what string, h study.Hash, name string, args ...any) error {
	line := fmt.Sprint(what, h, args)
	if a.recorded[line] {
		return nil
	}
	if err := a.state.audit.record(what, h, name, args...); err != nil {
		return err
	}
	a.recorded[line] = true
	if what == auditRefused {
		a.counts.refused(args)
	}
	return nil
}

// charge has the ledger charged for a study, on terms that follow from plan,
// pool and the declared number of records, and queues it to be prepared. No
// record has been read when it returns, nor before it refuses.
func (a *Agent) charge(ctx context.Context, d dossier, o protocol.Summary, p study.Plan, by []string) error {
	pool, err := a.state.pool(p)
	if err != nil {
		return err
	}
	var c cost
	task, err := kinds.NewTask(p, pool)
	if err == nil {
		c, err = a.state.costOf(task)
	}
	if err != nil {
		return a.refuse(o.Hash, p.Name, byPolicy, "", fmt.Sprintf("this study is refused: %v", err))
	}
	if a.year == "" { // as was said
		a.reports.say(o.Hash, protocol.WaitClock)
		return nil
	}
	if left, ends := a.preparation.wait()+c.span.whole(), d.ending(p, o.Hash).Deadline; !ends.IsZero() && a.now().Add(left).After(ends) {
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
	if room, err := a.state.takeUp(d, o.Hash); err != nil {
		return err
	} else if !room {
		a.logOnce(o.Hash, slog.LevelInfo, fmt.Sprintf("this site has taken up %d studies today, as many as its policy allows in a day (studies_a_day): this one waits for tomorrow", a.state.config.Policy.studiesADay()))
		a.reports.say(o.Hash, protocol.WaitDay)
		return nil
	}
	err = a.recordOnce(auditAllowed, o.Hash, p.Name, "by", strings.Join(by, ", "), "unit", p.Unit.String(), "epsilon", p.Epsilon, "delta", p.Delta,
		"kind", p.Kind, "mechanism", p.Mechanism, "noise", p.Noise)
	if err != nil {
		return err
	}
	year, err := a.state.ledger.Begin(ctx, a.year)
	if err != nil {
		a.reports.say(o.Hash, protocol.WaitLedger)
		return err
	}
	if err := d.write(fileRecords, fmt.Appendln(nil, c.records)); err != nil {
		return err
	}
	err = study.Reserve(ctx, a.state.ledger, o.Hash, c.reserved, c.charges)
	if slices.ContainsFunc([]error{privacy.ErrBudget, privacy.ErrUnproven, privacy.ErrSimulationOnly, privacy.ErrConflict}, func(f error) bool { return errors.Is(err, f) }) {
		return a.refuse(o.Hash, p.Name, byLedger, a.year, fmt.Sprintf("the ledger refuses this study: %v", err))
	}
	if err != nil {
		a.reports.say(o.Hash, protocol.WaitLedger)
		return err
	}
	a.done("charged")
	head, err := privacy.HeadOf(ctx, a.state.journal)
	if err != nil {
		return err
	}
	if err := a.recordOnce(auditCharged, o.Hash, p.Name, "by", byLedger, "unit", p.Unit.String(), "year", year, "entry", head.Sequence); err != nil {
		return err
	}
	w := window{study: o.Hash, plan: p, records: c.records, offer: o, span: c.span, helper: agreed}
	if len(a.preparation.queue) == 0 {
		w.task = task
	}
	a.preparation.queue = append(a.preparation.queue, w)
	return nil
}

// prepareNext prepares the first study of the queue in its window, and sends
// what came of it. Whatever fails is tried again: what is not stored has not
// left, and is prepared in a new window, charged once.
func (a *Agent) prepareNext(ctx context.Context) {
	w := a.preparation.queue[0]
	a.preparation.queue = a.preparation.queue[1:]
	d := a.state.studies.of(w.study)
	gone := func() bool { return ctx.Err() != nil || d.has(fileRefused) || d.has(fileClosed) }
	if gone() || a.unapproved(d, w) {
		return
	}
	var err error
	if w.task == nil {
		w.task, err = a.state.task(w.plan)
	}
	if err == nil {
		err = a.prepare(ctx, d, w)
	}
	if err == nil && d.has(fileUpload) && !gone() && !a.unapproved(d, w) {
		err = a.send(ctx, d, w.offer)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, protocol.ErrCarried) {
		a.logOnce(w.study, slog.LevelWarn, err.Error())
	}
}

// prepare makes and stores a contribution in a window, which it fixes, and returns at its
// moment. In between nothing leaves this process: no byte to the coordinator, no answer
// of what it serves, no line of a log.
func (a *Agent) prepare(ctx context.Context, d dossier, w window) error {
	speak, err := a.fallSilent(ctx)
	if err != nil {
		return err
	}
	defer speak()
	w.due, w.began = w.span.from(a.now()), a.clock.Elapsed()
	a.log.Info("preparing a contribution", "study", w.study.String(), "leaves", w.Leaves.UTC().Format(time.RFC3339))
	if err := d.writeJSON(fileDue, w.due); err != nil {
		return err
	}
	a.done("time fixed")
	if err := errors.Join(d.remove(fileLate), d.remove(fileUnread), d.remove(fileNoVotes)); err != nil { // of a window that a crash ended
		return err
	}
	if w.made = a.preparation.within(ctx, w); ctx.Err() == nil && !d.has(fileRefused) && !a.unapproved(d, w) {
		err = a.upload(ctx, d, w)
	}
	runtime.GC() // what the records left behind is swept now, and not while something is said
	if !a.preparation.hurry {
		a.clock.Sleep(ctx, w.began+w.span.whole()-a.clock.Elapsed())
	}
	return err
}

// unapproved says whether approvals of a study that was charged have lapsed since:
// its source was declared anew before its records were read, or while they were.
// The next round asks persons again; what it costs stays charged, once.
func (a *Agent) unapproved(d dossier, w window) bool {
	by, _ := a.state.approvers(d, w.study, w.plan)
	return len(by) < a.state.config.Policy.needed()
}

// upload stores the finished bytes.
func (a *Agent) upload(ctx context.Context, d dossier, w window) error {
	if late := w.made.late; late != "" {
		if err := d.write(fileLate, fmt.Appendf(nil, "%s, in %v\n", late, w.span.prepare.Round(time.Millisecond))); err != nil {
			return err
		}
	}
	body, err := a.state.settle(ctx, w)
	if err != nil {
		return err
	}
	if err := a.state.noteLedger(ctx, d); err != nil { // before the upload: no upload lacks it
		return err
	}
	a.done("answered")
	if err := d.write(fileUpload, body); err != nil {
		return err
	}
	a.done("upload stored")
	return nil
}

// tell says to this site, at its moment, what became of a contribution while nothing was
// said: as logs may leave the machine, and when a line is written is heard with it.
func (a *Agent) tell(d dossier, o protocol.Summary) error {
	if late, err := d.read(fileLate); err == nil {
		what := strings.TrimSpace(string(late))
		a.logOnceAbout(o.Hash.String()+" late", slog.LevelError, "not ready in time, a constant is sent in its place: "+what+"; raise least_window or margin in the config, or give the agent another processor", "study", o.Hash.String())
		if err := a.recordOnce(auditLate, o.Hash, o.Name, "late", what); err != nil {
			return err
		}
	}
	if why, err := d.read(fileUnread); err == nil {
		a.logOnceAbout(o.Hash.String()+" unread", slog.LevelError, "this study gets empty records of this site: its source cannot be read as it was declared", "study", o.Hash.String(), "error", strings.TrimSpace(string(why)))
		p, err := d.plan()
		if err != nil {
			return err
		}
		source, _ := a.state.sources.Find(p.Data) // "" where it is gone
		if err := a.recordOnce(auditUnread, o.Hash, o.Name, "source", source); err != nil {
			return err
		}
	}
	return nil
}

// final are the refusals of a contribution that another attempt cannot change.
// That a study is not open is none: its state in the next list says whether it is
// over, or a draft again at a coordinator that was put back, to be opened later.
var final = []error{
	study.ErrNotEnrolled, study.ErrOtherPlan, study.ErrOtherBytes,
	study.ErrContribution, study.ErrPlan, protocol.ErrTooLarge, protocol.ErrNotFound, protocol.ErrInvalid,
}

// send sends the stored bytes, and only them, until a receipt is stored.
func (a *Agent) send(ctx context.Context, d dossier, o protocol.Summary) error {
	body, err := d.read(fileUpload)
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
	if err := a.tell(d, o); err != nil {
		return err
	}
	if c := a.courier(); c == nil || c.Answers() {
		if err := a.recordOnce(auditSending, o.Hash, o.Name); err != nil {
			return err
		}
	}
	r, err := a.link.Contribute(ctx, o.Hash, body)
	if slices.ContainsFunc(final, func(f error) bool { return errors.Is(err, f) }) {
		return a.closed(d, o, err.Error())
	}
	if err != nil {
		return err
	}
	a.done("sent")
	if want := study.BodyDigest(sha256.Sum256(body)); r.Body != want || r.Plan != o.Hash || r.Party != a.state.party {
		return fmt.Errorf("the coordinator's receipt is not for what this party sent (%s)", want)
	}
	if err := a.recordOnce(auditReceipt, o.Hash, o.Name, "received", r.Received); err != nil {
		return err
	}
	known, err := d.amendments()
	if err != nil {
		return err
	}
	if err := d.writeJSON(fileReceipt, receipt{Body: r.Body.String(), Received: r.Received, Signed: r.Document, Signature: r.Signature, Amendments: len(known)}); err != nil {
		return err
	}
	a.done("receipt stored")
	a.log.Info("contribution received by the coordinator", "study", o.Hash.String())
	a.warnIfLedgerWentBack()
	return nil
}

// collect fetches the release once there is one.
func (a *Agent) collect(ctx context.Context, d dossier, o protocol.Summary) error {
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
	if err := a.recordOnce(auditReleased, o.Hash, o.Name); err != nil {
		return err
	}
	file, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := d.write(fileRelease, file); err != nil {
		return err
	}
	a.done("release stored")
	a.log.Info("release received", "study", o.Hash.String())
	a.witness(r.Release)
	return nil
}

// witness says if a release or a receipt contradicts what the coordinator signed
// for this party before.
func (a *Agent) witness(r study.Release) {
	site := a.evidence().Kept(context.Background(), r)
	for _, f := range append(append(site.Receipts(r), site.Shared(r)...), site.Ending(r)...) {
		if f.Verdict == verify.Fails {
			a.logOnce(r.PlanHash, slog.LevelError, "the release cannot be believed: "+f.Says)
		}
	}
	if two := r.Aggregated; two != nil && two.Keys[1] != a.state.config.Policy.Helper.Signing.String() {
		a.logOnce(r.PlanHash, slog.LevelError, "the release cannot be believed: its second server signed with a key that is not the one of this site's helper (policy: helper: signing)")
	}
	a.warnIfLedgerWentBack()
}

// warnIfLedgerWentBack says if the coordinator's ledger went back.
func (a *Agent) warnIfLedgerWentBack() {
	if _, err := a.evidence().Coordinator(); err != nil {
		a.logOnceAbout("coordinator's ledger", slog.LevelError, err.Error()+"; tell its operator (docs/verify.md)")
	}
}

// evidence is what the state folder knows.
func (a *Agent) evidence() *Evidence {
	keys, _ := a.id.Keys() // it was dialled with
	return &Evidence{Party: a.state.party, Keys: keys, config: a.state.config, state: *a.state}
}

// closed notes how a study ended for this site.
func (a *Agent) closed(d dossier, o protocol.Summary, why string) error {
	if err := a.recordOnce(auditClosed, o.Hash, o.Name, "why", why); err != nil {
		return err
	}
	if err := d.write(fileClosed, []byte(why+"\n")); err != nil {
		return err
	}
	a.log.Info("study closed", "study", o.Hash.String(), "why", why)
	return nil
}
