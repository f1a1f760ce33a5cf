package desk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"caucus/agent/site"
	"caucus/internal/textpage"
	"caucus/protocol"
)

// DisallowedByPolicy begins a message that lists the policy's objections to a study.
const DisallowedByPolicy = "the policy does not allow it: "

// Approve stores a person's approval and returns the review. The study takes place once as many
// people as the policy requires have approved. An approval covers this plan only. It does not help
// a study while the policy refuses the study, or after a person refused it. The records for the
// review are read after the approval is stored, so the approval does not wait for them.
func (k *Desk) Approve(ctx context.Context, name string, who Approver) (Review, error) {
	offline := k.refresh(ctx)
	h, err := k.site.Studies.Find(name)
	if err != nil {
		return Review{}, errors.Join(err, offline)
	}
	r, err := k.ReviewWithoutRecords(ctx, h)
	if err != nil {
		return Review{}, errors.Join(err, offline)
	}
	fail := func(err error) (Review, error) {
		return r, fmt.Errorf("approve study %s: %w", textpage.Printable(r.Study), err)
	}
	if r.RefusedBy != "" {
		return fail(fmt.Errorf("it was %s, and stays so: ask its contact for a new plan", r.RefusedBy))
	}
	if !r.Allowed {
		return fail(errors.New(DisallowedByPolicy + r.Objections[0]))
	}
	p := k.site.Config.Policy
	as, err := who.name()
	if err != nil {
		return fail(err)
	}
	switch {
	case r.DeclarationDigest == "":
		return fail(fmt.Errorf("its source is not declared, so nobody was shown what it would get: %s", r.DeclareFirst))
	case !strings.HasPrefix(r.DeclarationDigest, who.DeclarationDigest):
		return fail(fmt.Errorf("its source was declared anew, and is %s now: look at it again (caucus agent preview %s)", r.DeclarationDigest[:16], textpage.Printable(r.Study)))
	}
	yes := site.Approval{Name: as, Account: who.account(), At: k.site.Config.Now().UTC(),
		DeclarationDigest: r.DeclarationDigest}
	if key, named := p.Approvers[as]; len(p.Approvers) > 0 {
		switch {
		case !named:
			return fail(fmt.Errorf("%s is none of the policy's approvers (%s): say who you are with --as", as, textpage.List(p.ApproverNames())))
		case who.Key == nil:
			return fail(fmt.Errorf("approver %s signs with a key: give it with --key", as))
		case who.Key.Key() != key:
			return fail(fmt.Errorf("this is not the key that the policy names for %s", as))
		}
		yes.Signature = who.Key.Sign(protocol.ApprovalDocument,
			site.ApprovalText(r.Plan, r.DeclarationDigest, as))
	}
	if slices.ContainsFunc(r.ApprovedBy, func(by string) bool {
		return strings.EqualFold(by, as)
	}) {
		r.ApprovedBefore = true
		return r, nil
	}
	if r.Progress == ProgressReceived || r.Progress == ProgressReleased ||
		r.Progress == ProgressClosed {
		return fail(fmt.Errorf("it is %s: there is nothing left to approve", r.Progress))
	}
	// The audit log omits Shown: the log may leave the machine, and Shown depends on the source's
	// digest.
	if err := k.site.Audit.Record(site.AuditApproved, r.Plan, r.Study, "by", as, "account",
		yes.Account, "signed", yes.Signature != nil); err != nil {
		return fail(err)
	}
	if err := k.site.Studies.Folder(r.Plan).WriteJSON(site.ApprovalFile(as), yes); err != nil {
		return fail(err)
	}
	return k.review(ctx, r.Plan)
}

// Refuse keeps a study from ever taking place here, and returns how far it had come. The reason
// stays in this site's folder; the coordinator gets the same message as for a refusal by policy or
// ledger. A contribution that the coordinator received cannot be taken back, and one that is being
// sent may still arrive.
func (k *Desk) Refuse(ctx context.Context, name string, who Approver,
	reason string) (Review, error) {
	offline := k.refresh(ctx)
	h, err := k.site.Studies.Find(name)
	if err != nil {
		return Review{}, errors.Join(err, offline)
	}
	r, err := k.ReviewWithoutRecords(ctx, h)
	if err != nil {
		return Review{}, err
	}
	fail := func(err error) (Review, error) {
		return r, fmt.Errorf("refuse study %s: %w", textpage.Printable(r.Study), err)
	}
	d := k.site.Studies.Folder(h)
	as, err := who.name()
	switch {
	case err != nil:
		return fail(err)
	case r.RefusedBy != "":
		return r, nil
	case d.Has(site.FileReceipt), d.Has(site.FileRelease):
		return fail(errors.New("the coordinator has this party's contribution already: it cannot be taken back"))
	case d.Has(site.FileClosed):
		return fail(fmt.Errorf("it is closed already: %s", r.ClosedReason))
	}
	no := site.Refusal{Name: as, Account: who.account(), At: k.site.Config.Now().UTC(),
		Reason: strings.TrimSpace(reason)}
	if err := k.site.Audit.Record(site.AuditRefused, h, r.Study, "by", as, "account",
		no.Account); err != nil {
		return fail(err)
	}
	if err := d.WriteJSON(site.FileRefused, no); err != nil {
		return fail(err)
	}
	return k.ReviewWithoutRecords(ctx, h)
}
