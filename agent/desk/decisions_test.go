package desk_test

import (
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"caucus/agent/desk"
	"caucus/agent/policy"
	"caucus/agent/site"
	"caucus/agent/source"
	"caucus/internal/testsite"
	"caucus/protocol"
	"caucus/study"
)

// TestDecisions: an approval is valid if a person whom the policy names gives it, with their own
// key, for what they were shown, before the study is over. Any other approval is refused with the
// reason, and nothing is written.
func TestDecisions(t *testing.T) {
	ctx := t.Context()
	r, keys := twoPersons(t)
	a := ask(t, r)
	outline, err := a.ReviewWithoutRecords(ctx, r.StudyPlan.Hash)
	if err != nil || outline.Progress != desk.ProgressWaiting || outline.ApprovalsNeeded != 2 ||
		!outline.Allowed || outline.Approved || outline.DeclarationDigest == "" {
		t.Fatalf("%+v, %v", outline, err)
	}
	for says, who := range map[string]desk.Approver{
		"none of the policy's approvers":      {Name: "mallory", Key: newKey(t)},
		"signs with a key":                    {Name: "alice"},
		"not the key that the policy":         {Name: "alice", Key: keys["bob"]},
		"was declared anew":                   {Name: "alice", Key: keys["alice"], DeclarationDigest: strings.Repeat("0", 64)},
		protocol.CheckPersonName("-").Error(): {Name: "-", Key: keys["alice"]},
	} {
		if _, err := a.Approve(ctx, "illness", who); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%s approves: %v, want %q", who.Name, err, says)
		}
	}
	if _, err := a.Approve(ctx, "another", desk.Approver{Name: "alice"}); err == nil {
		t.Error("a study that is not here is approved")
	}
	alice := desk.Approver{Name: " alice ", Key: keys["alice"],
		DeclarationDigest: outline.DeclarationDigest[:8]}
	if got, err := a.Approve(ctx, "illness", alice); err != nil || got.ApprovedBefore ||
		got.Approved ||
		!slices.Equal(got.ApprovedBy, []string{"alice"}) || got.RecordsFound != 61 {
		t.Errorf("alice approves: %+v, %v", got, err)
	}
	if got, err := a.Approve(ctx, "illness", alice); err != nil || !got.ApprovedBefore {
		t.Errorf("alice approves again: %+v, %v", got, err)
	}
	if got, err := a.Approve(ctx, "illness",
		desk.Approver{Name: "bob", Key: keys["bob"]}); err != nil ||
		!got.Approved || got.Progress != desk.ProgressReady {
		t.Errorf("bob approves: %+v, %v", got, err)
	}
	if err := a.d.Write(site.FileReceipt, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	carol := desk.Approver{Name: "carol", Key: keys["carol"]}
	if _, err := a.Approve(ctx, "illness", carol); err == nil ||
		!strings.Contains(err.Error(), "nothing left to approve") {
		t.Errorf("approved after it was sent: %v", err)
	}
	if _, err := a.Refuse(ctx, "illness", carol, "no"); err == nil ||
		!strings.Contains(err.Error(), "cannot be taken back") {
		t.Errorf("refused after it was sent: %v", err)
	}
	if err := errors.Join(a.d.Remove(site.FileReceipt),
		a.d.Write(site.FileClosed, []byte("over\n"))); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Refuse(ctx, "illness", carol, "no"); err == nil ||
		!strings.Contains(err.Error(), "closed already: over") {
		t.Errorf("refused after it was closed: %v", err)
	}
	if err := a.d.Remove(site.FileClosed); err != nil {
		t.Fatal(err)
	}
	const why = "the board meets in May"
	if got, err := a.Refuse(ctx, "illness", carol, why); err != nil ||
		!strings.HasPrefix(got.RefusedBy, "refused by carol on ") {
		t.Errorf("refused: %+v, %v", got, err)
	}
	if _, err := a.Refuse(ctx, "illness", alice, ""); err != nil {
		t.Errorf("refused again: %v", err)
	}
	if _, err := a.Approve(ctx, "illness", carol); err == nil ||
		!strings.Contains(err.Error(), "it was refused by carol") {
		t.Errorf("approved after a no: %v", err)
	}
	audit, err := os.ReadFile(site.AuditFile(r.Config))
	if err != nil || strings.Contains(string(audit), why) ||
		strings.Count(string(audit), "\n") != 3 ||
		strings.Contains(string(audit), outline.DeclarationDigest) {
		t.Errorf("%v: the audit log has\n%s", err, audit)
	}
}

// TestUndeclared: a person cannot approve a study whose source is not declared, or was forgotten,
// because nothing could be shown to them.
func TestUndeclared(t *testing.T) {
	ctx := t.Context()
	r := newSite(t, nil)
	a := ask(t, r)
	who := desk.Approver{Name: "alice"}
	if err := a.ForgetSource("ward", desk.Approver{Name: "-"}); err == nil {
		t.Error("nobody forgets a source")
	}
	if err := a.ForgetSource("ward", who); err != nil {
		t.Fatal(err)
	}
	if err := a.ForgetSource("ward", who); err == nil ||
		!strings.Contains(err.Error(), "it is not declared") {
		t.Errorf("forgotten twice: %v", err)
	}
	if all := a.Sources(); len(all) != 1 || all[0].Declared != nil {
		t.Errorf("the sources are %+v", all)
	}
	got, err := a.ReviewWithoutRecords(ctx, r.StudyPlan.Hash)
	if err != nil || got.Progress != desk.ProgressUndeclared || got.DeclareFirst == "" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := a.Approve(ctx, "illness", who); err == nil {
		t.Error("what nobody was shown is approved")
	}
	if _, err := a.Values(ctx, r.StudyPlan.Hash); err == nil {
		t.Error("values of a source that nobody declared")
	}
	if _, err := a.CheckSource(ctx, "nowhere"); err == nil {
		t.Error("a source that is not named is checked")
	}
	if found, err := a.CheckSource(ctx, "ward"); err != nil || found.Found != 61 {
		t.Errorf("%+v, %v", found, err)
	}
	declared, err := a.DeclareSource(ctx, "ward", who, source.DeclareOptions{Vouch: true})
	if err != nil || declared.Declared.By != "alice" || declared.Declared.Account == "" {
		t.Errorf("%+v, %v", declared, err)
	}
	if _, err := a.Approve(ctx, "illness", who); err != nil {
		t.Error(err)
	}
}

// TestValues: a person sees the exact numbers that would leave, and how much noise the site adds to
// them. The look changes neither ledger nor folder, and a second look shows the same.
func TestValues(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*study.Proposal)
		noisy  bool
		shared bool
	}{
		"noise at the site":        {nil, true, false},
		"noise at the coordinator": {func(p *study.Proposal) { p.Noise = study.NoiseCoordinator }, false, false},
		"noise at two servers":     {func(p *study.Proposal) { p.Noise = study.NoiseAggregators }, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newSite(t, c.change)
			a := ask(t, r)
			first, err := a.Values(t.Context(), r.StudyPlan.Hash)
			if err != nil || len(first) != 1 || len(first[0].Values) == 0 ||
				(len(first[0].SD) > 0) != c.noisy || first[0].Shared != c.shared {
				t.Fatalf("%+v, %v", first, err)
			}
			again, err := a.Values(t.Context(), r.StudyPlan.Hash)
			if err != nil || !slices.Equal(first[0].Values, again[0].Values) {
				t.Errorf("looked at again: %v, %v", again, err)
			}
			if totals, err := a.site.Ledger.Totals(t.Context()); err != nil ||
				totals[r.StudyPlan.Plan.Unit].Charges != 0 {
				t.Errorf("a look is charged: %v, %v", totals, err)
			}
			review, _, err := a.Preview(t.Context(), "illness")
			if err != nil {
				t.Fatal(err)
			}
			review.Outputs = first
			var out strings.Builder
			if err := review.WriteText(&out); err != nil ||
				!strings.Contains(out.String(), "numbers before noise, for your eyes only") {
				t.Errorf("%v\n%s", err, out.String())
			}
		})
	}
}

// TestReviewTells: a review says which records were replaced, what is missing, and what the policy
// objects to.
func TestReviewTells(t *testing.T) {
	r := newSite(t, nil)
	a := ask(t, r)
	for _, file := range []string{site.FileMissedWindow, site.FileReadFailure, site.FileVoteFailure,
		site.FileSourceRemarks} {
		if err := a.d.Write(file, []byte("why: "+file+"\n")); err != nil {
			t.Fatal(err)
		}
	}
	review, _, err := a.Preview(t.Context(), "illness")
	if err != nil || len(review.Problems) < 4 || review.Unlabelled != 0 ||
		review.RecordsFound != 61 {
		t.Fatalf("%+v, %v", review, err)
	}
	for _, want := range []string{"not ready in time", "it got empty records", "gave no votes",
		"when its file was read"} {
		if !slices.ContainsFunc(review.Problems, func(p string) bool {
			return strings.Contains(p, want) && strings.Contains(p, ": why: ")
		}) {
			t.Errorf("the review does not say %q: %q", want, review.Problems)
		}
	}
	if len(review.Cells) != 2 || review.Cells[1].UnknownLevels != 1 ||
		review.Cells[0].SiteValues == "" ||
		review.Cells[0].Pool == "" {
		t.Errorf("cells %+v", review.Cells)
	}
	if err := os.Remove(a.site.PoolFile(r.StudyPlan.Plan.Pool)); err != nil {
		t.Fatal(err)
	}
	if review, _, err = a.Preview(t.Context(), "illness"); err != nil ||
		!slices.ContainsFunc(review.Problems, func(p string) bool {
			return strings.Contains(p, "pool is not here yet")
		}) {
		t.Errorf("without its pool: %q, %v", review.Problems, err)
	}
	if _, err := a.Task(r.StudyPlan.Hash); err == nil {
		t.Error("a task is made without its pool")
	}
	r.Config.Policy.Kinds, r.Config.Policy.Approval = nil, policy.ApproveByPolicy
	b := ask(t, &testsite.Site{Config: r.Config, Log: r.Log, StudyPlan: r.StudyPlan})
	if got, err := b.ReviewWithoutRecords(t.Context(), r.StudyPlan.Hash); err != nil ||
		got.Allowed ||
		len(got.Objections) == 0 || got.NeedsPerson {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestListShowsConstants: the list says how many contributions contained a constant.
func TestListShowsConstants(t *testing.T) {
	a := ask(t, newSite(t, nil))
	if err := errors.Join(a.d.Write(site.FileUpload, []byte("x")),
		a.d.Write(site.FileMissedWindow, []byte("all of it"))); err != nil {
		t.Fatal(err)
	}
	if code, page := sit(t, a).get("/"); code != http.StatusOK ||
		!strings.Contains(page, "1 not ready in time") {
		t.Errorf("the page does not say so: %d\n%s", code, page)
	}
}

// TestNameOfACancelledStudy: a new plan may have the name of a study that was cancelled. The name
// then means the new one, which no approval of the earlier plan approves.
func TestNameOfACancelledStudy(t *testing.T) {
	ctx := t.Context()
	r := newSite(t, nil)
	a := ask(t, r)
	if got, err := a.Approve(ctx, "illness", desk.Approver{Name: "alice"}); err != nil ||
		!got.Approved {
		t.Fatalf("%+v, %v", got, err)
	}
	p := r.StudyPlan.Plan
	p.Purpose = "another question"
	text, err := p.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	next := a.site.Studies.Folder(study.HashOf(text))
	if err := errors.Join(os.MkdirAll(next.Dir, 0o700), next.Write(site.FilePlan, text)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.Preview(ctx, "illness"); err == nil ||
		!strings.Contains(err.Error(), "2 studies are called") {
		t.Errorf("two studies of one name: %v", err)
	}
	if err := a.d.Write(site.FileClosed, []byte("cancelled\n")); err != nil {
		t.Fatal(err)
	}
	got, _, err := a.Preview(ctx, "illness")
	if err != nil || got.Plan != study.HashOf(text) || got.Approved || len(got.ApprovedBy) > 0 ||
		got.Progress != desk.ProgressWaiting {
		t.Errorf("the new plan: %+v, %v", got, err)
	}
}
