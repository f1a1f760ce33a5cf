package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"caucus/agent/desk"
	"caucus/agent/policy"
	"caucus/agent/site"
	"caucus/aggregation/shares"
	"caucus/aggregator"
	"caucus/aggregator/uploading"
	"caucus/auxdata"
	"caucus/privacy"
	"caucus/privacy/journal"
	"caucus/protocol"
	"caucus/protocol/server"
	"caucus/study"
	"caucus/study/kinds"
	"caucus/study/verify/evidence"
)

type agreed struct {
	signer  *protocol.Signer
	sealing *server.SealingKey
	said    protocol.Acceptance
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (r *rig) task() study.Task {
	table := must(auxdata.ReadCSV(r.pool, r.study.Plan.Pool))
	pool, _, err := auxdata.New(r.study.Plan.Schema, r.study.Plan.Map, table)
	if err != nil {
		panic(err)
	}
	return must(kinds.NewTask(r.study.Plan, pool))
}

func (r *rig) agree() agreed {
	a := agreed{signer: must(protocol.NewSigner()), sealing: must(server.NewSealingKey())}
	own := study.Hash{1}
	a.said = protocol.Acceptance{
		Plan: r.hash, Role: shares.Helper.String(), Terms: must(study.TermsDigest(r.task())), Commitment: study.Hash{2}, Coordinator: &own, Sealing: a.sealing.Public(), Step: 1,
	}
	return a
}

func (a agreed) signed() protocol.Signed {
	document := must(json.Marshal(a.said))
	return protocol.Signed{Document: document,
		Signature: a.signer.Sign(protocol.AcceptanceDocument, document)}
}

func (a agreed) helper() policy.Helper {
	return policy.Helper{Name: "Data Trust", Signing: a.signer.Key(),
		Sealing: protocol.SealingPin(a.sealing.Public())}
}

// trust makes the rig's policy name a helper, and its coordinator pass on the helper's acceptance.
func (r *rig) trust(h policy.Helper, acceptance protocol.Signed) {
	r.Config.Policy.Helper = h
	r.Config.Policy.Noise = append(slices.Clone(r.Config.Policy.Noise), study.NoiseAggregators)
	r.study.Helper = acceptance
}

// inShares is a study with noise by two servers.
func inShares(mechanism string) func(*study.Proposal) {
	return func(p *study.Proposal) { p.Noise, p.Mechanism = study.NoiseAggregators, mechanism }
}

// sharesRig is a rig with that study, and with a helper that accepted it.
func sharesRig(t *testing.T, mechanism string) (*rig, agreed) {
	t.Helper()
	r := newRig(t, inShares(mechanism))
	a := r.agree()
	r.trust(a.helper(), a.signed())
	return r, a
}

// TestNoAcceptanceNoCharge: whatever the coordinator passes on in place of the pinned helper's
// acceptance, nothing is charged and nothing is sent; the log and the coordinator's operator get
// the reason, and with the true acceptance the study goes on.
func TestNoAcceptanceNoCharge(t *testing.T) {
	signed := func(a agreed, change func(*protocol.Acceptance)) protocol.Signed {
		change(&a.said)
		return a.signed()
	}
	for name, c := range map[string]struct {
		passes func(r *rig, a agreed) protocol.Signed
		says   string
	}{
		"none": {func(*rig, agreed) protocol.Signed { return protocol.Signed{} }, "the coordinator passes none on"},
		"garbage": {func(*rig, agreed) protocol.Signed {
			return protocol.Signed{Document: []byte("{"), Signature: []byte{1}}
		}, "not signed by the helper"},
		"signed garbage": {func(_ *rig, a agreed) protocol.Signed {
			return protocol.Signed{Document: []byte("{"),
				Signature: a.signer.Sign(protocol.AcceptanceDocument, []byte("{"))}
		}, "damaged"},
		"signed by the coordinator": {func(_ *rig, a agreed) protocol.Signed {
			a.signer = wireSigner()
			return a.signed()
		}, "signed by the coordinator itself"},
		"a helper of the coordinator's own": {func(r *rig, _ agreed) protocol.Signed { return r.agree().signed() }, "not signed by the helper"},
		"another study's": {func(_ *rig, a agreed) protocol.Signed {
			return signed(a, func(s *protocol.Acceptance) { s.Plan = study.Hash{9} })
		}, "of another plan"},
		"less noise": {func(_ *rig, a agreed) protocol.Signed {
			return signed(a, func(s *protocol.Acceptance) { s.Terms = strings.Repeat("00", 32) })
		}, "other noise"},
		"an earlier version's": {func(_ *rig, a agreed) protocol.Signed {
			return signed(a, func(s *protocol.Acceptance) { s.Step = 0 })
		}, "made by an earlier version"},
		"no commitment": {func(_ *rig, a agreed) protocol.Signed {
			return signed(a, func(s *protocol.Acceptance) { s.Commitment = study.Hash{} })
		}, "have not committed"},
		"no commitment of the coordinator's": {func(_ *rig, a agreed) protocol.Signed {
			return signed(a, func(s *protocol.Acceptance) { s.Coordinator = nil })
		}, "have not committed"},
		"the coordinator's own acceptance": {func(_ *rig, a agreed) protocol.Signed {
			return signed(a, func(s *protocol.Acceptance) { s.Role = shares.Coordinator.String() })
		}, "it is a coordinator's"},
		"another key to seal to": {func(r *rig, a agreed) protocol.Signed {
			return signed(a, func(s *protocol.Acceptance) {
				s.Sealing = must(server.NewSealingKey()).Public()
			})
		}, "another sealing key"},
		"another document's signature": {func(_ *rig, a agreed) protocol.Signed {
			s := a.signed()
			s.Signature = a.signer.Sign(protocol.SetDocument, s.Document)
			return s
		}, "not signed by the helper"},
	} {
		t.Run(name, func(t *testing.T) {
			r, agreed := sharesRig(t, "tally")
			good := r.study.Helper
			r.study.Helper = c.passes(r, agreed)
			a, w := connect(t, r)
			a.preparation.hurry = true
			round(t, a)
			round(t, a) // messages are logged once
			if n := charges(t, a, privacy.Record); n != 0 || w.body != nil {
				t.Errorf("%d charges, %d bytes sent", n, len(w.body))
			}
			if n := strings.Count(r.Log.String(), "nothing is charged and nothing is sent: the helper's acceptance: "); n != 1 || !strings.Contains(r.Log.String(), c.says) {
				t.Errorf("said %d times, want %q; log:\n%s", n, c.says, r.Log)
			}
			if got := a.reports.current()[r.hash]; got != protocol.WaitHelper {
				t.Errorf("the coordinator hears %q", got)
			}
			review := must(r.review(a))
			if review.HelperAgreed || review.Progress != desk.ProgressAwaitsHelper ||
				!strings.Contains(review.Helper, "nothing is charged or sent before it agreed") ||
				!strings.Contains(review.Helper, "Data Trust") {
				t.Errorf("preview: %q, %q", review.Progress, review.Helper)
			}
			r.study.Helper = good
			round(t, a)
			if n := charges(t, a, privacy.Record); n != 1 || w.body == nil {
				t.Errorf("with the true acceptance: %d charges, %d bytes sent; log:\n%s", n, len(w.body), r.Log)
			}
			if review := must(r.review(a)); !review.HelperAgreed ||
				!strings.Contains(review.Helper, "it agreed to this plan") {
				t.Errorf("preview: %q", review.Helper)
			}
		})
	}
}

// TestSharesCostOneServersNoise: the charge is the guarantee of one honest server, the same as with
// noise added once by a coordinator.
func TestSharesCostOneServersNoise(t *testing.T) {
	spent := map[study.Noise]string{}
	for _, noise := range []study.Noise{study.NoiseAggregators, study.NoiseCoordinator} {
		r, _ := sharesRig(t, "tally")
		if noise == study.NoiseCoordinator {
			r = newRig(t, func(p *study.Proposal) { p.Noise, p.Mechanism = noise, "tally" })
		}
		a := r.agent(t)
		round(t, a)
		if len(r.bodies) != 1 {
			t.Fatalf("%s: %d uploads; log:\n%s", noise, len(r.bodies), r.Log)
		}
		spent[noise] = fmt.Sprintf("%+v", must(a.site.Ledger.Totals(t.Context())))
	}
	if spent[study.NoiseAggregators] != spent[study.NoiseCoordinator] {
		t.Errorf("charged %s, by one server's noise %s", spent[study.NoiseAggregators],
			spent[study.NoiseCoordinator])
	}
}

// TestHelperHasAnotherKey: the helper's files were restored, so it has another sealing key, which
// the site's policy names. An upload for the old key is not sent, even if it was never sent before;
// it stays as it is, is charged once, and ends with the study.
func TestHelperHasAnotherKey(t *testing.T) {
	r, _ := sharesRig(t, "tally")
	r.refuse = protocol.ErrUnavailable
	a := r.agent(t)
	round(t, a)
	d := a.site.Studies.Folder(r.hash)
	upload := must(d.Read(site.FileUpload))
	if len(r.bodies) != 0 || !d.Has(site.FileUpload) {
		t.Fatalf("%d uploads, %v", len(r.bodies), d.Has(site.FileUpload))
	}
	must(0, a.Close())
	r.refuse = nil
	r.Config.Policy.Helper.Sealing = protocol.SealingPin(must(server.NewSealingKey()).Public())
	a = r.agent(t)
	round(t, a)
	round(t, a)
	if len(r.bodies) != 0 || charges(t, a, privacy.Record) != 1 ||
		!bytes.Equal(upload, must(d.Read(site.FileUpload))) {
		t.Errorf("%d uploads, %d charges", len(r.bodies), charges(t, a, privacy.Record))
	}
	if n := strings.Count(r.Log.String(), "the finished upload is not sent, and nothing more is charged"); n != 1 || !strings.Contains(r.Log.String(), "another sealing key") {
		t.Errorf("it is said %d times; log:\n%s", n, r.Log)
	}
	if review := must(r.review(a)); review.HelperAgreed ||
		!strings.Contains(review.Helper, "sealed to an earlier helper's key") {
		t.Errorf("preview: %q", review.Helper)
	}
	r.state, r.study.Reason = study.Failed, "the helper was put back to an older state"
	round(t, a)
	if b, err := d.Read(site.FileClosed); err != nil ||
		!strings.Contains(string(b), "the study is failed") {
		t.Errorf("it ended with %q, %v", b, err)
	}
	if len(r.bodies) != 0 || charges(t, a, privacy.Record) != 1 {
		t.Errorf("at the end: %d uploads, %d charges", len(r.bodies), charges(t, a, privacy.Record))
	}
}

// TestSentAgain: a coordinator that lost the upload gets the same bytes again, even if it has a
// second valid acceptance.
func TestSentAgain(t *testing.T) {
	r, agreed := sharesRig(t, "cross")
	a := r.agent(t)
	round(t, a)
	first := bytes.Clone(r.stored)
	r.stored = nil
	agreed.said.Commitment = study.Hash{7}
	r.study.Helper = agreed.signed()
	round(t, a)
	if len(r.bodies) != 2 || !bytes.Equal(first, r.stored) || charges(t, a, privacy.Record) != 1 {
		t.Errorf("%d uploads, the same: %v, %d charges", len(r.bodies),
			bytes.Equal(first, r.stored), charges(t, a, privacy.Record))
	}
}

// servers are the two aggregators of a rig's study, with separate files.
type servers struct {
	rig  *rig
	both [2]*aggregator.Server
	hash study.Hash
}

// serve starts both and opens the study between them; the rig's policy pins the helper.
func (r *rig) serve(t *testing.T) *servers {
	t.Helper()
	s := &servers{rig: r, hash: r.hash}
	signers := [2]*protocol.Signer{wireSigner(), must(protocol.NewSigner())}
	sealing := must(server.NewSealingKey())
	for role := range s.both {
		dir := t.TempDir()
		c := aggregator.Config{
			Role: shares.Role(role), Store: filepath.Join(dir, "shares.db"), Head: filepath.Join(dir, "head"), Signer: signers[role], OtherKey: signers[1-role].Key(),
			Journal: must(journal.OpenSQLite(filepath.Join(dir, "ledger.db"))),
			Task:    func(context.Context, study.Hash) (study.Task, error) { return r.task(), nil },
		}
		var public []byte
		if c.Role == shares.Helper {
			c.Sealing, c.CheckPolicy, public = sealing, func(study.Task) error {
				return nil
			}, sealing.Public()
		}
		must(0, aggregator.Create(c.Store))
		must(0, aggregator.WriteNewHead(c.Head, public))
		s.both[role] = must(aggregator.Open(t.Context(), c))
		t.Cleanup(func() { s.both[role].Close(); c.Journal.(*journal.Journal).Close() })
	}
	acceptance := must(s.both[0].OpenStudy(t.Context(), r.hash, s.both[1]))
	signing, pin := signers[1].Key(), protocol.SealingPin(sealing.Public())
	r.trust(policy.Helper{Name: "Data Trust", Code: protocol.KeyCode(signing[:], pin[:])},
		protocol.Signed(acceptance))
	return s
}

func (s *servers) receive(party study.PartyID, body []byte) error {
	return s.both[0].ReceiveAll(context.Background(), s.hash,
		[]aggregator.Upload{{Party: party, Data: body}})
}

// release takes the study to its end, and returns the number of contributions that both accepted.
func (s *servers) release(t *testing.T) int {
	t.Helper()
	must(0, s.both[0].CloseStudy(t.Context(), s.hash, nil))
	if released, err := s.both[0].Advance(t.Context(), s.hash, s.both[1]); err != nil || !released {
		t.Fatalf("not released: %v", err)
	}
	return must(s.both[0].Released(t.Context(), s.hash)).Contributions.Contributions
}

// TestTwoServersTakeIt: over real TLS, an agent's upload for each kind of contribution is received
// by the coordinator's half and accepted by both: the proof holds, and the box opens.
func TestTwoServersTakeIt(t *testing.T) {
	for _, mechanism := range []string{"tally", "cross", "moment"} {
		t.Run(mechanism, func(t *testing.T) {
			r := newRig(t, inShares(mechanism))
			r.Config.Policy.Mechanisms = append(r.Config.Policy.Mechanisms, "moment")
			s := r.serve(t)
			a, w := connect(t, r)
			a.preparation.hurry = true
			round(t, a)
			if w.body == nil {
				t.Fatalf("nothing was sent; log:\n%s", r.Log)
			}
			must(0, s.receive("site", w.body))
			task, in := r.task(), a.site.Records(r.hash, r.study.Plan, 61, false)
			must(0, s.receive("other",
				must(uploading.Contribute(task, "other", in,
					must(uploading.CheckAcceptance(task, protocol.Signed(r.study.Helper),
						r.Config.Policy.Helper.Pins(), wireSigner().Key()))))))
			// stolen: refused at the latest by its proof
			if err := s.receive("third", w.body); err != nil &&
				!errors.Is(err, study.ErrContribution) {
				t.Fatal(err)
			}
			if n := s.release(t); n != 2 {
				t.Errorf("%d contributions were accepted, want 2", n)
			}
			// The site finds its upload in the set that both signed, and detects another in its
			// place.
			members := must(s.both[1].Contributors(t.Context(), s.hash))
			r2 := study.Release{Manifest: study.Manifest{PlanHash: r.hash,
				Contributed: members.Accepted},
				Aggregated: &study.TwoServerProof{Members: members.Digests}}
			verdict := func() evidence.Verdict {
				f := a.evidence().OfStudy(t.Context(), r2).Shared(r2)
				if len(f) != 1 {
					t.Fatalf("findings %+v", f)
				}
				return f[0].Verdict
			}
			if got := verdict(); got != evidence.Holds {
				t.Errorf("of what was sent: %v", got)
			}
			slices.Reverse(r2.Aggregated.Members)
			if got := verdict(); got != evidence.Fails {
				t.Errorf("of what another sent: %v", got)
			}
		})
	}
}

// TestSharesInWords: before and after the approval a person reads who holds which share, what one
// server sees and what both see, and against whom ε holds.
func TestSharesInWords(t *testing.T) {
	r, _ := sharesRig(t, "tally")
	r.Config.Policy.Approval = policy.ApproveByPerson
	a := r.agent(t)
	round(t, a)
	review := must(r.review(a))
	var text strings.Builder
	must(0, review.WriteText(&text))
	for _, want := range []string{
		"leaves       one vote for a class on each row of the public pool; in two secret shares, one for the coordinator and one for a helper",
		"each record is hidden at ε = 1, δ = 1e-06 from everyone, coordinator and helper included unless the two work together",
		"either share alone is random numbers", "both together could add the two shares up, and would have this site's exact votes",
		"ε = 1, δ = 1e-06 holds against every reader", "against both servers together nothing holds",
		"helper       Data Trust, whose keys have the code ",
		"it agreed to this plan and to its noise, and signed that",
		"one upload; the size follows from the plan and the declared number of records", "noise added by the coordinator and a helper, each in full", "allows it once a person approves",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, &text)
		}
	}
	yes, err := a.Approve(t.Context(), "illness", desk.Approver{Name: "alice"})
	if err != nil || !yes.Approved || yes.Helper != review.Helper || len(yes.ServersLearn) != 3 {
		t.Errorf("approved: %v, %+v", err, yes)
	}
	round(t, a)
	if len(r.bodies) != 1 {
		t.Errorf("%d uploads", len(r.bodies))
	}
}

func (r *rig) review(a *Agent) (desk.Review, error) {
	review, _, err := a.Preview(context.Background(), r.hash.String())
	return review, err
}
