package agent

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"caucus/agent/desk"
	"caucus/agent/policy"
	"caucus/agent/site"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

func (c *coordinatorDouble) amendTo(t *testing.T, reopens bool, change func(*study.Ending)) {
	t.Helper()
	chain, err := site.ChainOf(c.study.Plan, c.study.Hash, c.study.Amendments)
	if err != nil {
		t.Fatal(err)
	}
	e := chain.Ending()
	change(&e)
	document, err := chain.Next(e, reopens, time.Date(2026, 1, 1+chain.Len(), 0, 0, 0, 0, time.UTC),
		privacy.Head{})
	if err == nil {
		_, err = chain.Add(document)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.study.Amendments = append(c.study.Amendments[:chain.Len()-1:chain.Len()-1],
		study.Signed{Document: document})
	c.study.Summary.Amendments = chain.Len()
}

func later(d time.Duration) func(*study.Ending) {
	return func(e *study.Ending) { e.Deadline = e.Deadline.Add(d) }
}

// TestReopened: a study that failed after a site had contributed is reopened: the same bytes are
// sent, and the ledger holds one charge, also after a kill between any two files.
func TestReopened(t *testing.T) {
	r := newRig(t, nil)
	a := r.agent(t)
	round(t, a)
	body := bytes.Clone(r.stored)
	d := a.site.Studies.Folder(r.hash)
	r.state = study.Failed
	round(t, a)
	if !d.Has(site.FileClosed) {
		t.Fatal("a study that failed is not closed here")
	}
	r.state, r.lost = study.Open, true // the coordinator claims so without an amendment
	round(t, a)
	if len(r.bodies) != 1 || !d.Has(site.FileClosed) {
		t.Fatalf("%d uploads to a study that no amendment took up again", len(r.bodies))
	}
	r.amendTo(t, true, later(time.Hour))
	round(t, a)
	if len(r.bodies) != 2 || !bytes.Equal(r.bodies[1], body) ||
		charges(t, a, privacy.Record) != 1 || d.Has(site.FileClosed) {
		t.Errorf("%d uploads, the same bytes %v, %d charges; log:\n%s", len(r.bodies), bytes.Equal(r.bodies[len(r.bodies)-1], body), charges(t, a, privacy.Record), r.Log)
	}
	if n := a.evidence().OfStudy(t.Context(),
		study.Release{Manifest: study.Manifest{PlanHash: r.hash}}).ReceiptAfter; n != 1 {
		t.Errorf("its receipt is said to have come after %d amendments", n)
	}
	if review, err := a.ReviewWithoutRecords(t.Context(), r.hash); err != nil ||
		len(review.AmendmentTexts) != 1 ||
		!strings.Contains(review.AmendmentTexts[0], "reopened") {
		t.Errorf("a person is shown %q, %v", review.AmendmentTexts, err)
	}
	r.state, r.lost = study.Failed, false
	round(t, a) // it fails again
	if !d.Has(site.FileClosed) {
		t.Error("a study that failed again is not closed")
	}
	// A crash after the amendment was stored and before the study was reopened.
	r.amendTo(t, true, later(2*time.Hour))
	r.state = study.Failed
	round(t, a)
	r.state, r.lost = study.Open, true
	round(t, a)
	if len(r.bodies) != 3 || !bytes.Equal(r.bodies[2], body) || charges(t, a, privacy.Record) != 1 {
		t.Errorf("%d uploads, %d charges", len(r.bodies), charges(t, a, privacy.Record))
	}
}

// TestReopenedUnlearnt: a site that first hears of a study after its failure, and so never learnt
// its plan, takes part once an amendment reopens the study, and not before.
func TestReopenedUnlearnt(t *testing.T) {
	r := newRig(t, nil)
	a := r.agent(t)
	r.state = study.Failed
	round(t, a)
	d := a.site.Studies.Folder(r.hash)
	if !d.Has(site.FileClosed) || d.Has(site.FilePlan) {
		t.Fatal("a study that failed before it was learnt is not closed here, or its plan is here")
	}
	r.state = study.Open
	round(t, a)
	if len(r.bodies) != 0 || !d.Has(site.FileClosed) {
		t.Fatalf("%d uploads to a study that no amendment took up again", len(r.bodies))
	}
	r.amendTo(t, true, later(time.Hour))
	round(t, a)
	if len(r.bodies) != 1 || charges(t, a, privacy.Record) != 1 || d.Has(site.FileClosed) {
		t.Errorf("%d uploads, %d charges, closed %v; log:\n%s", len(r.bodies),
			charges(t, a, privacy.Record), d.Has(site.FileClosed), r.Log)
	}
}

// TestReopenedUnsent: a site that was charged and could not send in time sends the prepared bytes.
func TestReopenedUnsent(t *testing.T) {
	r := newRig(t, nil)
	a := r.agent(t)
	r.refuse = study.ErrNotOpen
	round(t, a)
	d := a.site.Studies.Folder(r.hash)
	body, err := d.Read(site.FileUpload)
	if err != nil {
		t.Fatal(err)
	}
	r.state = study.Failed
	round(t, a)
	r.amendTo(t, true, later(time.Hour))
	r.state, r.refuse = study.Open, nil
	round(t, a)
	if !bytes.Equal(r.stored, body) || charges(t, a, privacy.Record) != 1 {
		t.Errorf("sent %d bytes of %d, %d charges", len(r.stored), len(body),
			charges(t, a, privacy.Record))
	}
}

// TestAmendmentsAreBelieved: a coordinator cannot take back a signed ending, sign a different one,
// or extend it beyond the policy: nothing is then sent.
func TestAmendmentsAreBelieved(t *testing.T) {
	for name, test := range map[string]struct {
		then func(*testing.T, *rig)
		says string
	}{
		"goes on": {func(t *testing.T, r *rig) { r.amendTo(t, false, later(time.Hour)) }, ""},
		"forgets": {func(_ *testing.T, r *rig) {
			r.study.Amendments, r.study.Summary.Amendments = nil, 0
		}, "signed 1 amendments of this study and knows of 0"},
		"forks": {func(t *testing.T, r *rig) {
			r.study.Amendments, r.study.Summary.Amendments = nil, 0
			r.amendTo(t, false, later(time.Minute))
			r.amendTo(t, false, later(time.Hour))
		}, "two different amendments"},
		"forks at the same length": {func(t *testing.T, r *rig) {
			r.study.Amendments, r.study.Summary.Amendments = nil, 0
			r.amendTo(t, false, later(time.Minute))
		}, "two different amendments"},
		"for another plan": {func(t *testing.T, r *rig) {
			other := newRig(t, func(p *study.Proposal) { p.Epsilon = 0.5 })
			other.amendTo(t, false, later(time.Hour))
			r.study.Amendments = append(r.study.Amendments, other.study.Amendments...)
			r.study.Summary.Amendments = 2
		}, "is for plan"},
		"beyond the policy": {func(t *testing.T, r *rig) { r.amendTo(t, false, later(48*time.Hour)) }, "max_extension"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.Config.Policy.MaxExtension = 24 * time.Hour
			r.Config.Policy.Approval = policy.ApproveByPerson
			a := r.agent(t)
			round(t, a) // it waits for a person
			r.amendTo(t, false, later(time.Hour))
			round(t, a)
			if _, err := a.Approve(t.Context(), "illness", desk.Approver{Name: "ann"}); err != nil {
				t.Fatal(err)
			}
			test.then(t, r)
			if err := a.PollOnce(t.Context()); err != nil && !protocol.IsRetryable(err) {
				t.Fatal(err)
			}
			a.SendCharged(t.Context())
			if sent := len(r.bodies) > 0; sent != (test.says == "") ||
				!strings.Contains(r.Log.String(), test.says) {
				t.Errorf("sent %v; log:\n%s", sent, r.Log)
			}
			if refused := r.declined > 0; refused != (name == "beyond the policy") {
				t.Errorf("declined %d times", r.declined)
			}
		})
	}
}

// TestExtendedByDefault: by default a deadline may move by 60 days; 0s sets no limit.
func TestExtendedByDefault(t *testing.T) {
	plan := study.Plan{Deadline: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	for text, days := range map[string]int{"policy: {}": 60, "policy: {max_extension: 0s}": 10_000,
		"policy: {max_extension: 5d}": 5} {
		c, err := site.ParseConfig([]byte("state: s\n" + text))
		if err != nil {
			t.Fatal(err)
		}
		for more, refused := range map[time.Duration]bool{0: false, time.Hour: days < 10_000} {
			e := study.Ending{Deadline: plan.Deadline.Add(time.Duration(days)*24*time.Hour + more)}
			if no := c.Policy.EndingObjection(plan, e); (no != "") != refused {
				t.Errorf("%s, moved by %d days and %v: %q", text, days, more, no)
			}
		}
	}
}

// TestAmendedBeforeItCame: a study amended beyond the policy before this site first heard of it is
// refused before it is charged.
func TestAmendedBeforeItCame(t *testing.T) {
	r := newRig(t, nil)
	r.Config.Policy.MaxExtension = 24 * time.Hour
	r.amendTo(t, false, later(48*time.Hour))
	a := r.agent(t)
	round(t, a)
	a.SendCharged(t.Context())
	if n := charges(t, a, privacy.Record); n != 0 || len(r.bodies) != 0 || r.declined != 1 {
		t.Errorf("%d charges, %d uploads, declined %d times; log:\n%s", n, len(r.bodies), r.declined, r.Log)
	}
}

// TestForkedWhilePrepared: if the chain has changed when the upload may leave, nothing is sent,
// even if the chain has the same length.
func TestForkedWhilePrepared(t *testing.T) {
	r := newRig(t, nil)
	r.amendTo(t, false, later(time.Hour))
	a := r.agent(t)
	r.refuse = study.ErrNotOpen // the first try fails
	round(t, a)
	a.SendCharged(t.Context())
	before := len(r.bodies)
	r.refuse, r.study.Amendments, r.study.Summary.Amendments = nil, nil, 0
	r.amendTo(t, false, later(time.Minute))
	_ = a.PollOnce(t.Context())
	if len(r.bodies) != before || !a.site.Studies.Folder(r.hash).Has(site.FileUpload) ||
		!strings.Contains(r.Log.String(), "two different amendments") {
		t.Errorf("%d uploads, %d before; log:\n%s", len(r.bodies), before, r.Log)
	}
}

// TestReopenedAfterAKill: an agent killed between its two notes that a study is over, after this
// number of amendments, reopens the study once, and closes it once.
func TestReopenedAfterAKill(t *testing.T) {
	for _, receipted := range []bool{true, false} {
		r := newRig(t, nil)
		a := r.agent(t)
		if !receipted {
			r.refuse = study.ErrNotOpen
		}
		round(t, a)
		d := a.site.Studies.Folder(r.hash)
		if err := d.Write(site.FileEnded, []byte("0\n")); err != nil { // and no more
			t.Fatal(err)
		}
		before := len(r.bodies)
		r.amendTo(t, true, later(time.Hour))
		r.state, r.lost, r.refuse = study.Open, receipted, nil
		for range 3 {
			round(t, a)
			r.lost = false
		}
		if n := len(r.bodies) - before; n != 1 || charges(t, a, privacy.Record) != 1 ||
			d.Has(site.FileEnded) || d.Has(site.FileClosed) {
			t.Errorf("with a receipt %v: %d uploads, %d charges; ended %v, closed %v", receipted, n, charges(t, a, privacy.Record), d.Has(site.FileEnded), d.Has(site.FileClosed))
		}
		r.refuse = study.ErrContribution // for good
		r.lost = true
		for range 3 {
			round(t, a)
		}
		if n := len(r.bodies) - before; n != 1 || !d.Has(site.FileClosed) {
			t.Errorf("with a receipt %v: %d uploads after it was refused for good, closed %v", receipted, n, d.Has(site.FileClosed))
		}
	}
}

// TestReleaseWithoutReceipt: the coordinator deletes receipts of an earlier version's plan with
// noise at the coordinator when its study ends. A site whose receipt was lost on the way collects
// the release, and sends nothing again.
func TestReleaseWithoutReceipt(t *testing.T) {
	for _, form := range []int{0, study.FormCommitted} {
		r := newRig(t, func(p *study.Proposal) { p.Noise = study.NoiseCoordinator })
		r.change(func(p *study.Plan) { p.Form = form })
		r.change(func(p *study.Plan) {
			var err error
			if p.TermsDigest, err = study.TermsDigest(r.task()); err != nil {
				t.Fatal(err)
			}
		})
		a := r.agent(t)
		round(t, a)
		d := a.site.Studies.Folder(r.hash)
		if !d.Has(site.FileReceipt) {
			t.Fatalf("form %d: no receipt; log:\n%s", form, r.Log)
		}
		if err := d.Remove(site.FileReceipt); err != nil {
			t.Fatal(err)
		}
		sent := len(r.bodies)
		r.state = study.Released
		round(t, a)
		again := len(r.bodies) > sent
		if again != (form == study.FormCommitted) || again == d.Has(site.FileRelease) {
			t.Errorf("form %d: sent again %t, release %t", form, again, d.Has(site.FileRelease))
		}
		if err := errors.Join(d.Remove(site.FileReceipt), d.Remove(site.FileRelease)); err != nil {
			t.Fatal(err)
		}
		r.refuse = study.ErrNotOpen // as a coordinator does whose store was put back
		round(t, a)
		if !d.Has(site.FileRelease) || d.Has(site.FileClosed) {
			t.Errorf("form %d: the coordinator has no receipt, and the release is not collected", form)
		}
	}
}
